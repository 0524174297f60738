"""Gymnasium's and Stable-Baselines3's own checkers, with every warning an error."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from prema_gym.envs import reward_names
from prema_gym.simulator import MECHANISMS
from prema_gym.workloads import Scenario
from tests.envs.helpers import SMALL
from tests.envs.windows import windows

ONE_TASK = Scenario(networks=("alexnet",), batch_sizes=(1,), num_tasks=1, priorities=(1,))
# Each argument away from its default at least once, and the default id.
GRID: list[dict[str, Any]] = [
    {},
    {"slots": 1},
    {"slots": 40, "scenario": "heavy"},
    {"scenario": "light", "oracle": True},
    {"scenario": ONE_TASK},
    {"scenario": replace(ONE_TASK, priorities=(1, 3))},  # a metric of its first step is undefined
    {"mechanisms": ("checkpoint", "kill")},
    {"mechanisms": MECHANISMS, "sticky_drain": False},
    {"mechanisms": ("kill",), "max_decisions": 40},
    {"max_decisions": None, "horizon_ms": 5.0},
    {"record_timeline": True, "token_wait": "total"},
    {"render_mode": "ansi"},
    {"render_mode": "rgb_array"},
    *({"reward": name, "scenario": SMALL, "slots": 3} for name in reward_names()),
    {"reward": {"antt": 1, "fairness": 2}},
]


def make(arguments: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("PremaNPU-v0", **arguments)


@pytest.mark.parametrize("arguments", GRID, ids=range(len(GRID)))
def test_gymnasiums_checker(arguments: dict[str, Any]) -> None:
    # It wants the bare environment; rendering one mode, it makes another of every other mode too.
    with windows(), warnings.catch_warnings():
        # Times have no bound: it wants to be told that this is meant.
        warnings.filterwarnings("ignore", message=".*A Box observation space m.* is -?infinit")
        check_env(make(arguments).unwrapped, skip_render_check="render_mode" not in arguments)


@pytest.mark.parametrize("arguments", GRID, ids=range(len(GRID)))
def test_stable_baselines3s_checker(arguments: dict[str, Any]) -> None:
    render = "render_mode" in arguments
    check_env_sb3(FlattenObservation(make(arguments)), skip_render_check=not render)
    with warnings.catch_warnings():
        # A table of two axes is meant: policies that want a vector flatten it themselves.
        warnings.filterwarnings("ignore", message="Your observation  has an unconventional shape")
        check_env_sb3(make(arguments), skip_render_check=not render)
