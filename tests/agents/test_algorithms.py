from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from prema_gym.agents.algorithms import ALGORITHMS, Algorithm
from prema_gym.agents.policies.sb3_preferences import family_of
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
def test_a_model_of_it_can_be_played(name: str, ours: bool) -> None:
    algorithm = ALGORITHMS[name]
    policy = algorithm.load("policy" if ours else "model")
    family = family_of(policy if ours else policy.policy_aliases["MlpPolicy"])
    assert algorithm.load("model").__name__.lower() in family.title.lower()


def test_what_an_algorithm_does_not_know_is_its_default() -> None:
    settings = TrainSettings(algo="dqn", timesteps=100)
    assert (settings.timesteps, settings.num_envs, settings.eval_every) == (100, 16, 5)
    assert TrainSettings(algo="ppo", num_envs=3).timesteps == 2_000_000
    assert TrainSettings(timesteps=7).eval_every == 1
