"""Rewrite what is made from code alone. Run: python -m docs.generate."""

from __future__ import annotations

from docs.generate import CARDS, PARTS
from docs.generate.sections import with_section


def main() -> None:
    """Rewrite every part of every page, and every model card."""
    for page, parts in PARTS.items():
        text = page.read_text()
        for name, write in parts.items():
            text = with_section(text, name, write())
        page.write_text(text)
    for path, write in CARDS.items():
        path.write_text(write())


if __name__ == "__main__":
    main()
