"""How far is the training, and when will it be done? A bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Reporter:
    """Shows progress; a context manager."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        """Prepare for ``total`` timesteps; None: standard error, as it is by then."""
        stream = sys.stderr if stream is None else stream
        self._total = total
        self._stream = stream
        self._bar: Progress | None = None
        if stream.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("ETA"),
                TimeRemainingColumn(elapsed_when_finished=True),
                console=Console(file=stream),
            )
            self._task = self._bar.add_task("timesteps", total=total)

    def __enter__(self) -> Reporter:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, timesteps: int) -> None:
        """Move the bar to an absolute position."""
        if self._bar is not None:
            self._bar.update(self._task, completed=timesteps)

    def say_if_done(self, timesteps: int) -> None:
        """Say of a resumed run that nothing is left to train, where that is so."""
        if timesteps >= self._total:
            self.say(
                f"nothing is left to train: {timesteps:,} of {self._total:,} timesteps are done; "
                "more of them with --timesteps"
            )

    def say(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False)
        else:
            print(line, file=self._stream, flush=True)
