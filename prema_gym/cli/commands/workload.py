"""`prema-gym workload`: which tasks does a seed draw?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from prema_gym.cli.options import (
    FormatOption,
    FromOption,
    LimitOption,
    ScenarioOption,
    SetOption,
    SpeedOption,
    read_scenario,
)
from prema_gym.cli.printing import Format, print_rows
from prema_gym.errors import ConfigError


def workload(
    scenario: ScenarioOption = "paper",
    set: SetOption = None,
    start: FromOption = None,
    limit: LimitOption = None,
    speed: SpeedOption = None,
    seed: Annotated[int, typer.Option(help="The workload of this seed.")] = 0,
    requests: Annotated[int, typer.Option(help="Of a long run, so many of its first.")] = 20,
    format: FormatOption = Format.table,
    output: Annotated[
        Path | None,
        typer.Option(help="Save it as a workload file, for `prema-gym evaluate --workload`."),
    ] = None,
) -> None:
    """Print the tasks that a seed draws, or the first requests of a long run; save a workload."""
    from prema_gym.checks import whole
    from prema_gym.views.listings import request_rows
    from prema_gym.workloads import compile_scenario, sample_batch, save_workload

    drawn_from = read_scenario(scenario, set, replay=(start, limit, speed))
    whole(0).check("seed", seed)
    whole(1, 1_000_000).check("requests", requests)
    print_rows(request_rows(drawn_from, seed, requests), format)
    if output is None:
        return
    if drawn_from.is_stream:
        raise ConfigError("--output is for workloads, and this scenario is played as long runs")
    catalog = compile_scenario(drawn_from)
    save_workload(output, sample_batch(catalog, [seed]).row(0), catalog)
    print(f"wrote {output}", file=sys.stderr)
