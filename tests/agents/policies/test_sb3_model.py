from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy

from prema_gym import agents
from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.policies.sb3_model import SB3Policy
from prema_gym.agents.training.gradient.policies import MaskableSlotPolicy, SlotPolicy, SlotQPolicy
from prema_gym.envs.sb3 import make_sb3_env
from prema_gym.errors import ConfigError
from prema_gym.simulator import observation as col
from prema_gym.workloads.catalog import Catalog
from tests.agents.conftest import TINY, tables

OURS = [
    (MaskablePPO, MaskableSlotPolicy),
    (PPO, SlotPolicy),
    (A2C, SlotPolicy),
    (DQN, SlotQPolicy),
]
THEIRS = [(kind, "MlpPolicy") for kind, _ in OURS]


@pytest.mark.parametrize(("kind", "policy"), OURS)
def test_our_network_in_an_sb3_file_runs_with_any_slots(
    tiny: Catalog, tmp_path: Path, kind: type, policy: type
) -> None:
    env = make_sb3_env(2, scenario=TINY, slots=6, seed=0)
    sizes = {"hidden": 3, "readers": 3}
    model = kind(policy, env, seed=0, device="cpu", policy_kwargs=sizes)
    model.policy.scorer.score.data.normal_()
    model.save(tmp_path / "model.zip")
    loaded = agents.load(tmp_path / "model.zip")
    assert isinstance(loaded, LearnedPolicy)
    for observation, _ in tables(tiny, count=16, steps=5):
        arguments = {"action_masks": _} if kind is MaskablePPO else {}
        expected, _ = model.predict(observation, deterministic=True, **arguments)
        assert np.array_equal(loaded.predict(observation)[0], expected)
    assert loaded.predict(np.zeros((64, col.NUM_COLUMNS), np.float32))[0] == 0


@pytest.mark.parametrize(("kind", "policy"), THEIRS)
def test_an_mlp_is_masked_whatever_algorithm_made_it(
    tiny: Catalog, tmp_path: Path, kind: type, policy: str
) -> None:
    env = make_sb3_env(2, scenario=TINY, slots=6, seed=0)
    kind(policy, env, seed=0, device="cpu").save(tmp_path / "model.zip")
    loaded = agents.load(tmp_path / "model.zip")
    assert isinstance(loaded, SB3Policy)
    assert type(loaded.model) is kind
    for observation, mask in tables(tiny, count=16, steps=10):
        actions, _ = loaded.predict(observation, action_masks=mask)
        assert mask[np.arange(len(actions)), actions].all()
        one, _ = loaded.predict(observation[0], action_masks=mask[0])
        assert one == actions[0]


def test_no_path_of_our_policies_plays_an_illegal_action() -> None:
    env = make_sb3_env(4, scenario=TINY, slots=6, seed=0, strict=True)  # raises on an illegal one
    for kind, policy in OURS:
        model = kind(policy, env, seed=0, device="cpu", policy_kwargs={"hidden": 3, "readers": 3})
        if kind is not MaskablePPO:  # whose own evaluation passes masks
            evaluate_policy(model, env, n_eval_episodes=20)
        observation = env.reset()
        for _ in range(30):
            arguments = {}
            if kind is MaskablePPO:
                arguments["action_masks"] = np.stack(env.env_method("action_masks"))
            actions, _state = (
                model.predict(observation, deterministic=False, **arguments)
                if (kind is not DQN)
                else model.predict(observation, deterministic=True)
            )
            observation, *_rest = env.step(actions)


def test_illegal_actions_are_worth_what_the_simulator_makes_of_them(tiny: Catalog) -> None:
    torch = pytest.importorskip("torch")
    env = make_sb3_env(2, scenario=TINY, slots=6, seed=0)
    model = DQN(SlotQPolicy, env, seed=0, policy_kwargs={"hidden": 3, "readers": 3})
    assert isinstance(model.policy, SlotQPolicy)
    model.policy.scorer.score.data.normal_()
    checked = 0
    for observation, mask in tables(tiny, count=16, steps=8):
        with torch.no_grad():
            values = model.q_net(torch.from_numpy(observation)).numpy()
        for table, legal, value in zip(observation, mask, values, strict=True):
            running = np.flatnonzero(table[:, col.RUNNING])
            first = min(np.flatnonzero(table[:, col.PRESENT]), key=lambda s: table[s, col.ORDER])
            instead = running[0] if running.size else first
            assert (value[~legal] == value[instead]).all()
            checked += int((~legal).sum())
    assert checked > 100
    with torch.no_grad():
        nothing = model.q_net(torch.zeros(1, 6, col.NUM_COLUMNS))
    assert (nothing == 0).all()


def test_damaged_missing_and_foreign_files_give_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        agents.load(tmp_path / "gone.zip")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(ConfigError, match="is damaged or not a Stable-Baselines3 file"):
        agents.load(tmp_path / "text.zip")
    model = PPO("MlpPolicy", "CartPole-v1", device="cpu")
    model.save(tmp_path / "cartpole.zip")
    with pytest.raises(ConfigError, match=r"observations of shape \(4,\), not tables"):
        agents.load(tmp_path / "cartpole.zip")
    content = (tmp_path / "cartpole.zip").read_bytes()
    (tmp_path / "half.zip").write_bytes(content[: len(content) // 2])
    with pytest.raises(ConfigError, match="damaged") as caught:
        agents.load(tmp_path / "half.zip")
    assert "\n" not in str(caught.value)
    with zipfile.ZipFile(tmp_path / "junk.zip", "w") as file:
        file.writestr("data", "{}")
        file.writestr("policy.pth", b"junk")  # torch raises a struct.error
    with pytest.raises(ConfigError, match=r"junk\.zip is damaged or not a model") as caught:
        agents.load(tmp_path / "junk.zip")
    assert "\n" not in str(caught.value)
