"""What do `sweep` and `recommend` share? Options, and the sweep, which goes on after a stop."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prema_gym.cli.fields import read_pairs
from prema_gym.cli.printing import progress
from prema_gym.errors import ConfigError

if TYPE_CHECKING:
    from prema_gym.cli.distributing import Workers
    from prema_gym.evaluation.policy import Decider
    from prema_gym.evaluation.streams import StreamSettings
    from prema_gym.evaluation.sweep import Slo, Sweep
    from prema_gym.workloads import Scenario

LoadOption = Annotated[
    str, typer.Option(help="Loads: FIRST:LAST:STEP, or values separated by commas.")
]
SloOption = Annotated[
    str,
    typer.Option(
        help="What is promised: p50, p95, p99 or p99.9 of the requests of every stream by their "
        "deadlines, or within so many ms (p99:50)."
    ),
]
RequestsOption = Annotated[
    int | None,
    typer.Option(help="Requests of a run that count; default: the scenario's, or 10000."),
]
RunsOption = Annotated[int, typer.Option(help="Independent runs at each point.")]


def read_loads(text: str) -> list[float]:
    """Read ``0.1:1.2:0.1`` or ``0.5,0.7,0.9``.

    Raises:
        ConfigError: It is neither, or the loads do not rise above 0.
    """
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            if first > last:
                raise ConfigError(f"--load: FIRST must not exceed LAST, got {text!r}")
            count = round((last - first) / step) + 1 if step > 0 else 0
            loads = [round(first + i * step, 6) for i in range(min(count, 10_000))]
        else:
            loads = [float(part) for part in text.split(",")]
    except ConfigError:  # a ValueError, too
        raise
    except (ValueError, OverflowError):
        loads = []
    rises = all(a < b for a, b in itertools.pairwise([0.0, *loads]))  # which no NaN does
    if not (loads and rises and loads[-1] < math.inf):
        raise ConfigError(
            f"--load must be FIRST:LAST:STEP or rising numbers above 0 separated by commas, got "
            f"{text!r}"
        )
    return loads


def read_slo(text: str) -> Slo:
    """Read ``p99`` or ``p99:50``.

    Raises:
        ConfigError: It is neither.
    """
    from prema_gym.evaluation.sweep import Slo

    percent, _, limit = text.partition(":")
    known = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}
    try:
        limit_ms = float(limit.removesuffix("ms")) if limit else None
        if limit_ms is not None and not 0 < limit_ms < 1e9:
            raise ValueError
        return Slo(percent=known[percent], limit_ms=limit_ms)
    except (KeyError, ValueError):
        raise ConfigError(
            f"--slo must be one of {', '.join(known)}, perhaps with a latency in ms (p99:50), got "
            f"{text!r}"
        ) from None


def read_over(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Read ``KEY=a,b,c``: every combination of the values."""
    keys: dict[str, list[Any]] = {}
    for key, given in read_pairs("--over", texts).items():
        parts = str(given).split(",") if isinstance(given, str) else [given]
        keys[key] = [read_pairs("--over", [f"{key}={part}"])[key] for part in parts]
    return [dict(zip(keys, values, strict=True)) for values in itertools.product(*keys.values())]


def run_sweep(
    scenario: Scenario,
    policies: dict[str, Decider],
    loads: Sequence[float],
    slo: Slo,
    over: Sequence[dict[str, Any]],
    settings: StreamSettings,
    output: Path | None,
    who: Workers,
) -> Sweep:
    """Sweep; with a folder every point is written as it is known, and read there the next time."""
    from dataclasses import asdict

    from prema_gym.cli.points import kept_points
    from prema_gym.evaluation.sweep import sweep
    from prema_gym.evaluation.versions import versions

    head = {
        "scenario": scenario.to_dict(),
        "slo": str(slo),
        "settings": asdict(settings),
        "files": _digest_of_files(scenario),
        "versions": versions(),
    }
    with (
        kept_points(output, head) as points,
        progress("runs played") as bar,
        who.point_player() as player,
    ):
        return sweep(
            scenario,
            policies,
            loads,
            slo=slo,
            over=over,
            settings=settings,
            threads=who.workers,
            progress=bar,
            player=player,
            known=points.known,
            keep=points.keep,
        )


def _digest_of_files(scenario: Scenario) -> str:
    """Digest of the networks and logs that it reads: once one has changed it is another sweep."""
    from prema_gym.distribution.identity import files_digest
    from prema_gym.networks import is_file
    from prema_gym.networks.importers.formats import split_name

    traces = [scenario.trace, *(stream.trace for stream in scenario.streams)]
    logs = [log.file for log in traces if log is not None]
    networks = [split_name(name)[0] for name in scenario.networks if is_file(name)]
    return files_digest(map(Path, [*networks, *logs]))
