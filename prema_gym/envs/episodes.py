"""How does a batch of copies go from reset to reset? The core of every environment.

The single environment is a batch of one, the vector environment and the Stable-Baselines3 adapter
are batches of N: they only differ in how results are handed over. Each copy has a generator of its
own, and what happens in a copy depends on its seed and actions alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import ArrayLike, NDArray

from prema_gym.compiled.bit_generator import Generators
from prema_gym.compiled.cpus import num_cpus
from prema_gym.compiled.jit import direct
from prema_gym.envs.infos import Records, find_ends, room_for_ends
from prema_gym.envs.rewards.ledger import Ledger, LedgerState
from prema_gym.envs.rewards.totals import Payment
from prema_gym.envs.settings import EnvSettings, whole_number
from prema_gym.envs.sources import Drawn, Source, given_source, source_from_options
from prema_gym.errors import ConfigError, IllegalActionError
from prema_gym.metrics import IntArray
from prema_gym.simulator.observation import COLUMNS
from prema_gym.simulator.simulator import Simulator
from prema_gym.simulator.snapshots import check_array
from prema_gym.simulator.state import State
from prema_gym.workloads.catalog import compile_scenario

MOST_COPIES = 10**6  # of eight tasks and slots each: some three gigabytes

SHOWN_ONLY = ("strict", "render_mode", "record_timeline")
"""Settings that change nothing about what is played; a timeline is checked by the simulator."""

_INT64 = np.dtype(np.int64)
_NOBODY: IntArray = np.empty(0, np.int64)


class Step(NamedTuple):
    """What one step gave."""

    payment: Payment  # rewards and flags of every copy, in arrays of this step alone
    ended: IntArray  # (K,) copies whose episode ended in this step
    restarted: IntArray  # copies that started anew in place of a decision
    records: Records | None  # what became of those that ended; None: of nobody


class EpisodesState(NamedTuple):
    """Everything that moves; see :meth:`Episodes.get_state`."""

    simulation: State
    totals: LedgerState
    over: NDArray[np.bool_]
    generators: tuple[Mapping[str, Any], ...]
    settings: EnvSettings


class Episodes:
    """A batch of copies, each in its own episode.

    Args:
        settings: What was asked for.
        num_envs: Copies (B).
        threads: Threads among which the copies are split; no more than there are processors.
        fresh: Write the observations and masks of each step into arrays of their own.

    Attributes:
        simulator: The simulations; its arrays are the engine's own memory.
        rngs: One generator a copy; none before the first reset.
        over: bool (B,), True where an episode has ended and awaits its reset.
        waiting: int64 (K,), which are.
        started: Whether there was a reset, or a state was set.
    """

    def __init__(
        self, settings: EnvSettings, num_envs: int, threads: int = 1, *, fresh: bool = False
    ) -> None:
        self.settings = settings
        self.num_envs = whole_number("num_envs", num_envs, most=MOST_COPIES)
        self.fresh = fresh
        self.threads = min(whole_number("threads", threads), self.num_envs, num_cpus())
        self.catalog = compile_scenario(settings.checked_scenario)
        self._source: Source = (
            Drawn(self.catalog, self.num_envs)
            if settings.workload is None
            else given_source(settings.workload, self.catalog, self.num_envs)
        )
        self.simulator = self._new_simulator(self._source.max_tasks)
        self.ledger = Ledger(settings.checked_reward, self.num_envs, self.threads)
        self._agreed = settings  # whose states are known to fit
        self._generators = Generators.of(())
        self.started = False
        self._no_restarts = self._source.restarts(_NOBODY, self._generators)
        self.over = np.zeros(self.num_envs, np.bool_)
        self.waiting = _NOBODY
        self._find_ends: Any = None
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
            oracle=settings.oracle,
            record_timeline=settings.record_timeline,
            max_decisions=settings.max_decisions,
            horizon_ms=settings.horizon_ms,
        )

    @property
    def rngs(self) -> tuple[np.random.Generator, ...]:
        """See the class.

        Raises:
            ConfigError: On setting, something else than one generator for each copy alone.
        """
        return self._generators.rngs

    @rngs.setter
    def rngs(self, rngs: Sequence[np.random.Generator]) -> None:
        self._generators = self._checked_generators(rngs)

    def _checked_generators(self, rngs: Sequence[np.random.Generator]) -> Generators:
        for rng in rngs:
            if type(rng) is not np.random.Generator:  # compiled code knows no subclass's `random`
                raise ConfigError(f"a generator is a numpy.random.Generator, got {rng!r}")
        if len(rngs) != self.num_envs:
            raise ConfigError(f"{len(rngs)} generators for {self.num_envs} copies: give one a copy")
        generators = Generators.of(rngs)
        if len(set(generators.addresses.tolist())) < self.num_envs:
            # Also since threads would draw from it at once.
            raise ConfigError("two copies cannot share a generator: each has its own workloads")
        return generators

    def seed(self, seeds: Sequence[int | None]) -> dict[int, int]:
        """Give new generators to the copies that get a seed, and to those that have none yet.

        Args:
            seeds: One a copy; None: whatever seed the system gives, where one is needed.

        Returns:
            Copy → seed, of those with a new generator.
        """
        rngs = list(self.rngs)
        given: dict[int, int] = {}
        for i, own in enumerate(seeds):
            if own is not None or len(rngs) <= i:
                rng, given[i] = seeding.np_random(own)
                rngs[i : i + 1] = [rng]
        if given:
            self.rngs = rngs
        return given

    def source(self, options: Mapping[str, Any] | None) -> Source:
        """Return where the next episodes come from: look here before anything changes.

        Args:
            options: A workload or scenario fields for these episodes only; see
                :func:`sources.source_from_options`.

        Raises:
            ConfigError: Options that are not allowed.
            WorkloadError: A workload that does not fit.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ConfigError(f"options must be a dict or None, got {options!r}")
        if not options:
            return self._source
        return source_from_options(options, self.catalog, self.num_envs, self._source)

    def reset(self, rows: IntArray, source: Source | None = None) -> None:
        """Start a new episode in each copy of ``rows`` and play to its first decision.

        Args:
            rows: int64 (K,), distinct.
            source: From :meth:`source`; default: the environment's own.
        """
        source = self._source if source is None else source
        if source.max_tasks > self.simulator.max_tasks:
            self._resize(source.max_tasks)
        workloads = source.workloads(rows, self._generators)
        whole, self._whole = self._whole, False
        if self.fresh and rows.size == self.num_envs:
            self.simulator.renew_tables()
        self.ledger.open(rows)
        self.simulator.load_arrays(workloads, rows)
        if self.waiting.size:
            self.over[rows] = False
            self.waiting = np.flatnonzero(self.over)
        self._whole = whole or rows.size == self.num_envs
        self.started = True

    def step(self, actions: IntArray, *, restart: bool = True) -> Step:
        """Take one decision in every copy and play to the next.

        Copies that are over get reward 0; they start anew, or stay as they are. A copy that never
        had a decision to take (its workload was over before one came up) ends in its first step.

        Args:
            actions: int64 (B,), contiguous, from :meth:`checked_actions`.
            restart: Whether copies that are over start a new episode in this step.

        Raises:
            IllegalActionError: With ``strict``, an illegal action in a copy that is not over.
        """
        if not self._whole:
            # Who started anew in the step that was broken off is over no longer; who ended in it
            # is not over yet, so that it does in this one.
            self.over = self.over & self.simulator.done
            self.waiting = np.flatnonzero(self.over)
        if self.settings.strict:
            self._refuse_illegal(actions)
        if self.fresh:
            self.simulator.renew_tables()
        payment = self.ledger.new_payment()
        restarts = self._no_restarts
        generators = self._generators  # held until the step is taken, whoever exchanges them
        if restart and self.waiting.size:
            restarts = self._source.restarts(self.waiting, generators)
        self._whole = False
        self.simulator.make_room()
        num_over = self.ledger.play(self.simulator, actions, payment, restarts)
        ended, waiting, over, records = _NOBODY, _NOBODY, self.over, None
        if num_over or self.waiting.size:
            words = self.simulator.words
            ends = room_for_ends(words, num_over)
            arguments = (self.over, payment.over, *words, ends)
            if self._find_ends is None:
                self._find_ends = direct(find_ends, *arguments)
            num_ended = self._find_ends(*arguments)
            over, waiting, ended, *found = ends
            if num_ended < num_over:
                ended, *found = (array[:num_ended] for array in (ended, *found))
            if num_ended:
                records = Records(self.catalog, *found)
        self.ledger.add_others(self.simulator, payment, ended, records, restarts.rows)
        self.over, self.waiting = over, waiting
        self._whole = True
        return Step(payment, ended, restarts.rows, records)

    def checked_actions(self, actions: ArrayLike) -> IntArray:
        """Return actions as int64 (B,).

        Raises:
            IllegalActionError: Another shape, or no whole numbers.
        """
        array = np.asarray(actions)
        if array.shape == (self.num_envs,) and array.dtype is _INT64 and array.flags.c_contiguous:
            return array  # as nearly always
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise IllegalActionError(
                f"actions must be whole numbers of shape ({self.num_envs},), got {array.dtype} of "
                f"shape {array.shape}"
            )
        return np.ascontiguousarray(array, np.int64)

    def _refuse_illegal(self, actions: IntArray) -> None:
        mask = self.simulator.legal()
        inside = (actions >= 0) & (actions < mask.shape[1])
        legal = inside & mask[self.everyone, np.where(inside, actions, 0)]
        wrong = np.flatnonzero(~(legal | self.over))
        if wrong.size:
            copy = int(wrong[0])
            allowed = np.flatnonzero(mask[copy]).tolist()
            raise IllegalActionError(
                f"action {int(actions[copy])} is illegal in copy {copy}; legal now: {allowed}"
            )

    def now_ms(self, rows: IntArray | slice = slice(None)) -> NDArray[np.float64]:
        """Time of some copies, float64 (K,) [ms]."""
        return np.asarray(self.simulator.env["now_cycles"][rows] * self.ms_per_cycle)

    def illegal_actions(self, rows: IntArray | slice = slice(None)) -> IntArray:
        """Illegal actions of some copies in their episodes, int64 (K,)."""
        return np.array(self.simulator.env["illegal_actions"][rows])

    def get_state(self) -> EpisodesState:
        """Return a copy of everything that moves, generators included."""
        return EpisodesState(
            simulation=self.simulator.get_state(),
            totals=self.ledger.get_state(),
            over=self.over.copy(),
            generators=tuple(rng.bit_generator.state for rng in self.rngs),
            settings=self.settings,
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
        if not isinstance(state, EpisodesState):
            raise ConfigError(f"a state is what get_state() returned, given {state!r}")
        for part, kind in _STATE_KINDS.items():
            if not isinstance(getattr(state, part), kind):
                raise ConfigError(
                    f"a state is what get_state() returned; {part} of the given one is a "
                    f"{type(getattr(state, part)).__name__}"
                )
        if state.settings is not self._agreed:
            self._check_settings(state.settings)
        if len(state.generators) != self.num_envs:
            raise ConfigError(
                f"the state has {len(state.generators)} generators, expected {self.num_envs}: it "
                "was made before a reset or with another number of copies"
            )
        generators = self._generators
        if not self.rngs:
            new = [np.random.default_rng() for _ in self.everyone] if rngs is None else rngs
            generators = self._checked_generators(new)
        before = [owner.state for owner in generators.owners]
        try:
            for owner, generator in zip(generators.owners, state.generators, strict=True):
                _set_generator(owner, generator)
            self._restore(state.simulation, state.totals, state.over)
        except ConfigError:
            for owner, own in zip(generators.owners, before, strict=True):
                owner.state = own
            raise
        self._generators = generators
        self._agreed = state.settings
        self.started = True

    def _check_settings(self, other: EnvSettings) -> None:
        """Refuse a state of an environment in which another game is played."""
        for field in fields(EnvSettings):
            given, own = getattr(other, field.name), getattr(self.settings, field.name)
            if field.name not in SHOWN_ONLY and given != own:
                raise ConfigError(
                    f"the state was made with another {field.name} than this environment has"
                )

    def _restore(self, simulation: State, totals: LedgerState, over: NDArray[np.bool_]) -> None:
        """Continue from what was copied; raises before it changes anything."""
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
        self.ledger.set_state(totals)
        self.over = over.copy()
        self.waiting = np.flatnonzero(self.over)
        self._whole = True

    def _resize(self, max_tasks: int) -> None:
        """Make room for longer workloads, keeping every copy where it is."""
        old = self.simulator.get_state()
        self.simulator = self._new_simulator(max_tasks)
        task = self.simulator.get_state().task
        task[:, : old.task.shape[1]] = old.task
        self.simulator.set_state(old._replace(task=task))

    def close(self) -> None:
        """End the threads; a later step starts them anew."""
        self.ledger.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled scenarios are large and follow from the settings: rebuilt, not copied.
        state = (self.simulator.get_state(), self.ledger.get_state(), self.over.copy())
        arguments = (self.settings, self.num_envs, self.threads, self.fresh)
        return _rebuild, (*arguments, self.rngs, self.started, *state)


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
) -> Episodes:
    """Undo :meth:`Episodes.__reduce__`, in a copy or in another process."""
    episodes = Episodes(settings, num_envs, threads, fresh=fresh)
    episodes._restore(simulation, totals, over)
    if rngs:
        episodes.rngs = rngs
    episodes.started = started
    return episodes


