"""Masked PPO with skrl on our vector: the mask is a part of what its networks are given.

Run: python examples/skrl_ppo.py --timesteps 400000
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import torch
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer, SequentialTrainerCfg
from skrl.utils import set_seed
from skrl.utils.spaces.torch import unflatten_tensorized_space
from torch import nn

from prema_gym.envs.wrappers import with_mask

SLOTS, FEATURES, ROLLOUT = 8, 9, 64


def network(outputs: int) -> nn.Module:
    """Two layers on a flat table."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(SLOTS * FEATURES, 64), nn.Tanh(), nn.Linear(64, outputs)
    )


class Policy(CategoricalMixin, Model):  # type: ignore[misc]  # skrl has no types
    """Which task runs: scores of the tasks, without those that may not be named."""

    def __init__(self, env: Any) -> None:  # noqa: ANN401 - skrl's
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space)
        CategoricalMixin.__init__(self)
        self.net = network(SLOTS)

    def compute(
        self, inputs: dict[str, torch.Tensor], role: str
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """Logits (B, slots)."""
        seen = unflatten_tensorized_space(self.observation_space, inputs["observations"])  # glue
        return self.net(seen["table"]).masked_fill(seen["mask"] == 0, -1e8), {}  # glue


class Value(DeterministicMixin, Model):  # type: ignore[misc]
    """What is to be expected."""

    def __init__(self, env: Any) -> None:  # noqa: ANN401 - skrl's
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space)
        DeterministicMixin.__init__(self)
        self.net = network(1)

    def compute(
        self, inputs: dict[str, torch.Tensor], role: str
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """Values (B, 1)."""
        seen = unflatten_tensorized_space(self.observation_space, inputs["observations"])
        return self.net(seen["table"]), {}


def main() -> None:
    """Train, then print what skrl tracked of the rewards."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=400_000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=2_000_000_000, help="a training seed")
    options = parser.parse_args()
    set_seed(options.seed)
    envs = gymnasium.make_vec(
        "prema_gym:PremaNPU-v0", num_envs=options.num_envs, slots=SLOTS, reward="balanced",
        observation="features", slot_order="arrival",
    )  # fmt: skip
    env = wrap_env(with_mask(envs, ("table", "mask")))  # glue
    steps = max(1, options.timesteps // options.num_envs)
    rollout = min(ROLLOUT, steps)
    cfg = PPO_CFG(rollouts=rollout, learning_epochs=4, mini_batches=4, discount_factor=1.0)
    cfg.experiment.write_interval = cfg.experiment.checkpoint_interval = 0
    models: dict[str, Any] = {"policy": Policy(env), "value": Value(env)}
    agent = PPO(
        models=models,
        memory=RandomMemory(memory_size=rollout, num_envs=env.num_envs, device=env.device),
        cfg=cfg,
        observation_space=env.observation_space,
        action_space=env.action_space,
        device=env.device,
    )
    before = [weight.clone() for weight in models["policy"].parameters()]
    SequentialTrainer(
        cfg=SequentialTrainerCfg(
            timesteps=steps,
            headless=True,
            disable_progressbar=True,
            close_environment_at_exit=False,
        ),
        env=env,
        agents=agent,
    ).train()
    moved = max(
        float((new - old).abs().max())
        for new, old in zip(models["policy"].parameters(), before, strict=True)
    )
    print(f"{steps * env.num_envs} steps; a weight has moved by up to {moved:.4f}")


if __name__ == "__main__":
    main()
