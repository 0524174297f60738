"""Which RL libraries take the environment, and how? The table of docs/rl-libraries.md.

From docs/rl-libraries.json, which ``python -m benchmarks clients`` measures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docs.generate.sections import table

MEASURED = Path(__file__).parents[1] / "rl-libraries.json"


def clients() -> str:
    """A line for each library."""
    rows: list[dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    heading = [
        "library", "takes", "lines of glue", "decisions/s", "its CartPole", "ratio", "example",
    ]  # fmt: skip
    return table(heading, [_line(row) for row in rows])


def _line(row: dict[str, Any]) -> list[str]:
    script = f"`examples/{row['example']}`"
    if "failed" in row:
        return [row["title"], row["takes"], str(row["glue"]), "—", "—", row["failed"], script]
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
    own = ", of its own environment" if row["own"] else ""
    return [
        f"{row['title']} ({versions}{own})",
        row["takes"],
        str(row["glue"]),
        f"{row['ours']:,.0f}",
        f"{row['cartpole']:,.0f}",
        f"{row['ratio']:.2f} ×",
        script,
    ]


PARTS = {"clients": clients}
