"""Files from before `agents` was a part of `prema_gym` name classes by modules that are gone."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN

from prema_gym import agents
from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.policies.old_names import OLD_NAMES, unpickle
from prema_gym.agents.training.evolution.search import Normals
from prema_gym.agents.training.gradient.model import Linear
from prema_gym.agents.training.gradient.policies import MaskableSlotPolicy, SlotQPolicy
from prema_gym.envs.sb3 import make_sb3_env
from prema_gym.simulator import NUM_COLUMNS
from tests.agents.conftest import TINY


@pytest.fixture
def as_of_old(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What is pickled now names the old modules; undo it before anything is read."""
    monkeypatch.setitem(sys.modules, "agents", ModuleType("agents"))
    for (module, name), now in OLD_NAMES.items():
        old = sys.modules.get(module, ModuleType(module))
        monkeypatch.setitem(sys.modules, module, old)
        monkeypatch.setattr(old, name, resolve_name(now), raising=False)
        monkeypatch.setattr(resolve_name(now), "__module__", module)
    return monkeypatch


def test_every_class_that_moved_is_where_the_table_says() -> None:
    for (_, name), now in OLD_NAMES.items():
        assert resolve_name(now).__name__ == name


def test_a_pickle_that_names_an_old_module_is_read(as_of_old: pytest.MonkeyPatch) -> None:
    content = pickle.dumps(Normals(3))
    assert b"agents.es" in content
    assert b"prema_gym" not in content
    expected = Normals(3)(5)
    as_of_old.undo()
    with pytest.raises(ImportError):
        pickle.loads(content)
    assert np.array_equal(unpickle(content)(5), expected)


@pytest.mark.parametrize(
    ("kind", "policy"), [(MaskablePPO, MaskableSlotPolicy), (DQN, SlotQPolicy)]
)
def test_an_old_file_of_sb3_with_our_network_loads(
    kind: type, policy: type, tmp_path: Path, as_of_old: pytest.MonkeyPatch
) -> None:
    env = make_sb3_env(2, scenario=TINY, slots=6, seed=0)
    sizes = {"hidden": 3, "readers": 3}
    model = kind(policy, env, seed=0, device="cpu", learning_rate=Linear(1e-3), policy_kwargs=sizes)
    model.save(tmp_path / "model.zip")
    as_of_old.undo()
    loaded = agents.load(tmp_path / "model.zip")
    assert isinstance(loaded, LearnedPolicy)
    for now, then in zip(loaded.weights, model.policy.scorer.weights, strict=True):
        assert np.array_equal(now, then)
    assert loaded.predict(np.zeros((64, NUM_COLUMNS), np.float32))[0] == 0
