from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from prema_gym.envs import EnvSettings, PremaNPUEnv, PremaNPUVectorEnv
from prema_gym.envs.rewards.reward import BALANCED, Reward
from prema_gym.envs.sb3 import make_sb3_env
from prema_gym.errors import ConfigError, UnknownArgumentError, UnknownNameError, WorkloadError
from prema_gym.simulator import Simulator
from prema_gym.workloads import Scenario, sample, save_workload, scenarios
from tests.envs.helpers import SMALL, catalog, single, vector


@pytest.mark.small
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scenario": "papper"}, "did you mean 'paper'"),
        ({"scenario": 3}, "scenario must be a name"),
        ({"scenario": {"num_task": 3}}, "did you mean 'num_tasks'"),
        ({"scenario": {"num_tasks": 0}}, "num_tasks"),
        ({"slots": 0}, "slots must be a whole number from 1 to 4096, got 0"),
        ({"slots": 2.0}, "slots must be a whole number"),
        ({"slots": True}, "slots must be a whole number"),
        ({"reward": "annt"}, "did you mean 'antt'"),
        ({"reward": {}}, "reward must be a name"),
        ({"reward": {"antt": 0, "sla": 0.0}}, "another weight than 0"),
        ({"reward": {"antt": float("nan")}}, "finite number"),
        ({"reward": {"antt": "1"}}, "finite number"),
        ({"reward": {"balanced": 1}}, "unknown reward term 'balanced'"),
        ({"mechanisms": ()}, "one or more of checkpoint, kill, drain, each once"),
        ({"mechanisms": ("kill", "kill")}, "one or more of checkpoint, kill, drain, each once"),
        ({"mechanisms": ("checkpiont",)}, "did you mean 'checkpoint'"),
        ({"mechanisms": 1}, "mechanisms must be one or more of checkpoint, kill, drain"),
        ({"oracle": 1}, "oracle must be true or false, got 1"),
        ({"oracle": True, "estimate": "calibrated"}, "oracle shows true times, but estimate is"),
        ({"estimate": "none"}, "unknown estimate 'none'"),
        ({"strict": "yes"}, "strict must be true or false, got 'yes'"),
        ({"workload": 7}, "workload must be"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1 to"),
        ({"max_decisions": 1.5}, "max_decisions must be a whole number"),
        (
            {"horizon_ms": 0.0},
            "horizon_ms must be a number above 0 and at most 1e+09, or None, got 0",
        ),
        ({"horizon_ms": float("inf")}, "horizon_ms must be a number above 0 and at most 1e+09"),
        ({"horizon_ms": 1e300}, "horizon_ms must be a number above 0 and at most 1e+09"),
        ({"horizon_ms": float("nan")}, "horizon_ms must be a number above 0 and at most 1e+09"),
        ({"slots": 10**8}, "slots must be a whole number from 1 to 4096, got 100000000"),
        ({"max_decisions": 2**70}, "max_decisions must be a whole number from 1 to 1000000000000"),
        ({"reward": {"antt": np.complex64(1)}}, "finite number"),
        ({"reward": {"antt": np.bool_(True)}}, "finite number"),
        ({"horizon_ms": "1"}, "horizon_ms must be a number"),
        ({"token_wait": "sometimes"}, "unknown token_wait"),
        ({"render_mode": "rgb_aray"}, "did you mean 'rgb_array'"),
        ({"slot": 3}, "got an unexpected keyword argument 'slot'; did you mean 'slots'?"),
        ({"frameskip": 3}, "got an unexpected keyword argument 'frameskip'"),
    ],
)
def test_a_value_that_is_not_allowed_is_a_clear_error(
    arguments: dict[str, Any], message: str
) -> None:
    for make in (PremaNPUEnv, PremaNPUVectorEnv):
        with pytest.raises(ConfigError) as error:
            make(**arguments)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.small
def test_an_unknown_argument_is_what_python_raises() -> None:
    makers: dict[str, Callable[..., object]] = {
        "PremaNPUEnv.__init__": PremaNPUEnv,
        "PremaNPUVectorEnv.__init__": PremaNPUVectorEnv,
        "make_sb3_env": partial(make_sb3_env, 2),
    }
    for caller, make in makers.items():
        with pytest.raises(UnknownArgumentError) as error:
            make(frame_skip=1)
        words = f"{caller}() got an unexpected keyword argument 'frame_skip' (known: scenario, "
        assert str(error.value).startswith(words)
        again = UnknownArgumentError("made from one string, as Gymnasium does")
        assert str(again) == "made from one string, as Gymnasium does"
        assert isinstance(again, TypeError)
        assert isinstance(again, UnknownNameError), "as before"
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    for make_by_id in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(TypeError, match="unexpected keyword argument 'slot'; did you mean"):
            make_by_id("PremaNPU-v0", slot=3)


