"""Masked PPO in one file, in plain torch on the native vector environment, with nothing hidden.

Run: python examples/ppo_slots.py --timesteps 400000

The laws of a good start are here: tables become features of order one, one network is shared by all
slots, the mask is part of the distribution, episodes are not discounted, and the reward counts
fairness, the metric that moves least, fifteen times.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from prema_gym.simulator.features import NUM_FEATURES, features
from prema_gym.workloads import scenarios

SLOTS, STEPS, EPOCHS, MINIBATCHES = 8, 128, 4, 8
GAMMA, LAMBDA, CLIP, ENTROPY = 1.0, 0.98, 0.2, 0.001
WIDTH = 32
QUANTUM_MS = 2.0  # eight times the paper's: an eighth of the questions
# Each term over what PREMA reaches (README.md), times what it counts.
REWARD = {"antt": 1 / 2.7, "stp": 1 / 4.4, "fairness": 15 / 0.2, "sla_curve": 0.3 / 0.07,
          "tail": 2 / 2.5}  # fmt: skip


class Agent(nn.Module):
    """Encodes each task, reads it beside the mean and the maximum of all, and scores it."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Linear(NUM_FEATURES, WIDTH)
        self.read = nn.Linear(3 * WIDTH, WIDTH)
        self.score, self.value = nn.Linear(WIDTH, 1), nn.Linear(2 * WIDTH, 1)

    def forward(self, seen: Tensor, mask: Tensor) -> tuple[Categorical, Tensor]:
        """Features (B, slots, F), mask (B, slots): what to do, and what is to be expected."""
        here = mask.unsqueeze(-1)
        tasks = nn.functional.softsign(self.encode(seen))
        mean = (tasks * here).sum(1) / here.sum(1).clamp(min=1)
        highest = tasks.masked_fill(~here, -1.0).amax(1)
        context = torch.cat((mean, highest), dim=1)
        spread = context.unsqueeze(1).expand(-1, tasks.shape[1], -1)
        read = nn.functional.softsign(self.read(torch.cat((tasks, spread), dim=2)))
        scores = self.score(read).squeeze(-1).masked_fill(~mask, -1e8)
        return Categorical(logits=scores, validate_args=False), self.value(context).squeeze(-1)


class Rollout:
    """What happened in ``STEPS`` steps of every environment."""

    def __init__(self, num_envs: int) -> None:
        size = (STEPS, num_envs)
        self.seen = torch.zeros((*size, SLOTS, NUM_FEATURES))
        self.masks = torch.zeros((*size, SLOTS), dtype=torch.bool)
        self.actions = torch.zeros(size, dtype=torch.int64)
        self.logs, self.rewards, self.ends, self.values = (torch.zeros(size) for _ in range(4))

    def advantages(self, last: Tensor) -> Tensor:
        """Generalised advantages, from the last step back; ``last``: the value after it."""
        found, following = torch.zeros_like(self.values), torch.zeros_like(last)
        for step in reversed(range(STEPS)):
            goes_on = 1 - self.ends[step]
            coming = last if step == STEPS - 1 else self.values[step + 1]
            error = self.rewards[step] + GAMMA * coming * goes_on - self.values[step]
            following = error + GAMMA * LAMBDA * goes_on * following
            found[step] = following
        return found


def look(table: np.ndarray, mask: np.ndarray) -> tuple[Tensor, Tensor]:
    """Features and mask as tensors; rows without a task are zeros."""
    present = torch.from_numpy(mask)
    return features(torch.from_numpy(table), torch) * present.unsqueeze(-1), present


def learn(agent: Agent, optimiser: torch.optim.Optimizer, past: Rollout, gains: Tensor) -> float:
    """Some epochs of PPO on one rollout; the last loss."""
    returns, flat = (gains + past.values).flatten(), gains.flatten()
    flat = (flat - flat.mean()) / (flat.std() + 1e-8)
    seen, masks = past.seen.flatten(0, 1), past.masks.flatten(0, 1)
    actions, logs = past.actions.flatten(), past.logs.flatten()
    loss = torch.zeros(())
    for _ in range(EPOCHS):
        for part in torch.randperm(returns.numel()).chunk(MINIBATCHES):
            choice, value = agent(seen[part], masks[part])
            ratio = (choice.log_prob(actions[part]) - logs[part]).exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP) * flat[part]
            loss = -torch.minimum(ratio * flat[part], clipped).mean()
            loss += 0.5 * (value - returns[part]).square().mean()
            loss -= ENTROPY * choice.entropy().mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimiser.step()
    return float(loss.detach())


def main() -> None:
    """Collect, learn, repeat; print the metrics of the episodes that ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=400_000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=2_000_000_000, help="a training seed")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # so small a network only waits for a second one
    envs = gymnasium.make_vec(
        "prema_gym:PremaNPU-v0", num_envs=options.num_envs, slots=SLOTS, reward=REWARD,
        scenario=replace(scenarios.get("paper"), quantum_ms=QUANTUM_MS),
        autoreset_mode="SameStep",
        copy=False,  # the engine's own memory: what is kept is copied into ``past``  # glue
    )  # fmt: skip
    agent = Agent()
    updates = max(1, options.timesteps // (STEPS * options.num_envs))
    optimiser = torch.optim.Adam(agent.parameters(), lr=1e-3)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.01, total_iters=updates)
    table, info = envs.reset(seed=options.seed)
    began = time.perf_counter()
    for update in range(updates):
        past = Rollout(options.num_envs)
        ended: list[np.ndarray] = []
        for step in range(STEPS):
            past.seen[step], past.masks[step] = look(table, info["action_mask"])
            with torch.no_grad():
                choice, past.values[step] = agent(past.seen[step], past.masks[step])
            past.actions[step] = choice.sample()
            past.logs[step] = choice.log_prob(past.actions[step])
            table, reward, terminated, truncated, info = envs.step(past.actions[step].numpy())
            past.rewards[step] = torch.as_tensor(reward)
            past.ends[step] = torch.as_tensor(terminated | truncated)
            if "final_info" in info:
                metrics, whose = info["final_info"]["episode_metrics"], info["_final_info"]
                ended.append(np.stack((metrics["antt"][whose], metrics["fairness"][whose])))
        with torch.no_grad():
            last = agent(*look(table, info["action_mask"]))[1]
        loss = learn(agent, optimiser, past, past.advantages(last))
        slower.step()
        steps = (update + 1) * STEPS * options.num_envs
        rate = steps / (time.perf_counter() - began)
        said = "no episode ended"
        if ended:
            all_ended = np.concatenate(ended, axis=1)
            antt, fairness = all_ended.mean(axis=1)
            said = f"ANTT {antt:.2f}, fairness {fairness:.3f} in {all_ended.shape[1]} episodes"
        print(f"{steps:9} steps: {said}; loss {loss:.3f}; {rate:,.0f} steps/s")
    envs.close()


if __name__ == "__main__":
    main()
