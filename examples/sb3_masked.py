"""Train MaskablePPO of Stable-Baselines3, then compare it with PREMA on workloads it has not seen.

Run: python examples/sb3_masked.py --timesteps 100000
     python examples/sb3_masked.py --timesteps 400000 --network mlp

``--network slots`` scores each task alike, whatever row it is in, and scales the table itself.
``--network mlp`` is the library's ordinary network on features sorted by arrival: it has to learn
for every row anew what a task is.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.vec_env import VecNormalize

from prema_gym import baselines
from prema_gym.agents.seeds import TRAINING
from prema_gym.agents.training.gradient.policies import MaskableSlotPolicy
from prema_gym.envs.sb3 import make_sb3_env

SEEN: dict[str, dict[str, Any]] = {
    "slots": {},
    "mlp": {"observation": "features", "slot_order": "arrival"},
}
POLICY: dict[str, Any] = {"slots": MaskableSlotPolicy, "mlp": "MlpPolicy"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "slots": {},
    "mlp": {"policy_kwargs": {"net_arch": [128, 128], "activation_fn": torch.nn.ReLU}},
}
"""What is seen, by which policy class, and how it is made."""


def antt(model: Any, deterministic: bool, workloads: int, **arguments: Any) -> float:  # noqa: ANN401 - SB3's
    """Mean ANTT over workloads of test seeds 0, 1 and so on."""
    env = make_sb3_env(workloads, seed=0, slots=8, reward="antt", **arguments)
    observations, found = env.reset(), np.full(workloads, np.nan)
    while np.isnan(found).any():
        masks = get_action_masks(env)
        actions, _ = model.predict(observations, action_masks=masks, deterministic=deterministic)
        observations, _, over, infos = env.step(actions)
        for i in np.flatnonzero(over & np.isnan(found)):
            found[i] = infos[i]["episode"]["antt"]
    return float(found.mean())


def main() -> None:
    """Train, and print ANTT: drawn, deterministic, PREMA's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--timesteps", type=int, default=100_000)
    parser.add_argument("--network", choices=sorted(POLICY), default="slots")
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=TRAINING.start, help="a training seed")
    parser.add_argument("--workloads", type=int, default=200)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # networks so small gain nothing from more
    seen = SEEN[options.network]
    env = make_sb3_env(options.num_envs, slots=8, reward="antt", **seen)
    # An episode pays some −26 at first and −2 later: a value network learns returns of order one.
    scaled = VecNormalize(env, norm_obs=False, gamma=0.995, clip_reward=np.inf)
    model = MaskablePPO(
        POLICY[options.network],
        scaled,
        n_steps=64,
        batch_size=1024,
        n_epochs=5,
        # Found by trial (docs/rl-libraries.md). A waiting task costs at every quantum of 0.25 ms:
        # this looks some 200 of them ahead, 50 ms, longer than most tasks take.
        gamma=0.995,
        gae_lambda=0.98,
        learning_rate=lambda left: 1e-3 * left,
        seed=options.seed,
        **ARGUMENTS[options.network],
    )
    model.learn(options.timesteps)
    prema = baselines.make("dynamic-prema")
    print(f"{model.num_timesteps} steps, ANTT of {options.workloads} workloads")
    print(f"deterministic {antt(model, True, options.workloads, **seen):.2f}")
    print(f"drawn         {antt(model, False, options.workloads, **seen):.2f}")
    print(f"dynamic-prema {antt(prema, True, options.workloads):.2f}")


if __name__ == "__main__":
    main()
