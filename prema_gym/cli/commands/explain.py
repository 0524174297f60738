"""`prema-gym explain`: where do two policies part, what did both see, and who was right?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from prema_gym.cli.options import FormatOption, ScenarioOption
from prema_gym.cli.played import (
    PoliciesOption,
    SeedOption,
    WorkloadOption,
    one_workload,
    policies_named,
)
from prema_gym.cli.printing import Format, print_result
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.metrics import METRICS

MetricOption = Annotated[
    str,
    typer.Option(help=f"What is won or lost: {', '.join(metric.name for metric in METRICS)}."),
]
Most = Annotated[int, typer.Option(help="Stretches told in full, beside the first.", min=1)]
Decisions = Annotated[
    Path | None,
    typer.Option(
        help="Also write every decision of both, with all that was seen: FILE.csv or FILE.parquet.",
        show_default=False,
    ),
]


def explain(
    policies: PoliciesOption = "dynamic-prema,learned",
    scenario: ScenarioOption = "paper",
    seed: SeedOption = 0,
    workload: WorkloadOption = None,
    metric: MetricOption = "antt",
    most: Most = 3,
    decisions: Decisions = None,
    format: FormatOption = Format.table,
) -> None:
    """Play one workload under two policies; tell where they part and what each parting costs."""
    from prema_gym.evaluation.partings import find_partings
    from prema_gym.views.decisions import check_decisions_path, write_decisions
    from prema_gym.views.explanation import explanation, explanation_tables
    from prema_gym.workloads import compile_scenario

    known = {one.name: one for one in METRICS}
    if metric not in known:
        raise UnknownNameError("metric", metric, known, list_all=True)
    if decisions is not None:
        check_decisions_path(decisions)
    made = policies_named(policies)
    if len(made) != 2:
        raise ConfigError(f"--policies must name two to compare, got {len(made)}: {policies}")
    drawn_from, batch = one_workload(scenario, seed, workload)
    found = find_partings(
        list(made.values()), list(made), compile_scenario(drawn_from), batch, known[metric]
    )
    data = explanation(found, list(made.values()), most)
    print_result(
        format,
        tables=lambda: explanation_tables(data),
        data=lambda: data,
        rows=lambda: [
            {key: told[key] for key in ("from_ms", "to_ms", "decisions", "won")}
            | {choice["policy"]: choice["does"] for choice in told["choices"]}
            for told in data["told"]
        ],
    )
    if decisions is not None:
        write_decisions(decisions, [found.first, found.second])
        print(f"wrote {decisions}", file=sys.stderr)
