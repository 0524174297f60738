"""Masked PPO with TorchRL: its own collector, loss and masked distribution on our vector.

Run: python examples/torchrl_ppo.py --timesteps 400000
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import GymWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from prema_gym.envs.wrappers import with_mask

SLOTS, FEATURES = 8, 9
EPOCHS, MINIBATCHES = 4, 4


def make_env(num_envs: int) -> Any:  # noqa: ANN401 - TorchRL's
    """Return the native vector as TorchRL has environments."""
    envs = gymnasium.make_vec(
        "prema_gym:PremaNPU-v0", num_envs=num_envs, slots=SLOTS, reward="balanced",
        observation="features", slot_order="arrival",
        autoreset_mode="Disabled",  # TorchRL starts anew who has ended  # glue
    )  # fmt: skip
    shown = with_mask(envs, ("observation", "action_mask"), mask_dtype=np.bool_)  # glue
    return GymWrapper(shown, categorical_action_encoding=True)


def network(outputs: int) -> nn.Module:
    """Two layers on a flat table."""
    return nn.Sequential(
        nn.Flatten(-2), nn.Linear(SLOTS * FEATURES, 64), nn.Tanh(), nn.Linear(64, outputs)
    )


def main() -> None:
    """Collect, learn, repeat; print what episodes paid."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=400_000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=2_000_000_000, help="a training seed")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    env = make_env(options.num_envs)
    env.set_seed(options.seed)
    scores = TensorDictModule(network(SLOTS), in_keys=["observation"], out_keys=["logits"])
    actor = ProbabilisticActor(
        scores,
        spec=env.action_spec,
        in_keys={"logits": "logits", "mask": "action_mask"},  # glue
        out_keys=["action"],
        distribution_class=MaskedCategorical,  # glue
        return_log_prob=True,
    )
    value = ValueOperator(network(1), in_keys=["observation"])
    advantage = GAE(gamma=1.0, lmbda=0.98, value_network=value)
    loss = ClipPPOLoss(actor, value)
    optimiser = torch.optim.Adam(loss.parameters(), lr=1e-3)
    batch = min(64 * options.num_envs, options.timesteps)
    collector = Collector(
        env,
        actor,
        frames_per_batch=batch,
        total_frames=options.timesteps,
        auto_register_policy_transforms=False,
    )
    done = 0
    for data in collector:
        for _ in range(EPOCHS):
            with torch.no_grad():
                advantage(data)
            flat = data.reshape(-1)
            for part in torch.randperm(len(flat)).chunk(MINIBATCHES):
                terms = loss(flat[part])
                total = sum(
                    terms[name] for name in ("loss_objective", "loss_critic", "loss_entropy")
                )
                optimiser.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimiser.step()
        done += data.numel()
        paid = data["next", "reward"].sum() / max(1, int(data["next", "done"].sum()))
        print(f"{done:9} steps: {paid:.3f} an episode, loss {total.item():.3f}")
    collector.shutdown()


if __name__ == "__main__":
    main()
