"""Do the compiled engine and the slow reference agree, cycle for cycle, on random cases?

Compared at every decision: the clock, every counter, the whole table (float32, exactly) and the
mask; at the end: every field of every task's record, and the timeline. A failure names the case's
seed and the first difference in time; ``make_case(seed)`` shows the case.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from prema_gym.simulator import QUANTUM_LEFT_MS, RUNNING
from prema_gym.simulator.state import DROPPED, REJECTED
from tests.simulator.random_cases import THEMES, make_case, make_policy, theme_of
from tests.simulator.twins import first_difference, play_engine, play_reference, replay

NUM_CASES = 600
SMALL = 2 * len(THEMES)  # two rounds of themes, repeated without JIT and with bounds checks
SEEDS = [
    pytest.param(seed, marks=pytest.mark.small) if seed < SMALL else seed
    for seed in range(NUM_CASES)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_engine_and_reference_agree(seed: int) -> None:
    case = make_case(seed)
    reference = play_reference(case, make_policy(seed, case))
    engine = play_engine(case, replay(reference.actions))
    difference = first_difference(reference, engine)
    assert difference is None, f"seed {seed} ({theme_of(seed)}): {difference}\n{case}"


def test_the_cases_reach_what_they_should() -> None:
    # Guards the draw, not the engine: corners that no case entered would be compared in vain.
    seen: Counter[str] = Counter()
    for seed in range(0, 200):
        case = make_case(seed)
        outcome = play_engine(case, make_policy(seed, case))
        for name in ("checkpoints", "kills", "drains", "host_moves", "restore_cycles"):
            seen[name] += any(task[name] > 0 for task in outcome.tasks)
        seen["repeated preemption"] += any(task["dispatches"] > 2 for task in outcome.tasks)
        seen["queue"] += len(case.tasks) > case.slots
        seen["illegal"] += outcome.counters["illegal_actions"] > 0
        seen["truncated"] += outcome.truncated
        seen["completed"] += not outcome.truncated
        idle = [start for kind, _, start, _ in outcome.timeline if kind == "idle"]
        seen["dropped"] += any(task["completion_cycles"] == DROPPED for task in outcome.tasks)
        seen["rejected"] += any(task["completion_cycles"] == REJECTED for task in outcome.tasks)
        seen["idle gap"] += max(idle, default=0) > 0
        seen["equal arrivals"] += len({task.arrival for task in case.tasks}) < len(case.tasks)
        seen["asked at a quantum's end"] += any(
            np.any((table[:, RUNNING] == 1) & (table[:, QUANTUM_LEFT_MS] == 0))
            for table, _ in outcome.questions
        )
        seen[case.token_wait] += 1
    assert min(seen.values()) >= 5, seen
    assert len(seen) == 18
