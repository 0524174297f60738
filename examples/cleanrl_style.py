"""Masked PPO in one file, with nothing hidden: the loop of CleanRL on our vector environment.

Run: python examples/cleanrl_style.py --timesteps 400000
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from prema_gym.simulator import NUM_COLUMNS

SLOTS, STEPS, EPOCHS, MINIBATCHES = 8, 64, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY = 1.0, 0.95, 0.2, 0.01


class Agent(nn.Module):
    """Scores each task's row with one network that all rows share; the best score runs."""

    def __init__(self) -> None:
        super().__init__()
        first, second = nn.Linear(NUM_COLUMNS, 64), nn.Linear(64, 64)
        self.rows = nn.Sequential(first, nn.Tanh(), second, nn.Tanh())
        self.score, self.value = nn.Linear(64, 1), nn.Linear(64, 1)

    def forward(self, tables: torch.Tensor, mask: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Tables (B, slots, columns), mask (B, slots): what to do, and what is to be expected."""
        # Times span decades: logarithms, sign kept.
        seen = self.rows(tables.sign() * tables.abs().log1p())
        scores = self.score(seen).squeeze(-1).masked_fill(~mask, -1e8)
        return Categorical(logits=scores), self.value(seen.mean(dim=1)).squeeze(-1)


def main() -> None:
    """Collect, learn, repeat; print the ANTT of the episodes that ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=400_000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=2_000_000_000, help="a training seed")
    options = parser.parse_args()
    torch.manual_seed(options.seed % 2**31)
    envs = gymnasium.make_vec(
        "prema_gym:PremaNPU-v0", num_envs=options.num_envs, slots=SLOTS, reward="balanced",
        autoreset_mode="SameStep",
    )  # fmt: skip
    agent = Agent()
    optimiser = torch.optim.Adam(agent.parameters(), lr=1e-3)
    table, info = envs.reset(seed=options.seed)
    size = (STEPS, options.num_envs)
    for update in range(max(1, options.timesteps // (STEPS * options.num_envs))):
        tables = torch.zeros((*size, SLOTS, NUM_COLUMNS))
        masks = torch.zeros((*size, SLOTS), dtype=torch.bool)
        actions = torch.zeros(size, dtype=torch.int64)
        logs, rewards, ends, values = (torch.zeros(size) for _ in range(4))
        antt: list[float] = []
        for step in range(STEPS):
            tables[step] = torch.as_tensor(table)
            masks[step] = torch.as_tensor(info["action_mask"])
            with torch.no_grad():
                choice, values[step] = agent(tables[step], masks[step])
            actions[step] = choice.sample()
            logs[step] = choice.log_prob(actions[step])
            table, reward, terminated, truncated, info = envs.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(reward)
            ends[step] = torch.as_tensor(terminated | truncated)
            if "final_info" in info:
                final = info["final_info"]
                antt += final["episode_metrics"]["antt"][info["_final_info"]].tolist()
        # Generalised advantages, from the last step back.
        with torch.no_grad():
            last = agent(torch.as_tensor(table), torch.as_tensor(info["action_mask"]))[1]
            advantages, following = torch.zeros(size), torch.zeros(options.num_envs)
            for step in reversed(range(STEPS)):
                coming = last if step == STEPS - 1 else values[step + 1]
                error = rewards[step] + GAMMA * coming * (1 - ends[step]) - values[step]
                following = error + GAMMA * LAMBDA * (1 - ends[step]) * following
                advantages[step] = following
        returns = (advantages + values).flatten()
        flat = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for _ in range(EPOCHS):
            for part in torch.randperm(returns.numel()).chunk(MINIBATCHES):
                choice, value = agent(tables.flatten(0, 1)[part], masks.flatten(0, 1)[part])
                ratio = (choice.log_prob(actions.flatten()[part]) - logs.flatten()[part]).exp()
                gain = flat.flatten()[part]
                clipped = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
                loss = -clipped.mean() + 0.5 * (value - returns[part]).square().mean()
                loss -= ENTROPY * choice.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimiser.step()
        ended = f"ANTT {np.mean(antt):.2f} in {len(antt)} episodes" if antt else "no episode ended"
        print(f"{(update + 1) * STEPS * options.num_envs:9} steps: {ended}, loss {loss.item():.3f}")
    envs.close()


if __name__ == "__main__":
    main()
