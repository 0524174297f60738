"""`prema-gym shard K/N -- COMMAND …`: one part of a comparison, played into a shared folder."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from prema_gym.cli.distributing import only
from prema_gym.errors import ConfigError

SHARDED = ("evaluate", "tradeoff")
"""Commands that are one comparison, whose shards are known before any is played."""

PartArgument = Annotated[
    str, typer.Argument(metavar="K/N", help="Which of N parts, from 1/N to N/N.")
]
CommandArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="-- COMMAND …",
        help="The whole command, with --resume DIR: a folder that all parts share.",
    ),
]


def shard(part: PartArgument, command: CommandArgument) -> None:
    """Play one part of a command's shards, as a task of a Slurm array does; show nothing.

    When all parts are there, the command itself only merges them:
    `prema-gym shard $SLURM_ARRAY_TASK_ID/8 -- evaluate --workloads 20000 --resume DIR`.
    """
    from prema_gym.cli.commands import application
    from prema_gym.distribution.comparison import Part, PartPlayed

    given = re.fullmatch(r"(\d+)/(\d+)", part)
    k, n = (int(given[1]), int(given[2])) if given else (0, 0)
    if not 1 <= k <= n:
        raise ConfigError(f"a part reads K/N, from 1/N to N/N, got {part!r}")
    if command[0] not in SHARDED:
        raise ConfigError(f"shard is for {', '.join(SHARDED)}, got {command[0]!r}")
    program = typer.main.get_command(application())
    try:
        with only(Part(k, n)), program.make_context("prema-gym", [*command]) as context:
            program.invoke(context)
    except PartPlayed as played:
        print(f"part {part}: {played}", file=sys.stderr)
        return
    raise ConfigError(f"{command[0]} had nothing that is played in shards")
