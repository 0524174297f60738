"""Do the pages on environments and rewards say what is so, and do their examples run?"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.evaluation.compare import evaluate
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.state import TASK_INPUTS, TASK_RECORDS
from prema_gym.workloads import scenarios
from tests.envs.helpers import single, vector

DOCS = Path(__file__).parents[2] / "docs"
ENVIRONMENT, REWARDS = (DOCS / name for name in ("environment.md", "rewards.md"))

# What may change with the scheduler's own bookkeeping, so that no page promises it.
UNPROMISED = {
    "status",
    "quantum_end_cycles",
    "draining",
    "drain_slot",
    "num_slices",
    "known_cycles",
    "numbered",
    "stop_number",
    *(f"boundary_{what}" for what in ("cycles", "context_bytes", "save_cycles", "resume_cycles")),
    *(f"boundary_{what}" for what in ("next_layer_cycles", "to_host")),
}


def blocks(page: Path) -> list[str]:
    """The Python code on a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def tables(page: Path) -> dict[str, list[list[str]]]:
    """The rows of each table on a page, by the first cell of its heading and its first row's."""
    found: dict[str, list[list[str]]] = {}
    for text in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE):
        _, _, *rows = (
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in text.splitlines()
        )
        found[rows[0][0]] = rows
    return found


EXAMPLES = [
    pytest.param(page, block, id=f"{page.stem}-{k}")
    for page in (ENVIRONMENT, REWARDS)
    for k, block in enumerate(blocks(page))
]


def test_ten_lines_print_what_an_evaluation_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(EXAMPLES) == 10
    first = blocks(ENVIRONMENT)[0]
    code = [line for line in first.splitlines() if line and not line.startswith("import")]
    assert len(code) <= 10
    exec(compile(first, str(ENVIRONMENT), "exec"), {"__name__": "example"})
    printed = [float(number) for number in capsys.readouterr().out.split()]
    policies = {"dynamic-prema": baselines.make("dynamic-prema")}
    scenario = scenarios.get("paper")
    report = evaluate(scenario, policies, workloads=1, seed=3, relative_to="dynamic-prema")
    metrics = report.policies["dynamic-prema"].metrics
    assert printed == pytest.approx([metrics["antt"].mean, metrics["fairness"].mean])


@pytest.mark.parametrize(("page", "block"), EXAMPLES)
def test_an_example_runs_as_written(
    page: Path, block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(block, str(page), "exec"), {"__name__": "example"})  # our own page
    printed = capsys.readouterr().out
    assert ("print" in block) == bool(printed)


def test_a_function_gives_what_the_rewards_add_up_to(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(blocks(REWARDS)[0], str(REWARDS), "exec"), {"__name__": "example"})
    total, shown = capsys.readouterr().out.split()
    assert float(total) == float(shown.strip("[]")) < 0


def unit_of(name: str) -> str | None:
    """The unit that a name ends with, if it does."""
    return next((unit for unit in ("cycles", "bytes", "ms") if name.endswith(f"_{unit}")), None)


def test_the_arrays_on_the_page_are_the_simulators() -> None:
    simulator: Simulator = vector(2).simulator
    shown = tables(REWARDS)
    tasks, env = shown["arrival_cycles"], shown["num_tasks"]
    assert [row[0] for row in tasks] == [*TASK_INPUTS, *TASK_RECORDS]
    names = [name for name in simulator.env.dtype.names or () if name not in UNPROMISED]
    assert [row[0] for row in env] == names
    for rows, array in ((tasks, simulator.tasks), (env, simulator.env)):
        for name, dtype, unit, meaning in rows:
            assert array[name].dtype == np.dtype(dtype), name
            assert unit_of(name) in (None, unit), name
            assert unit
            assert meaning
    assert simulator.tasks.shape == (2, simulator.max_tasks)
    sizes = {"B": 2, "N": simulator.max_tasks, "slots": simulator.slots}
    sizes |= {"columns": simulator.observation.shape[2], "actions": simulator.num_actions}
    for name, dtype, shape, _, _ in shown["task_present"]:
        array = getattr(simulator, name)
        assert array.dtype == np.dtype(dtype), name
        assert array.shape == tuple(sizes[one] for one in re.findall(r"\w+", shape)), name


def test_the_simulator_is_there_for_readers() -> None:
    env = single()
    env.reset(seed=0)
    assert env.simulator.env["num_tasks"].tolist() == [4]
    np.testing.assert_array_equal(env.simulator.mask[0], env.action_masks())
