"""How did a training run go? Its validations as a picture: times better than PREMA, by timesteps.

Run: python -m docs.generate.learned_curve runs/learned docs/learned-curve.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

from docs.generate.scripts import run
from prema_gym.agents.training.objective import FIVE
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.files import write_atomically

_CROWDED = 5.0
"""Range of the ratios from which on only 1, 2 and 5 have labels: more would overlap."""


def draw(folder: Path, picture: Path) -> None:
    """Draw the five ratios and their geometric mean over a run's validations.

    Args:
        folder: The run's folder.
        picture: The file to write; its ending says the format.

    Raises:
        ConfigError: The run has no evaluations.
        MissingExtraError: Matplotlib is not installed.
    """
    rows = RunFolder(folder).rows()
    if not rows:
        raise ConfigError(f"{folder} has no evaluations to draw")
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator
    except ImportError:
        raise MissingExtraError("drawing curves", "matplotlib", "plot") from None
    figure = Figure(figsize=(8, 5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    steps = [int(row["timesteps"]) / 1e6 for row in rows]
    for metric in FIVE:
        ratios = [float(row[f"{metric.name}_ratio"]) for row in rows]
        axes.plot(steps, ratios, label=metric.title)
    mean = [float(row["geometric_mean_ratio"]) for row in rows]
    axes.plot(steps, mean, color="black", linewidth=2, label="geometric mean")
    axes.axhline(1.0, color="grey", linestyle=":")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")  # 1.5 and not 1.5 × 10⁰
    axes.yaxis.set_minor_formatter("{x:g}")
    low, high = axes.get_ylim()
    if high / low > _CROWDED:
        axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axes.set_xlabel("scheduling decisions (millions)")
    axes.set_ylabel("times better than dynamic PREMA")
    axes.set_title("Validation workloads")
    figure.legend(loc="outside lower center", ncols=3)
    write_atomically(picture, figure.savefig)


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a training run")
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    draw(options.run, options.picture)


if __name__ == "__main__":
    run(main)
