from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.settings import DEFAULT_WORKLOADS, EvaluationSettings
from prema_gym.hardware.config import NPUConfig
from prema_gym.simulator import SchedulerOptions
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from tests.evaluation.helpers import TINY

pytestmark = pytest.mark.small


def settings(**changes: Any) -> EvaluationSettings:
    values: dict[str, Any] = {
        "scenario": TINY,
        "policies": ("np-fcfs", "hpf"),
        "mechanisms": {"np-fcfs": ("checkpoint",), "hpf": ("checkpoint", "drain")},
    }
    return EvaluationSettings(**values | changes)


def test_plain_data_read_back_are_the_same_settings() -> None:
    unlimited = NPUConfig(host_link_bytes_per_s=math.inf)
    own = settings(
        scenario=replace(TINY, hardware=unlimited),
        workloads=7,
        seed=3,
        relative_to="hpf",
        play=PlaySettings(
            estimate="calibrated",
            slots=2,
            options=SchedulerOptions(token_wait="total", sticky_drain=True),
            max_decisions=500,
        ),
        resamples=50,
        per_workload=True,
        bounds=True,
    )
    text = json.dumps(own.to_dict(), allow_nan=False)
    assert EvaluationSettings.from_dict(json.loads(text)) == own


def test_reports_of_older_versions_say_oracle() -> None:
    for oracle, estimate in ((False, "algorithm1"), (True, "oracle")):
        old = settings().to_dict() | {"oracle": oracle}
        del old["estimate"]
        assert EvaluationSettings.from_dict(old).play.estimate == estimate


def test_the_layout_of_plain_data() -> None:
    assert list(settings().to_dict()) == [
        *("scenario", "drawn_by", "policies", "mechanisms", "workloads", "seed", "workload"),
        "relative_to",
        *("estimate", "slots", "options", "max_decisions", "resamples", "per_workload", "bounds"),
    ]


def test_as_many_workloads_as_asked_for_or_given_or_the_default() -> None:
    batch = sample_batch(compile_scenario(TINY), range(3))
    assert settings().num_workloads == DEFAULT_WORKLOADS
    assert settings(workloads=5).num_workloads == 5
    assert settings(workload=batch).num_workloads == 3
    assert settings(workload=batch).to_dict()["workloads"] == 3
    with pytest.raises(ConfigError, match="workloads is 4, but 3 are given: leave it out"):
        settings(workload=batch, workloads=4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policies": ()}, "policies must be at least one policy by name, got none"),
        ({"workloads": 0}, "workloads must be a whole number from 1 to 100000, or None, got 0"),
        ({"workloads": 100_001}, "workloads must be a whole number from 1 to 100000"),
        ({"workloads": True}, "workloads must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"resamples": 2.5}, "resamples must be a whole number of at least 1, got 2.5"),
        ({"per_workload": 1}, "per_workload must be true or false, got 1"),
        ({"bounds": 1}, "bounds must be true or false, got 1"),
        ({"relative_to": 3}, "relative_to must be a non-empty text, got 3"),
    ],
)
def test_what_is_not_allowed_gets_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings(**changes)


def test_names_are_those_of_the_policies() -> None:
    with pytest.raises(UnknownNameError, match="'np-fcsf' in relative_to; did you mean 'np-fcfs'"):
        settings(relative_to="np-fcsf")


def test_sticky_drain_without_drains_is_refused() -> None:
    sticky = PlaySettings(options=SchedulerOptions(sticky_drain=True))
    settings(play=sticky)
    with pytest.raises(ConfigError, match="no policy was made with 'drain'"):
        settings(play=sticky, mechanisms={"np-fcfs": ("checkpoint",)})


def test_mistakes_in_plain_data_say_where_they_are() -> None:
    data = settings().to_dict()
    with pytest.raises(UnknownNameError, match="unknown key 'slot' in mine; did you mean 'slots'"):
        EvaluationSettings.from_dict(data | {"slot": 3}, where="mine")
    with pytest.raises(ConfigError, match="mine: slots must be a whole number"):
        EvaluationSettings.from_dict(data | {"slots": "many"}, where="mine")
