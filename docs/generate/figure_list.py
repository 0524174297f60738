"""Which figures are there, and how does one read them? The gallery of docs/figures.md."""

from __future__ import annotations

from prema_gym.views.figures import CHARTS


def gallery() -> str:
    """A section for each figure: what it shows, its picture, how to read it, what it needs."""
    sections = []
    for name, chart in CHARTS.items():
        sections.append(
            f"## {chart.title}\n\n{chart.reading}\n\n![{chart.title}](pictures/{name}.png)\n\n"
            f"`prema-gym figures --only {name}`; it needs {chart.needs}.\n\n"
        )
    return "".join(sections)


PARTS = {"gallery": gallery}
