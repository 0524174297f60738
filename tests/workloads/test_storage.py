from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prema_gym.errors import ConfigError, PremaError, UnknownNameError, WorkloadError
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.storage import load_workload, save_workload
from prema_gym.workloads.tasks import TaskSpec, workload_from_tasks


@settings(
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
def test_a_saved_workload_is_loaded_equal(catalog: Catalog, tmp_path: Path, seed: int) -> None:
    workload = sample_batch(catalog, [seed]).row(0)
    path = tmp_path / "w.json"
    save_workload(path, workload, catalog)
    assert load_workload(path, catalog) == workload
    assert [p.name for p in tmp_path.iterdir()] == ["w.json"]


@pytest.mark.parametrize("clock_hz", [1, 699_999_999, 10**12])
def test_times_survive_at_any_clock(catalog: Catalog, tmp_path: Path, clock_hz: int) -> None:
    other = compile_scenario(
        replace(catalog.scenario, hardware=NPUConfig(clock_hz=clock_hz), quantum_ms=1e9)
    )
    workload = sample_batch(other, [1]).row(0)
    save_workload(tmp_path / "w.json", workload, other)
    assert load_workload(tmp_path / "w.json", other) == workload


def test_the_file_is_readable(catalog: Catalog, tmp_path: Path) -> None:
    specs = [
        TaskSpec(network="rnn-mt1", arrival_ms=1.25, priority=3, input_length=8, output_length=9)
    ]
    path = tmp_path / "w.json"
    save_workload(path, workload_from_tasks(catalog, specs), catalog)
    data = json.loads(path.read_text())
    assert data["scenario"] == "small"
    assert data["clock_hz"] == 700_000_000
    task = data["tasks"][0]
    assert (task["network"], task["input_length"], task["output_length"]) == ("rnn-mt1", 8, 9)
    assert (task["arrival_ms"], task["arrival_cycles"]) == (1.25, 875_000)
    assert task["isolated_ms"] == pytest.approx(task["isolated_cycles"] / 700_000, abs=1e-6)
    assert len(path.read_text().splitlines()) == 8  # a line a task


def test_a_hand_written_file_needs_only_networks(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text('{"tasks": [{"network": "rnn-sa", "arrival_ms": 2}, {"network": "rnn-mt1"}]}')
    specs = [TaskSpec(network="rnn-sa", arrival_ms=2), TaskSpec(network="rnn-mt1")]
    assert load_workload(path, catalog) == workload_from_tasks(catalog, specs)


def test_a_file_for_other_hardware_is_refused(catalog: Catalog, tmp_path: Path) -> None:
    other = compile_scenario(replace(catalog.scenario, hardware=NPUConfig(array_rows=64)))
    path = tmp_path / "w.json"
    save_workload(path, sample_batch(catalog, [0]).row(0), catalog)
    with pytest.raises(WorkloadError, match=r"w\.json: task 0: isolated_cycles is .* saved for"):
        load_workload(path, other)


def test_cycles_are_checked_against_the_right_task(catalog: Catalog, tmp_path: Path) -> None:
    """The file's tasks need not be in order of arrival."""
    path = tmp_path / "w.json"
    late = {"network": "rnn-sa", "arrival_ms": 2, "arrival_cycles": 1_400_000}
    early = {"network": "rnn-mt1", "arrival_ms": 1, "arrival_cycles": 700_000}
    path.write_text(json.dumps({"tasks": [late, early]}))
    assert load_workload(path, catalog).network.tolist() == [2, 1]
    path.write_text(json.dumps({"tasks": [late, early | {"arrival_cycles": 700_001}]}))
    with pytest.raises(WorkloadError, match="task 1: arrival_cycles is 700001 in the file"):
        load_workload(path, catalog)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{", ConfigError, "not valid JSON: .*line 1"),
        ("[]", WorkloadError, 'list of "tasks"'),
        ('{"tasks": {}}', WorkloadError, 'list of "tasks"'),
        ('{"tasks": []}', WorkloadError, "at least one task"),
        ('{"tasks": [3]}', ConfigError, "task 0 must be a table of values by name, got 3"),
        ('{"tasks": [{"batch": 1}]}', ConfigError, "task 0 must have network"),
        ('{"tasks": [{"network": "rnn-sa", "prio": 1}]}', UnknownNameError, "task 0.*'priority'"),
        ('{"tasks": [{"network": "rnn-sa"}], "task": 1}', UnknownNameError, "mean 'tasks'"),
        ('{"tasks": [{"network": "rnn-sa", "batch": 3}]}', WorkloadError, "task 0: batch 3"),
        ('{"tasks": [{"network": "x"}]}', UnknownNameError, "unknown network 'x'"),
        ('{"tasks": [{"network": "rnn-sa", "arrival_ms": NaN}]}', ConfigError, "NaN is not"),
        (
            '{"format_version": 2, "tasks": []}',
            WorkloadError,
            "format_version is 2 in the file",
        ),
        ('{"tasks": [{"network": "rnn-sa", "priority": 0}]}', ConfigError, "task 0: priority must"),
        ("[" * 100_000, ConfigError, "not valid JSON"),
        (
            '{"clock_hz": 1, "tasks": []}',
            WorkloadError,
            "clock_hz is 1 in the file",
        ),
        ('{"tasks": [{"network": "rnn-sa", "network": "x"}]}', ConfigError, "'network' twice"),
    ],
)
def test_mistakes_name_file_and_place(
    catalog: Catalog, tmp_path: Path, text: str, error: type[PremaError], message: str
) -> None:
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(error, match=message) as caught:
        load_workload(path, catalog)
    assert "w.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_used(catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.json"):
        load_workload(tmp_path / "none.json", catalog)
    with pytest.raises(ConfigError, match="named by a path, got 3"):
        load_workload(3, catalog)  # type: ignore[arg-type]
    path = tmp_path / "w.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_workload(path, catalog)
    workload = sample_batch(catalog, [0]).row(0)
    with pytest.raises(ConfigError, match="cannot write"):
        save_workload(tmp_path / "no" / "w.json", workload, catalog)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="cannot write"):
        save_workload(tmp_path / "folder", workload, catalog)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "w.json"]
