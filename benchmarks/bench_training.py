"""How fast does masked PPO train? Steps a second beside CartPole's; nothing is asserted.

Run: python -m benchmarks training

What trains is the shipped `learned-ppo` from its configuration: 64 environments, our network, one
thread. Beside it, in turns, PPO of Stable-Baselines3 as it comes on eight of CartPole-v1, one
thread too. Rates are by the clock, and by the CPU time that this process used: where other work
shares the machine only the second says what one core does.

Wanted: at least 3 times as many steps a second; the simulator takes less than 15 % of the time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.env_util import make_vec_env

from prema_gym.agents.training.gradient.model import make_env, new_model
from prema_gym.agents.training.settings import TrainSettings

CONFIG = Path(__file__).parents[1] / "agents/pretrained/learned-ppo.toml"
TURNS = 7
STEPS = 16_384  # a rollout of CartPole's PPO, two of ours


class Stopwatch:
    """Adds up the time spent in a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *arguments: object) -> object:
        """Call it."""
        start = time.perf_counter()
        try:
            return self.function(*arguments)
        finally:
            self.seconds += time.perf_counter() - start


def learn(model: BaseAlgorithm) -> tuple[float, float]:
    """Train a while; return the seconds by the clock and by CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    model.learn(STEPS, reset_num_timesteps=False)
    return time.perf_counter() - clock, time.process_time() - cpu


def main() -> None:
    torch.set_num_threads(1)
    settings = TrainSettings.from_toml(CONFIG)
    env: Any = make_env(settings)
    ours = new_model(settings, env, print)
    inner: Any = env.unwrapped
    whole = env.step = Stopwatch(env.step)
    play = inner._episodes.step = Stopwatch(inner._episodes.step)
    start = inner._episodes.reset = Stopwatch(inner._episodes.reset)
    cartpole = PPO("MlpPolicy", make_vec_env("CartPole-v1", n_envs=8, seed=0), device="cpu", seed=0)
    for model in (ours, cartpole):
        learn(model)
    whole.seconds = play.seconds = start.seconds = 0.0
    turns = [(learn(ours), learn(cartpole)) for _ in range(TURNS)]
    print("steps/s, median of the turns, by the clock (by CPU time)")
    for name, times in zip(("masked PPO", "CartPole-v1"), zip(*turns, strict=True), strict=True):
        clock, cpu = (STEPS / statistics.median(one) for one in zip(*times, strict=True))
        print(f"  {name:12} {clock:8,.0f} ({cpu:8,.0f})")
    clock, cpu = (statistics.median(theirs[k] / own[k] for own, theirs in turns) for k in range(2))
    print(f"  ours over it {clock:8.2f} ({cpu:8.2f}) ×")
    total = sum(own[0] for own, _ in turns)
    print(
        f"of the training: simulator {(play.seconds + start.seconds) / total:.1%}, "
        f"the whole VecEnv.step {whole.seconds / total:.1%}"
    )
