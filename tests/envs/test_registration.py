from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

from prema_gym.envs import PremaNPUEnv
from prema_gym.simulator import NUM_COLUMNS

HEAVY = ("numba", "torch", "matplotlib", "scipy", "stable_baselines3", "pandas")


def run(code: str, folder: Path) -> str:
    """Run code in a fresh interpreter, outside the checkout."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    code = f"import sys, prema_gym; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run(code, tmp_path).strip() == "[]"
    code = (
        "import sys, prema_gym; prema_gym.observation_columns(); import prema_gym.envs;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert run(code, tmp_path).strip() == "[]"


def test_making_an_environment_loads_no_learning_and_no_drawing(tmp_path: Path) -> None:
    code = (
        "import sys, gymnasium; gymnasium.make('prema_gym:PremaNPU-v0').reset(seed=0);"
        f"print([m for m in {HEAVY[1:3] + HEAVY[4:]!r} if m in sys.modules])"
    )
    assert run(code, tmp_path).strip() == "[]"


def test_it_is_found_by_module_and_name_in_a_fresh_interpreter(tmp_path: Path) -> None:
    code = (
        "import gymnasium; env = gymnasium.make('prema_gym:PremaNPU-v0');"
        "obs, info = env.reset(seed=0); print(obs.shape, info['action_mask'].sum() >= 2)"
    )
    assert run(code, tmp_path).strip() == f"(16, {NUM_COLUMNS}) True"


@pytest.mark.small
def test_the_id_and_its_defaults() -> None:
    spec = gymnasium.spec("PremaNPU-v0")
    assert spec.kwargs == {}, "the defaults are those of the class"
    assert spec.max_episode_steps is None, "limits are the environment's own"
    assert not spec.nondeterministic
    assert gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()) == spec
    env = gymnasium.make("PremaNPU-v0")
    assert isinstance(env.unwrapped, PremaNPUEnv)
    assert sorted(id for id in gymnasium.registry if "Prema" in id) == [
        "PremaNPU-MO-v0",
        "PremaNPU-v0",
    ]


@pytest.mark.small
def test_public_names() -> None:
    import prema_gym.envs

    for module in (prema_gym, prema_gym.envs):
        for name in module.__all__:
            assert getattr(module, name) is not None
    assert set(prema_gym.envs.__all__) <= set(dir(prema_gym.envs))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = prema_gym.envs.nothing
