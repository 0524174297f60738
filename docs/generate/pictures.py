"""Every picture of the pages, made anew: Gantt, film, figures, the report in a browser.

Run: python -m docs.generate.pictures

They hold measured numbers: run it after a change of the timing, a policy or a default. Pictures of
pages need Chromium (Debian: apt-get install chromium) and are left as they are without it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs.generate import PAGES
from prema_gym import cli

FOLDER = PAGES / "pictures"
PAIR = ("--policies", "np-fcfs,dynamic-prema", "--seed", "3")
FIGURES = ("metrics", "load-sweep", "pareto")
# Name, width, height, options: windows are at least 500 pixels wide, so 400 is a frame's width.
SHOTS = (
    ("report.png", 1000, 1300, ()),
    ("report-dark.png", 1000, 700, ("--blink-settings=preferredColorScheme=0",)),
    ("report-narrow.png", 400, 1100, ()),
)


def command(*arguments: str) -> None:
    """Run one of our commands; stop where it fails."""
    try:
        cli.main(list(arguments))
    except SystemExit as end:
        if end.code:
            raise


def figures(scratch: Path) -> None:
    """Draw the figures that pages show; their CSV is not kept."""
    only = ",".join(FIGURES)
    command("figures", "--workloads", "200", "--only", only, "--output", str(scratch))
    for name in FIGURES:
        _shrink(scratch / f"{name}.png", FOLDER / f"{name}.png", 1100)


def _shrink(source: Path, target: Path, width: int) -> None:
    """Fewer pixels: a page needs no more."""
    from PIL import Image

    with Image.open(source) as image:
        height = round(image.height * width / image.width)
        small = image.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
        small.save(target, optimize=True)


def shots(scratch: Path) -> None:
    """Show the report in a browser."""
    program = shutil.which("chromium")
    if program is None:
        print("no Chromium: pictures of the report are left as they are", file=sys.stderr)
        return
    page = scratch / "report.html"
    command("report", "--output", str(page))
    frame = scratch / "frame.html"
    for name, width, height, options in SHOTS:
        frame.write_text(
            f'<body style="margin:0"><iframe src="{page.as_uri()}" style="border:0" '
            f'width="{width}" height="{height}"></iframe></body>'
        )
        picture = scratch / name
        subprocess.run(
            [
                program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={scratch / 'profile'}", f"--window-size={width},{height}",
                f"--screenshot={picture}", "--virtual-time-budget=4000", *options, frame.as_uri(),
            ],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        _shrink(picture, FOLDER / name, width)


def main() -> None:
    """Make all pictures."""
    FOLDER.mkdir(exist_ok=True)
    command("timeline", *PAIR, "--output", str(FOLDER / "gantt.png"))
    command("timeline", *PAIR, "--output", str(FOLDER / "episode.gif"))
    both = ("--policies", "learned,dynamic-prema", "--seed", "16")
    command("timeline", *both, "--output", str(FOLDER / "learned-gantt.png"))
    with tempfile.TemporaryDirectory() as folder:
        figures(Path(folder))
        shots(Path(folder))


if __name__ == "__main__":
    main()
