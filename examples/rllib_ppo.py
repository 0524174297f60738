"""Masked PPO with RLlib's new API stack, on our native vector, by RLlib's own masking module.

Run: python examples/rllib_ppo.py --timesteps 400000
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from prema_gym.envs.wrappers import RLLIB, with_mask

SEEN = {"slots": 8, "reward": "balanced", "observation": "features", "slot_order": "arrival"}


def make_single(**arguments: Any) -> Any:  # noqa: ANN401 - RLlib's
    """One environment as RLlib wants it, a flat table beside the mask: it asks for the spaces."""
    env = gymnasium.make("prema_gym:PremaNPU-v0", **arguments)
    return with_mask(gymnasium.wrappers.FlattenObservation(env), RLLIB)  # glue


def make_many(num_envs: int = 1, **arguments: Any) -> Any:  # noqa: ANN401 - RLlib's
    """The native vector, likewise."""
    envs = gymnasium.make_vec("prema_gym:PremaNPU-v0", num_envs, **arguments)
    return with_mask(gymnasium.wrappers.vector.FlattenObservation(envs), RLLIB)  # glue


def main() -> None:
    """Train; print what episodes paid after each iteration."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=400_000)
    parser.add_argument("--num-envs", type=int, default=64)
    options = parser.parse_args()
    gymnasium.register("Masked-v0", make_single, vector_entry_point=make_many)  # glue
    config = (
        PPOConfig()
        .environment("Masked-v0", env_config=SEEN)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=options.num_envs,
            gym_env_vectorize_mode=gymnasium.VectorizeMode.VECTOR_ENTRY_POINT,
        )
        .rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))  # glue
        .training(
            train_batch_size_per_learner=min(4096, options.timesteps), gamma=1.0, lambda_=0.98
        )
    )
    algorithm = config.build_algo()
    done = 0
    while done < options.timesteps:
        results = algorithm.train()
        runners = results["env_runners"]
        done = int(runners["num_env_steps_sampled_lifetime"])
        print(f"{done:9} steps: {runners.get('episode_return_mean', float('nan')):.3f} an episode")
    algorithm.stop()


if __name__ == "__main__":
    main()
