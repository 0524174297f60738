"""Compare policies on the same workloads, one of them your own.

Run: python examples/compare_policies.py --workloads 50
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prema_gym import agents, baselines
from prema_gym.evaluation import evaluate
from prema_gym.simulator import PRESENT, PRIORITY, REMAINING_MS


class ShortestPerPriority:
    """Runs the task with the least remaining time per priority; a policy is no more than this."""

    mechanisms = ("checkpoint",)

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,  # noqa: ANN401 - a policy's own
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], Any]:
        """Name a slot for each table, float32 (tables, slots, columns)."""
        present = observation[..., PRESENT] > 0
        score = observation[..., REMAINING_MS] / np.maximum(observation[..., PRIORITY], 1e-6)
        return np.where(present, score, np.inf).argmin(axis=-1), state


def main() -> None:
    """Play, and print a line a policy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workloads", type=int, default=50)
    options = parser.parse_args()
    result = evaluate(
        "paper",
        {
            "np-fcfs": baselines.make("np-fcfs"),
            "dynamic-prema": baselines.make("dynamic-prema"),
            "learned": agents.load("learned"),
            "mine": ShortestPerPriority(),
        },
        workloads=options.workloads,
    )
    for name, found in result.policies.items():
        antt, fairness = found.metrics["antt"], found.metrics["fairness"]
        low, high = antt.ci95
        print(f"{name:14} ANTT {antt.mean:6.2f} [{low:.2f}, {high:.2f}], {antt.ratio:.2f} × better")
        print(f"{'':14} fairness {fairness.mean:.3f}")


if __name__ == "__main__":
    main()
