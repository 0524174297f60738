"""How fast does one RL library collect decisions from us, beside its own CartPole, in one run?

Run by :mod:`benchmarks.bench_clients` in the environment that has the library:
``python -m benchmarks.client_loops torchrl torchrl``. Each library collects with its own machinery,
by random or untrained policies; learning, which costs the same whatever the environment, is left
out.
"""

from __future__ import annotations

import importlib.metadata
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from prema_gym.envs.wrappers import RLLIB, TIANSHOU, with_mask

NUM_ENVS = 64
SEEN: dict[str, Any] = {"slots": 8, "observation": "features", "slot_order": "arrival"}
CARTPOLE = "CartPole-v1"
Loop = Callable[[], int]
"""Collects some decisions and says how many."""


def _vector(**arguments: Any) -> Any:  # noqa: ANN401 - one of Gymnasium's
    return gymnasium.make_vec("prema_gym:PremaNPU-v0", NUM_ENVS, **SEEN, **arguments)


def _cartpoles(**arguments: Any) -> Any:  # noqa: ANN401 - one of Gymnasium's
    return gymnasium.make_vec(CARTPOLE, NUM_ENVS, vectorization_mode="sync", **arguments)


def sb3(ours: bool) -> Loop:
    """Steps of Stable-Baselines3's vector, CartPole in its own ``DummyVecEnv``."""
    from stable_baselines3.common.env_util import make_vec_env

    from prema_gym.envs.sb3 import make_sb3_env

    env: Any = make_sb3_env(NUM_ENVS, **SEEN) if ours else make_vec_env(CARTPOLE, NUM_ENVS)
    env.reset()
    rng = np.random.default_rng(0)

    def loop(steps: int = 64) -> int:
        for _ in range(steps):
            env.step(rng.integers(0, 2, NUM_ENVS))
        return steps * NUM_ENVS

    return loop


def torch_loop(ours: bool) -> Loop:
    """A loop of one's own, a linear layer of torch in it."""
    import torch

    envs = _vector(copy=False) if ours else _cartpoles()
    inputs = int(np.prod(envs.single_observation_space.shape))
    layer = torch.nn.Linear(inputs, int(envs.single_action_space.n))
    seen = [envs.reset(seed=0)[0]]

    def loop(steps: int = 64) -> int:
        for _ in range(steps):
            with torch.no_grad():
                actions = layer(torch.from_numpy(seen[0]).flatten(1)).argmax(dim=1)
            seen[0] = envs.step(actions.numpy())[0]
        return steps * NUM_ENVS

    return loop


def torchrl(ours: bool) -> Loop:
    """A rollout of TorchRL's, random actions."""
    from torchrl.envs import GymWrapper

    envs = (
        _vector(autoreset_mode="Disabled")
        if ours
        else _cartpoles(vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED})
    )
    if ours:
        envs = with_mask(envs, ("observation", "action_mask"), mask_dtype=np.bool_)
    env = GymWrapper(envs, categorical_action_encoding=True)
    return lambda: int(env.rollout(64, break_when_any_done=False).numel())


def skrl(ours: bool) -> Loop:
    """Steps of skrl's wrapper, random actions."""
    import torch
    from skrl.envs.wrappers.torch import wrap_env

    env: Any = wrap_env(with_mask(_vector()) if ours else _cartpoles())
    env.reset()

    def loop(steps: int = 64) -> int:
        for _ in range(steps):
            env.step(torch.randint(0, 2, (NUM_ENVS, 1)))
        return steps * NUM_ENVS

    return loop


