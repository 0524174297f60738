"""When do the requests of a stream arrive? Processes that go on for as long as they are asked.

Each draws its next arrivals, in order, from a generator of its own; the numbers do not depend on
how many are asked for at once. A stream's rate only stretches them, so that runs at different rates
meet the same pattern. Times are in units of the mean gap: at rate r, time t is t/r.
Sources: textbook; MLPerf Inference's server scenario is Poisson; ServeGen (arXiv 2505.09999) fits
Gamma and Weibull gaps to production traffic; two-state Markov-modulated Poisson processes are the
usual model of bursts (Fischer & Meier-Hellstern, Performance Evaluation 18, 1993).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from prema_gym.workloads.tables import FloatArray

if TYPE_CHECKING:
    from prema_gym.workloads.streams import Stream

PROCESSES: Mapping[str, str] = {
    "poisson": "gaps are exponential",
    "uniform": "gaps are uniform from 0 to twice their mean",
    "periodic": "every gap is the same",
    "gamma": "gaps follow a Gamma distribution with coefficient of variation `cv`",
    "weibull": "gaps follow a Weibull distribution with coefficient of variation `cv`",
    "burst": "groups of `burst_size` arrive at one instant, gaps between groups are exponential",
    "bursty": "Poisson, at `burst_factor` × the mean rate for bursts of `burst_ms` on average, "
    "`burst_share` of the time; slower in between (Markov-modulated)",
    "diurnal": "Poisson at a rate that follows `profile` over `period_ms`, again and again",
    "trace": "the requests of a recorded trace, one after another",
    "closed": "`clients` who each wait for their answer, and think for `think_ms` on average "
    "before they ask again: arrivals depend on the policy",
}
"""Name → what it does."""

Draw = Callable[[np.random.Generator, int], FloatArray]
"""Draws so many numbers of mean 1."""

_BLOCK = 1024
"""Numbers are drawn in blocks of this many, however many are asked for."""


class Process(ABC):
    """Arrivals of mean gap 1."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._drawn = np.empty(0)

    def take(self, count: int) -> FloatArray:
        """The next ``count`` arrivals, increasing, in mean gaps since the start."""
        parts = [self._drawn]
        while sum(map(len, parts)) < count:
            parts.append(self.block())
        drawn = np.concatenate(parts)
        self._drawn = drawn[count:]
        return drawn[:count]

    @abstractmethod
    def start_anywhere(self) -> None:
        """Before anything is taken: begin at a random time of the process instead of its start."""

    @abstractmethod
    def block(self) -> FloatArray:
        """Some more arrivals, at least one."""


