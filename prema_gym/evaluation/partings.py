"""Where do two policies part on one workload, and how much is won or lost at each parting?

Let V(k) be the metric when A decides up to its k-th decision and B from there on. V(0) is B's value
and V at the end A's, and V changes only where the two would choose differently: so the differences
V(k+1) − V(k) of these partings add up to the whole difference between A and B, exactly. Every V is
played, all of them side by side as one batch. Source: ours (a telescoping sum over hybrids).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import ConfigError
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.evaluation.policy import Decider, mechanisms_of
from prema_gym.evaluation.recording import Recording, record
from prema_gym.metrics import FloatArray, IntArray, Metric
from prema_gym.simulator import MECHANISMS, NONE
from prema_gym.simulator import observation as col
from prema_gym.simulator.readings import Readings
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadBatch

CHUNK = 256
"""Hybrids played side by side."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Parting:
    """A decision of A at which B would have chosen otherwise.

    Attributes:
        decision: Its number among A's decisions.
        cycles: When it was.
        table: What both saw, float32 (slots, columns).
        occupants: Task in each slot, int64 (slots,).
        first: A's action.
        second: B's action.
        won: How much better the metric is for A's choice, B deciding from there on; below 0: worse.
        ntt_first: NTT of each task then, float64 (tasks,).
        ntt_second: NTT of each task with B's choice, float64 (tasks,).
    """

    decision: int
    cycles: int
    table: NDArray[np.float32]
    occupants: IntArray
    first: int
    second: int
    won: float
    ntt_first: FloatArray
    ntt_second: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Partings:
    """Two policies on one workload.

    Attributes:
        metric: What is won or lost.
        first: A's play.
        second: B's play.
        values: The metric for A and for B.
        partings: In order of time.
    """

    metric: Metric
    first: Recording
    second: Recording
    values: tuple[float, float]
    partings: tuple[Parting, ...]


def find_partings(
    policies: Sequence[Decider],
    names: Sequence[str],
    catalog: Catalog,
    workload: WorkloadBatch,
    metric: Metric,
    settings: PlaySettings | None = None,
) -> Partings:
    """Play one workload under two policies and find where they part.

    Args:
        policies: A and B.
        names: What reports call them.
        catalog: The compiled scenario.
        workload: One workload.
        metric: What is won or lost; one with a better direction.
        settings: What both play with; None: the defaults.

    Raises:
        ConfigError: A policy cannot be played, or the metric has no better direction.
    """
    if metric.better is None:
        raise ConfigError(f"metric {metric.name!r} has no better direction, so nothing is won")
    first, second = (Ported(policy) for policy in policies)
    noted = record(
        _Handover(first, second, np.array([np.iinfo(np.int64).max])), names[0], catalog, workload,
        settings, tables=True,
    )  # fmt: skip
    other = record(second, names[1], catalog, workload, settings, tables=True)
    asked = _Asked(first, second)
    play(asked, catalog, workload, settings)
    actions = np.array(asked.answers, np.int64).reshape(-1, 2)
    at = np.flatnonzero(actions[:, 0] != actions[:, 1])
    values, ntt = _hybrids(first, second, at, catalog, workload, metric, settings)
    sign = 1.0 if metric.better == "higher" else -1.0
    assert noted.tables is not None
    assert noted.occupants is not None
    found = [
        Parting(
            decision=k,
            cycles=noted.decisions[k].cycles,
            table=noted.tables[k],
            occupants=noted.occupants[k],
            first=int(actions[k, 0]),
            second=int(actions[k, 1]),
            won=sign * float(values[i + 1] - values[i]),
            ntt_first=ntt[i + 1],
            ntt_second=ntt[i],
        )
        for i, k in enumerate(at.tolist())
    ]
    return Partings(
        metric=metric,
        first=noted,
        second=other,
        values=(float(metric.values(noted.outcomes)[0]), float(metric.values(other.outcomes)[0])),
        partings=tuple(found),
    )


def _hybrids(
    first: Ported,
    second: Ported,
    at: IntArray,
    catalog: Catalog,
    workload: WorkloadBatch,
    metric: Metric,
    settings: PlaySettings | None,
) -> tuple[FloatArray, FloatArray]:
    """The metric and each task's NTT when B takes over at each parting, and when it never does."""
    ends = np.append(at, np.iinfo(np.int64).max)
    values, ntt = [], []
    for start in range(0, len(ends), CHUNK):
        some = ends[start : start + CHUNK]
        copies = workload.rows([0] * len(some))
        outcomes = play(_Handover(first, second, some), catalog, copies, settings)
        values.append(metric.values(outcomes))
        ntt.append(outcomes.ntt)
    return np.concatenate(values), np.concatenate(ntt)


class Ported:
    """A policy whose actions index all mechanisms, whatever its own index.

    Attributes:
        mechanisms: All.
        policy: The policy.
    """

    mechanisms = MECHANISMS

    def __init__(self, policy: Decider) -> None:
        self.policy = policy
        self._own = mechanisms_of(policy)

    def prepare(self, simulator: Readings) -> Ported:
        """Let the policy look at the workloads, if it is one that does."""
        prepare = getattr(self.policy, "prepare", None)
        return self if prepare is None else Ported(prepare(simulator))

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,  # noqa: ANN401 - handed through, whatever it is
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[IntArray, Any]:
        """The policy's actions in terms of all mechanisms."""
        slots = observation.shape[1]
        assert action_masks is not None
        # The first mechanism's slots may also be continued or dispatched; the others only displace.
        plain, displacing = action_masks[:, :slots], action_masks[:, slots : 2 * slots]
        masks = np.hstack([plain, *[displacing] * (len(self._own) - 1)])
        answer, state = self.policy.predict(
            observation,
            state=state,
            episode_start=episode_start,
            deterministic=deterministic,
            action_masks=masks,
        )
        index, slot = np.divmod(np.asarray(answer, np.int64), slots)
        running = observation[:, :, col.RUNNING] > 0
        displaces = running.any(axis=1) & ~running[np.arange(len(slot)), slot]
        wide = np.array([MECHANISMS.index(name) for name in self._own])[index]
        return slot + slots * np.where(displaces, wide, 0), state


