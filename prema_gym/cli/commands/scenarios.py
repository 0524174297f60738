"""`prema-gym scenarios`: which scenarios have a name, and what does one of a file ask for?"""

from __future__ import annotations

from typing import Annotated

import typer

from prema_gym.cli.options import (
    FormatOption,
    FromOption,
    LimitOption,
    OnHardwareOption,
    SetOption,
    SpeedOption,
    read_scenario,
)
from prema_gym.cli.printing import Format, print_rows


def scenarios(
    scenario: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names or FILE.toml; none means all that have a name.", show_default=False
        ),
    ] = None,
    hardware: OnHardwareOption = None,
    set: SetOption = None,
    start: FromOption = None,
    limit: LimitOption = None,
    speed: SpeedOption = None,
    format: FormatOption = Format.table,
) -> None:
    """List scenarios: what is drawn, how often it comes, and how loaded the NPU is."""
    from prema_gym.views.listings import scenario_rows, stream_rows
    from prema_gym.workloads import scenarios as registered

    names = scenario or registered.names()
    replay = (start, limit, speed)
    chosen = [
        read_scenario(name, set, hardware=hardware, replay=replay, tell=bool(scenario))
        for name in names
    ]
    known = registered.names()
    purposes = [registered.summary(name) if name in known else "" for name in names]
    print_rows(scenario_rows(zip(chosen, purposes, strict=True)), format)
    if scenario and format is Format.table:
        for one in chosen:
            print_rows(stream_rows(one), format)
