"""Which parts of docs/learned.md are generated, and from what? The table of algorithms.

Run: python -m docs.generate.learned_page
"""

from __future__ import annotations

from pathlib import Path

from prema_gym.agents.algorithms import ALGORITHMS

from docs.generate.policy_page import table, with_section

PAGE = Path(__file__).parents[1] / "learned.md"


def algorithms() -> str:
    """Every training algorithm: name, what it is, its own defaults."""
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


def main() -> None:
    """Rewrite the table."""
    PAGE.write_text(with_section(PAGE.read_text(), "algorithms", algorithms()))


if __name__ == "__main__":
    main()
