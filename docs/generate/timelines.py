"""What does a policy do differently from PREMA? The Gantt charts of docs/learned.md.

Run: python -m docs.generate.timelines learned docs --seed 16
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from docs.generate.scripts import run
from prema_gym import agents, baselines
from prema_gym.agents.studies.timelines import draw
from prema_gym.baselines import PREMA
from prema_gym.simulator import Mechanism
from prema_gym.workloads import scenarios


def main() -> None:
    """Read the command line, draw both, and print each task's NTT."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("policy", help="a shipped policy, a run folder or a file")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--scenario", default="paper")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    scenario = scenarios.get(options.scenario)
    policy = agents.load(options.policy)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, decider in ((policy.name, policy), (PREMA, baselines.make(PREMA))):
        path = options.folder / f"timeline-{name}.png"
        outcomes = draw(decider, scenario, options.seed, path)
        ntt = " ".join(
            f"{value:.2f}(π{weight})"
            for value, weight in zip(outcomes.ntt[0], outcomes.priority[0], strict=True)
        )
        checkpoints = int(np.sum(outcomes.preemptions[:, Mechanism.CHECKPOINT]))
        print(f"{path}: {checkpoints} checkpoints; NTT (priority) {ntt}")


if __name__ == "__main__":
    run(main)
