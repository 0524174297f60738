from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from prema_gym.views.timelines import WRITERS
from tests.cli.command_line import run


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_is_written(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"schedule{ending}"
    status, out, err = run(
        capsys, "timeline", "--policies", "np-fcfs,kill-prema", "--seed", "3", "--output", str(path)
    )
    assert (status, out) == (0, f"wrote {path}\n")
    assert ("ui.perfetto.dev" in err) == (ending in (".json", ".pftrace"))
    assert 1_000 < path.stat().st_size < 1_000_000
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_slices_say_whose_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.csv"
    run(capsys, "timeline", "--policies", "np-fcfs,np-sjf", "--seed", "3", "--output", str(path))
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["policy"], row["seed"]) for row in rows} == {("np-fcfs", "3"), ("np-sjf", "3")}
    assert all(row["schedule"].startswith(f"{row['policy']} · paper, seed 3") for row in rows)


def test_any_policy_on_a_workload_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "duel.json").write_text(json.dumps(
        {"tasks": [{"network": "googlenet"}, {"network": "alexnet", "arrival_ms": 1.0}]}
    ))  # fmt: skip
    (tmp_path / "mine.py").write_text(
        "class Mine:\n def predict(self, observation, state=None, action_masks=None, **_):\n"
        "  return action_masks.argmax(axis=-1), state\n"
    )
    path = tmp_path / "trace.json"
    status, _, err = run(
        capsys, "timeline", "--policies", f"{tmp_path}/mine.py:Mine", "--workload",
        str(tmp_path / "duel.json"), "--output", str(path),
    )  # fmt: skip
    assert status == 0, err
    names = {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    assert {"0 googlenet ×1 π=3", "1 alexnet ×1 π=3"} <= names or "0 googlenet ×1 π=1" in names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--output", "x.bmp"), "x.bmp must end in .pftrace, .json"),
        (("--output", "nowhere/x.png"), "there is no folder nowhere"),
        (("--output", "x.png", "--policies", "np-fcfs,np-fcfs"), "'np-fcfs' is named twice"),
        (("--output", "x.png", "--from-ms", "3", "--to-ms", "2"), "got 3.0 and 2.0"),
        (("--output", "x.png", "--policies", "np-fcsf"), "did you mean 'np-fcfs'?"),
        (("--output", "x.png", "--seed", "-1"), "seed must be a whole number"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "timeline", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
