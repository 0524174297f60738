"""How good is the policy of a training run? Compared with PREMA on workloads it has never seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prema_gym import agents, baselines
from prema_gym.agents.training.objective import FIVE
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.baselines import PREMA
from prema_gym.evaluation.compare import evaluate
from prema_gym.simulator import DEFAULT_SLOTS

WORKLOADS = 400


def report(folder: Path) -> Iterator[str]:
    """Compare a run's policy with PREMA on test seeds; the lines to print."""
    settings = TrainSettings.from_toml(folder / "config.toml")
    policy = agents.load(folder)
    slots = getattr(policy, "slots", DEFAULT_SLOTS)
    yield f"{policy.name}: {policy.source}; file {policy.about.get('digest', 'in a zip')}"
    result = evaluate(
        settings.resolved_scenario,
        {policy.name: policy, PREMA: baselines.make(PREMA)},
        workloads=WORKLOADS,
        relative_to=PREMA,
        slots=slots,
    )
    yield f"{WORKLOADS} unseen workloads of {settings.scenario}, times better than {PREMA}:"
    if settings.resolved_scenario.trace is not None:
        yield (
            "(unseen in networks, batches and priorities; arrivals are stretches of the one trace "
            "that was trained on: another part of it, in a file of its own, would be new)"
        )
    for metric in FIVE:
        estimate = result.policies[policy.name].metrics[metric.name]
        low, high = estimate.ratio_ci95
        yield (
            f"  {metric.title:10} {estimate.mean:8.4g}   {estimate.ratio:6.3f}× "
            f"[{low:.3f}, {high:.3f}]"
        )
    also = f" --hardware {settings.hardware}" if settings.hardware else ""
    also += f" --slots {slots}" if slots != DEFAULT_SLOTS else ""
    yield (
        f"more: prema-gym evaluate --policies path:{folder},{PREMA} --relative-to {PREMA} "
        f"--scenario {settings.scenario}{also}"
    )
