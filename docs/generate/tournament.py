"""How far is every policy from the best possible schedule, under light and heavy load?

Run: python -m docs.generate.tournament [--workloads 200] [--seed 0] [--policies all] [--write]

Every policy plays the same workloads of each scenario; then again on the paper's scenario with
calibrated estimates, and with true times shown in their place. Prints Markdown, or puts it into
docs/policies.md. Regret is (mean − mean of the optima)/mean of the optima, signed so that more is
worse.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from docs.generate import PAGES
from docs.generate.sections import table, with_section
from prema_gym import baselines, metrics
from prema_gym.bounds import regret
from prema_gym.evaluation.clairvoyant import Clairvoyant
from prema_gym.evaluation.compare import CHUNK, LEAST_LIMIT, evaluate
from prema_gym.evaluation.optima import GOALS, best_values
from prema_gym.evaluation.playing import play
from prema_gym.metrics import Outcomes
from prema_gym.views.numbers import interval, number
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

PAGE = PAGES / "policies.md"
COLUMNS = (
    "antt",
    "stp",
    "fairness",
    "sla_violation",
    "deadline_miss",
    "priority_antt",
    "p95_ntt_high",
    "p95_ntt",
    "checkpoints",
    "overhead",
)
"""Metrics shown."""
SHARES = ("sla_violation", "deadline_miss", "overhead")
"""Those printed in percent."""
REGRETS = ("antt", "stp", "sla_violation", "priority_antt")
"""Those with a column of regret. Missed deadlines have none: their optimum is 0 or nearly so."""
# What each table shows: scenario, what policies see as isolated times, and its heading.
TABLES = (
    ("light", "algorithm1", "light: the tasks within 300 ms"),
    ("paper", "algorithm1", "paper: within 10 ms"),
    ("heavy", "algorithm1", "heavy: within 1 ms"),
    ("paper", "calibrated", "paper, calibrated estimates"),
    ("paper", "oracle", "paper, true times shown in place of estimates (oracle)"),
)
METRICS = {metric.name: metric for metric in metrics.METRICS}


class Row(NamedTuple):
    """One line of a table: values by metric, ends of their 95 % intervals where known."""

    values: Mapping[str, float]
    ends: Mapping[str, tuple[float, float]]


def optima(scenario: Scenario, workloads: int, seed: int) -> tuple[Row, dict[str, Row]]:
    """The best values, each metric's own, and the clairvoyant policies that play them."""
    catalog = compile_scenario(scenario)
    best: dict[str, list[np.ndarray]] = {metric: [] for metric in GOALS}
    played: dict[str, list[Outcomes]] = {metric: [] for metric in GOALS}
    for start in range(seed, seed + workloads, CHUNK):
        batch = sample_batch(catalog, range(start, min(start + CHUNK, seed + workloads)))
        for metric in GOALS:
            best[metric].append(best_values(batch, metric))
            played[metric].append(play(Clairvoyant(metric), catalog, batch))
    row = Row({metric: float(np.concatenate(v).mean()) for metric, v in best.items()}, {})
    rows = {
        Clairvoyant(metric).name: Row(_means(Outcomes.concatenate(chunks)), {})
        for metric, chunks in played.items()
    }
    return row, rows


def _means(outcomes: Outcomes) -> dict[str, float]:
    return {name: METRICS[name].reported(outcomes) for name in COLUMNS}


def rows_of(
    scenario: Scenario, names: list[str], workloads: int, seed: int, estimate: str
) -> dict[str, Row]:
    """Every policy's line, by name."""
    result = evaluate(
        scenario,
        {name: baselines.make(name) for name in names},
        workloads=workloads,
        seed=seed,
        relative_to=names[0],
        estimate=estimate,
        max_decisions=LEAST_LIMIT,
    )
    rows = {}
    for name, policy in result.policies.items():
        if policy.unfinished:
            raise SystemExit(f"{name} left {policy.unfinished} tasks unfinished")
        shown = {metric: policy.metrics[metric] for metric in COLUMNS}
        rows[name] = Row(
            {metric: value.mean for metric, value in shown.items()},
            {metric: value.ci95 for metric, value in shown.items()},
        )
    return rows


def markdown(best: Row, rows: Mapping[str, Row]) -> str:
    """One table, policies by rising ANTT, each metric's best value first."""
    header = ["policy", *(_heading(name) for name in COLUMNS)]
    header += [f"regret {METRICS[name].title}" for name in REGRETS]
    ordered = sorted(rows.items(), key=lambda item: item[1].values["antt"])
    lines = []
    for name, row in (("optimum", best), *ordered):
        cells = [f"`{name}`" if name != "optimum" else "*optimum*"]
        cells += [_cell(row, metric) for metric in COLUMNS]
        cells += [_regret(row, best, metric) for metric in REGRETS]
        lines.append(cells)
    return table(header, lines, right=len(header) - 1)


def _heading(name: str) -> str:
    metric = METRICS[name]
    return metric.title + {"lower": " ↓", "higher": " ↑", None: ""}[metric.better]


def _cell(row: Row, metric: str) -> str:
    if metric not in row.values:
        return "–"
    if metric in SHARES:
        return f"{number(100 * row.values[metric])} %"
    text = number(row.values[metric])
    # The intervals of the columns most read; all of them would not fit a page.
    if metric in ("antt", "stp", "fairness") and metric in row.ends:
        text = f"{text} {interval(*row.ends[metric])}".rstrip()
    return text


def _regret(row: Row, best: Row, metric: str) -> str:
    share = float(regret(GOALS[metric].objective, row.values[metric], best.values[metric]))
    return f"{number(100 * abs(share))} %" if np.isfinite(share) else "∞"  # never below 0


def main() -> None:
    """Play, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="workload i is drawn from seed + i")
    parser.add_argument("--policies", default="all", help="names separated by commas")
    parser.add_argument("--write", action="store_true", help="into docs/policies.md")
    options = parser.parse_args()
    names = list(baselines.names()) if options.policies == "all" else options.policies.split(",")
    command = f"python -m docs.generate.tournament --workloads {options.workloads} --seed "
    command += f"{options.seed}" + (" --write" if options.write else "")
    parts = [
        f"\n{options.workloads} workloads of seeds {options.seed} to "
        f"{options.seed + options.workloads - 1} each, by `{command}`.\n"
    ]
    for name, estimate, heading in TABLES:
        scenario = scenarios.get(name)
        best, played = optima(scenario, options.workloads, options.seed)
        rows = rows_of(scenario, names, options.workloads, options.seed, estimate)
        parts.append(f"\n### {heading}\n\n" + markdown(best, {**rows, **played}))
    text = "".join(parts) + "\n"
    if options.write:
        PAGE.write_text(with_section(PAGE.read_text(), "tournament", text))
    else:
        print(text)


if __name__ == "__main__":
    main()
