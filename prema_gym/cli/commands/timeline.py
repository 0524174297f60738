"""`prema-gym timeline`: who ran when, as a picture, a page to zoom into, or a trace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from prema_gym.cli.options import ScenarioOption
from prema_gym.cli.played import (
    PoliciesOption,
    SeedOption,
    WorkloadOption,
    record_named,
    titled,
)
from prema_gym.errors import ConfigError

Output = Annotated[
    Path,
    typer.Option(
        help="The file; its ending says what: .pftrace or .json (a trace, for ui.perfetto.dev), "
        ".png, .svg, .pdf (a Gantt chart), .gif (it grows), .html (to zoom into), .csv (slices)."
    ),
]
FromMs = Annotated[float, typer.Option(help="Where a picture's time axis begins [ms].")]
ToMs = Annotated[
    float | None,
    typer.Option(help="Where it ends [ms]; default: with the schedule.", show_default=False),
]


def timeline(
    output: Output,
    policies: PoliciesOption = "dynamic-prema",
    scenario: ScenarioOption = "paper",
    seed: SeedOption = 0,
    workload: WorkloadOption = None,
    from_ms: FromMs = 0.0,
    to_ms: ToMs = None,
) -> None:
    """Play one workload under each policy and show who ran when, on one time axis."""
    from prema_gym.views.timelines import check_ending, write_timeline

    check_ending(output)
    if from_ms < 0 or (to_ms is not None and to_ms <= from_ms):
        raise ConfigError(
            f"--from-ms and --to-ms must be 0 or more and in this order, got {from_ms} and {to_ms}"
        )
    episodes = [
        titled(recording, seed, workload)
        for recording in record_named(policies, scenario, seed, workload)
    ]
    write_timeline(output, episodes, from_ms=from_ms, to_ms=to_ms)
    print(f"wrote {output}")
    if output.suffix in (".json", ".pftrace"):
        print("open it at https://ui.perfetto.dev: drag the file into the window", file=sys.stderr)
