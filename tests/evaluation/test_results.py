from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.results import Evaluation
from prema_gym.views.records import to_json
from tests.evaluation.helpers import TINY, both


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate(
        TINY, both(), workloads=5, seed=7, per_workload=True, per_task=True, bounds=True
    )


def test_a_report_is_read_back_as_it_was(evaluation: Evaluation) -> None:
    again = Evaluation.from_dict(json.loads(to_json(evaluation.to_dict())))
    assert to_json(again.to_dict()) == to_json(evaluation.to_dict())
    assert again.policies["hpf"].outcomes is None  # not part of it


@pytest.mark.parametrize("data", [{}, {"scenario": "x"}, {"policies": 3}])
def test_what_is_no_report_is_one_line(data: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"^run\.json: this is no report of `prema-gym evaluate"):
        Evaluation.from_dict(data, where="run.json")


def test_frames_hold_every_workload_and_every_task(evaluation: Evaluation) -> None:
    pytest.importorskip("pandas")
    workloads = evaluation.to_frame()
    assert list(workloads.columns[:3]) == ["policy", "seed", "antt"]
    assert len(workloads) == 2 * 5
    assert sorted(set(workloads["seed"])) == [7, 8, 9, 10, 11]
    tasks = evaluation.to_frame("task")
    assert len(tasks) == 2 * 5 * TINY.num_tasks
    assert set(tasks["network"]) <= set(TINY.networks)
    # ANTT is the mean over a workload's tasks, in both frames.
    mean = tasks.groupby(["policy", "seed"])["ntt"].mean()
    held = workloads.set_index(["policy", "seed"])["antt"].sort_index()
    assert np.allclose(mean.sort_index(), held)
    assert np.allclose(tasks["latency_ms"] / tasks["isolated_ms"], tasks["ntt"])
    missed = workloads.groupby("policy")["deadline_miss"].mean()
    assert np.allclose(tasks.groupby("policy")["late"].mean(), missed)


def test_what_was_not_kept_is_said() -> None:
    pytest.importorskip("pandas")
    bare = evaluate(TINY, both(), workloads=1)
    with pytest.raises(ConfigError, match="per_workload=True"):
        bare.to_frame()
    with pytest.raises(ConfigError, match="per_task=True"):
        bare.to_frame("task")
    with pytest.raises(ConfigError, match="per must be 'workload' or 'task', got 'network'"):
        bare.to_frame("network")  # type: ignore[arg-type]


def test_without_pandas_one_line_says_what_to_install(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'prema-gym\[frames\]'"):
        evaluation.to_frame()
