"""What is a figure made of? A study's results, the records it shows, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from prema_gym.errors import MissingExtraError
from prema_gym.evaluation.results import Evaluation
from prema_gym.views.colours import Look
from prema_gym.views.plotting import new, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as MatplotlibAxis
    from matplotlib.figure import Figure

STYLE = Path(__file__).with_name("paper.mplstyle")
"""Matplotlib's settings for a column of a paper."""

UNDER_POINTS = 1.4
"""How much wider a line is than the one on top of it: both still show their dashes."""

TWO_A_DECADE = 30.0
"""Times that an axis' end is its beginning, from which two labels a decade are enough: five fit."""

Records = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Study:
    """What figures are made of.

    Attributes:
        main: The comparison, with values per workload and per task, and regrets.
        sweep: Comparisons of the same policies by offered load (1: as much work arrives as the
            machine can do), rising.
        preemption: Rows of `prema-gym preemption`.
        runs: Rows of ``evaluations.csv`` of training runs, by (algorithm, run).
    """

    main: Evaluation
    sweep: Mapping[float, Evaluation] = field(default_factory=dict)
    preemption: Sequence[Mapping[str, Any]] = ()
    runs: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]] = field(default_factory=dict)


class Chart(NamedTuple):
    """One figure.

    Attributes:
        name: Its files are called so.
        title: What it shows.
        reading: How to read it, in a sentence or two.
        size_inches: Width and height in a column of a paper.
        records: What it shows, of a study; none: the study has nothing of the kind.
        draw: How the records are drawn.
        needs: What a study must have for it, in words.
    """

    name: str
    title: str
    reading: str
    size_inches: tuple[float, float]
    records: Callable[[Study], Records]
    draw: Callable[[Figure, Records], None]
    needs: str = "a comparison"


def draw_chart(chart: Chart, records: Records, *, wide: bool = True) -> Figure:
    """Draw a chart.

    Args:
        chart: Which.
        records: What it shows.
        wide: For a screen; else in the width of a paper's column.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    try:
        import matplotlib.style
    except ImportError:
        raise MissingExtraError("drawing figures", "matplotlib", "plot") from None
    factor = 1.6 if wide else 1.0
    with matplotlib.style.context(["default", str(STYLE)]):
        width, height = chart.size_inches
        figure = new("drawing figures", (width * factor, height * factor), 200 if wide else 300)
        chart.draw(figure, records)
        if wide:
            figure.suptitle(plain(chart.title), x=0.01, ha="left", fontsize=9)
    return figure


def policies_in(records: Records) -> list[str]:
    """The policies that records are about, in their order."""
    return list(dict.fromkeys(record["policy"] for record in records))


def line(
    axes: Axes,
    policy: str,
    own: Look,
    x: Sequence[float],
    y: Sequence[float],
    *,
    every: int | None = None,
    under: int = 0,
) -> None:
    """A policy's line in its colour and dashes, with a mark at every so many points.

    Args:
        axes: Where it is drawn.
        policy: Its name, for the legend.
        own: How it is drawn.
        x: Where its points are.
        y: Their values.
        every: Points from mark to mark; None: some six marks in all.
        under: Lines on top of it that it must be told apart from: it is so much wider.
    """
    (drawn,) = axes.plot(x, y, label=plain(policy), **marked(own), zorder=2 - 0.01 * under)
    drawn.set_markevery(max(1, len(x) // 6) if every is None else every)
    if own.dashes:
        drawn.set_dashes(own.dashes)
    if under:
        drawn.set_linewidth(drawn.get_linewidth() + UNDER_POINTS * under)
        drawn.set_markersize(drawn.get_markersize() + 2 * UNDER_POINTS * under)


def point(axes: Axes, policy: str, own: Look, x: float, y: float) -> None:
    """A policy's point, with its name for the legend."""
    axes.plot(x, y, label=plain(policy), **marked(own), linestyle="none", markersize=6)


def marked(own: Look) -> dict[str, Any]:
    """Matplotlib's words for a policy's colour, mark and filling."""
    inside = own.colour if own.filled else "white"
    return {"color": own.colour, "marker": own.mark, "markerfacecolor": inside}


def round_ticks(axis: MatplotlibAxis) -> None:
    """Label an axis of ratios at round values: several of them, also where it is short."""
    from matplotlib.ticker import LogLocator

    low, high = axis.get_view_interval()
    steps = (1.0, 2.0, 5.0) if high < TWO_A_DECADE * low else (1.0, 3.0)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def legend_below(figure: Figure, axes: Axes, ncols: int = 3) -> None:
    """The names of what is drawn, under the figure."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols)
