"""Which training algorithms are there? The table of docs/learned.md, from the code."""

from __future__ import annotations

from docs.generate.sections import table
from prema_gym.agents.algorithms import ALGORITHMS


def algorithms() -> str:
    """Every training algorithm: name, what it is, its class, its own defaults."""
    rows = [
        (
            f"`{one.name}`",
            one.title,
            f"`{one.model.partition(':')[2]}`" if one.model else "ours",
            *(f"{one.defaults[name]:,}".replace(",", " ") for name in ("timesteps", "num_envs")),
        )
        for one in ALGORITHMS.values()
    ]
    header = ("`--algo`", "what it is", "class", "`--timesteps`", "`--num-envs`")
    return table(header, rows, right=2)


PARTS = {"algorithms": algorithms}
