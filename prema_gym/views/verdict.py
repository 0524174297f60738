"""Who won a comparison, by how much, and where not? And which command repeats it?"""

from __future__ import annotations

import math
import shlex

from prema_gym.evaluation.compare import LEAST_LIMIT
from prema_gym.evaluation.results import Evaluation, PolicyResult
from prema_gym.metrics import METRICS, Metric
from prema_gym.simulator import DEFAULT_ESTIMATE, DEFAULT_SLOTS, SchedulerOptions
from prema_gym.views.numbers import number

MAIN = tuple(metric for metric in METRICS if metric.table == "main")


def overall(result: PolicyResult) -> float:
    """Geometric mean of how many times better the main metrics are; NaN where none has a ratio."""
    ratios = [result.metrics[metric.name].ratio for metric in MAIN]
    known = [math.log(ratio) for ratio in ratios if math.isfinite(ratio) and ratio > 0]
    return math.exp(sum(known) / len(known)) if known else math.nan


def ranked(evaluation: Evaluation) -> list[str]:
    """Policies from the best overall down; those without a ratio come last."""
    value = {name: overall(result) for name, result in evaluation.policies.items()}
    return sorted(value, key=lambda name: -value[name] if math.isfinite(value[name]) else math.inf)


def best_in(evaluation: Evaluation, metric: Metric) -> str | None:
    """The policy with the best mean of a metric; None where there is none."""
    sign = -1.0 if metric.better == "lower" else 1.0
    means = {
        name: sign * result.metrics[metric.name].mean
        for name, result in evaluation.policies.items()
        if math.isfinite(result.metrics[metric.name].mean)
    }
    return max(means, key=lambda name: means[name]) if means and metric.better else None


def verdict(evaluation: Evaluation) -> list[str]:
    """Sentences: who does best overall and by how much, and in what others are better."""
    best = ranked(evaluation)[0]
    if len(evaluation.policies) == 1:
        return [f"{best} alone was played: nothing is compared."]
    if best == evaluation.relative_to or not math.isfinite(overall(evaluation.policies[best])):
        first = f"No policy does better overall than {evaluation.relative_to}."
    else:
        gains = ", ".join(
            f"{number(found.ratio)} times in {metric.title}"
            for metric in MAIN
            if math.isfinite((found := evaluation.policies[best].metrics[metric.name]).ratio)
        )
        first = (
            f"{best} does best overall: compared with {evaluation.relative_to} it is better "
            f"{gains} (geometric mean {number(overall(evaluation.policies[best]))} times)."
        )
    others = [_better(evaluation, metric, best) for metric in MAIN]
    lacking = [text for text in others if text]
    second = "It is the best in each of the main metrics." if not lacking else (
        "Not everywhere: " + "; ".join(lacking) + "."
    )  # fmt: skip
    return [first, second]


def _better(evaluation: Evaluation, metric: Metric, best: str) -> str:
    """Who is better than the best overall in one metric, and whether that is sure."""
    other = best_in(evaluation, metric)
    if other in (None, best):
        return ""
    assert other is not None
    theirs = evaluation.policies[other].metrics[metric.name]
    ours = evaluation.policies[best].metrics[metric.name]
    if theirs.mean == ours.mean:
        return ""
    overlap = theirs.ci95[0] <= ours.ci95[1] and ours.ci95[0] <= theirs.ci95[1]
    doubt = ", though their intervals overlap" if overlap else ""
    return (
        f"{other} has the better {metric.title} ({number(theirs.mean)} against "
        f"{number(ours.mean)}{doubt})"
    )


def command(evaluation: Evaluation) -> str:
    """What repeats a comparison of drawn workloads: a command, or a line of Python.

    A scenario that was built in Python has no words of the command line.
    """
    settings = evaluation.settings
    drawn_by = settings.get("drawn_by", ["--scenario", evaluation.scenario])  # none: older reports
    if not drawn_by:
        return "evaluate_settings(settings, baselines.make)  # prema_gym.evaluation.compare"
    words = ["prema-gym", "evaluate", "--policies", ",".join(evaluation.policies)]
    words += [*drawn_by, "--relative-to", evaluation.relative_to]
    words += ["--workloads", str(evaluation.workloads), "--seed", str(evaluation.seed)]
    played = {**settings, **settings.get("options", {})}
    for name, usual in _USUAL.items():
        if played.get(name, usual) != usual:
            words += [f"--{name.replace('_', '-')}", str(played[name])]
    # Nothing that is not asked for cuts a workload off so early.
    if played.get("max_decisions", LEAST_LIMIT) < LEAST_LIMIT:
        words += ["--max-decisions", str(played["max_decisions"])]
    words += [f"--{name.replace('_', '-')}" for name in _SWITCHES if played.get(name)]
    return " ".join(map(shlex.quote, words))


_USUAL = {
    "slots": DEFAULT_SLOTS,
    "estimate": DEFAULT_ESTIMATE,
    "token_wait": SchedulerOptions().token_wait,
}
_SWITCHES = ("sticky_drain", "bounds")
