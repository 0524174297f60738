"""Which parts of docs/policies.md are generated, and from what?

Run: python -m docs.generate.policy_page        rewrites the lists of policies from the code
     python -m docs.generate.tournament --write rewrites the tables of results

A generated part stands between two comments with its name; what is around it is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from prema_gym import baselines
from prema_gym.evaluation import clairvoyant

PAGE = Path(__file__).parents[1] / "policies.md"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> str:
    """A Markdown table; the last ``right`` columns are aligned to the right."""
    left = len(header) - right
    rule = ["---"] * left + ["--:"] * right
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, rule, *rows))


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
    chosen = [clairvoyant.Clairvoyant(metric) for metric in clairvoyant.GOALS]
    return table(("policy", "rule"), [(f"`{one.name}`", one.rule) for one in chosen])


SECTIONS = {"policies": policies, "left-out": left_out, "clairvoyant": clairvoyants}


def section(text: str, name: str) -> str:
    """What stands between the two comments of a generated part.

    Raises:
        ValueError: The page has no such part, or more than one.
    """
    return _match(text, name).group(2)


def with_section(text: str, name: str, body: str) -> str:
    """The page with one generated part replaced; raises as :func:`section`."""
    match = _match(text, name)
    return text[: match.start(2)] + body + text[match.end(2) :]


def _match(text: str, name: str) -> re.Match[str]:
    comments = rf"(<!-- {name}: generated -->\n)(.*?)(<!-- {name}: end -->\n)"
    found = list(re.finditer(comments, text, flags=re.S))
    if len(found) != 1:
        raise ValueError(f"{PAGE.name} has {len(found)} generated parts {name!r}, not 1")
    return found[0]


def main() -> None:
    """Rewrite the lists of policies."""
    text = PAGE.read_text()
    for name, write in SECTIONS.items():
        text = with_section(text, name, write())
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
