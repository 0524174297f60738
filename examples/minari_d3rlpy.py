"""Offline learning: episodes of a policy as a data set of Minari's, and d3rlpy learning from it.

Run: python examples/minari_d3rlpy.py --policy dynamic-prema --episodes 200 --steps 20000

Without d3rlpy, whose own pins ask for Gymnasium 1.0, it stops at the data set
(docs/rl-libraries.md).
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any

import numpy as np

from prema_gym import baselines
from prema_gym.envs.datasets import record_minari


def imitate(dataset: Any, steps: int) -> float:  # noqa: ANN401 - Minari's
    """Behaviour cloning with d3rlpy; returns the share of decisions that it takes as they were."""
    import d3rlpy

    rows = list(dataset.iterate_episodes())
    tables = np.concatenate([row.observations[:-1] for row in rows])
    seen = np.sign(tables) * np.log1p(np.abs(tables))  # glue: columns span eight decades
    seen = seen.reshape(len(seen), -1)  # glue: d3rlpy takes a vector or a picture
    actions = np.concatenate([row.actions for row in rows])
    data = d3rlpy.dataset.MDPDataset(
        observations=seen,
        actions=actions,
        rewards=np.concatenate([row.rewards for row in rows]),
        terminals=np.concatenate([row.terminations for row in rows]),
        timeouts=np.concatenate([row.truncations for row in rows]),
        action_space=d3rlpy.ActionSpace.DISCRETE,
        action_size=int(dataset.action_space.n),
    )
    learner = d3rlpy.algos.DiscreteBCConfig(learning_rate=1e-3, batch_size=256).create(
        device="cpu:0"
    )
    learner.fit(
        data, n_steps=steps, n_steps_per_epoch=steps, show_progress=False,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    )  # fmt: skip
    return float((learner.predict(seen) == actions).mean())


def main() -> None:
    """Record, read back, and learn if there is who can."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policy", default="dynamic-prema")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--steps", type=int, default=20_000, help="gradient steps")
    parser.add_argument("--dataset", default="prema/example-v0")
    options = parser.parse_args()
    policy = baselines.make(options.policy)
    dataset = record_minari(options.dataset, policy, episodes=options.episodes, slots=8)
    print(f"recorded {dataset.total_episodes} episodes, {dataset.total_steps} decisions")
    env = dataset.recover_environment()
    print(f"its environment: {env.spec.id}, {env.unwrapped.settings.slots} slots")
    if importlib.util.find_spec("d3rlpy") is None:
        print("d3rlpy is not installed: nothing is learned from it")
        return
    print(f"cloned: {imitate(dataset, options.steps):.1%} of decisions as recorded")


if __name__ == "__main__":
    main()
