"""What do commands about long runs share? How they are played, and how results are shown."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prema_gym.cli.options import read_kinds
from prema_gym.cli.printing import Format, console, print_result, progress
from prema_gym.errors import ConfigError
from prema_gym.files import write_files

if TYPE_CHECKING:
    from prema_gym.cli.distributing import Workers
    from prema_gym.evaluation.policy import Decider
    from prema_gym.evaluation.streams import StreamSettings
    from prema_gym.simulator import SchedulerOptions
    from prema_gym.workloads import Scenario


def refuse_for_streams(given: Mapping[str, object]) -> None:
    """Refuse options that are for workloads only.

    Raises:
        ConfigError: One is given.
    """
    for option, value in given.items():
        if value:
            raise ConfigError(
                f"{option} is for workloads, and this scenario is played as long runs"
            )


def stream_settings(
    runs: int | None, seed: int, *, estimate: str, slots: int, options: SchedulerOptions
) -> StreamSettings:
    """What options say of how long runs are played."""
    from prema_gym.evaluation.playing import PlaySettings
    from prema_gym.evaluation.streams import DEFAULT_RUNS, StreamSettings

    return StreamSettings(
        runs=DEFAULT_RUNS if runs is None else runs,
        seed=seed,
        play=PlaySettings(estimate=estimate, slots=slots, options=options),
    )


def show_streams(
    scenario: Scenario,
    policies: dict[str, Decider],
    settings: StreamSettings,
    by: str,
    format: Format,
    output: Path | None,
    who: Workers,
) -> None:
    """Play policies on long runs, and print what came of it."""
    from prema_gym.evaluation.stream_results import KINDS
    from prema_gym.evaluation.streams import evaluate_streams
    from prema_gym.views import streams, tables

    default = ("stream",) if len(scenario.streams) > 1 else ("network",)
    kinds = read_kinds(by, KINDS) or default
    with progress("runs played") as bar, who.point_player() as player:
        result = evaluate_streams(
            scenario, policies, settings, threads=who.workers, progress=bar, player=player
        )
    width = console().width
    print_result(
        format,
        tables=lambda: [
            table
            for section in streams.sections(result, kinds)
            for table in tables.section_tables(section, width)
        ],
        data=result.to_dict,
        rows=lambda: streams.records(result),
    )
    for note in streams.notes(result):
        print(note, file=sys.stderr)
    if output is not None:
        for path in write_files(output, streams.files(result)):
            print(f"wrote {path}", file=sys.stderr)
