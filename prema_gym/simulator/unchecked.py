"""What lies under the simulator? The arrays, and the compiled calls on them, without any check.

For loops that make the arguments themselves and must be quick: environments and trainers. All else
goes through :class:`~prema_gym.simulator.simulator.Simulator`, whose own methods check. What is
asked for here is taken on trust: arrays of int64, contiguous and of the right shape, every index
in range, a workload in every environment that is stepped. Anything else touches foreign memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import direct
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator import engine
from prema_gym.simulator.observation import NUM_COLUMNS
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.readings import Readings
from prema_gym.simulator.state import State, allocate
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadArrays, empty_arrays


class UncheckedSimulator(Readings):
    """A batch of simulations advanced from decision to decision, without any check.

    Args:
        catalog: The compiled scenario.
        options: What stays fixed, as the engine reads it.
        num_envs: Simulations in the batch (B).
        slots: Rows of the context table (S).
        max_tasks: Largest number of tasks a workload may have (N).
        record_timeline: Keep the slices of run, checkpoint, restore and idle.
    """

    def __init__(
        self,
        catalog: Catalog,
        options: EngineOptions,
        *,
        num_envs: int,
        slots: int,
        max_tasks: int,
        record_timeline: bool,
    ) -> None:
        self.catalog = catalog
        self.num_envs = num_envs
        self.slots = slots
        self.max_tasks = max_tasks
        self.record_timeline = record_timeline
        self._options = options
        actions = slots * options.num_mechanisms
        room = 2 * self.slices_per_step
        self._state = allocate(num_envs, max_tasks, slots, NUM_COLUMNS, actions, room)
        self._all_rows = np.arange(num_envs, dtype=np.int64)
        self._bind()

    def _bind(self) -> None:
        """Look the compiled code up once for the types of this simulator's arrays."""
        fixed = self.engine_arguments
        self._advance: Any = None
        self._show: Any = None
        self._start = direct(engine.start, *fixed, empty_arrays(1, 1), self._all_rows)
        self._words: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        bound = ("_advance", "_start", "_show", "_words")
        return {name: value for name, value in self.__dict__.items() if name not in bound}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    @property
    def observation(self) -> NDArray[np.float32]:
        """Observation tables, float32 (B, S, C); columns in ``observation.COLUMNS``."""
        return self._state.observation

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Legal actions, bool (B, S · mechanisms); only action 0 where nothing is asked."""
        return self._state.mask

    @property
    def env(self) -> NDArray[np.void]:
        """Clock and counters, one record an environment (``state.ENV_DTYPE``)."""
        return self._state.env

    @property
    def tasks(self) -> NDArray[np.void]:
        """Task records (B, N) (``state.TASK_DTYPE``); rows past ``num_tasks`` are meaningless."""
        return self._state.task

    @property
    def engine_arguments(self) -> tuple[State, ProfileTable, EngineOptions]:
        """What the engine's functions take first, for kernels that call them themselves."""
        return self._state, self.catalog.table, self._options

    @property
    def slices_per_step(self) -> int:
        """The most slices that one step adds to the timeline; 0 where none is kept.

        Each of at most N + 1 dispatches brings a run, a save, a restore and an idle gap.
        """
        return 4 * (self.max_tasks + 2) if self.record_timeline else 0

    @property
    def words(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The memory of ``tasks`` and ``env`` as plain numbers: int64 (B, N, …), (B, …).

        For who copies records: NumPy would take them field by field.
        """
        if self._words is None:
            task, env = self._state.task.view(np.int64), self._state.env.view(np.int64)
            self._words = (
                task.reshape(self.num_envs, self.max_tasks, -1),
                env.reshape(self.num_envs, -1),
            )
        return self._words

    def load_arrays(self, arrays: WorkloadArrays, rows: NDArray[np.int64]) -> None:
        """Start row k of ``arrays`` in environment ``rows[k]``, and play to its first decision.

        Args:
            arrays: int64 (K, up to N), contiguous.
            rows: int64 (K,), different environments.
        """
        self.make_room()
        self._start(*self.engine_arguments, arrays, rows)

    def step_range(self, actions: NDArray[np.int64], first: int, last: int) -> None:
        """Take one decision in each of the environments ``[first, last)`` that wait for one.

        Where a timeline is kept, :meth:`make_room` comes first.

        Args:
            actions: int64 (B,), contiguous.
            first: First environment.
            last: One past the last; threads may share a batch by ranges.
        """
        arguments = (*self.engine_arguments, actions, first, last)
        if self._advance is None:  # not compiled for callers who have their own loop
            self._advance = direct(engine.advance, *arguments)
        self._advance(*arguments)

    def make_room(self) -> None:
        """Let the timeline grow as far as one step may need."""
        if not self.record_timeline:
            return
        timeline = self._state.timeline
        needed = int(self._state.env["num_slices"].max()) + self.slices_per_step
        if needed > timeline.shape[1]:
            grown = np.zeros((self.num_envs, 2 * needed, 4), np.int64)
            grown[:, : timeline.shape[1]] = timeline
            self._state = self._state._replace(timeline=grown)

    def renew_tables(self) -> None:
        """Go on with other arrays: the observation and mask handed out so far are left alone.

        The values of the new ones are undefined until the next step, or load of every environment.
        """
        env, task, slots, by_arrival, observation, mask, timeline, upcoming, loops = self._state
        # Twice as quick as `_replace` and `empty_like`, and this is done at every step.
        observation = np.empty(observation.shape, np.float32)
        mask = np.empty(mask.shape, np.bool_)
        self._state = State(
            env, task, slots, by_arrival, observation, mask, timeline, upcoming, loops
        )

    def _write_tables(self, state: State) -> None:
        """Write the observation and mask of a state as it stands."""
        arguments = (state, self.catalog.table, self._options)
        if self._show is None:
            self._show = direct(engine.show, *arguments)
        self._show(*arguments)
