"""The room's front door: what it offers, and that reading the table compiles nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from prema_gym import simulator
from prema_gym.simulator.observation import COLUMNS
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.unchecked import UncheckedSimulator

ROOT = Path(__file__).parents[2]


@pytest.mark.small
def test_every_public_name_is_there_and_listed() -> None:
    for name in simulator.__all__:
        assert getattr(simulator, name) is not None
        assert name in dir(simulator)
    with pytest.raises(AttributeError, match="no attribute 'Simulater'"):
        _ = simulator.Simulater


@pytest.mark.small
def test_every_column_has_its_index_at_the_front_door() -> None:
    for index, column in enumerate(COLUMNS):
        assert getattr(simulator, column.name.upper()) == index
        assert column.name.upper() in simulator.__all__


def test_a_rule_that_reads_the_table_loads_no_compiler() -> None:
    code = (
        "import sys\n"
        "from prema_gym.simulator import COLUMNS, MECHANISMS, PRIORITY\n"
        "assert 'numba' not in sys.modules, 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pages_teach_no_path_behind_the_door() -> None:
    deeper = re.compile(r"(?:from|import) prema_gym\.simulator\.\w+")
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    assert [page.name for page in pages if deeper.search(page.read_text())] == []


@pytest.mark.small
def test_what_is_unchecked_lies_in_one_class() -> None:
    unchecked = {
        "load_arrays",
        "step_range",
        "make_room",
        "renew_tables",
        "engine_arguments",
        "words",
    }
    assert unchecked <= vars(UncheckedSimulator).keys()
    assert not unchecked & vars(Simulator).keys()
