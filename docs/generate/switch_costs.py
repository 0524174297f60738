"""At which switch latency does preemption stop paying, policy by policy?

Run: python -m docs.generate.switch_costs [--workloads 200] [--seed 0] [--policies …] [--write]

Every policy plays the same workloads of the paper's scenario on machines that differ in
``switch_latency_us`` alone. Prints Markdown, or puts it into docs/switch-costs.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from docs.generate import PAGES
from docs.generate.scripts import run
from docs.generate.sections import table, with_section
from prema_gym.cli.naming import make_policies
from prema_gym.evaluation.compare import evaluate
from prema_gym.hardware.switching import SWITCH_LATENCIES
from prema_gym.metrics import METRICS
from prema_gym.views.numbers import number
from prema_gym.workloads import scenarios

PAGE = PAGES / "switch-costs.md"
NEVER_PREEMPTS = "np-sjf"
POLICIES = (
    "np-sjf,np-prema,static-sjf,static-wspt,dynamic-prema,static-prema,kill-prema,static-lst,"
    "static-rrb,learned,replan"
)
LATENCIES_US = (*sorted(row.latency_us for row in SWITCH_LATENCIES.values()), 10_000.0, 30_000.0)
SHOWN = ("antt", "fairness", "sla_violation", "p95_ntt_high", "checkpoints")
TITLES = {metric.name: metric.title for metric in METRICS}


def stops_paying_us(latencies_us: Sequence[float], own: Sequence[float], never: float) -> float:
    """The latency at which a policy's ANTT reaches that of never preempting.

    Args:
        latencies_us: Latencies measured [µs], rising.
        own: ANTT at each.
        never: ANTT without preemption, which is the same at all.

    Returns:
        Interpolated between the two measured around it; 0 if it never pays, inf if it always does.
    """
    if own[0] >= never:
        return 0.0
    for (low, before), (high, after) in pairwise(zip(latencies_us, own, strict=True)):
        if after >= never:
            return low + (high - low) * (never - before) / (after - before)
    return float("inf")


def measure(names: str, workloads: int, seed: int) -> dict[str, dict[str, list[float]]]:
    """Metrics at each latency, by policy and metric."""
    paper = scenarios.get("paper")
    found: dict[str, dict[str, list[float]]] = {}
    for latency_us in LATENCIES_US:
        scenario = replace(paper, hardware=replace(paper.hardware, switch_latency_us=latency_us))
        chosen = make_policies(names, NEVER_PREEMPTS)
        result = evaluate(
            scenario, chosen, workloads=workloads, seed=seed, relative_to=NEVER_PREEMPTS
        )
        for name, policy in result.policies.items():
            rows = found.setdefault(name, {metric: [] for metric in SHOWN})
            for metric, values in rows.items():
                values.append(policy.metrics[metric].mean)
    return found


def markdown(found: dict[str, dict[str, list[float]]]) -> str:
    """One table a metric: a line a policy, a column a latency."""
    header = [f"{latency_us:g} µs" for latency_us in LATENCIES_US]
    never = found[NEVER_PREEMPTS]["antt"][0]
    parts = []
    for metric in SHOWN:
        first = metric == "antt"
        lines = []
        for name, values in found.items():
            cells = [f"`{name}`", *(number(value) for value in values[metric])]
            if first:
                cells.append(_meeting(stops_paying_us(LATENCIES_US, values["antt"], never)))
            lines.append(cells)
        columns = ["policy", *header, *(["pays up to"] if first else [])]
        parts.append(f"\n### {TITLES[metric]}\n\n" + table(columns, lines, right=len(columns) - 1))
    return "".join(parts) + "\n"


def _meeting(latency_us: float) -> str:
    if latency_us == 0:
        return "never"
    if latency_us == float("inf"):
        return f"> {LATENCIES_US[-1] / 1e3:g} ms"
    return f"{number(latency_us / 1e3)} ms"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="workload i is drawn from seed + i")
    parser.add_argument("--policies", default=POLICIES, help="names separated by commas")
    parser.add_argument("--write", action="store_true", help="into docs/switch-costs.md")
    options = parser.parse_args()
    command = f"python -m docs.generate.switch_costs --workloads {options.workloads} --seed "
    text = f"\nBy `{command}{options.seed}`, workloads of the paper's scenario.\n"
    text += markdown(measure(options.policies, options.workloads, options.seed))
    if options.write:
        PAGE.write_text(with_section(PAGE.read_text(), "switch-costs", text))
    else:
        print(text)


if __name__ == "__main__":
    run(main)
