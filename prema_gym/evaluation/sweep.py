"""Up to what load does each policy keep its promise? Long runs at many loads, and a bisection.

The promise (`Slo`) is kept where it is kept for every stream (every network, where there is one
stream only): a mean over all would hide who pays. The load at which it breaks first is found by
halving the gap between the last grid point that keeps it and the first that does not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from prema_gym.errors import ConfigError
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.stream_results import StreamResult, StreamRow
from prema_gym.evaluation.streams import (
    PointPlayer,
    Progress,
    StreamSettings,
    play_points,
    settings_for,
)
from prema_gym.metrics.dependent import Estimate
from prema_gym.metrics.groups import GROUP_COLUMNS
from prema_gym.workloads.changes import changed
from prema_gym.workloads.scenario import Scenario

TOLERANCE = 0.01
"""The bisection stops when the breaking load is known this well."""

_PERCENTILES = {column.percent: column.name for column in GROUP_COLUMNS if column.percent}


@dataclass(frozen=True, kw_only=True)
class Slo:
    """What is promised: so many percent of the requests in time.

    Attributes:
        percent: 50, 95, 99 or 99.9.
        limit_ms: The latency that is promised; None: each request's own deadline.
    """

    percent: float = 99.0
    limit_ms: float | None = None

    def __str__(self) -> str:
        when = "its deadline" if self.limit_ms is None else f"{self.limit_ms:g} ms"
        return f"p{self.percent:g} within {when}"

    @property
    def column(self) -> str:
        """The column of that percentile of the latency."""
        return _PERCENTILES[self.percent]

    def measure(self, row: StreamRow) -> Estimate:
        """How much of what is allowed one group takes: kept up to 1."""
        if self.limit_ms is not None:
            found, allowed = row[self.column], self.limit_ms
        else:
            found, allowed = row["deadline_miss"], 1 - self.percent / 100
        return Estimate(*(end / allowed for end in found))

    def worst(self, result: StreamResult) -> tuple[str, Estimate]:
        """The group that takes most of what it is allowed, and how much."""
        streams = result.groups["stream"]
        groups = streams if len(streams) > 1 else result.groups["network"]
        taken = {name: self.measure(row) for name, row in groups.items()}
        name = max(taken, key=lambda one: (taken[one].value, one))
        return name, taken[name]


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One policy at one load.

    Attributes:
        policy: Its name.
        load: Share of the machine's time asked for, by open streams.
        over: Other keys that were set, by name.
        rate_per_s: Requests a second.
        worst: The group that takes most of what the promise allows.
        taken: How much of it, kept up to 1.
        keeps_up: Whether the machine kept up.
        could_per_s: Requests a second that it could have served.
        utilisation: Share of the time that tasks ran.
        overhead: Share of the time spent switching.
        row: The row of all requests.
    """

    policy: str
    load: float
    over: dict[str, Any]
    rate_per_s: float
    worst: str
    taken: Estimate
    keeps_up: bool
    could_per_s: float
    utilisation: float
    overhead: float
    row: StreamRow

    @property
    def keeps(self) -> bool:
        """Whether the promise is kept."""
        return self.keeps_up and self.taken.value <= 1

    def to_dict(self) -> dict[str, Any]:
        """Plain data that :meth:`from_dict` reads back."""
        return asdict(self) | {
            "taken": list(self.taken),
            "row": {name: list(found) for name, found in self.row.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SweepPoint:
        """Read what :meth:`to_dict` gave, also after JSON, where NaN and infinity are None."""

        def estimate(values: Sequence[float | None]) -> Estimate:
            return Estimate(*(math.nan if value is None else value for value in values))

        row = {name: estimate(values) for name, values in data["row"].items()}
        could = data["could_per_s"]  # infinity: a machine that never worked
        return cls(
            **{
                **data,
                "taken": estimate(data["taken"]),
                "row": row,
                "could_per_s": math.inf if could is None else could,
            }
        )


@dataclass(frozen=True, kw_only=True)
class Breaking:
    """The load up to which a policy keeps the promise.

    Attributes:
        policy: Its name.
        over: Other keys that were set.
        load: Up to here; 0: at no load that was tried.
        low: Down to here the promise is kept even at the interval's bad end.
        high: From here on it is broken even at the good end; NaN: not within the loads tried.
        beyond: The promise was kept at every load tried.
        rate_per_s: Requests a second at that load.
    """

    policy: str
    over: dict[str, Any]
    load: float
    low: float
    high: float
    beyond: bool
    rate_per_s: float


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Points in order of policy and load, and where each policy breaks."""

    scenario: Scenario
    slo: Slo
    settings: StreamSettings
    points: list[SweepPoint]
    breaking: list[Breaking]

    def to_dict(self) -> dict[str, Any]:
        """Plain nested data, the layout of the JSON report; may hold NaN."""
        return {
            "scenario": self.scenario.to_dict(),
            "slo": asdict(self.slo),
            "settings": asdict(self.settings),
            "breaking": [asdict(one) for one in self.breaking],
            "points": [point.to_dict() for point in self.points],
        }


def sweep(
    scenario: Scenario,
    policies: Mapping[str, Decider],
    loads: Sequence[float],
    *,
    slo: Slo,
    over: Sequence[Mapping[str, Any]] = ({},),
    settings: StreamSettings | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    known: Sequence[SweepPoint] = (),
    keep: Callable[[SweepPoint], None] = lambda point: None,
    player: PointPlayer = play_points,
) -> Sweep:
    """Play every policy at every load, then find where each breaks the promise.

    Args:
        scenario: What is played, whatever load it has itself.
        policies: Deciders by name.
        loads: Increasing.
        slo: The promise.
        over: Other keys to set, one sweep over the loads for each of these.
        settings: How long runs are played; None: the defaults.
        threads: Threads that play; None: one a core.
        progress: Told how many runs have been played, and of how many.
        known: Points of an earlier sweep with the same scenario and settings.
        keep: Called with every new point, as soon as it is known.
        player: Who plays; default: threads of this process.

    Raises:
        ConfigError: A setting or a policy is none, or the scenario has no load that could be set.
    """
    if scenario.is_closed:
        raise ConfigError(
            f"scenario {scenario.name!r} has closed loops only, so no load to sweep: how often "
            "their requests come depends on the policy; play it by `evaluate`, with more clients "
            f"(--set streams.{scenario.streams[0].name}.clients=NUMBER) or less think_ms"
        )
    settings = settings_for(scenario, StreamSettings() if settings is None else settings)
    found = {_key(p.policy, p.load, p.over): p for p in known}

    def play(wanted: Sequence[tuple[str, float, Mapping[str, Any]]]) -> None:
        new = [one for one in wanted if _key(*one) not in found]
        points = [(n, changed(scenario, {**values, "load": load})) for n, load, values in new]

        def note(i: int, result: StreamResult) -> None:
            name, load, values = new[i]
            found[_key(name, load, values)] = point = _point(name, load, values, slo, result)
            keep(point)

        player(points, policies, settings, threads=threads, progress=progress, found=note)

    play([(name, load, values) for name in policies for values in over for load in loads])
    lines = [(name, values) for name in policies for values in over]
    while todo := _halves(found.values(), lines):
        play(todo)
    points = [point for one in lines for point in _line(found.values(), *one)]
    breaking = [_breaking(*one, _line(points, *one)) for one in lines]
    return Sweep(scenario=scenario, slo=slo, settings=settings, points=points, breaking=breaking)


def _key(policy: str, load: float, over: Mapping[str, Any]) -> str:
    return json.dumps([policy, round(load, 6), dict(over)], sort_keys=True)


def _point(
    name: str, load: float, over: Mapping[str, Any], slo: Slo, result: StreamResult
) -> SweepPoint:
    worst, taken = slo.worst(result)
    return SweepPoint(
        policy=name,
        load=load,
        over=dict(over),
        rate_per_s=result.rate_per_s,
        worst=worst,
        taken=taken,
        keeps_up=result.keeps_up,
        could_per_s=result.could_per_s,
        utilisation=result.utilisation,
        overhead=result.overhead,
        row=result.everything,
    )


def _line(points: Any, policy: str, over: Mapping[str, Any]) -> list[SweepPoint]:  # noqa: ANN401
    """One policy's points, by load."""
    mine = [point for point in points if point.policy == policy and point.over == dict(over)]
    return sorted(mine, key=lambda point: point.load)


def _gap(line: Sequence[SweepPoint]) -> tuple[float, float] | None:
    """Between which loads the promise breaks first; None where it never does."""
    last = 0.0
    for point in line:
        if not point.keeps:
            return last, point.load
        last = point.load
    return None


def _halves(
    points: Any,  # noqa: ANN401 - a dictionary's values
    lines: Sequence[tuple[str, Mapping[str, Any]]],
) -> list[tuple[str, float, Mapping[str, Any]]]:
    """The middle of every gap that is wider than the tolerance, for each policy and other keys."""
    gaps = [(one, _gap(_line(points, *one))) for one in lines]
    return [
        (name, round((gap[0] + gap[1]) / 2, 6), values)
        for (name, values), gap in gaps
        if gap is not None and gap[1] - gap[0] > TOLERANCE
    ]


def _breaking(policy: str, over: Mapping[str, Any], line: Sequence[SweepPoint]) -> Breaking:
    gap = _gap(line)
    load = line[-1].load if gap is None else gap[0]
    kept = [p.load for p in line if p.keeps_up and p.taken.high <= 1 and p.load <= load]
    broken = [p.load for p in line if not p.keeps_up or p.taken.low > 1]
    return Breaking(
        policy=policy,
        over=dict(over),
        load=load,
        low=max(kept, default=0.0),
        high=min(broken, default=math.nan),
        beyond=gap is None,
        rate_per_s=next((p.rate_per_s for p in line if p.load == load), 0.0),
    )
