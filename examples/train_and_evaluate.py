"""Train a scheduler, then compare it with PREMA on workloads that neither has seen.

Run: python examples/train_and_evaluate.py --timesteps 5000000 --output runs/mine
"""

from __future__ import annotations

import argparse
from pathlib import Path

from prema_gym import agents, baselines
from prema_gym.evaluation import evaluate


def main() -> None:
    """Train, load what was best in validation, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=5_000_000)
    parser.add_argument("--output", type=Path, required=True, help="a new folder for the run")
    parser.add_argument("--workloads", type=int, default=200)
    options = parser.parse_args()
    agents.train(options.output, agents.TrainSettings(algo="es", timesteps=options.timesteps))
    result = evaluate(
        "paper",
        {"dynamic-prema": baselines.make("dynamic-prema"), "mine": agents.load(options.output)},
        workloads=options.workloads,
        relative_to="dynamic-prema",
    )
    for name in ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high"):
        found = result.policies["mine"].metrics[name]
        low, high = found.ratio_ci95
        print(f"{name:14} {found.ratio:.3f} × dynamic PREMA [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
