from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.evaluation.policy import check_takes_masks, checked_answer, mechanisms_of
from tests.evaluation.helpers import Answer, Tables, fcfs, priority_first

pytestmark = pytest.mark.small


def test_a_policy_without_masks_is_refused() -> None:
    class Blind:
        def predict(self, observation: Tables, state: object = None) -> Answer:
            raise AssertionError("must not be asked")

    with pytest.raises(ConfigError, match="takes no action_masks"):
        check_takes_masks(Blind())
    check_takes_masks(fcfs())


def test_mechanisms_are_those_a_policy_names_or_checkpoint() -> None:
    class Plain:
        def predict(self, observation: Tables, **_: object) -> Answer:
            raise AssertionError("must not be asked")

    assert mechanisms_of(Plain()) == ("checkpoint",)
    assert mechanisms_of(priority_first("kill")) == ("kill",)
    with pytest.raises(UnknownNameError, match="did you mean 'kill'"):
        mechanisms_of(priority_first("kil"))


@pytest.mark.parametrize("given", [3, "np-fcfs", baselines.Policy])
def test_what_is_no_policy_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match="a policy must be an object with a method predict"):
        mechanisms_of(given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "needle"),
    [
        (np.zeros(2, np.int64), r"must return \(actions, state\), got ndarray"),
        ((np.zeros(2), None), "2 whole numbers for 2 tables, got float64"),
        ((np.zeros(3, np.int64), None), r"shape \(3,\)"),
    ],
)
def test_an_answer_that_is_none_is_refused(answer: object, needle: str) -> None:
    with pytest.raises(ConfigError, match=needle):
        checked_answer(fcfs(), answer, 2)


def test_an_answer_is_kept_as_int64_beside_its_state() -> None:
    actions, state = checked_answer(fcfs(), (np.array([1, 0], np.int32), "mine"), 2)
    assert actions.dtype == np.int64
    assert (actions.tolist(), state) == ([1, 0], "mine")
