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
from collections.abc import Sequence
from pathlib import Path

from docs.generate import PAGES
from prema_gym import cli
from prema_gym.views.figures import CHARTS

FOLDER = PAGES / "pictures"
PAIR = ("--policies", "np-fcfs,dynamic-prema", "--seed", "3")
# What the learning curves show: small trainings that take a minute or two each.
TRAININGS = {"es": 3_000_000, "maskable-ppo": 60_000}
TRAINING_SEEDS = (1, 2)
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
    """Draw every figure; their CSV is not kept."""
    runs: list[str] = []
    for algorithm, timesteps in TRAININGS.items():
        for seed in TRAINING_SEEDS:
            run = str(scratch / f"{algorithm}-{seed}")
            command(
                "train", "--algo", algorithm, "--timesteps", str(timesteps), "--seed", str(seed),
                "--output", run,
            )  # fmt: skip
            runs += ["--run", run]
    command("figures", "--workloads", "200", *runs, "--output", str(scratch))
    for name in CHARTS:
        _shrink(scratch / f"{name}.png", FOLDER / f"{name}.png", 1100)


def _shrink(source: Path, target: Path, width: int) -> None:
    """Fewer pixels: a page needs no more."""
    from PIL import Image

    with Image.open(source) as image:
        height = round(image.height * width / image.width)
        small = image.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
        small.save(target, optimize=True)


def shots(scratch: Path) -> None:
    """Show the report and the site's home in a browser."""
    program = shutil.which("chromium")
    if program is None:
        print("no Chromium: pictures of pages are left as they are", file=sys.stderr)
        return
    page = scratch / "report.html"
    command("report", "--output", str(page))
    for name, width, height, options in SHOTS:
        _shoot(program, scratch, page, FOLDER / name, width, height, options)
    subprocess.run(["make", "site"], cwd=PAGES.parent, check=True, capture_output=True)
    home = PAGES.parent / "build" / "site" / "index.html"
    _shoot(program, scratch, home, FOLDER / "site.png", 1100, 900, ())


def _shoot(
    program: str,
    scratch: Path,
    page: Path,
    picture: Path,
    width: int,
    height: int,
    options: Sequence[str],
) -> None:
    """Show a page in a frame of this size."""
    frame, large = scratch / "frame.html", scratch / "frame.png"
    frame.write_text(
        f'<body style="margin:0"><iframe src="{page.as_uri()}" style="border:0" '
        f'width="{width}" height="{height}"></iframe></body>'
    )
    subprocess.run(
        [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={scratch / 'profile'}", f"--window-size={width},{height}",
            f"--screenshot={large}", "--virtual-time-budget=4000", *options, frame.as_uri(),
        ],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    _shrink(large, picture, width)


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
