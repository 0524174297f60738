"""`prema-gym watch`: a schedule as it comes about, in the terminal."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from prema_gym.cli.options import ScenarioOption
from prema_gym.cli.played import SeedOption, WorkloadOption, record_named, titled
from prema_gym.cli.printing import console
from prema_gym.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Group

PolicyOption = Annotated[
    str, typer.Option(help="A name from `prema-gym policies`, FILE.py:NAME or path:RUN.")
]
Speed = Annotated[float, typer.Option(help="Simulated milliseconds in a second.", min=0.001)]
Every = Annotated[bool, typer.Option("--every", help="Show every decision, not only switches.")]
KEYS = "space pause · →/n next · ←/p back · +/- speed · q quit"
_ARROWS = {"\x1b[C": "n", "\x1b[D": "p"}
FASTER = 1.6


def watch(
    policy: PolicyOption = "dynamic-prema",
    scenario: ScenarioOption = "paper",
    seed: SeedOption = 0,
    workload: WorkloadOption = None,
    speed: Speed = 20.0,
    every: Every = False,
) -> None:
    """Show a schedule as it comes about: the queue, tokens, what is decided, metrics so far."""
    from prema_gym.views.live import moments, shown, shown_end, switches

    recordings = record_named(policy, scenario, seed, workload, tables=True)
    if len(recordings) != 1:
        raise ConfigError(f"one policy is watched at a time, got {policy}")
    (recording,) = recordings
    episode = titled(recording, seed, workload)
    all_of_them = moments(recording)
    chosen = all_of_them if every else [all_of_them[i] for i in switches(recording)]
    pictures: Pictures = [(one.now_ms, partial(shown, recording, episode, one)) for one in chosen]
    # What is left to do after the last choice is played to its end, too.
    pictures.append((episode.now_ms, lambda width: shown_end(episode)))
    if sys.stdout.isatty() and sys.stdin.isatty():
        _live(pictures, speed)
        return
    output = console()
    for _, picture in pictures:  # into a file or a pipe: one after the other, at once
        output.print(picture(output.width))
        output.print()


Pictures = list[tuple[float, "Callable[[int], Group]"]]
"""When each is shown [ms], and how it is drawn in lines of so many characters."""


def _live(pictures: Pictures, speed: float) -> None:
    """Show pictures at their times; keys pause, step and change the speed."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    at, paused = 0, False
    with _keys() as pressed, Live(auto_refresh=False, screen=True) as screen:
        while True:
            now_ms, picture = pictures[at]
            last = at == len(pictures) - 1
            state = "the end" if last else "paused" if paused else f"{speed:.3g} ms a second"
            # At the top: what does not fit a small terminal is cut at the bottom.
            lines = (Text(f"{KEYS} · [{state}]\n"), picture(screen.console.width))
            screen.update(Group(*lines), refresh=True)
            wait_s = None if paused or last else (pictures[at + 1][0] - now_ms) / speed
            key = pressed(wait_s)
            if key == "q":
                return
            if key == " ":
                paused = not paused
            elif key in ("+", "-"):
                speed = speed * FASTER if key == "+" else speed / FASTER
            elif key in ("n", "p"):
                paused = True
            step = 1 if key in ("", "n") else -1 if key == "p" else 0
            at = min(max(at + step, 0), len(pictures) - 1)


@contextmanager
def _keys() -> Iterator[Callable[[float | None], str]]:
    """A function that waits for a key, at most so many seconds (None: without end)."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def pressed(wait_s: float | None) -> str:
        if not select.select([terminal], [], [], wait_s)[0]:
            return ""
        # Past Python's own buffer, which select does not see: an arrow is three characters.
        typed = os.read(terminal, 3).decode(errors="replace")
        return _ARROWS.get(typed, typed[:1])

    try:
        tty.setcbreak(terminal)
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
