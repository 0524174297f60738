from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation

pytest.importorskip("stable_baselines3")

from sb3_contrib import ARS, QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from prema_gym import agents
from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.policies.sb3_model import SB3Policy
from prema_gym.agents.training.gradient.policies import MaskableSlotPolicy, SlotPolicy, SlotQPolicy
from prema_gym.envs import PremaNPUEnv
from prema_gym.envs.sb3 import make_sb3_env
from prema_gym.errors import ConfigError
from prema_gym.evaluation.compare import evaluate
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
    assert isinstance(loaded.policy, kind.policy_aliases["MlpPolicy"])  # type: ignore[attr-defined]
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


def test_a_policy_with_a_memory_is_played_with_it(tiny: Catalog, tmp_path: Path) -> None:
    env = make_sb3_env(2, scenario=TINY, slots=6, seed=0)
    model = RecurrentPPO("MlpLstmPolicy", env, n_steps=8, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    loaded = agents.load(tmp_path / "model.zip")
    state = own = None
    starts = np.ones(16, bool)
    seen = 0
    for observation, mask in tables(tiny, count=16, steps=12):
        if len(observation) < 16:  # some have ended, and a memory belongs to its row
            break
        actions, state = loaded.predict(
            observation, state=state, episode_start=starts, action_masks=mask
        )
        expected, own = model.predict(
            observation, state=own, episode_start=starts, deterministic=True
        )
        legal = mask[np.arange(16), expected]
        assert np.array_equal(actions[legal], expected[legal])
        seen += int(legal.sum())
        np.testing.assert_array_equal(state, own)
        starts[:] = False
    assert seen > 20
    found = evaluate(TINY, {"recurrent": loaded}, workloads=30, relative_to="recurrent", slots=6)
    assert found.policies["recurrent"].metrics["unfinished"].mean == 0


def test_a_qr_dqn_is_played_and_another_model_is_named(tiny: Catalog, tmp_path: Path) -> None:
    env = make_sb3_env(2, scenario=TINY, slots=6, seed=0)
    model = QRDQN("MlpPolicy", env, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    loaded = agents.load(tmp_path / "model.zip")
    for observation, mask in tables(tiny, count=8, steps=5):
        actions, _ = loaded.predict(observation, action_masks=np.ones_like(mask))
        assert np.array_equal(actions, model.predict(observation, deterministic=True)[0])
    ARS("LinearPolicy", FlattenObservation(PremaNPUEnv(scenario=TINY, slots=6))).save(
        tmp_path / "ars.zip"
    )
    with pytest.raises(ConfigError, match="a ARSLinearPolicy; models can be played of Rec"):
        agents.load(tmp_path / "ars.zip")


def test_tables_are_normalised_as_in_training_or_the_model_is_refused(
    tiny: Catalog, tmp_path: Path
) -> None:
    env = VecNormalize(make_sb3_env(2, scenario=TINY, slots=6, seed=0))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=16, seed=0, device="cpu")
    model.learn(64)
    file = tmp_path / "rl_model_64_steps.zip"
    model.save(file)
    with pytest.raises(
        ConfigError, match=r"normalised tables \(VecNormalize\): put its statistics"
    ):
        agents.load(file)
    for name in (
        "vecnormalize.pkl",
        "vec_normalize.pkl",
        "rl_model_64_steps_vecnormalize.pkl",
        "rl_model_vecnormalize_64_steps.pkl",
    ):
        env.save(str(tmp_path / name))
        loaded = agents.load(file)
        (tmp_path / name).unlink()
        for observation, mask in tables(tiny, count=8, steps=5):
            actions, _ = loaded.predict(observation, action_masks=np.ones_like(mask))
            expected, _ = model.predict(env.normalize_obs(observation), deterministic=True)
            assert np.array_equal(actions, expected)
    (tmp_path / "vecnormalize.pkl").write_bytes(b"junk")
    with pytest.raises(ConfigError, match=r"vecnormalize\.pkl is damaged"):
        agents.load(file)


def test_one_model_under_two_names_gives_what_it_gives_alone(tmp_path: Path) -> None:
    env = make_sb3_env(2, scenario=TINY, slots=6, seed=0)
    PPO("MlpPolicy", env, seed=0, device="cpu").save(tmp_path / "model.zip")
    loaded = agents.load(tmp_path / "model.zip")
    assert isinstance(loaded, SB3Policy)
    assert not getattr(loaded, "concurrent", False), "torch keeps what it computes in the layers"
    names = {"one": loaded, "two": loaded}
    runs = [
        evaluate(TINY, names, workloads=1100, relative_to="one", slots=6, threads=threads)
        for threads in (1, 4)
    ]
    found = {str(run.policies[name].metrics) for run in runs for name in names}
    assert len(found) == 1