def rllib(ours: bool) -> Loop:
    """Samples of an env runner of RLlib's new API stack, its default network."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

    def many(num_envs: int = 1, **_: object) -> Any:  # noqa: ANN401 - one of Gymnasium's
        return with_mask(gymnasium.wrappers.vector.FlattenObservation(_vector()), RLLIB)

    mode = gymnasium.VectorizeMode
    if ours:
        gymnasium.register("Masked-v0", vector_entry_point=many)
    config = (
        PPOConfig()
        .environment("Masked-v0" if ours else CARTPOLE)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=NUM_ENVS,
            gym_env_vectorize_mode=mode.VECTOR_ENTRY_POINT if ours else mode.SYNC,
        )
    )
    if ours:
        config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
    runner = SingleAgentEnvRunner(config=config)
    return lambda: sum(
        len(one) for one in runner.sample(num_timesteps=8 * NUM_ENVS, random_actions=False)
    )


def tianshou(ours: bool) -> Loop:
    """Tianshou's collector on single environments, an untrained DQN."""
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.data import Collector
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.net.common import Net

    def make() -> Any:  # noqa: ANN401 - one of Gymnasium's
        if not ours:
            return gymnasium.make(CARTPOLE)
        return with_mask(gymnasium.make("prema_gym:PremaNPU-v0", info="mask", **SEEN), TIANSHOU)

    envs = DummyVectorEnv([make for _ in range(NUM_ENVS)])
    one = make()
    space, actions = one.observation_space, one.action_space
    shape = (space["obs"] if ours else space).shape
    net = Net(state_shape=shape, action_shape=int(actions.n), hidden_sizes=[8])
    policy = DiscreteQLearningPolicy(model=net, action_space=actions)
    collector: Any = Collector(policy, envs)
    collector.reset()
    return lambda: int(collector.collect(n_step=4 * NUM_ENVS).n_collected_steps)


def minari(ours: bool) -> Loop:
    """Single steps through Gymnasium, as a data set is recorded."""
    if ours:
        return _single(gymnasium.make("prema_gym:PremaNPU-v0", info="mask", slots=8))
    return _single(gymnasium.make(CARTPOLE))


def morl(ours: bool) -> Loop:
    """Single steps, as MORL-Baselines takes them: ours of two objectives."""
    if ours:
        made = gymnasium.make("prema_gym:PremaNPU-MO-v0", slots=8, disable_env_checker=True)
        return _single(made)
    return _single(gymnasium.make(CARTPOLE))


def _single(made: Any) -> Loop:  # noqa: ANN401 - an environment of Gymnasium's
    made.reset(seed=0)
    rng = np.random.default_rng(0)

    def loop(steps: int = 2000) -> int:
        for _ in range(steps):
            _, _, terminated, truncated, _ = made.step(int(rng.integers(0, 2)))
            if terminated or truncated:
                made.reset()
        return steps

    return loop


LOOPS: dict[str, Callable[[bool], Loop]] = {
    one.__name__: one for one in (sb3, torch_loop, torchrl, skrl, rllib, tianshou, minari, morl)
}


def measure(name: str, rounds: int = 5, seconds: float = 0.5) -> dict[str, float]:
    """Decisions a second of both, in turns, so that other work meets both alike."""
    loops = [LOOPS[name](ours) for ours in (True, False)]
    rates: list[list[float]] = [[], []]
    for loop in loops:
        loop()  # the first compiles, allocates and starts episodes
    for _ in range(rounds):
        for loop, found in zip(loops, rates, strict=True):
            start, count = time.perf_counter(), 0
            while time.perf_counter() - start < seconds:
                count += loop()
            found.append(count / (time.perf_counter() - start))
    ratios = [own / other for own, other in zip(*rates, strict=True)]
    ours, cartpole = (statistics.median(each) for each in rates)
    return {"ours": ours, "cartpole": cartpole, "ratio": statistics.median(ratios)}


def main() -> None:
    """Print the rates of one library, and versions, as JSON on the last line."""
    warnings.simplefilter("ignore")
    name, *packages = sys.argv[1:]
    found: dict[str, Any] = dict(measure(name))
    found["versions"] = {one: importlib.metadata.version(one) for one in (*packages, "gymnasium")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
