"""Which action does a policy take? Compiled: its rule on a table, its way of preempting.

The same functions decide for ``predict``, a batch of observation tables at a time, and inside the
loops that play workloads (`prema_gym.evaluation.compiled`), a table at a time. A table here is its
present rows alone, float64 (num_tasks, columns), in any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.policy import NO_RULE, Policy, Program, Way
from prema_gym.baselines.registry import POLICIES
from prema_gym.baselines.scoring import NO_ROW, Numbers, Seen
from prema_gym.baselines.table import Table
from prema_gym.baselines.uniform import drawn, row_hash
from prema_gym.compiled.jit import in_place, inlined
from prema_gym.compiled.straight import switch
from prema_gym.simulator.observation import (
    ESTIMATED_MS,
    NUM_COLUMNS,
    ORDER,
    PRESENT,
    REMAINING_MS,
    RUNNING,
    SLACK_MS,
)

Rows = NDArray[np.float64]  # (num_tasks or more, columns)

_ORDERINGS = tuple(dict.fromkeys(kind for _, kind in POLICIES.values() if kind.rule is not None))
"""Every ordering with a rule; its position is the rule's number."""
_RULES = [kind.rule for kind in _ORDERINGS if kind.rule is not None]

_score = switch("score", "row, seen, numbers", [rule.score for rule in _RULES], "0.0")
_among = switch("among", "row, seen, numbers", [rule.among for rule in _RULES], "True")
_measure = switch("measure", "row, seen, numbers", [rule.measure for rule in _RULES], "0.0")
_keeps = switch("keeps", "runner, best, seen, numbers", [rule.keeps for rule in _RULES], "False")
_BY_CHANCE = tuple(rule.by_chance for rule in _RULES)
_NEVER, _WEIGHED, _CHANCE = int(Way.NEVER), int(Way.WEIGHED), int(Way.BY_CHANCE)
NO_WISH = -1
"""The rule says whom to run, nobody else did."""


def number_of(ordering: Ordering) -> int:
    """Number of an ordering's rule; NO_RULE where it has none that compiled code knows."""
    kind = type(ordering)
    return _ORDERINGS.index(kind) if kind in _ORDERINGS else NO_RULE


def program_of(policy: object) -> Program | None:
    """The program that decides as a policy's ``predict`` does; None: only ``predict`` can."""
    if not isinstance(policy, Policy) or number_of(policy.ordering) == NO_RULE:
        return None
    kind = type(policy)
    own = (kind.predict, kind.decide, kind.actions)
    if own != (Policy.predict, Policy.decide, Policy.actions):
        return None
    return policy.program


def choose(ordering: Ordering, table: Table) -> NDArray[np.int64]:
    """Slot that an ordering would run in each table, int64 (envs,): as on a free machine."""
    program = Program(number_of(ordering), int(Way.ALWAYS), 0, 0, 1, ordering.numbers)
    return decide(program, table, None)


