"""How does a batch of sub-environments go from reset to reset? The core of every environment.

The single environment is a batch of one, the vector environment and the Stable-Baselines3 adapter
are batches of N: they only differ in how results are handed over. Each sub-environment has a
generator of its own, and what happens in it depends on its seed and actions alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.checks import whole
from prema_gym.compiled.bit_generator import Generators
from prema_gym.compiled.cpus import num_cpus
from prema_gym.compiled.jit import direct
from prema_gym.envs import generators as rng_rules
from prema_gym.envs import snapshots
from prema_gym.envs.actions import refuse_illegal
from prema_gym.envs.ended import EndedEpisodes
from prema_gym.envs.ends import find_ends, room_for_ends
from prema_gym.envs.rewards.ledger import Ledger, LedgerState
from prema_gym.envs.settings import EnvSettings
from prema_gym.envs.snapshots import EpisodesState
from prema_gym.envs.sources import (
    WorkloadSource,
    drawn_source,
    given_source,
    source_from_options,
)
from prema_gym.envs.step import Job, Transition, new_transition
from prema_gym.envs.stepper import Stepper
from prema_gym.errors import ConfigError
from prema_gym.metrics import IntArray
from prema_gym.simulator import Simulator
from prema_gym.simulator.options import NUM_ENVS
from prema_gym.simulator.snapshots import check_array
from prema_gym.simulator.state import State
from prema_gym.workloads.catalog import compile_scenario

_THREADS = whole(1)
_NOBODY: IntArray = np.empty(0, np.int64)


class Step(NamedTuple):
    """What one step gave."""

    transition: Transition  # rewards and flags of all, in arrays of this step alone
    ended: IntArray  # (K,) sub-environments whose episode ended in this step
    restarted: IntArray  # those that started anew in place of a decision
    episodes: EndedEpisodes | None  # what became of those that ended; None: of nobody


class Episodes:
    """A batch of sub-environments, each in its own episode.

    Args:
        settings: What was asked for.
        num_envs: Sub-environments (B).
        threads: Threads among which they are split; no more than there are processors.
        fresh: Write the observations and masks of each step into arrays of their own.

    Attributes:
        simulator: The simulations; its arrays are the engine's own memory.
        rngs: One generator for each; none before the first reset.
        over: bool (B,), True where an episode has ended and awaits its reset.
        over_rows: int64 (K,), which are.
        started: Whether there was a reset, or a state was set.
    """

    def __init__(
        self, settings: EnvSettings, num_envs: int, threads: int = 1, *, fresh: bool = False
    ) -> None:
        self.settings = settings
        self.num_envs = NUM_ENVS.check("num_envs", num_envs)
        self.fresh = fresh
        self.threads = min(_THREADS.check("threads", threads), self.num_envs, num_cpus())
        self.catalog = compile_scenario(settings.checked_scenario)
        self._source: WorkloadSource = (
            drawn_source(self.catalog, self.num_envs)
            if settings.workload is None
            else given_source(settings.workload, self.catalog, self.num_envs)
        )
        self._now: WorkloadSource = self._source  # where new episodes come from: options may hold
        self.simulator = self._new_simulator(self._source.max_tasks)
        self.seen = settings.seen
        self.ledger = Ledger(settings.checked_reward, self.num_envs)
        self._stepper = Stepper(self.num_envs, self.threads)
        self._agreed = settings  # whose states are known to fit
        self._generators = Generators.of(())
        self.started = False
        self._no_restarts = self._source.restarts(_NOBODY, self._generators)
        self.over = np.zeros(self.num_envs, np.bool_)
        self.over_rows = _NOBODY
        self._find_ends: Any = None  # the kernel, once it is looked up
        self._whole = True  # no step or reset was broken off by an error or interrupt
        self.ms_per_cycle = 1e3 / self.catalog.hardware.clock_hz
        self.everyone: IntArray = np.arange(self.num_envs)

    def _new_simulator(self, max_tasks: int) -> Simulator:
        settings = self.settings
        return Simulator(
            self.catalog,
            num_envs=self.num_envs,
            slots=settings.slots,
            max_tasks=max_tasks,
            mechanisms=settings.mechanisms,
            options=settings.options,
            estimate=settings.estimate,
            record_timeline=settings.record_timeline,
            max_decisions=settings.max_decisions,
            horizon_ms=settings.horizon_ms,
            ends_at_last_arrival=self._source.is_cut,
        )

    @property
    def most_tasks(self) -> int:
        """Tasks of the longest workload that the next episodes may have."""
        return max(self._source.max_tasks, self._now.max_tasks)

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The reset options that hold for episodes that start from now on, if there are any."""
        return self._now.options

    @property
    def rngs(self) -> tuple[np.random.Generator, ...]:
        """See the class.

        Raises:
            ConfigError: On setting, something else than one generator for each alone.
        """
        return self._generators.rngs

    @rngs.setter
    def rngs(self, rngs: Sequence[np.random.Generator]) -> None:
        self._generators = rng_rules.checked(rngs, self.num_envs)

    def seed(self, seeds: Sequence[int | None]) -> dict[int, int]:
        """Give new generators to those that get a seed, and to those that have none yet.

        Args:
            seeds: One for each; None: whatever seed the system gives, where one is needed.

        Returns:
            Sub-environment → seed, of those with a new generator.
        """
        rngs, used = rng_rules.seeded(self.rngs, seeds)
        if used:
            self.rngs = rngs
        return used

    def source(self, options: Mapping[str, Any] | None) -> WorkloadSource:
        """Return where the next episodes come from: look here before anything changes.

        Args:
            options: A workload or scenario fields; see :func:`sources.source_from_options`.

        Raises:
            ConfigError: Options that are not allowed.
            WorkloadError: A workload that does not fit.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ConfigError(f"options must be a dict or None, got {options!r}")
        if not options:
            return self._source
        return source_from_options(dict(options), self.catalog, self.num_envs, self._source)

    def draw_from(self, source: WorkloadSource) -> None:
        """Let every episode that starts from now on come from ``source``, of :meth:`source`."""
        if source.max_tasks > self.simulator.max_tasks:
            self._resize(source.max_tasks)
        self._now = source

    def reset(self, rows: IntArray, source: WorkloadSource | None = None) -> None:
        """Start a new episode in each of ``rows`` and play to its first decision.

        Args:
            rows: int64 (K,), distinct sub-environments.
            source: From :meth:`source`, for them and all that start later; default: as before.
        """
        if source is not None:
            self.draw_from(source)
        workloads = self._now.workloads(rows, self._generators)
        whole, self._whole = self._whole, False
        if self.fresh and source is not None:  # between steps: what was handed out stays
            shown = self.simulator.observation, self.simulator.mask
            self.simulator.renew_tables()
            if rows.size < self.num_envs:
                self.simulator.observation[:], self.simulator.mask[:] = shown
        self.ledger.open(rows)
        self.simulator.load_arrays(workloads, rows)
        if self.over_rows.size:
            self.over[rows] = False
            self.over_rows = np.flatnonzero(self.over)
        self._whole = whole or rows.size == self.num_envs
        self.started = True

    def step(self, actions: IntArray, *, restart: bool = True) -> Step:
        """Take one decision in every sub-environment and play to the next.

        Those that are over get reward 0; they start anew, or stay as they are. One that never had a
        decision to take (its workload was over before one came up) ends in its first step.

        Args:
            actions: int64 (B,), contiguous, from :func:`.checked_actions`.
            restart: Whether those that are over start a new episode in this step.

        Raises:
            IllegalActionError: With ``strict``, an illegal action where an episode is not over.
        """
        if not self._whole:
            # Who started anew in the step that was broken off is over no longer; who ended in it
            # is not over yet, so that it does in this one.
            self.over = self.over & self.simulator.done
            self.over_rows = np.flatnonzero(self.over)
        if self.settings.strict:
            refuse_illegal(actions, self.legal(), self.over)
        actions = self.seen.slots_of(actions, self.simulator.observation)
        if self.fresh:
            self.simulator.renew_tables()
        transition = new_transition(self.num_envs, len(self.ledger.names))
        restarts = self._no_restarts
        generators = self._generators  # held until the step is taken, whoever exchanges them
        if restart and self.over_rows.size:
            restarts = self._now.restarts(self.over_rows, generators)
        self._whole = False
        self.simulator.make_room()
        state, table, options = self.simulator.engine_arguments
        account = self.ledger.account
        job = Job(state, table, options, actions, account, transition, restarts)
        num_over = self._stepper.play(job)
        ended, over_rows, over, episodes = _NOBODY, _NOBODY, self.over, None
        if num_over or self.over_rows.size:
            over, over_rows, ended, episodes = self._ends(transition, num_over)
        if self.ledger.leaves_rest:
            self.ledger.pay_rest(
                self.simulator, transition.reward, transition.rise, ended, episodes, restarts.rows
            )
        self.over, self.over_rows = over, over_rows
        self._whole = True
        return Step(transition, ended, restarts.rows, episodes)

    def _ends(
        self, transition: Transition, num_over: int
    ) -> tuple[NDArray[np.bool_], IntArray, IntArray, EndedEpisodes | None]:
        """Who is over, as flags and rows; whose episode ended just now, and what became of it."""
        words = self.simulator.words
        ends = room_for_ends(words, num_over)
        arguments = (self.over, transition.over, *words, ends)
        if self._find_ends is None:
            self._find_ends = direct(find_ends, *arguments)
        num_ended = self._find_ends(*arguments)
        over, over_rows, ended, *found = ends
        if not num_ended:
            return over, over_rows, _NOBODY, None
        if num_ended < num_over:
            ended, *found = (array[:num_ended] for array in (ended, *found))
        return over, over_rows, ended, EndedEpisodes(self.catalog, *found)

    def observations(self, rows: IntArray | None = None) -> NDArray[np.float32]:
        """What policies see of some sub-environments or of all, float32 (K, slots, …).

        The engine's own memory, where they see all tables as they are.
        """
        tables = self.simulator.observation
        return self.seen.tables(tables if rows is None else tables[rows])

    def masks(self, rows: IntArray | None = None) -> NDArray[np.bool_]:
        """Legal actions of some sub-environments or of all, bool (K, actions); else likewise."""
        masks, tables = self.simulator.mask, self.simulator.observation
        if rows is not None:
            masks, tables = masks[rows], tables[rows]
        return self.seen.masks(masks, tables)

    def legal(self) -> NDArray[np.bool_]:
        """Legal actions of all, in a new array; see `Simulator.legal`."""
        return self.seen.masks(self.simulator.legal(), self.simulator.observation)

    def now_ms(self, rows: IntArray | slice = slice(None)) -> NDArray[np.float64]:
        """Time of some sub-environments, float64 (K,) [ms]."""
        return np.asarray(self.simulator.env["now_cycles"][rows] * self.ms_per_cycle)

    def illegal_actions(self, rows: IntArray | slice = slice(None)) -> IntArray:
        """Illegal actions of some sub-environments in their episodes, int64 (K,)."""
        return np.array(self.simulator.env["illegal_actions"][rows])

    def get_state(self) -> EpisodesState:
        """Return a copy of everything that moves, generators included."""
        return EpisodesState(
            simulation=self.simulator.get_state(),
            totals=self.ledger.get_state(),
            over=self.over.copy(),
            generators=tuple(rng.bit_generator.state for rng in self.rngs),
            settings=self.settings,
            options=self._now.options,
        )

    def set_state(
        self, state: EpisodesState, rngs: Sequence[np.random.Generator] | None = None
    ) -> None:
        """Continue from a copy made by :meth:`get_state` with the same settings.

        Args:
            state: The copy.
            rngs: Generators to go on with where there was no reset yet; default: new ones.

        Raises:
            ConfigError: It is no state, or was made with other settings, sizes or generators, or
                before a reset. Nothing has changed then.
        """
        snapshots.check_kind(state)
        if state.settings is not self._agreed:
            snapshots.check_settings(state.settings, self.settings)
        snapshots.check_generators(state, self.num_envs)
        generators = self._generators
        if not self.rngs:
            new = [np.random.default_rng() for _ in self.everyone] if rngs is None else rngs
            generators = rng_rules.checked(new, self.num_envs)
        with rng_rules.moved_to(generators, state.generators):
            self._restore(state.simulation, state.totals, state.over, state.options)
        self._generators = generators
        self._agreed = state.settings
        self.started = True

    def _restore(
        self,
        simulation: State,
        totals: LedgerState,
        over: NDArray[np.bool_],
        options: Mapping[str, Any] | None,
    ) -> None:
        """Continue from what was copied; raises before it changes anything."""
        source = self._now if options is self._now.options else self.source(options)
        if getattr(simulation.task, "ndim", 0) != 2:  # how many tasks there is room for may differ
            check_array("task", simulation.task, self.simulator.tasks)
        max_tasks = simulation.task.shape[1]
        if max_tasks < self._source.max_tasks:
            raise ConfigError(
                f"the state was made for workloads of at most {max_tasks} tasks; here they have "
                f"up to {self._source.max_tasks}"
            )
        self.ledger.check_state(totals)
        check_array("over", over, self.over)
        simulator = self.simulator
        if max_tasks != simulator.max_tasks:  # a reset's options may have asked for more room
            simulator = self._new_simulator(max_tasks)
        simulator.set_state(simulation)
        self.simulator = simulator
        self.draw_from(source)
        self.ledger.set_state(totals)
        self.over = over.copy()
        self.over_rows = np.flatnonzero(self.over)
        self._whole = True

    def _resize(self, max_tasks: int) -> None:
        """Make room for longer workloads, keeping every sub-environment where it is."""
        old = self.simulator.get_state()
        self.simulator = self._new_simulator(max_tasks)
        task = self.simulator.get_state().task
        task[:, : old.task.shape[1]] = old.task
        self.simulator.set_state(old._replace(task=task))

    def close(self) -> None:
        """End the threads; a later step starts them anew."""
        self._stepper.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled scenarios are large and follow from the settings: rebuilt, not copied.
        state = (self.simulator.get_state(), self.ledger.get_state(), self.over.copy())
        arguments = (self.settings, self.num_envs, self.threads, self.fresh)
        return _rebuild, (*arguments, self.rngs, self.started, *state, self._now.options)


def _rebuild(
    settings: EnvSettings,
    num_envs: int,
    threads: int,
    fresh: bool,
    rngs: tuple[np.random.Generator, ...],
    started: bool,
    simulation: State,
    totals: LedgerState,
    over: NDArray[np.bool_],
    options: Mapping[str, Any] | None = None,
) -> Episodes:
    """Undo :meth:`Episodes.__reduce__`, in a copy or in another process."""
    episodes = Episodes(settings, num_envs, threads, fresh=fresh)
    episodes._restore(simulation, totals, over, options)
    if rngs:
        episodes.rngs = rngs
    episodes.started = started
    return episodes
