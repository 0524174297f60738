"""What do the commands share that look at one workload? Which one, under which policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.cli.naming import make_policy, split_names
from prema_gym.cli.options import read_scenario, read_workloads
from prema_gym.errors import ConfigError

if TYPE_CHECKING:
    from prema_gym.evaluation.policy import Decider
    from prema_gym.evaluation.recording import Recording
    from prema_gym.views.episode import EpisodeView
    from prema_gym.workloads import Scenario, WorkloadBatch

PoliciesOption = Annotated[
    str, typer.Option(help="Names from `prema-gym policies`, FILE.py:NAME or path:RUN, by commas.")
]
SeedOption = Annotated[int, typer.Option(help="The workload drawn from this seed.")]
WorkloadOption = Annotated[
    Path | None,
    typer.Option(help="Play this workload file in place of a drawn one.", show_default=False),
]


def policies_named(text: str) -> dict[str, Decider]:
    """Policies by name, in the order given.

    Raises:
        PremaError: A name is unknown or given twice.
    """
    names = split_names(text)
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"policy {name!r} is named twice")
    return {name: make_policy(name) for name in names}


def one_workload(
    scenario_name: str, seed: int, file: Path | None
) -> tuple[Scenario, WorkloadBatch]:
    """The workload that is looked at, and its scenario.

    Raises:
        PremaError: There is no such scenario, or the file cannot be read.
    """
    from prema_gym.checks import whole
    from prema_gym.workloads import compile_scenario
    from prema_gym.workloads.generate import sample_batch

    scenario = read_scenario(scenario_name)
    given = read_workloads(None if file is None else [file], scenario)
    if given is not None:
        return scenario, given
    seed = whole(0).check("seed", seed)
    return scenario, sample_batch(compile_scenario(scenario), [seed])


def record_named(
    policies: str, scenario_name: str, seed: int, file: Path | None, *, tables: bool = False
) -> list[Recording]:
    """Play one workload under each policy, every decision on record."""
    from prema_gym.evaluation.recording import record
    from prema_gym.workloads import compile_scenario

    made = policies_named(policies)
    scenario, workload = one_workload(scenario_name, seed, file)
    catalog = compile_scenario(scenario)
    return [record(p, name, catalog, workload, tables=tables) for name, p in made.items()]


def titled(recording: Recording, seed: int | None, file: Path | None) -> EpisodeView:
    """A recording as an episode whose title says whose schedule of what it is, and how good.

    A scenario goes by its own name, also one from a file.

    Args:
        recording: One workload under one policy.
        seed: What it was drawn from; None: it was given.
        file: The workload's file; None: it has none, or none that is known.
    """
    from prema_gym.metrics import values_of
    from prema_gym.views.episode import view_recorded

    scenario = recording.simulator.catalog.scenario.name
    drawn = "the first workload given" if seed is None else f"seed {seed}"
    source = drawn if file is None else file.name
    found = {name: float(values[0]) for name, values in values_of(recording.outcomes).items()}
    title = (
        f"{recording.policy} · {scenario}, {source} · ANTT {found['antt']:.2f}, "
        f"STP {found['stp']:.2f}, fairness {found['fairness']:.3f}"
    )
    return view_recorded(recording, title, seed=seed if file is None else None)