def decide(program: Program, table: Table, wishes: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Action in each table, int64 (envs,); 0 where a table is empty.

    Args:
        program: The policy.
        table: The tables.
        wishes: Slot that the ordering would run in each, (envs,); None: its rule says.
    """
    observation = np.ascontiguousarray(table.observation)
    num_envs, slots = observation.shape[:2]
    given = np.full(num_envs, NO_WISH, np.int64) if wishes is None else wishes.astype(np.int64)
    actions = np.empty(num_envs, np.int64)
    rows, places = np.empty((slots, NUM_COLUMNS)), np.empty(slots, np.int64)
    with np.errstate(over="ignore"):  # hashes wrap around, where they are not compiled
        decide_all(program, observation, given, rows, places, actions)
    return actions


@in_place
def decide_all(
    program: Program,
    observation: NDArray[np.float32],
    wishes: NDArray[np.int64],
    rows: Rows,
    places: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> None:
    """Write the action in each table of a batch.

    Args:
        program: The policy.
        observation: float32 (envs, slots, columns).
        wishes: int64 (envs,), slots, or NO_WISH where the rule says.
        rows: Working space, (slots, columns).
        places: Working space, (slots,).
        actions: int64 (envs,), written.
    """
    slots = observation.shape[1]
    for env in range(observation.shape[0]):
        # No literals: to the compiler each would be a type of its own.
        count: Any = np.int64(0)
        wish: Any = np.int64(NO_WISH)
        for slot in range(slots):
            if observation[env, slot, PRESENT] > 0:
                for column in range(NUM_COLUMNS):
                    rows[count, column] = observation[env, slot, column]
                places[count] = slot
                if slot == wishes[env]:
                    wish = count
                count += 1
        actions[env] = 0
        if count > 0:
            row, mechanism_index = decide_one(program, rows, count, wish)
            actions[env] = places[row] + slots * mechanism_index


@in_place
def decide_one(program: Program, rows: Rows, count: int, wish: int) -> tuple[int, int]:
    """Row of the task to run, and position of the mechanism to do it by."""
    runner: Any = np.int64(NO_ROW)
    for i in range(count):
        if rows[i, RUNNING] > 0:
            runner = i
    if program.way == _NEVER and runner != NO_ROW:
        return runner, 0
    if program.way == _CHANCE:
        return _by_chance(program, rows, count, runner)
    best = _choose(program, rows, count, runner) if wish == NO_WISH else wish
    if runner == NO_ROW or best == runner:
        return best, 0
    if program.way == _WEIGHED and _weight(rows, best) > _weight(rows, runner):
        return (runner, 0) if program.drain < 0 else (best, program.drain)
    return best, program.mechanism


@inlined
def _weight(rows: Rows, row: int) -> float:
    """R·E (ms²) of Algorithm 3."""
    return float(rows[row, REMAINING_MS] * rows[row, ESTIMATED_MS])


@in_place
def _choose(program: Program, rows: Rows, count: int, runner: int) -> int:
    """Row of the task that the rule would run."""
    rule, numbers = program.rule, program.numbers
    num_in_time = 0
    for i in range(count):
        num_in_time += rows[i, SLACK_MS] >= 0
    draw = _table_hash(rows, count, numbers) if _BY_CHANCE[rule] else np.uint64(0)
    seen = Seen(count, num_in_time, math.inf, draw)
    least = math.inf
    for i in range(count):
        least = min(least, _measure(rule, rows[i], seen, numbers))
    seen = Seen(count, num_in_time, least, draw)
    best: Any = np.int64(NO_ROW)
    for everyone in range(2 if runner == NO_ROW else 1):  # if nobody may be chosen, all may
        if best == NO_ROW:
            best = _least(rule, rows, count, runner, seen, numbers, everyone > 0)
    if best == NO_ROW:
        return runner
    if (
        runner != NO_ROW
        and best != runner
        and _keeps(rule, rows[runner], rows[best], seen, numbers)
    ):
        return runner
    return int(best)


@in_place
def _least(
    rule: int, rows: Rows, count: int, runner: int, seen: Seen, numbers: Numbers, everyone: bool
) -> int:
    """Row of the least score; ties go to the running task, then to the earlier arrival."""
    best, least = NO_ROW, math.inf
    for i in range(count):
        if everyone or _among(rule, rows[i], seen, numbers):
            score = _score(rule, rows[i], seen, numbers)
            first = best == NO_ROW or score < least
            tied = score == least and best != runner
            if first or (tied and (i == runner or rows[i, ORDER] < rows[best, ORDER])):
                best, least = i, score
    return best


@inlined
def _table_hash(rows: Rows, count: int, numbers: Numbers) -> np.uint64:
    found = np.uint64(0)
    for i in range(count):
        found += row_hash(rows[i], numbers)
    return found


@in_place
def _by_chance(program: Program, rows: Rows, count: int, runner: int) -> tuple[int, int]:
    """The legal action of the largest draw."""
    seen = Seen(count, 0, 0.0, _table_hash(rows, count, program.numbers))
    best, by, largest = 0, 0, np.uint64(0)
    for mechanism_index in range(program.num_mechanisms):
        for i in range(count):
            if mechanism_index == 0 or (runner != NO_ROW and i != runner):
                draw = drawn(rows[i], seen, program.numbers, mechanism_index)
                if draw > largest:
                    best, by, largest = i, mechanism_index, draw
    return best, by
