"""Who has used little so far? A multi-level feedback queue, which needs no estimate at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.scoring import Numbers, Row, Rule, Seen
from prema_gym.checks import declared, positive, whole
from prema_gym.compiled.jit import inlined
from prema_gym.simulator.observation import EXECUTED_MS, QUANTUM_LEFT_MS, RUNNING, SINCE_RUN_MS

_MOST_LEVELS = 32  # slices double: the 32nd would be 2^31 of the first, longer than any run
_BOOST_MS, _FIRST_END = 0, 1  # of an ordering's numbers: the boost, then the work ending each level


@inlined
def _level(row: Row, seen: Seen, numbers: Numbers) -> float:
    """Number of levels that a task has left behind."""
    if row[SINCE_RUN_MS] >= numbers[_BOOST_MS]:  # never the running task, whose L is 0
        return 0.0
    level = 0
    for end in range(_FIRST_END, numbers.shape[0]):
        level += row[EXECUTED_MS] >= numbers[end]
    return float(level)


@inlined
def _waiting_level(row: Row, seen: Seen, numbers: Numbers) -> float:
    return float(numbers.shape[0]) if row[RUNNING] > 0 else _level(row, seen, numbers)


@inlined
def _on_highest(row: Row, seen: Seen, numbers: Numbers) -> bool:
    return row[RUNNING] == 0 and _level(row, seen, numbers) == seen.least


@inlined
def _latest_served(row: Row, seen: Seen, numbers: Numbers) -> float:
    return -row[SINCE_RUN_MS]


@inlined
def _stays(runner: Row, best: Row, seen: Seen, numbers: Numbers) -> bool:
    return runner[QUANTUM_LEFT_MS] > 0 or _level(runner, seen, numbers) < seen.least


@dataclass(frozen=True, kw_only=True)
class MultiLevelFeedback(Ordering):
    """MLFQ: short tasks finish in the upper levels, long ones sink.

    A task's level follows from the work it has done in all, not in its last run, so breaking off
    before a slice is over gains nothing. Level k = 0, 1, … lasts for slice·2^k of work, the lowest
    forever. Inside a level it is round robin by the scheduler's quantum, within which nobody is
    displaced.

    The usual boost of all tasks at fixed times needs a memory of what each had done at the last
    one. Ours: a waiting task unserved for ``boost_ms`` counts as top level until it is served.

    Attributes:
        levels: Number of levels. Default 8: with the slice below the lowest begins at 32 ms of
            work, so that they spread over the lengths of the paper's tasks.
        slice_ms: Work done on the top level [ms]. Default: the paper's scheduling quantum.
        boost_ms: See above [ms]. Default 50 slices, Solaris's ratio (20 ms slices, a boost about
            every second).
    """

    levels: int = declared(8, whole(1, _MOST_LEVELS), help="number of levels")
    slice_ms: float = declared(0.25, positive(), unit="ms", help="work on the highest level")
    boost_ms: float = declared(12.5, positive(), unit="ms", help="wait that lifts to the top")

    sentence = (
        "Run for a quantum each the tasks of the highest level; a task sinks by one after "
        "`slice_ms`·2^level of work and counts as the top when unserved for `boost_ms`"
    )
    source = "Corbato et al., CTSS, 1962; Arpaci-Dusseau, Operating Systems, ch. 8 (Solaris)"
    rule = Rule(score=_latest_served, among=_on_highest, measure=_waiting_level, keeps=_stays)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The boost, then the work at which each level but the lowest ends [ms]."""
        ends = self.slice_ms * (2.0 ** np.arange(1, self.levels) - 1)
        # In the table's precision, so that they compare equal.
        return np.array([self.boost_ms, *ends]).astype(np.float32).astype(np.float64)

    @property
    def settles(self) -> bool:
        """No: the lowest level goes round robin."""
        return False
