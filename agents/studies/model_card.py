"""What must a reader know of a shipped policy? A model card, in the form Hugging Face reads.

Everything comes from the files beside its weights: what they say of themselves, the configuration,
and the tables of results and of conditions (`shipping.py`). Nothing is measured here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from prema_gym import agents
from prema_gym.agents import seeds
from prema_gym.agents.policies.files import policy_from_file
from prema_gym.agents.training.objective import FIVE, geometric_mean
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.baselines import PREMA
from prema_gym.files import read_json

TAGS = ("reinforcement-learning", "scheduling", "npu", "preemption", "gymnasium", "prema-gym")


def card(name: str) -> str:
    """The card of a shipped policy, as Markdown with a head of metadata.

    Args:
        name: The shipped policy.

    Raises:
        ConfigError: One of its files is missing or damaged.
    """
    table = read_json(agents.PRETRAINED / f"{name}.json")
    settings = TrainSettings.from_toml(agents.PRETRAINED / f"{name}.toml")
    policy = policy_from_file(agents.PRETRAINED / f"{name}.npz", name)
    parts = (
        _head(name, table["all"]),
        f"# {name}\n\n{policy.rule} It schedules DNN tasks on one preemptible NPU.\n",
        "```python\nfrom prema_gym import agents\n\n"
        f'policy = agents.load("{name}")\naction, state = policy.predict(observation)\n```\n',
        "## Training\n\n" + _training(table, settings, policy.shape.size),
        "## Results\n\n" + _results(table["all"]),
        "All are shown calibrated estimates:\n\n" + _results(table["calibrated"]),
        "## Where it loses\n\n" + _losses(table["conditions"]),
        "## Licence\n\nMIT, as the package. Trained on generated workloads alone: no data of "
        "anybody's is in it.\n",
    )
    return "\n".join(parts)


def _head(name: str, report: Mapping[str, Any]) -> str:
    """The metadata: YAML between two lines."""
    lines = [
        "---",
        "license: mit",
        "library_name: prema-gym",
        "pipeline_tag: reinforcement-learning",
        f"tags: [{', '.join(TAGS)}]",
        "model-index:",
        f"- name: {name}",
        "  results:",
        "  - task:",
        "      type: reinforcement-learning",
        "      name: scheduling on a preemptible NPU",
        "    dataset:",
        f"      name: {_workloads(report)}",
        f"      type: prema-gym/{report['scenario']}",
        "    metrics:",
    ]
    for metric in FIVE:
        value = report["metrics"][metric.name]
        lines += [
            f"    - type: {metric.name}",
            f"      name: {metric.title}",
            f"      value: {value['mean']:.4g}",
        ]
    return "\n".join((*lines, "---", ""))


def _workloads(report: Mapping[str, Any]) -> str:
    first, count = report["seed"], report["workloads"]
    return (
        f"{count} workloads of scenario {report['scenario']}, seeds {first} to {first + count - 1}"
    )


def _training(table: Mapping[str, Any], settings: TrainSettings, size: int) -> str:
    minutes = table.get("cpu_minutes")
    start = f", from an imitation of `{settings.init_from}`" if settings.init_from else ""
    return (
        f"- Command: `{table['command']}`\n"
        f"- Algorithm: {settings.algorithm.title}{start}; {size} weights\n"
        f"- Data: workloads drawn from scenario `{settings.scenario}`, run seed {settings.seed}; "
        f"training seeds {seeds.TRAINING.start} to {seeds.TRAINING.stop - 1}, validation seeds "
        f"from {seeds.VALIDATION.start}\n"
        f"- Scheduling decisions: {table['timesteps']} of {settings.timesteps}\n"
        f"- CPU minutes: {'not recorded' if minutes is None else f'{minutes:g}'}\n"
        f"- Weights: digest `{table['digest']}`\n"
    )


def _results(report: Mapping[str, Any]) -> str:
    lines = [
        f"On {_workloads(report)}, none of which training or selection has seen; times better than "
        f"`{PREMA}` on the same ones, with 95 % paired intervals:\n",
        f"| metric | {PREMA} | this policy | times better |",
        "|---|---|---|---|",
    ]
    for metric in FIVE:
        value = report["metrics"][metric.name]
        low, high = value["ratio_ci95"]
        lines.append(
            f"| {metric.title} | {value[PREMA]:.4g} | {value['mean']:.4g} | "
            f"{value['ratio']:.3f} [{low:.3f}, {high:.3f}] |"
        )
    lines.append(f"| geometric mean of the five | | | {report['geometric_mean_ratio']:.3f} |")
    return "\n".join(lines) + "\n"


def _losses(conditions: Mapping[str, Any]) -> str:
    """Under which other conditions it is worse than PREMA, and in what."""
    lost = list(_lost(conditions["ratios"]))
    means = [
        geometric_mean([math.log(ratio) for ratio in ratios])
        for ratios in conditions["ratios"].values()
    ]
    intro = (
        f"Against `{PREMA}` under {len(means)} conditions, training's own among them "
        f"({conditions['workloads']} workloads each, seeds from {conditions['seed']}) the "
        f"geometric mean of the five is {min(means):.3f} to {max(means):.3f} times better.\n"
    )
    if not lost:
        return intro + "No metric is worse in any of them.\n"
    return intro + "Worse, that is below 1:\n\n" + "".join(f"- {line}\n" for line in lost)


def _lost(ratios: Mapping[str, Iterable[float]]) -> Iterable[str]:
    for title, five in ratios.items():
        worse = [
            f"{metric.title} {ratio:.3f}"
            for metric, ratio in zip(FIVE, five, strict=True)
            if ratio < 1
        ]
        if worse:
            yield f"{title}: {', '.join(worse)}"
