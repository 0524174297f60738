"""Which policies are there? The lists of docs/policies.md, from the code."""

from __future__ import annotations

from docs.generate.sections import table
from prema_gym import baselines
from prema_gym.evaluation import clairvoyant, optima


def policies() -> str:
    """Every policy: name, rule, parameters with their defaults, source."""
    rows = []
    for info in baselines.describe():
        parameters = ", ".join(
            f"`{key}={baselines.as_text(value)}`" for key, value in info.parameters.items()
        )
        rows.append((f"`{info.name}`", info.rule, parameters, info.source))
    return table(("policy", "rule", "parameters", "source"), rows)


def left_out() -> str:
    """The pairs of rule and preemption that do not exist, and why."""
    rows = [(f"`{name}`", reason) for name, reason in baselines.LEFT_OUT.items()]
    return table(("not offered", "because"), rows)


def clairvoyants() -> str:
    """The optima that can be played."""
    chosen = [clairvoyant.Clairvoyant(metric) for metric in optima.GOALS]
    return table(("policy", "rule"), [(f"`{one.name}`", one.rule) for one in chosen])


PARTS = {"policies": policies, "left-out": left_out, "clairvoyant": clairvoyants}
