"""How do I play workloads? `Simulator`: a batch of simulations in lock step, over arrays.

It checks what it is given; the arrays and the compiled calls lie in ``unchecked.py``. The loop is::

    simulator = Simulator(catalog, num_envs=len(batch))
    simulator.load(batch)
    while not simulator.done.all():
        simulator.step(choose(simulator.observation, simulator.mask))
    simulator.tasks["completion_cycles"]

It draws no random number and knows no policy. Semantics: ``docs/simulator.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.checks import optional, truth
from prema_gym.errors import ConfigError, IllegalActionError, WorkloadError
from prema_gym.simulator import engine, rules
from prema_gym.simulator.mechanisms import DEFAULT_MECHANISMS, check_mechanisms
from prema_gym.simulator.options import (
    DEFAULT_ESTIMATE,
    DEFAULT_SLOTS,
    ESTIMATE,
    HORIZON_MS,
    MAX_DECISIONS,
    MAX_TASKS,
    NUM_ENVS,
    SLOTS,
    SchedulerOptions,
    engine_options,
)
from prema_gym.simulator.snapshots import check_state
from prema_gym.simulator.state import ASKING, UNLOADED, State, aligned
from prema_gym.simulator.unchecked import UncheckedSimulator
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadArrays, WorkloadBatch


class Simulator(UncheckedSimulator):
    """A batch of simulations advanced from decision to decision by one compiled call.

    The array attributes are the engine's own memory: read them, copy what must last beyond the
    next :meth:`step`. The methods of this class check what they are given; those it inherits from
    :class:`~prema_gym.simulator.unchecked.UncheckedSimulator` do not.

    Args:
        catalog: The compiled scenario (profiles, hardware, quantum).
        num_envs: Simulations in the batch (B).
        slots: Rows of the context table (S); more tasks wait in a first-come queue.
        max_tasks: Largest number of tasks a workload may have; default the scenario's.
        mechanisms: What the action space offers, in this order (see ``docs/simulator.md``).
        options: Open points of the scheduler.
        estimate: What is shown as isolated times, a name in ``ESTIMATES``.
        only_when_free: Ask nothing while a task runs: for policies that then always go on.
        record_timeline: Keep the slices of run, checkpoint, restore and idle.
        max_decisions: Truncate after so many decisions; None: no limit.
        horizon_ms: Truncate at the first decision from this time on; None: no limit.
        ends_at_last_arrival: Truncate at the first decision after the last arrival, or when all
            that have arrived are done: workloads are cut from a stream that goes on there.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        num_envs: int = 1,
        slots: int = DEFAULT_SLOTS,
        max_tasks: int | None = None,
        mechanisms: Sequence[str] = DEFAULT_MECHANISMS,
        options: SchedulerOptions | None = None,
        estimate: str = DEFAULT_ESTIMATE,
        only_when_free: bool = False,
        record_timeline: bool = False,
        max_decisions: int | None = None,
        horizon_ms: float | None = None,
        ends_at_last_arrival: bool = False,
    ) -> None:
        max_tasks = catalog.scenario.num_tasks if max_tasks is None else max_tasks
        self.mechanisms = check_mechanisms(mechanisms)
        self.options = SchedulerOptions() if options is None else options
        self.estimate: str = ESTIMATE.check("estimate", estimate)
        super().__init__(
            catalog,
            engine_options(
                self.options,
                self.mechanisms,
                quantum_cycles=catalog.scenario.quantum_cycles,
                clock_hz=catalog.scenario.hardware.clock_hz,
                estimate=self.estimate,
                only_when_free=truth().check("only_when_free", only_when_free),
                max_decisions=optional(MAX_DECISIONS).check("max_decisions", max_decisions),
                horizon_ms=optional(HORIZON_MS).check("horizon_ms", horizon_ms),
                drop=catalog.scenario.drop,
                queue_limit=catalog.scenario.queue_limit,
                ends_at_last_arrival=truth().check("ends_at_last_arrival", ends_at_last_arrival),
            ),
            num_envs=NUM_ENVS.check("num_envs", num_envs),
            slots=SLOTS.check("slots", slots),
            max_tasks=MAX_TASKS.check("max_tasks", max_tasks),
            record_timeline=truth().check("record_timeline", record_timeline),
        )

    @property
    def num_actions(self) -> int:
        """Size of the action space: slots × mechanisms."""
        return self.slots * len(self.mechanisms)

    def timeline(self, env: int = 0) -> NDArray[np.int64]:
        """Slices (task, kind, start, end) of one environment so far, int64 (slices, 4).

        Raises:
            ConfigError: The simulator was built without ``record_timeline``.
        """
        if not self.record_timeline:
            raise ConfigError("no timeline was kept: it takes record_timeline=True from the start")
        return self._state.timeline[env, : self._state.env["num_slices"][env]].copy()

    def load(self, workloads: WorkloadBatch, envs: ArrayLike | None = None) -> None:
        """Start workload k in environment ``envs[k]`` (default: all) and play to a decision.

        Args:
            workloads: One workload an environment named.
            envs: Indices of the environments to restart, int (K,).

        Raises:
            WorkloadError: Another number of workloads than environments, too many tasks, or
                costs that this catalog does not confirm.
        """
        given = self._all_rows if envs is None else np.asarray(envs).reshape(-1)
        if given.size and given.dtype.kind not in "iu":
            raise WorkloadError(f"environments are whole numbers, given {given.dtype}: {envs!r}")
        rows = np.ascontiguousarray(given, np.int64)
        if len(np.unique(rows)) != len(rows):
            raise WorkloadError(f"an environment is named twice: {rows.tolist()}")
        arrays = workloads.arrays
        if arrays.num_tasks.shape[0] != rows.shape[0]:
            raise WorkloadError(
                f"{arrays.num_tasks.shape[0]} workloads for {rows.shape[0]} environments"
            )
        if rows.size == 0:
            return
        if rows.min() < 0 or rows.max() >= self.num_envs:
            raise WorkloadError(f"environments are 0…{self.num_envs - 1}, given {rows.tolist()}")
        if arrays.num_tasks.max() > self.max_tasks or arrays.num_tasks.min() < 1:
            raise WorkloadError(
                f"a workload has {arrays.num_tasks.max()} tasks, this simulator takes 1 to "
                f"{self.max_tasks} (max_tasks)"
            )
        self.catalog.check(workloads)
        self.load_arrays(WorkloadArrays._make(map(np.ascontiguousarray, arrays)), rows)

    def step(self, actions: ArrayLike) -> None:
        """Take one decision in every environment that waits for one, and play to the next.

        Args:
            actions: int (B,); ignored where :attr:`done`. An illegal one continues the running
                task, else runs the earliest arrival, and is counted in ``env["illegal_actions"]``.

        Raises:
            IllegalActionError: The shape is not (B,) or the values are not integers.
        """
        checked = self._checked(actions)
        self.make_room()
        self.step_range(checked, 0, self.num_envs)

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise IllegalActionError(
                f"actions must be integers of shape ({self.num_envs},), given "
                f"{array.dtype} of shape {array.shape}"
            )
        if np.any(self._state.env["status"] == UNLOADED):
            raise WorkloadError("no workload is loaded: call load() before step()")
        return np.ascontiguousarray(array, np.int64)

    def is_legal(self, action: int, env: int = 0) -> bool:
        """Say whether ``action`` may be taken in one environment (the mask's own predicate)."""
        if not 0 <= action < self.num_actions:
            return False
        mechanism_index, slot = divmod(int(action), self.slots)
        record, occupant = self._state.env[env], self._state.slots[env, slot]
        asking = record["status"] == ASKING
        return bool(rules.is_legal(asking, record["runner"], slot, occupant, mechanism_index))

    def legal(self) -> NDArray[np.bool_]:
        """Legal actions now, by the mask's own predicate: a new bool (B, S · mechanisms).

        The same as :attr:`mask`, also where somebody wrote into that array.
        """
        legal = np.empty_like(self._state.mask)
        engine.write_masks(self._state.env, self._state.slots, legal)
        return legal

    def tables(self) -> NDArray[np.float32]:
        """Observation tables now, in a new array: float32 (B, S, C).

        The same as :attr:`observation`, also where somebody wrote into that array.
        """
        state = self._state
        anew = state._replace(
            observation=np.empty_like(state.observation), mask=np.empty_like(state.mask)
        )
        self._write_tables(anew)
        return anew.observation

    def occupants(self, env: int = 0) -> NDArray[np.int64]:
        """Index of the task in each slot of one environment, NONE where there is none: (S,)."""
        return np.array(self._state.slots[env])

    def get_state(self) -> State:
        """Return a copy of everything that moves; :meth:`set_state` brings it back."""
        return self._state.copy()

    def set_state(self, state: State) -> None:
        """Continue from a copy made by :meth:`get_state` of a simulator of the same shape.

        Raises:
            ConfigError: The shapes or types differ, or only one of the two keeps a timeline.
                Nothing has changed then.
        """
        check_state(state, self._state, record_timeline=self.record_timeline)
        copy = state.copy()
        task = aligned(state.task) if self.num_envs > 1 else copy.task
        self._state = State(copy.env, task, *copy[2:])
        self._words = None
        # Tables follow from the rest; those handed out may have been written into since.
        self._write_tables(self._state)