class _Handover:
    """A policy that does what A does, and from its ``at``-th decision on what B does.

    Both are asked throughout, since either may remember what it saw.
    """

    mechanisms = MECHANISMS

    def __init__(self, first: Ported, second: Ported, at: IntArray) -> None:
        self._first, self._second, self._at = first, second, at

    def prepare(self, simulator: Readings) -> _Handover:
        """Let both look at the workloads."""
        first, second = self._first.prepare(simulator), self._second.prepare(simulator)
        return _Handover(first, second, self._at)

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,  # noqa: ANN401 - what both remember
        **given: Any,  # noqa: ANN401
    ) -> tuple[IntArray, Any]:
        """A's or B's actions. The state is never None, so every row is in every call."""
        step, own, other = (0, None, None) if state is None else state
        mine, own = self._first.predict(observation, state=own, **given)
        theirs, other = self._second.predict(observation, state=other, **given)
        return np.where(step < self._at, mine, theirs), (step + 1, own, other)


class _Asked(_Handover):
    """A, with note taken of what B would have done."""

    def __init__(self, first: Ported, second: Ported) -> None:
        super().__init__(first, second, np.array([np.iinfo(np.int64).max]))
        self.answers: list[tuple[int, int]] = []

    def prepare(self, simulator: Readings) -> _Asked:
        """Let both look at the workload."""
        self._first, self._second = (
            self._first.prepare(simulator),
            self._second.prepare(simulator),
        )
        return self

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,  # noqa: ANN401
        **given: Any,  # noqa: ANN401
    ) -> tuple[IntArray, Any]:
        """A's action."""
        own, other = (None, None) if state is None else state
        mine, own = self._first.predict(observation, state=own, **given)
        theirs, other = self._second.predict(observation, state=other, **given)
        self.answers.append((int(mine[0]), int(theirs[0])))
        return mine, (own, other)


def decided_by(policy: Decider, parting: Parting) -> list[str] | None:
    """Columns that decide: with one of them swapped between the two tasks, the choice changes.

    Args:
        policy: A or B.
        parting: Where they part.

    Returns:
        Names of columns, perhaps none; None where the policy, asked about this table alone, would
        have chosen otherwise than it did: it goes by what it remembers.
    """
    ported = Ported(policy)
    slots = len(parting.table)
    one, two = parting.first % slots, parting.second % slots
    differing = [
        index
        for index in range(len(col.COLUMNS))
        if index not in (col.PRESENT, col.RUNNING, col.ORDER)
        and parting.table[one, index] != parting.table[two, index]
    ]
    asked = _with_swaps(parting.table, one, two, differing)
    masks = np.tile(_legal(parting), (len(asked), 1))
    start = np.ones(len(asked), bool)
    try:
        answer, _ = ported.predict(asked, episode_start=start, action_masks=masks)
    except ConfigError:  # one that looks ahead says so itself
        return None
    if answer[0] not in (parting.first, parting.second):
        return None
    return [
        col.COLUMNS[index].name
        for index, new in zip(differing, answer[1:], strict=True)
        if new % slots != answer[0] % slots
    ]


def _with_swaps(
    table: NDArray[np.float32], one: int, two: int, columns: Sequence[int]
) -> NDArray[np.float32]:
    """The table, then the table with each column's values at the two slots exchanged."""
    tables = np.repeat(table[np.newaxis], len(columns) + 1, axis=0)
    for row, index in enumerate(columns, 1):
        tables[row, [one, two], index] = table[[two, one], index]
    return tables


def _legal(parting: Parting) -> NDArray[np.bool_]:
    """What both could choose from, in terms of all mechanisms: bool (actions,)."""
    there = parting.occupants != NONE
    running = parting.table[:, col.RUNNING] > 0
    displacing = there & ~running & running.any()
    return np.concatenate([there, *[displacing] * (len(MECHANISMS) - 1)])


def moved_most(policy: Any, parting: Parting) -> list[tuple[str, float]]:  # noqa: ANN401
    """What moved the scores of a policy that has them: columns by their share in the lead.

    Args:
        policy: One with ``scores(observation)``.
        parting: Where it parts from another.

    Returns:
        (column, how much smaller the lead of the task it chose over the other's gets with this
        column swapped between the two), the largest first.
    """
    slots = len(parting.table)
    one, two = parting.first % slots, parting.second % slots
    columns = [i for i in range(len(col.COLUMNS)) if parting.table[one, i] != parting.table[two, i]]
    columns = [i for i in columns if i not in (col.PRESENT, col.RUNNING, col.ORDER)]
    scores = policy.scores(_with_swaps(parting.table, one, two, columns))
    lead = scores[:, one] - scores[:, two]
    sign = 1.0 if lead[0] >= 0 else -1.0
    moved = [
        (col.COLUMNS[i].name, sign * float(lead[0] - lead[r])) for r, i in enumerate(columns, 1)
    ]
    return sorted(moved, key=lambda pair: -abs(pair[1]))
