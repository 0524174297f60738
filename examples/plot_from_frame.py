"""A comparison as a pandas DataFrame, and a plot of it: whose tasks wait longest?

Run: python examples/plot_from_frame.py --workloads 50 --output waits.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure

from prema_gym import baselines
from prema_gym.evaluation import evaluate
from prema_gym.views.colours import look


def main() -> None:
    """Compare, look at the frames, draw the median NTT by network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workloads", type=int, default=50)
    parser.add_argument("--output", type=Path, default=Path("waits.png"))
    options = parser.parse_args()
    names = ("np-fcfs", "static-sjf", "dynamic-prema")
    result = evaluate(
        "paper",
        {name: baselines.make(name) for name in names},
        workloads=options.workloads,
        per_workload=True,
        per_task=True,
    )
    print(result.to_frame().groupby("policy")[["antt", "stp", "fairness"]].mean().round(3))
    tasks = result.to_frame("task")
    median = tasks.pivot_table(values="ntt", index="network", columns="policy", aggfunc="median")
    print(median.round(2))
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    colours = {name: look(name).colour for name in median.columns}
    median.plot.barh(ax=axes, color=colours, logx=True)
    axes.set_xlabel("median NTT (← better)")
    figure.savefig(options.output)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
