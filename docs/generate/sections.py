"""How does a generated part stand in a page or a docstring? Between two comments with its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> str:
    """A Markdown table; the last ``right`` columns are aligned to the right."""
    left = len(header) - right
    rule = ["---"] * left + ["--:"] * right
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (header, rule, *rows))


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
    comments = rf"(<!-- {name}: generated -->\n)(.*?)( *<!-- {name}: end -->\n)"
    found = list(re.finditer(comments, text, flags=re.S))
    if len(found) != 1:
        raise ValueError(f"the page has {len(found)} generated parts {name!r}, not 1")
    return found[0]
