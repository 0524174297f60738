from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym.agents.algorithms import ALGORITHMS, Algorithm
from prema_gym.agents.policies.sb3_model import _kind
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.settings import TrainSettings


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=list(ALGORITHMS))
def test_everything_that_a_line_names_is_there(algorithm: Algorithm) -> None:
    assert list(inspect.signature(algorithm.load("train")).parameters) == ["run"]
    assert set(algorithm.defaults) <= {one.name for one in fields(TrainSettings)}
    if algorithm.model:
        model, policy = algorithm.load("model"), algorithm.load("policy")
        assert issubclass(policy, model.policy_aliases["MlpPolicy"])
        sizes = inspect.signature(policy.__init__).parameters
        assert set(algorithm.sizes) <= set(sizes) & {one.name for one in fields(GradientConfig)}
        arguments = algorithm.load("arguments")(TrainSettings(algo=algorithm.name))
        assert set(arguments) <= set(inspect.signature(model.__init__).parameters)


@pytest.mark.parametrize("name", [name for name, one in ALGORITHMS.items() if one.model])
@pytest.mark.parametrize("ours", [True, False])
def test_a_file_is_known_by_its_policy_and_its_mark(name: str, ours: bool) -> None:
    algorithm = ALGORITHMS[name]
    model = algorithm.load("model")
    policy = algorithm.load("policy") if ours else model.policy_aliases["MlpPolicy"]
    saved = {"policy_class": policy, "gamma": 1.0}
    assert _kind(saved | ({algorithm.mark: 0.2} if algorithm.mark else {})) is model


def test_what_an_algorithm_does_not_know_is_its_default() -> None:
    settings = TrainSettings(algo="dqn", timesteps=100)
    assert (settings.timesteps, settings.num_envs, settings.eval_every) == (100, 16, 5)
    assert TrainSettings(algo="ppo", num_envs=3).timesteps == 2_000_000
    assert TrainSettings(timesteps=7).eval_every == 1
