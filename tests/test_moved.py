"""Do pickles of an older version load, whose classes lay in other modules?"""

from __future__ import annotations

import pickle
from importlib import import_module
from pkgutil import resolve_name

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.envs import PremaNPUEnv
from prema_gym.evaluation import evaluate
from prema_gym.moved import MOVED
from prema_gym.views.records import to_json
from tests.envs.helpers import single

OLD_NAMES = {
    "prema_gym.envs.rewards.ledger": "prema_gym.envs.ledger",
    "prema_gym.envs.rewards.reward": "prema_gym.envs.rewards",
    "prema_gym.envs.snapshots": "prema_gym.envs.episodes",
}
"""Where the classes of a state and an environment lie → where older pickles look for them."""


def as_before(pickled: bytes) -> bytes:
    """A pickle in text (protocol 0) with the module names of the older version."""
    for new, old in OLD_NAMES.items():
        assert f"c{new}\n".encode() in pickled, "the class lies elsewhere: add its move"
        pickled = pickled.replace(f"c{new}\n".encode(), f"c{old}\n".encode())
    return pickled


@pytest.mark.parametrize("what", ["state", "environment"])
def test_an_old_pickle_goes_on_as_the_environment_does(what: str) -> None:
    env, other = single(reward="balanced"), single(reward="balanced")
    env.reset(seed=3)
    env.step(0)
    kept = pickle.dumps((env.get_state(), env) if what == "environment" else env.get_state(), 0)
    loaded = pickle.loads(as_before(kept))
    if what == "environment":
        other = loaded[1]
        assert isinstance(other, PremaNPUEnv)
    else:
        other.set_state(loaded)
    for _ in range(20):
        one, two = env.step(0), other.step(0)
        np.testing.assert_array_equal(one[0], two[0])
        assert one[1:4] == two[1:4]


def test_an_old_pickle_of_a_comparison_is_the_comparison() -> None:
    result = evaluate("light", {"np-fcfs": baselines.make("np-fcfs")}, workloads=2)
    old = pickle.dumps(result, 0).replace(
        b"cprema_gym.evaluation.results\n", b"cprema_gym.results\n"
    )
    old = old.replace(b"cprema_gym.results\nMetricValue\n", b"cprema_gym.results\nEstimate\n")
    assert b"Estimate" in old
    assert to_json(pickle.loads(old).to_dict()) == to_json(result.to_dict())


def test_every_move_leads_to_a_class_and_no_further() -> None:
    for old, names in MOVED.items():
        module = import_module(old)
        for name, new in names.items():
            assert isinstance(getattr(module, name), type)
            assert getattr(module, name) is resolve_name(new)
        with pytest.raises(AttributeError, match="is gone"):
            _ = module.anything_else
