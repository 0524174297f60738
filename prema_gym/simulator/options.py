"""What stays fixed during a simulation? As a user says it, and as the engine reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from prema_gym.checks import check_fields, declared, one_of, positive, truth, whole
from prema_gym.errors import ConfigError
from prema_gym.simulator.mechanisms import MECHANISMS
from prema_gym.simulator.state import NONE
from prema_gym.workloads.arrivals import DROPS

DEFAULT_SLOTS = 16  # the paper's context table holds 16 tasks (fidelity.md, S)
MAX_SLOTS = 4096  # far beyond any context table; a table of it still takes a third of a megabyte

# What the sizes and limits of a simulation may be, wherever they are given.
SLOTS = whole(1, MAX_SLOTS)
NUM_ENVS = whole(1, 10**6)  # of eight tasks and slots each: some three gigabytes
MAX_TASKS = whole(1, 10**6)
MAX_DECISIONS = whole(1, 10**12)  # more than any machine takes in a month
HORIZON_MS = positive(1e9)  # eleven days of the NPU's time, far within 64-bit cycles


class TokenWait(IntEnum):
    """Which wait earns tokens at a wake-up; the value is the engine's code."""

    SINCE_WAKEUP = 0  # since the task's last update: independent of how often the scheduler wakes,
    # the form that SCALE-Sim-PREMA took after finding that tokens grew too fast
    TOTAL = 1  # since it arrived, run time aside: as in prema_sim
    SINCE_RUN = 2  # since it last ran: as in Dysta's simulator


class Shown(IntEnum):
    """What a scheduler is shown as a task's isolated time; the value is the engine's code."""

    ALGORITHM1 = 0  # the workload's own estimate, by the paper's Algorithm 1
    CALIBRATED = 1  # the same × the mean of true time over it for the network and batch
    ORACLE = 2  # the true time


ESTIMATES: tuple[str, ...] = tuple(shown.name.lower() for shown in Shown)
DEFAULT_ESTIMATE = ESTIMATES[Shown.ALGORITHM1]
ESTIMATE = one_of("estimate", ESTIMATES)
"""What a name of one of them may be."""


def one_estimate(estimate: str, oracle: bool) -> str:
    """The estimate that two settings ask for, of which ``oracle`` is the older name of one.

    Raises:
        ConfigError: They ask for two different ones.
    """
    known: str = ESTIMATE.check("estimate", estimate)
    if not truth().check("oracle", oracle):
        return known
    if known not in (DEFAULT_ESTIMATE, ESTIMATES[Shown.ORACLE]):
        raise ConfigError(f"oracle shows true times, but estimate is {known!r}: give one of them")
    return ESTIMATES[Shown.ORACLE]


TOKEN_WAITS: tuple[str, ...] = tuple(wait.name.lower() for wait in TokenWait)


class Drop(IntEnum):
    """Which waiting tasks leave unserved at a wake-up; the value is the engine's code."""

    NEVER = 0
    LATE = 1  # past their deadlines
    HOPELESS = 2  # that can no longer meet them, as far as the scheduler knows


@dataclass(frozen=True, kw_only=True)
class SchedulerOptions:
    """Points public sources leave open (fidelity.md, "The token policy", "Preemption").

    Attributes:
        token_wait: Which wait earns tokens at a wake-up: ``since_wakeup`` (default; independent of
            how often the scheduler wakes; SCALE-Sim-PREMA's in the end), ``total`` (prema_sim's) or
            ``since_run`` (Dysta's simulator's).
        sticky_drain: Once DRAIN is chosen, ask nothing until the running task has ended, then run
            the named one. False (default): ask again at the next wake-up.
    """

    token_wait: str = declared(
        "since_wakeup", one_of("token_wait", TOKEN_WAITS), help="which wait earns tokens"
    )
    sticky_drain: bool = declared(
        False, truth(), help="after a drain ask nothing until the running task has ended"
    )

    def __post_init__(self) -> None:
        check_fields(self)


class EngineOptions(NamedTuple):
    """The same and the rest, as numbers a kernel can read.

    No arrays: handing one to an inlined function costs two atomic reference counts.
    """

    mechanisms: tuple[int, ...]  # codes in the order of the action space, then NONE
    num_mechanisms: int  # how many of them count
    quantum_cycles: int
    token_wait: int  # a TokenWait
    sticky_drain: bool
    estimate: int  # a Shown
    only_when_free: bool  # ask nothing while a task runs
    max_decisions: int  # 0: no limit
    horizon_cycles: int  # 0: no limit
    ms_per_cycle: float
    drop: int  # a Drop
    queue_limit: int  # NONE: no limit
    refills: bool  # a stream: more tasks are loaded whenever all that are have arrived
    ends_at_last_arrival: bool  # cut from a stream: truncate once every task has arrived


def engine_options(
    options: SchedulerOptions,
    mechanisms: Sequence[str],
    *,
    quantum_cycles: int,
    clock_hz: float,
    estimate: str = DEFAULT_ESTIMATE,
    only_when_free: bool = False,
    max_decisions: int | None = None,
    horizon_ms: float | None = None,
    drop: str = "never",
    queue_limit: int | None = None,
    refills: bool = False,
    ends_at_last_arrival: bool = False,
) -> EngineOptions:
    """Write options as the engine reads them.

    Args:
        options: Open points of the scheduler.
        mechanisms: Names, checked, in the order of the action space.
        quantum_cycles: The scheduler's quantum.
        clock_hz: Of the NPU.
        estimate: What is shown as isolated times, a name in ``ESTIMATES``.
        only_when_free: Ask nothing while a task runs.
        max_decisions: Decisions before truncation; None: no limit.
        horizon_ms: Time from which on a decision is truncated; None: no limit.
        drop: Which waiting tasks leave unserved at a wake-up, one of ``DROPS``.
        queue_limit: Tasks that may wait beside the one that runs; None: no limit.
        refills: A stream is played: more tasks are loaded whenever all that are have arrived.
        ends_at_last_arrival: Truncate at the first decision after it; a stream goes on there.
    """
    codes = [MECHANISMS.index(name) for name in mechanisms]
    return EngineOptions(
        # As long as the table whatever is offered, so that one compiled engine serves all.
        mechanisms=(*codes, *[NONE] * (len(MECHANISMS) - len(codes))),
        num_mechanisms=len(codes),
        quantum_cycles=quantum_cycles,
        token_wait=TOKEN_WAITS.index(options.token_wait),
        sticky_drain=options.sticky_drain,
        estimate=ESTIMATES.index(estimate),
        only_when_free=only_when_free,
        max_decisions=0 if max_decisions is None else max_decisions,
        horizon_cycles=0 if horizon_ms is None else max(1, round(horizon_ms * clock_hz / 1e3)),
        ms_per_cycle=1e3 / clock_hz,
        drop=DROPS.index(drop),
        queue_limit=NONE if queue_limit is None else queue_limit,
        refills=refills,
        ends_at_last_arrival=ends_at_last_arrival,
    )
