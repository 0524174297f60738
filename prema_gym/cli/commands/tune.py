"""`prema-gym tune`: which settings train best? Many short runs on the same workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Folder of the study; one that is there goes on.")
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Settings that all trials share.", show_default=False),
]
Ranges = Annotated[
    list[str],
    typer.Option(
        "--range",
        metavar="NAME=VALUES",
        help="What is tuned: evolution.sigma=0.05:0.5:log, evolution.hidden=3/4/6, "
        "num_envs=160:640.",
    ),
]
Trials = Annotated[int, typer.Option(min=1, help="Trials in all, those of earlier starts too.")]
Algo = Annotated[str, typer.Option(help="How to train, unless the file says so.")]
Timesteps = Annotated[
    int | None, typer.Option(min=1, help="Scheduling decisions of a trial, over the file's.")
]


def tune(
    output: Output,
    range: Ranges,
    trials: Trials = 20,
    config: Config = None,
    algo: Algo = "es",
    timesteps: Timesteps = None,
) -> None:
    """Train with many settings, each judged on the same workloads, and keep the best.

    The best settings are written to FOLDER/best.toml, for `prema-gym train --config`. The same
    command again goes on after a stop.
    """
    from prema_gym.agents.studies.ranges import read_ranges
    from prema_gym.agents.studies.tuning import tune as run
    from prema_gym.agents.training.settings import TrainSettings
    from prema_gym.files import read_toml

    ranges = read_ranges(range)
    data = {"algo": algo} if config is None else read_toml(config)
    if timesteps is not None:
        data = {**data, "timesteps": timesteps, "eval_every": None}
    where = "the options" if config is None else str(config)
    settings = TrainSettings.from_dict(data, where=where)
    run(output, settings, ranges, trials=trials, say=print)
    print(f"wrote {output / 'best.toml'}; go on with: prema-gym train --config {output}/best.toml")
