"""Which figures are there? :data:`CHARTS`, the one table; each has its numbers beside it as CSV.

A chart is two functions: what it shows, as flat records made of a :class:`Study`, and how these
records are drawn. So a figure holds nothing that its CSV does not.
"""

from __future__ import annotations

from prema_gym.views.figures.bars import BARS
from prema_gym.views.figures.chart import Chart, Study, draw_chart
from prema_gym.views.figures.curves import CURVES
from prema_gym.views.figures.points import POINTS

__all__ = ["CHARTS", "Chart", "Study", "draw_chart"]

CHARTS: dict[str, Chart] = {chart.name: chart for chart in (*BARS, *CURVES, *POINTS)}
"""Every figure by its name."""
