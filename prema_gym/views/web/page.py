"""What is a page made of? Escaped text, plain data, and the style and scripts of this folder."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from prema_gym.views.records import strict

FOLDER = Path(__file__).parent


def escape(text: object) -> str:
    """A text as it stands, in an element or an attribute."""
    return html.escape(str(text), quote=True)


def embedded(name: str, data: object) -> str:
    """Plain data that scripts of the page read, in an element with an id."""
    text = json.dumps(strict(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Nothing in it may end the element; within JSON's strings this is the same character.
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


def page(
    title: str, body: Sequence[str], *, scripts: Sequence[str], data: Mapping[str, object]
) -> str:
    """A whole page.

    Args:
        title: What the window is called.
        body: Parts, each escaped where it holds a text.
        scripts: Files of this folder, in the order in which they run.
        data: What scripts read, by the id of its element.
    """
    style = (FOLDER / "style.css").read_text(encoding="utf-8")
    run = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in scripts)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',  # otherwise a browser asks a server for one
        f"<title>{escape(title)}</title>",
        f"<style>\n{style}</style></head><body><main>",
        *body,
        "</main>",
        *(embedded(name, value) for name, value in data.items()),
        f"<script>\n{run}</script></body></html>\n",
    ]
    return "\n".join(parts)