@pytest.mark.small
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *product(("slots", "num_envs"), (1.5, True, "3", 2.7, None, 10**30, -1)),
        *product(("max_tasks", "max_decisions"), (1.5, True, "3", 2.7, 10**30, -1)),
        *product(("horizon_ms",), (True, "3", 10**30, -1)),
    ],
)
def test_a_number_of_the_simulator_is_never_rounded(name: str, value: object) -> None:
    arguments: dict[str, Any] = {name: value}
    with pytest.raises(ConfigError, match=f"^{name} must be a "):
        Simulator(catalog(), **arguments)


@pytest.mark.small
def test_a_seed_is_a_whole_number() -> None:
    for seed in (1.5, True, "3"):
        with pytest.raises(ConfigError, match="seed must be a whole number"):
            make_sb3_env(2, seed=seed)  # type: ignore[arg-type]


@pytest.mark.small
def test_vector_arguments_are_checked_too() -> None:
    for arguments in ({"num_envs": 0}, {"num_envs": 2.5}, {"threads": 0}):
        with pytest.raises(ConfigError, match="must be a whole number"):
            PremaNPUVectorEnv(**arguments)
    with pytest.raises(UnknownNameError, match="did you mean 'SameStep'"):
        PremaNPUVectorEnv(2, autoreset_mode="SameStepp")
    with pytest.raises(UnknownNameError, match="render_mode"):
        PremaNPUVectorEnv(2, render_mode="human")
    with pytest.raises(UnknownNameError, match=r"'thread'; did you mean 'threads'\?"):
        PremaNPUVectorEnv(2, thread=2)


@pytest.mark.small
def test_a_scenario_may_come_in_any_form(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    SMALL.to_toml(path)
    through_json = json.loads(json.dumps(SMALL.to_dict()))
    for form in (SMALL, path, str(path), SMALL.to_dict(), through_json):
        assert EnvSettings(scenario=form).scenario == SMALL
    assert EnvSettings().scenario == scenarios.get("paper")


@pytest.mark.small
def test_settings_are_kept_in_one_form_and_frozen() -> None:
    settings = EnvSettings(mechanisms=["kill"], reward="balanced", render_mode="ansi")
    assert settings.mechanisms == ("kill",)
    assert settings.reward == Reward(weights=BALANCED)
    assert settings.record_timeline, "a picture needs the timeline"
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.slots = 3  # type: ignore[misc]


def test_the_spec_goes_through_json(tmp_path: Path) -> None:
    path = tmp_path / "workload.json"
    save_workload(path, sample(catalog(), np.random.default_rng(5)), catalog())
    kwargs: dict[str, Any] = {
        "scenario": SMALL,
        "slots": 4,
        "reward": {"antt": 1.0, "fairness": 2.0},
        "mechanisms": ("checkpoint", "kill"),
        "workload": str(path),
        "max_decisions": 50,
    }
    env = gymnasium.make("PremaNPU-v0", **kwargs)
    assert env.spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.settings == env.unwrapped.settings  # type: ignore[attr-defined]
    one, two = env.reset(seed=0)[0], again.reset(seed=1)[0]
    np.testing.assert_array_equal(one, two)  # the workload is given

    envs = gymnasium.make_vec("PremaNPU-v0", num_envs=3, autoreset_mode="SameStep", **kwargs)
    assert envs.spec is not None
    spec = gymnasium.envs.registration.EnvSpec.from_json(envs.spec.to_json())
    same = gymnasium.make_vec(spec)
    assert same.num_envs == 3
    assert same.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP


def test_a_workload_of_another_scenario_is_refused() -> None:
    other = Scenario(networks=("vgg-16", "resnet-50"), batch_sizes=(2,), num_tasks=3)
    from prema_gym.workloads import compile_scenario

    foreign = sample(compile_scenario(other), np.random.default_rng(0))
    with pytest.raises(WorkloadError):
        single(workload=foreign)
    with pytest.raises(WorkloadError):
        single().reset(options={"workload": foreign})


def test_a_batch_of_workloads_needs_one_row_for_each() -> None:
    from prema_gym.workloads import sample_batch

    batch = sample_batch(catalog(), range(3))
    with pytest.raises(
        WorkloadError, match="one for each of 2 sub-environments, got a batch of 3 workloads"
    ):
        vector(2, workload=batch)
    with pytest.raises(WorkloadError, match="3 workloads"):
        single(workload=batch)
    envs = vector(3, workload=batch)
    observations, _ = envs.reset()
    for i in range(3):
        own, _ = single(workload=batch.row(i)).reset()
        np.testing.assert_array_equal(observations[i], own)


def test_numbers_of_numpy_are_numbers() -> None:
    env = PremaNPUEnv(
        slots=np.int32(3),
        max_decisions=np.int64(9),
        horizon_ms=np.float32(2.5),
        reward={"antt": np.float32(0.5), "stp": np.int8(2)},
    )
    settings = env.settings
    assert (settings.slots, settings.max_decisions, settings.horizon_ms) == (3, 9, 2.5)
    assert settings.checked_reward.weights == {"antt": 0.5, "stp": 2.0}


def test_whether_to_copy_is_true_or_false() -> None:
    with pytest.raises(ConfigError, match="copy must be true or false, got 'no'"):
        PremaNPUVectorEnv(2, copy="no")  # type: ignore[arg-type]
