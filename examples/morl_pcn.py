"""Pareto Conditioned Networks of MORL-Baselines on `PremaNPU-MO-v0`: ANTT against fairness.

Run: python examples/morl_pcn.py --timesteps 50000
"""

from __future__ import annotations

import argparse
from typing import Any, cast

import gymnasium
import numpy as np
from morl_baselines.multi_policy.pcn.pcn import PCN

WORST = np.array([-60.0, 0.0])
"""Reference point of the hypervolume: an ANTT that no random schedule reaches, and no fairness."""


def main() -> None:
    """Train, and print the non-dominated returns that were found beside the exact front."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=2_000_000_000 % 2**31, help="a training seed")
    parser.add_argument("--episodes", type=int, default=20, help="of the first, random experience")
    options = parser.parse_args()
    env = gymnasium.make("prema_gym:PremaNPU-MO-v0", slots=8)
    agent = PCN(
        env, scaling_factor=np.array([0.1, 1.0, 0.01]), log=False, seed=options.seed, device="cpu"
    )
    agent.train(
        options.timesteps, env, WORST, num_er_episodes=options.episodes, num_step_episodes=4,
        num_model_updates=20, max_return=np.array([-1.0, 1.0]), max_buffer_size=50,
        num_points_pf=10,
    )  # fmt: skip
    found, _, _ = agent.evaluate(env, np.array([-1.0, 1.0]), n=3)
    front = np.array(cast(Any, env.unwrapped).pareto_front())
    print("found, ANTT and fairness:")
    for paid in found:
        print(f"{-paid[0]:8.2f} {paid[1]:6.3f}")
    print("exact front, means over workloads, its ends:")
    for paid in front[[0, -1]]:
        print(f"{-paid[0]:8.2f} {paid[1]:6.3f}")


if __name__ == "__main__":
    main()
