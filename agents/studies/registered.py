"""How does a policy do beside PREMA on every registered scenario? A table, on test seeds.

Streams are played as long runs, the others as workloads; nothing is trained for any of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.baselines import PREMA
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.policy import Decider
from prema_gym.evaluation.streams import StreamSettings, evaluate_streams
from prema_gym.workloads import scenarios
from prema_gym.workloads.scenario import Scenario

SEED = 700_000_000
"""First test seed; other than those of the other tables."""

MEASURES = {
    "antt": "ANTT",
    "latency_ms": "mean (ms)",
    "p99_latency_ms": "p99 (ms)",
    "deadline_miss": "missed",
}
"""Of every scenario, whichever way it is played."""

Row = dict[str, float]


def measured(
    policies: Mapping[str, Decider], scenario: Scenario, *, requests: int, workloads: int
) -> dict[str, Row]:
    """The measures of policies on one scenario.

    Args:
        policies: Deciders by name.
        scenario: What is played.
        requests: That count in a run, where it is a stream; two runs.
        workloads: Where it is not.
    """
    if scenario.is_stream:
        seeds.check_test(SEED, 2)
        long = replace(scenario, requests=requests)
        played = evaluate_streams(long, policies, StreamSettings(seed=SEED))
        return {
            name: {key: result.everything[key].value for key in MEASURES}
            for name, result in played.policies.items()
        }
    seeds.check_test(SEED, workloads)
    compared = evaluate(scenario, policies, workloads=workloads, seed=SEED, relative_to=PREMA)
    return {
        name: {key: result.metrics[key].mean for key in MEASURES}
        for name, result in compared.policies.items()
    }


def table(
    policies: Mapping[str, Decider],
    names: Sequence[str] | None = None,
    *,
    requests: int,
    workloads: int,
) -> str:
    """The table as Markdown: PREMA's value, and that of each policy; *italics* mark a loss.

    Args:
        policies: Deciders by name.
        names: Scenarios; None: every registered one.
        requests: See :func:`measured`.
        workloads: See :func:`measured`.
    """
    heads = ["scenario", "policy", *MEASURES.values()]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for scenario in scenarios.names() if names is None else names:
        all_of_them = {PREMA: baselines.make(PREMA), **policies}
        found = measured(
            all_of_them, scenarios.get(scenario), requests=requests, workloads=workloads
        )
        for name, row in found.items():
            cells = [_cell(row[key], found[PREMA][key]) for key in MEASURES]
            lines.append(f"| `{scenario}` | `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: float, prema: float) -> str:
    text = "–" if math.isnan(value) else f"{value:.4g}"
    return f"*{text}*" if value > prema else text
