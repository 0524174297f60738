"""A Matplotlib backend with windows, as far as pyplot can tell, for machines without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg


class FigureManager(FigureManagerBase):
    shown: ClassVar[list[int | str]] = []

    def show(self) -> None:
        self.shown.append(self.num)


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager


@contextmanager
def windows() -> Iterator[list[int | str]]:
    """Use this backend; yields the numbers of the windows that were shown."""
    pyplot.switch_backend(f"module://{__name__}")
    FigureManager.shown.clear()
    try:
        yield FigureManager.shown
    finally:
        pyplot.close("all")
        pyplot.switch_backend("agg")
