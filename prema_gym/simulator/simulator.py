"""How do I play workloads? `Simulator`: a batch of simulations in lock step, over arrays.

Thin: it checks what it is given, owns the arrays, and calls the compiled engine. The loop is::

    simulator = Simulator(catalog, num_envs=len(batch))
    simulator.load(batch)
    while not simulator.done.all():
        simulator.step(choose(simulator.observation, simulator.mask))
    simulator.tasks["completion_cycles"]

It draws no random number and knows no policy. Semantics: ``docs/simulator.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.compiled.jit import direct
from prema_gym.errors import ConfigError, IllegalActionError, UnknownNameError, WorkloadError
from prema_gym.hardware.profile import ProfileTable
from prema_gym.simulator import engine, rules
from prema_gym.simulator.observation import MECHANISMS, NUM_COLUMNS
from prema_gym.simulator.state import (
    ASKING,
    DONE,
    NONE,
    TOKEN_WAITS,
    TRUNCATED,
    UNLOADED,
    EngineOptions,
    State,
    aligned,
    allocate,
)
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadArrays, WorkloadBatch, empty_arrays

DEFAULT_SLOTS = 16  # the paper's context table holds 16 tasks (fidelity.md, S)
MAX_SLOTS = 4096  # far beyond any context table; a table of it still takes a third of a megabyte


@dataclass(frozen=True, kw_only=True)
class SchedulerOptions:
    """Points public sources leave open (fidelity.md, "The token policy", "Preemption").

    Attributes:
        token_wait: Which wait earns tokens at a wake-up: ``since_wakeup`` (default; independent of
            how often the scheduler wakes), ``total`` or ``since_run``.
        sticky_drain: Once DRAIN is chosen, ask nothing until the running task has ended, then run
            the named one. False (default): ask again at the next wake-up.
    """

    token_wait: str = "since_wakeup"
    sticky_drain: bool = False

    def __post_init__(self) -> None:
        if self.token_wait not in TOKEN_WAITS:
            raise UnknownNameError(
                "token_wait", str(self.token_wait), TOKEN_WAITS, "SchedulerOptions"
            )


def check_mechanisms(mechanisms: Sequence[str]) -> tuple[str, ...]:
    """Return ``mechanisms`` as a tuple if they are known, distinct and at least one.

    Raises:
        ConfigError: Empty, repeated or unknown.
    """
    if isinstance(mechanisms, str):
        mechanisms = (mechanisms,)
    if not isinstance(mechanisms, Sequence):
        raise ConfigError(
            f"mechanisms must be names, given {mechanisms!r} (known: {', '.join(MECHANISMS)})"
        )
    for name in mechanisms:
        if name not in MECHANISMS:
            raise UnknownNameError("mechanism", str(name), MECHANISMS)
    if not mechanisms or len(set(mechanisms)) != len(mechanisms):
        raise ConfigError(
            f"mechanisms must be one or more different names, given {tuple(mechanisms)!r} "
            f"(known: {', '.join(MECHANISMS)})"
        )
    return tuple(mechanisms)


def check_array(name: str, given: NDArray[Any], own: NDArray[Any]) -> None:
    """Hold an array of a state against the one it is to take the place of.

    Raises:
        ConfigError: It has another shape or type: compiled code would take it on trust.
    """
    if not isinstance(given, np.ndarray):
        raise ConfigError(f"state array {name} is a {type(given).__name__}, expected an array")
    if given.shape != own.shape:
        raise ConfigError(f"state array {name} has shape {given.shape}, expected {own.shape}")
    if given.dtype is not own.dtype and given.dtype != own.dtype:  # the latter takes longer
        raise ConfigError(f"state array {name} is {given.dtype}, expected {own.dtype}")
    if not given.flags.c_contiguous:
        raise ConfigError(f"state array {name} is not contiguous, expected one that is")


class Simulator:
    """A batch of simulations advanced from decision to decision by one compiled call.

    The array attributes are the engine's own memory: read them, copy what must last beyond the
    next :meth:`step`.

    Args:
        catalog: The compiled scenario (profiles, hardware, quantum).
        num_envs: Simulations in the batch (B).
        slots: Rows of the context table (S); more tasks wait in a first-come queue.
        max_tasks: Largest number of tasks a workload may have; default the scenario's.
        mechanisms: What the action space offers, in this order (see ``docs/simulator.md``).
        options: Open points of the scheduler.
        oracle: Show true isolated times in place of estimates.
        record_timeline: Keep the slices of run, checkpoint, restore and idle.
        max_decisions: Truncate after so many decisions; None: no limit.
        horizon_ms: Truncate at the first decision from this time on; None: no limit.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        num_envs: int = 1,
        slots: int = DEFAULT_SLOTS,
        max_tasks: int | None = None,
        mechanisms: Sequence[str] = ("checkpoint",),
        options: SchedulerOptions | None = None,
        oracle: bool = False,
        record_timeline: bool = False,
        max_decisions: int | None = None,
        horizon_ms: float | None = None,
    ) -> None:
        options = SchedulerOptions() if options is None else options
        max_tasks = catalog.scenario.num_tasks if max_tasks is None else max_tasks
        for name, value in (("num_envs", num_envs), ("slots", slots), ("max_tasks", max_tasks)):
            if value < 1:
                raise ConfigError(f"{name} must be at least 1, given {value}")
        if slots > MAX_SLOTS:
            raise ConfigError(f"slots must be at most {MAX_SLOTS}, given {slots}")
        for name, limit in (("max_decisions", max_decisions), ("horizon_ms", horizon_ms)):
            if limit is not None and not limit > 0:
                raise ConfigError(f"{name} must be positive or None, given {limit}")
        self.catalog = catalog
        self.num_envs = num_envs
        self.slots = slots
        self.max_tasks = max_tasks
        self.mechanisms = check_mechanisms(mechanisms)
        self.options = options
        self.oracle = oracle
        self.record_timeline = record_timeline
        clock_hz = catalog.scenario.hardware.clock_hz
        codes = [MECHANISMS.index(name) for name in self.mechanisms] + [NONE] * len(MECHANISMS)
        self._options = EngineOptions(
            mechanisms=(codes[0], codes[1], codes[2]),
            num_mechanisms=len(self.mechanisms),
            quantum_cycles=catalog.scenario.quantum_cycles,
            token_wait=TOKEN_WAITS.index(options.token_wait),
            sticky_drain=options.sticky_drain,
            oracle=bool(oracle),
            max_decisions=0 if max_decisions is None else int(max_decisions),
            horizon_cycles=0 if horizon_ms is None else max(1, round(horizon_ms * clock_hz / 1e3)),
            ms_per_cycle=1e3 / clock_hz,
        )
        # Slices one step can add: each of at most max_tasks + 1 dispatches brings a run, a save,
        # a restore and an idle gap.
        self._slices_per_step = 4 * (max_tasks + 2) if record_timeline else 0
        self._state = allocate(
            num_envs, max_tasks, slots, NUM_COLUMNS, self.num_actions, 2 * self._slices_per_step
        )
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
    def engine_arguments(self) -> tuple[State, ProfileTable, EngineOptions]:
        """What the engine's functions take first, for kernels that call them themselves."""
        return self._state, self.catalog.table, self._options

    @property
    def num_actions(self) -> int:
        """Size of the action space: slots × mechanisms."""
        return self.slots * len(self.mechanisms)

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
    def words(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The memory of :attr:`tasks` and :attr:`env` as plain numbers: int64 (B, N, …), (B, …).

        For who copies records: NumPy would take them field by field.
        """
        if self._words is None:
            task, env = self._state.task.view(np.int64), self._state.env.view(np.int64)
            self._words = (
                task.reshape(self.num_envs, self.max_tasks, -1),
                env.reshape(self.num_envs, -1),
            )
        return self._words

    @property
    def done(self) -> NDArray[np.bool_]:
        """True where every task has finished or a limit was reached, bool (B,)."""
        return np.asarray(self._state.env["status"] >= DONE)

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """True where every task has finished, bool (B,)."""
        return np.asarray(self._state.env["status"] == DONE)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """True where a limit was reached with tasks unfinished, bool (B,)."""
        return np.asarray(self._state.env["status"] == TRUNCATED)

    @property
    def task_present(self) -> NDArray[np.bool_]:
        """True at (b, i) where workload b has a task i, bool (B, N)."""
        return np.asarray(np.arange(self.max_tasks) < self._state.env["num_tasks"][:, None])

    @property
    def waited_cycles(self) -> NDArray[np.int64]:
        """Time each task spent in the system and not running, up to now or its end, (B, N)."""
        tasks = self._state.task
        end = np.where(
            tasks["completion_cycles"] >= 0,
            tasks["completion_cycles"],
            np.maximum(self._state.env["now_cycles"][:, None], tasks["arrival_cycles"]),
        )
        waited = end - tasks["arrival_cycles"] - tasks["executed_cycles"] - tasks["killed_cycles"]
        return np.asarray(np.where(self.task_present, waited, 0))

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

    def load_arrays(self, arrays: WorkloadArrays, rows: NDArray[np.int64]) -> None:
        """Do what :meth:`load` does, without its checks: for loops that made the arrays.

        All must be int64 and contiguous: compiled code takes it on trust.
        """
        self.make_room()
        self._start(*self.engine_arguments, arrays, rows)

    def renew_tables(self) -> None:
        """Go on with other arrays: those :attr:`observation` and :attr:`mask` gave are left alone.

        The values of the new ones are undefined until the next :meth:`step`, or :meth:`load` of
        every environment.
        """
        env, task, slots, by_arrival, observation, mask, timeline = self._state
        # Twice as quick as `_replace` and `empty_like`, and this is done at every step.
        observation = np.empty(observation.shape, np.float32)
        mask = np.empty(mask.shape, np.bool_)
        self._state = State(env, task, slots, by_arrival, observation, mask, timeline)

    def step(self, actions: ArrayLike) -> None:
        """Take one decision in every environment that waits for one, and play to the next.

        Args:
            actions: int (B,); ignored where :attr:`done`. An illegal one continues the running
                task, else runs the earliest arrival, and is counted in ``env["illegal_actions"]``.

        Raises:
            IllegalActionError: The shape is not (B,) or the values are not integers.
        """
        self.step_range(self._checked(actions), 0, self.num_envs)

    def step_range(self, actions: NDArray[np.int64], first: int, last: int) -> None:
        """Do what :meth:`step` does for the environments ``[first, last)`` only, unchecked.

        ``actions`` must be int64 (B,) and contiguous: compiled code takes it on trust.
        """
        arguments = (*self.engine_arguments, actions, first, last)
        if self._advance is None:  # not compiled for callers who have their own loop
            self._advance = direct(engine.advance, *arguments)
        self._advance(*arguments)

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise IllegalActionError(
                f"actions must be integers of shape ({self.num_envs},), given "
                f"{array.dtype} of shape {array.shape}"
            )
        if np.any(self._state.env["status"] == UNLOADED):
            raise WorkloadError("no workload is loaded: call load() before step()")
        self.make_room()
        return np.ascontiguousarray(array, np.int64)

    def make_room(self) -> None:
        """Let the timeline grow as far as one step may need."""
        if not self.record_timeline:
            return
        timeline = self._state.timeline
        needed = int(self._state.env["num_slices"].max()) + self._slices_per_step
        if needed > timeline.shape[1]:
            grown = np.zeros((self.num_envs, 2 * needed, 4), np.int64)
            grown[:, : timeline.shape[1]] = timeline
            self._state = self._state._replace(timeline=grown)

    def waiting(self) -> NDArray[np.bool_]:
        """True where the environment waits for a decision, bool (B,)."""
        return np.asarray(self._state.env["status"] == ASKING)

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

    def _write_tables(self, state: State) -> None:
        arguments = (state, self.catalog.table, self._options)
        if self._show is None:
            self._show = direct(engine.show, *arguments)
        self._show(*arguments)

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
        for name in ("env", "task", "slots", "by_arrival", "observation", "mask"):
            check_array(name, getattr(state, name), getattr(self._state, name))
        like = self._state.timeline
        if np.shape(state.timeline) != like.shape:  # there may be room for more slices, or fewer
            slices = np.shape(state.timeline)[1:2] or (0,)
            like = np.empty((self.num_envs, *slices, 4), np.int64)
        check_array("timeline", state.timeline, like)
        if (state.timeline.shape[1] > 0) != self.record_timeline:
            kept = "none" if self.record_timeline else "one"
            raise ConfigError(f"the state was made with another record_timeline: it has {kept}")
        copy = state.copy()
        task = aligned(state.task) if self.num_envs > 1 else copy.task
        self._state = State(copy.env, task, *copy[2:])
        self._words = None
        # Tables follow from the rest; those handed out may have been written into since.
        self._write_tables(self._state)