_STATE_KINDS: Mapping[str, type] = {
    "simulation": State,
    "totals": LedgerState,
    "generators": tuple,
    "settings": EnvSettings,
}


def _set_generator(owner: np.random.BitGenerator, state: Mapping[str, Any]) -> None:
    """Let a generator go on from a state.

    Raises:
        ConfigError: It is another kind's, or none.
    """
    own = type(owner).__name__
    given = state.get("bit_generator") if isinstance(state, Mapping) else None
    if given != own:
        raise ConfigError(f"the state's generator is a {given}, here it is a {own}")
    try:
        owner.state = state
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"the state of its {own} is damaged: {error!r}") from None


def refuse_over(state: EpisodesState) -> None:
    """Refuse a state with episodes that are over, where nothing would start them anew.

    Raises:
        ConfigError: There is one.
    """
    if isinstance(state, EpisodesState) and np.any(state.over):
        raise ConfigError(
            "the state has copies that are over and wait for their next step; here they start "
            "anew in the step they end in"
        )


def observation_space(slots: int) -> spaces.Box:
    """Space of one observation table: float32 (slots, columns), bounds from the columns.

    Where a column has no bound the largest finite number stands for it: values are always finite,
    and Gymnasium's checker asks for finite bounds.
    """
    most = np.finfo(np.float32).max
    low, high = (
        np.clip([getattr(column, end) for column in COLUMNS], -most, most).astype(np.float32)
        for end in ("low", "high")
    )
    return spaces.Box(
        np.tile(low, (slots, 1)), np.tile(high, (slots, 1)), (slots, len(COLUMNS)), np.float32
    )


def action_space(settings: EnvSettings) -> spaces.Discrete:
    """Space of one action: mechanism index · slots + slot."""
    return spaces.Discrete(settings.slots * len(settings.mechanisms))