class Renewal(Process):
    """Independent gaps.

    Args:
        rng: Draws them.
        gaps: Draws so many gaps of mean 1.
        around: Draws gaps as they are around a random time: longer ones meet it more often.
        group: Arrivals at each instant.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        gaps: Draw,
        around: Draw,
        group: int = 1,
    ) -> None:
        super().__init__(rng)
        self._gaps, self._around, self._group, self._now = gaps, around, group, 0.0

    def start_anywhere(self) -> None:
        """The first arrival ends a gap that a random time falls into."""
        self._now = self._group * float(self.rng.random() * self._around(self.rng, 1)[0])
        self._drawn = np.full(self._group, self._now)

    def block(self) -> FloatArray:
        """The next block of instants, each as often as its group is large."""
        times = self._now + self._group * np.cumsum(self._gaps(self.rng, _BLOCK))
        self._now = float(times[-1])
        return np.repeat(times, self._group)


class Bursty(Process):
    """Two Poisson rates that take turns, for exponential times.

    Args:
        rng: Draws them.
        factor: Rate in a burst over the mean rate.
        share: Of the time that is burst.
        burst: Mean length of a burst [mean gaps].
    """

    def __init__(self, rng: np.random.Generator, factor: float, share: float, burst: float) -> None:
        super().__init__(rng)
        self._rates = ((1 - factor * share) / (1 - share), factor)
        self._lengths = (burst * (1 - share) / share, burst)
        self._now = 0.0
        self._in_burst = 0
        self._share = share

    def start_anywhere(self) -> None:
        """In a burst as often as there is one; how long it has lasted does not matter."""
        self._in_burst = int(self.rng.random() < self._share)

    def block(self) -> FloatArray:
        """The arrivals of the next phases, until there are some."""
        while True:
            length = self.rng.exponential(self._lengths[self._in_burst])
            count = self.rng.poisson(self._rates[self._in_burst] * length)
            times = self._now + length * np.sort(self.rng.random(count))
            self._now += length
            self._in_burst = 1 - self._in_burst
            if count:
                return np.asarray(times)


class Diurnal(Process):
    """A Poisson process whose rate follows a profile, by inverting its expected count.

    Args:
        rng: Draws it.
        profile: Relative rates of equal parts of the period.
        period: Its length [mean gaps].
    """

    def __init__(self, rng: np.random.Generator, profile: tuple[float, ...], period: float) -> None:
        super().__init__(rng)
        shares = np.array(profile) / np.sum(profile)
        self._expected = np.concatenate([[0.0], np.cumsum(shares)]) * period
        self._times = np.linspace(0.0, period, len(profile) + 1)
        self._period, self._now, self._start = period, 0.0, 0.0

    def start_anywhere(self) -> None:
        """At any time of the period."""
        self._start = float(self.rng.random()) * self._period
        self._now = float(np.interp(self._start, self._times, self._expected))

    def block(self) -> FloatArray:
        """The next block of a Poisson process of rate 1 in expected counts, mapped to times."""
        counts = self._now + np.cumsum(self.rng.exponential(size=_BLOCK))
        self._now = float(counts[-1])
        periods, within = np.divmod(counts, self._period)
        times = periods * self._period + np.interp(within, self._expected, self._times)
        return np.maximum(times - self._start, 0.0)


def weibull_shape(cv: float) -> float:
    """Shape of the Weibull distribution with a coefficient of variation."""

    def excess(shape: float) -> float:
        first, second = math.lgamma(1 + 1 / shape), math.lgamma(1 + 2 / shape)
        return second - 2 * first - math.log1p(cv * cv)

    from scipy.optimize import brentq  # here: scenarios load without SciPy

    return float(brentq(excess, 0.05, 200.0))


DISTRIBUTIONS = ("exponential", "uniform", "constant", "gamma", "weibull")
"""Of gaps and think times."""


def distribution(name: str, cv: float) -> Draw:
    """What draws from one of :data:`DISTRIBUTIONS`, scaled to mean 1.

    Args:
        name: Which.
        cv: Coefficient of variation of ``gamma`` and ``weibull``; the others have their own.
    """
    if name == "gamma":
        return lambda rng, n: rng.gamma(1 / cv**2, cv**2, n)
    if name == "weibull":
        shape = weibull_shape(cv)
        mean = math.gamma(1 + 1 / shape)
        return lambda rng, n: rng.weibull(shape, n) / mean
    draws: dict[str, Draw] = {
        "exponential": lambda rng, n: rng.exponential(size=n),
        "uniform": lambda rng, n: rng.uniform(0.0, 2.0, n),
        "constant": lambda rng, n: np.ones(n),
    }
    return draws[name]


def around(name: str, cv: float) -> Draw:
    """As :func:`distribution`, but gap x is as likely as x times its density: those around a time.

    Source: length-biased sampling, for example Cox, Renewal Theory, 1962, section 5.3.
    """
    if name == "gamma":
        return lambda rng, n: rng.gamma(1 / cv**2 + 1, cv**2, n)
    if name == "weibull":  # x = mean-free scale × E^(1/k), and the power of E is Gamma's then
        shape = weibull_shape(cv)
        mean = math.gamma(1 + 1 / shape)
        return lambda rng, n: rng.gamma(1 + 1 / shape, 1.0, n) ** (1 / shape) / mean
    draws: dict[str, Draw] = {
        "exponential": lambda rng, n: rng.gamma(2.0, 1.0, n),
        "uniform": lambda rng, n: 2.0 * np.sqrt(rng.random(n)),
        "constant": lambda rng, n: np.ones(n),
    }
    return draws[name]


_GAPS = {"poisson": "exponential", "burst": "exponential", "periodic": "constant"}
"""Processes whose gaps have a distribution of another name."""


def make_process(stream: Stream, rng: np.random.Generator, per_ms: float) -> Process:
    """The arrivals of a stream.

    Args:
        stream: Not a closed loop, no trace.
        rng: Draws them.
        per_ms: Its rate [requests/ms].
    """
    if stream.arrival == "bursty":
        return Bursty(rng, stream.burst_factor, stream.burst_share, stream.burst_ms * per_ms)
    if stream.arrival == "diurnal":
        return Diurnal(rng, stream.profile, stream.period_ms * per_ms)
    name = _GAPS.get(stream.arrival, stream.arrival)
    gaps, met = distribution(name, stream.cv), around(name, stream.cv)
    return Renewal(rng, gaps, met, stream.burst_size if stream.arrival == "burst" else 1)
