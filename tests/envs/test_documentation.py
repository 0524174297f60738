from __future__ import annotations

import re
from pathlib import Path

import pytest

from prema_gym import baselines
from prema_gym.evaluation.compare import evaluate
from prema_gym.workloads import scenarios

PAGE = Path(__file__).parents[2] / "docs" / "environment.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_ten_lines_print_what_an_evaluation_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(BLOCKS) == 6
    code = [line for line in BLOCKS[0].splitlines() if line and not line.startswith("import")]
    assert len(code) <= 10
    exec(compile(BLOCKS[0], str(PAGE), "exec"), {"__name__": "example"})
    printed = [float(number) for number in capsys.readouterr().out.split()]
    policies = {"dynamic-prema": baselines.make("dynamic-prema")}
    scenario = scenarios.get("paper")
    report = evaluate(scenario, policies, workloads=1, seed=3, relative_to="dynamic-prema")
    metrics = report.policies["dynamic-prema"].metrics
    assert printed == pytest.approx([metrics["antt"].mean, metrics["fairness"].mean])


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_an_example_runs_as_written(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, str(PAGE), "exec"), {"__name__": "example"})  # our own page
    printed = capsys.readouterr().out
    assert ("print" in block) == bool(printed)
