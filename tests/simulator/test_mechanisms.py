"""One table of mechanisms: codes, names, counters, and the check of what a user names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.metrics import METRICS
from prema_gym.simulator import MECHANISMS, TASK_DTYPE, Mechanism, SchedulerOptions
from prema_gym.simulator.mechanisms import check_mechanisms
from prema_gym.simulator.options import engine_options
from prema_gym.simulator.state import NONE

CONTRACT = Path(__file__).parents[2] / "docs" / "simulator.md"

pytestmark = pytest.mark.small


def test_a_name_stands_where_its_code_says() -> None:
    assert [MECHANISMS[mechanism].upper() for mechanism in Mechanism] == list(Mechanism.__members__)


def test_every_mechanism_is_counted_reported_and_described() -> None:
    reported = {metric.name: metric.title for metric in METRICS}
    for mechanism in Mechanism:
        assert mechanism.counter in (TASK_DTYPE.names or ())
        assert reported[mechanism.counter] == mechanism.heading
        assert f"- **{mechanism.name}**: " in CONTRACT.read_text()


@pytest.mark.parametrize(
    ("given", "kept"),
    [("kill", ("kill",)), (["drain", "kill"], ("drain", "kill")), (MECHANISMS, MECHANISMS)],
)
def test_names_are_kept_in_their_order(given: Any, kept: tuple[str, ...]) -> None:
    assert check_mechanisms(given) == kept


@pytest.mark.parametrize("given", [(), ("kill", "kill"), 3, None, {"kill": 1}, (1,), [["kill"]]])
def test_what_is_no_list_of_different_names_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="mechanism"):
        check_mechanisms(given)


def test_an_unknown_name_brings_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'checkpoint'"):
        check_mechanisms(("checkpiont",))


@pytest.mark.parametrize("names", [("drain",), ("kill", "drain"), MECHANISMS])
def test_the_engine_reads_as_many_codes_as_there_are_mechanisms(names: tuple[str, ...]) -> None:
    # Of one length whatever is offered: one compiled engine serves every action space.
    options = engine_options(SchedulerOptions(), names, quantum_cycles=1, clock_hz=1e3)
    assert len(options.mechanisms) == len(Mechanism)
    assert options.num_mechanisms == len(names)
    assert [MECHANISMS[code] for code in options.mechanisms[: len(names)]] == list(names)
    assert set(options.mechanisms[len(names) :]) <= {NONE}
