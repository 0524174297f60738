"""DQN with Tianshou, which leaves out the actions that the mask beside an observation rules out.

Run: python examples/tianshou_dqn.py --timesteps 100000
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net
from tianshou.utils.torch_utils import policy_within_training_step

from prema_gym.envs.wrappers import TIANSHOU, with_mask

SLOTS, FEATURES = 8, 9


def make_env() -> Any:  # noqa: ANN401 - a wrapper
    """One environment: Tianshou makes vectors itself."""
    env = gymnasium.make(
        "prema_gym:PremaNPU-v0", slots=SLOTS, reward="balanced",
        observation="features", slot_order="arrival", info="mask",  # glue: infos keep one shape
    )  # fmt: skip
    return with_mask(env, TIANSHOU)  # glue


def main() -> None:
    """Collect and learn in turns; print what episodes paid."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=100_000)
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=2_000_000_000, help="a training seed")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    np.random.seed(0)  # noqa: NPY002 - Tianshou draws from it
    envs = DummyVectorEnv([make_env for _ in range(options.num_envs)])
    envs.seed(options.seed)
    space = envs.action_space[0]
    net = Net(state_shape=(SLOTS, FEATURES), action_shape=SLOTS, hidden_sizes=[64, 64])
    policy = DiscreteQLearningPolicy(model=net, action_space=space, eps_training=0.1)
    learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=500)
    buffer = VectorReplayBuffer(50_000, options.num_envs)
    collector = Collector(policy, envs, buffer, exploration_noise=True)
    collector.reset()
    done = 0
    while done < options.timesteps:
        found = collector.collect(n_step=32 * options.num_envs)
        done += found.n_collected_steps
        with policy_within_training_step(policy):
            for _ in range(8):
                learned = learner.update(buffer=buffer, sample_size=256)
        paid = found.returns.mean() if len(found.returns) else float("nan")
        print(f"{done:9} steps: {paid:.3f} an episode, loss {learned.loss:.4f}")
    envs.close()


if __name__ == "__main__":
    main()
