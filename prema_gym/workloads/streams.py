"""What is a stream of requests? Some networks, when their requests arrive, and when they are due.

A scenario's ``[[streams]]`` each have a process, rate, mix and deadline of their own; together they
are its traffic. What a stream leaves out it has from the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prema_gym.checks import (
    Constraint,
    check_fields,
    declared,
    list_of,
    number,
    one_of,
    optional,
    positive,
    read_record,
    stated,
    text,
    whole,
)
from prema_gym.errors import ConfigError, located
from prema_gym.workloads.processes import DISTRIBUTIONS, PROCESSES
from prema_gym.workloads.scenario_rules import NETWORK, check_stretch
from prema_gym.workloads.traces.log import TRACE

_MOST = 1e9
_SHARES = optional(list_of(whole(1, 10_000), distinct=False))


def _where(name: object) -> str:
    return f"stream {name!r}"


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One stream; each field's ``help`` says what it is.

    Raises:
        ConfigError: On construction, a value that is not allowed.
    """

    name: str = field(metadata=stated(text(), help="what results call it"))
    networks: tuple[str, ...] | None = declared(
        None, optional(list_of(NETWORK)), help="its networks; left out: all of the scenario's"
    )
    network_shares: tuple[int, ...] | None = declared(
        None, _SHARES, help="how often each of its networks is drawn"
    )
    batch_sizes: tuple[int, ...] | None = declared(
        None, optional(list_of(whole(1, 65_536))), unit="inputs", help="its batch sizes"
    )
    batch_shares: tuple[int, ...] | None = declared(
        None, _SHARES, help="how often each of its batch sizes is drawn"
    )
    priorities: tuple[int, ...] | None = declared(
        None, optional(list_of(whole(1, 1_000_000))), unit="weight", help="its priorities"
    )
    priority_shares: tuple[int, ...] | None = declared(
        None, _SHARES, help="how often each of its priorities is drawn"
    )
    arrival: str = declared(
        "poisson", one_of("arrival process", PROCESSES), help="its arrival process, see below"
    )
    rate_per_s: float | None = declared(
        None, optional(positive(_MOST)), unit="requests/s", help="requests a second"
    )
    load: float | None = declared(
        None, optional(positive(_MOST)), help="share of the machine's time that it asks for"
    )
    share: float | None = declared(
        None,
        optional(positive(_MOST)),
        help="part of all requests, beside the other streams' shares; the scenario's `load` or "
        "`rate_per_s` says how many there are",
    )
    cv: float = declared(
        2.0,
        number(0.05, 20.0),
        help="coefficient of variation of `gamma` and `weibull` gaps and think times",
    )
    clients: int | None = declared(
        None,
        optional(whole(1, 10_000)),
        help='how many there are, for `arrival = "closed"`, in place of a rate',
    )
    think_ms: float | None = declared(
        None,
        optional(positive(_MOST)),
        unit="ms",
        help="mean time from a client's answer, or refusal, to its next request",
    )
    think: str = declared(
        "exponential",
        one_of("distribution", DISTRIBUTIONS),
        help="distribution of think times",
    )
    burst_size: int = declared(
        4, whole(1, 1_000_000), unit="requests", help="requests that arrive together in a `burst`"
    )
    burst_factor: float = declared(
        4.0, number(1.0, 1e6), unit="×", help="rate in a burst of `bursty` over the mean rate"
    )
    burst_share: float = declared(
        0.1, number(1e-6, 0.999), help="share of the time that is burst; times the factor, below 1"
    )
    burst_ms: float = declared(1000.0, positive(_MOST), unit="ms", help="mean length of a burst")
    profile: tuple[float, ...] = declared(
        (1.0, 2.0, 4.0, 2.0),
        list_of(number(0.0, _MOST), distinct=False),
        help="relative rates of equal parts of a `diurnal` period",
    )
    period_ms: float = declared(
        86_400_000.0, positive(1e12), unit="ms", help="length of a `diurnal` period"
    )
    trace: Any = declared(  # a TraceLog or None; the name of a file is taken for one
        None,
        optional(TRACE),
        help='file of a recorded trace, or its table, for `arrival = "trace"`',
    )
    trace_speed: float | None = declared(
        None,
        optional(positive(_MOST)),
        unit="×",
        help="plays the trace in real time, so many times as fast, in place of a rate",
    )
    trace_from: int | None = declared(
        None,
        optional(whole(0, 10**9)),
        unit="requests",
        help="requests of the trace before the first one that is replayed",
    )
    trace_limit: int | None = declared(
        None,
        optional(whole(1, 10**9)),
        unit="requests",
        help="requests of the trace that are replayed; left out: all that follow",
    )
    slo_ms: float | None = declared(
        None, optional(positive(_MOST)), unit="ms", help="a request's deadline after its arrival"
    )
    sla_factor: float | None = declared(
        None, optional(positive(_MOST)), unit="×", help="the same, × its estimated isolated time"
    )

    def __post_init__(self) -> None:
        with located(_where(self.name)):
            check_fields(self)
            self._check_rates()
            if self.burst_factor * self.burst_share >= 1 and self.arrival == "bursty":
                raise ConfigError(
                    "burst_factor × burst_share must be below 1, or nothing is left between "
                    f"bursts, got {self.burst_factor:g} × {self.burst_share:g}"
                )
            if not any(self.profile):
                raise ConfigError(f"profile must have a rate above 0, got {self.profile}")
            if None not in (self.slo_ms, self.sla_factor):
                raise ConfigError("slo_ms and sla_factor say the same thing: give only one")
            for shares, of in (
                ("network_shares", "networks"),
                ("batch_shares", "batch_sizes"),
                ("priority_shares", "priorities"),
            ):
                given, choices = getattr(self, shares), getattr(self, of)
                if given is not None and len(given) != len(choices or ()):
                    raise ConfigError(f"{shares} must have one number for each of its own {of}")

    def _check_rates(self) -> None:
        if (self.arrival == "trace") != (self.trace is not None):
            raise ConfigError('a trace and arrival = "trace" need each other')
        check_stretch(self.trace, self.trace_from, self.trace_limit)
        names = ("rate_per_s", "load", "share", "trace_speed")
        given = [name for name in names if getattr(self, name) is not None]
        loop = [name for name in ("clients", "think_ms") if getattr(self, name) is not None]
        if self.is_closed and (given or len(loop) < 2):
            raise ConfigError(
                'arrival = "closed" takes clients and think_ms, and no rate: how often requests '
                f"come depends on the policy; got {', '.join(given + loop) or 'none of them'}"
            )
        if loop and not self.is_closed:
            raise ConfigError(f'{" and ".join(loop)} need arrival = "closed", got {self.arrival!r}')
        if len(given) != 1 and not self.is_closed:
            raise ConfigError(f"give exactly one of {', '.join(names)}, got {len(given)}")

    @property
    def is_closed(self) -> bool:
        """Whether its clients wait for their answers before they ask again."""
        return self.arrival == "closed"


def _stream(entry: object) -> Stream:
    if isinstance(entry, Mapping):
        # Located as a stream that is made locates itself, which says it once.
        made: Stream = read_record(
            Stream, entry, _where(entry["name"]) if "name" in entry else "a stream"
        )
        return made
    if not isinstance(entry, Stream):
        raise TypeError
    return entry


STREAM: Any = Constraint("a Stream or a table of its fields", _stream)
