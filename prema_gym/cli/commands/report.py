"""`prema-gym report`: a comparison as one page for a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.cli.commands.evaluate import DEFAULT_POLICIES
from prema_gym.cli.naming import make_policies, make_policy
from prema_gym.cli.options import read_scenario
from prema_gym.cli.played import titled
from prema_gym.cli.printing import progress
from prema_gym.errors import ConfigError, PremaError
from prema_gym.files import read_json, write_text

if TYPE_CHECKING:
    from prema_gym.evaluation.results import Evaluation
    from prema_gym.views.episode import EpisodeView

Run = Annotated[
    Path | None,
    typer.Argument(
        help="evaluation.json of `prema-gym evaluate --output`; without it, policies are played.",
        show_default=False,
    ),
]
Output = Annotated[Path, typer.Option(help="The page to write.")]
Policies = Annotated[
    str | None, typer.Option(help="As for `prema-gym evaluate`.", show_default=False)
]
ScenarioName = Annotated[
    str | None, typer.Option(help="A registered scenario or FILE.toml.", show_default="paper")
]
Workloads = Annotated[int | None, typer.Option(help="Workloads to play.", show_default="200")]
Seed = Annotated[int | None, typer.Option(help="Workload i: seed + i.", show_default="0")]
RelativeTo = Annotated[
    str | None, typer.Option(help="Policy that ratios compare with.", show_default="np-fcfs")
]
Shown = Annotated[
    int | None,
    typer.Option(
        "--timeline", help="Seed of the workload whose schedules are shown.", show_default="--seed"
    ),
]
MOST_SCHEDULES = 4


def report(
    run: Run = None,
    output: Output = Path("report.html"),
    policies: Policies = None,
    scenario: ScenarioName = None,
    workloads: Workloads = None,
    seed: Seed = None,
    relative_to: RelativeTo = None,
    timeline: Shown = None,
) -> None:
    """Write a page: who won by how much, tables, charts, schedules, and how to repeat it."""
    from prema_gym.evaluation.results import Evaluation
    from prema_gym.views.web.report import report as page

    if not output.parent.is_dir():
        raise ConfigError(f"cannot write {output}: there is no folder {output.parent}")
    if run is not None:
        options = {
            "--policies": policies, "--scenario": scenario, "--workloads": workloads,
            "--seed": seed, "--relative-to": relative_to,
        }  # fmt: skip
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise ConfigError(f"{run} says what was played: leave out {', '.join(given)}")
        result = Evaluation.from_dict(read_json(run), where=str(run))
    else:
        result = _play(policies, scenario or "paper", workloads, seed or 0, relative_to)
    write_text(output, page(result, _schedules(result, timeline)))
    print(f"wrote {output}")


def _play(
    policies: str | None, scenario: str, workloads: int | None, seed: int, relative_to: str | None
) -> Evaluation:
    from prema_gym.bounds import MAX_TASKS
    from prema_gym.evaluation.compare import evaluate

    base = relative_to or "np-fcfs"
    drawn_from = read_scenario(scenario)
    with progress() as bar:
        result = evaluate(
            drawn_from, make_policies(policies or DEFAULT_POLICIES, base), workloads=workloads,
            seed=seed, relative_to=base, per_workload=True,
            bounds=drawn_from.num_tasks <= MAX_TASKS, progress=bar,
        )  # fmt: skip
    return result.drawn_by(["--scenario", scenario])


def _schedules(result: Evaluation, seed: int | None) -> list[EpisodeView]:
    """Schedules of one workload: of the best overall, and of the policy compared with."""
    from prema_gym.evaluation.recording import record
    from prema_gym.evaluation.settings import EvaluationSettings
    from prema_gym.views.verdict import ranked
    from prema_gym.workloads import compile_scenario
    from prema_gym.workloads.generate import sample_batch

    settings = EvaluationSettings.from_dict(result.settings)
    catalog = compile_scenario(settings.scenario)
    shown: int | None = None
    if settings.workload is None:
        shown = settings.seed if seed is None else seed
        batch = sample_batch(catalog, [shown])
    else:
        batch = settings.workload.rows([0])
    names = [result.relative_to, *ranked(result)][:MOST_SCHEDULES]
    episodes = []
    for name in dict.fromkeys(names):
        try:
            recording = record(make_policy(name), name, catalog, batch, settings.play)
        except PremaError as error:
            print(f"no schedule of {name}: {error}", file=sys.stderr)
            continue
        episodes.append(titled(recording, shown, None))
    return episodes
