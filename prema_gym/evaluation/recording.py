"""What did a policy see, and what did it do? One workload played, with every decision on record.

The policy is asked by the one loop of :mod:`prema_gym.evaluation.playing`; what stands between the
two here only takes notes. Times are integer cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.baselines.choosing import program_of
from prema_gym.baselines.policy import Program
from prema_gym.errors import ConfigError
from prema_gym.evaluation.compiled import note_by
from prema_gym.evaluation.outcomes import outcomes_of
from prema_gym.evaluation.playing import PlaySettings, play_on, simulator_for
from prema_gym.evaluation.policy import Decider, mechanisms_of
from prema_gym.metrics import IntArray, Outcomes
from prema_gym.simulator import NONE, Mechanism, Simulator
from prema_gym.simulator import observation as col
from prema_gym.simulator.readings import Readings
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadBatch


class Decision(NamedTuple):
    """One answer of a policy.

    Attributes:
        cycles: When it was asked.
        runner: Task that ran, ``NONE`` where none did.
        chosen: Task that it named; ``NONE`` where the answer was not legal.
        mechanism: Code of the :class:`Mechanism` by which the running task was to give way;
            ``NONE`` where nobody had to.
        present: Tasks in the table.
        most_tokens: Tokens of the waiting task that has most; 0 if none waits.
        context_bytes: Saved contexts of the waiting tasks.
    """

    cycles: int
    runner: int
    chosen: int
    mechanism: int
    present: int
    most_tokens: float
    context_bytes: float


class Preemption(NamedTuple):
    """A task gave way to another.

    Attributes:
        cycles: When it stopped running.
        victim: The task that gave way.
        newcomer: The task it gave way to.
        mechanism: CHECKPOINT or KILL.
    """

    cycles: int
    victim: int
    newcomer: int
    mechanism: Mechanism


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """One workload under one policy.

    Attributes:
        policy: What reports call the policy.
        simulator: At the workload's end, with its records and timeline.
        outcomes: What became of it.
        decisions: Every answer, in order of time.
        tables: What was seen at each, float32 (decisions, slots, columns); None: not kept.
        occupants: Task in each slot at each, int64 (decisions, slots); None: not kept.
        actions: The answers as the simulation takes them, int64 (decisions,).
    """

    policy: str
    simulator: Simulator
    outcomes: Outcomes
    decisions: Sequence[Decision]
    tables: NDArray[np.float32] | None
    occupants: IntArray | None
    actions: IntArray

    def preemptions(self) -> list[Preemption]:
        """When tasks gave way: at the end of the tile in flight, unless they were done by then."""
        timeline = self.simulator.timeline(0)
        done = self.simulator.tasks[0]["completion_cycles"]
        found = []
        for one in self.decisions:
            if one.mechanism not in (Mechanism.CHECKPOINT, Mechanism.KILL):
                continue
            # The slice in which the victim runs on to its boundary, or that ended just now.
            after = int(np.searchsorted(timeline[:, 2], one.cycles, side="right")) - 1
            if timeline[after, 0] != one.runner or timeline[after, 1] != 0:
                after -= 1
            stopped = max(one.cycles, int(timeline[after, 3]))
            if done[one.runner] != stopped:
                found.append(
                    Preemption(stopped, one.runner, one.chosen, list(Mechanism)[one.mechanism])
                )
        return found


def record(
    policy: Decider,
    name: str,
    catalog: Catalog,
    workload: WorkloadBatch,
    settings: PlaySettings | None = None,
    *,
    tables: bool = False,
) -> Recording:
    """Play one workload and note every decision.

    Args:
        policy: Decides.
        name: What reports call it.
        catalog: The compiled scenario.
        workload: One workload.
        settings: What it plays with; None: the defaults.
        tables: Keep what was seen, too: 1 to 2 KB a decision.

    Raises:
        ConfigError: It is not one workload, or the policy cannot be played.
    """
    if len(workload) != 1:
        raise ConfigError(f"one workload is recorded at a time, got {len(workload)}")
    simulator = simulator_for(policy, catalog, workload, settings, record_timeline=True)
    program = program_of(policy)
    if program is not None and not tables:  # a long workload takes a second, not minutes
        return _record_rule(program, name, simulator, workload)
    notes = _Notes(policy, simulator, keep_tables=tables)
    outcomes = play_on(simulator, notes, workload)
    return Recording(
        policy=name,
        simulator=simulator,
        outcomes=outcomes,
        decisions=notes.decisions,
        tables=np.array(notes.tables, np.float32) if tables else None,
        occupants=np.array(notes.occupants, np.int64) if tables else None,
        actions=np.array(notes.actions, np.int64),
    )


def _record_rule(
    program: Program, name: str, simulator: Simulator, workload: WorkloadBatch
) -> Recording:
    """Do what :func:`record` does with a rule that decides in compiled code."""
    simulator.load(workload)
    log = note_by(simulator, program)
    *numbers, actions = log.whole.T
    columns = (column.tolist() for column in (*numbers, *log.shown.T))
    return Recording(
        policy=name,
        simulator=simulator,
        outcomes=outcomes_of(simulator),
        decisions=[Decision(*row) for row in zip(*columns, strict=True)],
        tables=None,
        occupants=None,
        actions=actions,
    )


class _Notes:
    """A policy that does what another does, and notes it."""

    def __init__(self, policy: Decider, simulator: Simulator, *, keep_tables: bool) -> None:
        self._policy = policy
        self._simulator = simulator
        self._keep_tables = keep_tables
        self.mechanisms = mechanisms_of(policy)
        self.decisions: list[Decision] = []
        self.actions: list[int] = []
        self.tables: list[NDArray[np.float32]] = []
        self.occupants: list[IntArray] = []

    def prepare(self, simulator: Readings) -> _Notes:
        """Let the policy look at the workload, if it is one that does."""
        prepare = getattr(self._policy, "prepare", None)
        if prepare is not None:
            self._policy = prepare(simulator)
        return self

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,  # noqa: ANN401 - handed through, whatever it is
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[Any, Any]:
        """Ask the policy, and note what it saw and said."""
        answer = self._policy.predict(
            observation,
            state=state,
            episode_start=episode_start,
            deterministic=deterministic,
            action_masks=action_masks,
        )
        action = int(np.asarray(answer[0]).reshape(-1)[0])
        self._note(observation[0], action)
        return answer

    def _note(self, table: NDArray[np.float32], action: int) -> None:
        simulator = self._simulator
        occupants, env = simulator.occupants(0), simulator.env[0]
        running_slot = int(env["runner"])
        runner = NONE if running_slot == NONE else int(occupants[running_slot])
        legal = simulator.is_legal(action)
        index, slot = divmod(action, simulator.slots)
        chosen = int(occupants[slot]) if legal else NONE
        gives_way = legal and runner not in (NONE, chosen)
        waiting = table[:, col.RUNNING] == 0
        mechanism = Mechanism[self.mechanisms[index].upper()] if gives_way else NONE
        self.decisions.append(
            Decision(
                cycles=int(env["now_cycles"]),
                runner=runner,
                chosen=chosen,
                mechanism=int(mechanism),
                present=int((occupants != NONE).sum()),
                most_tokens=float(table[waiting, col.TOKEN].max(initial=0.0)),
                context_bytes=float(table[waiting, col.CONTEXT_BYTES].sum(dtype=np.float64)),
            )
        )
        self.actions.append(action)
        if self._keep_tables:
            self.tables.append(table.copy())
            self.occupants.append(occupants)
