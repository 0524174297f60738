"""Which policies are called side by side, and does it change what they do?"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from prema_gym.evaluation.compare import evaluate
from tests.evaluation.helpers import TINY


class Fickle:
    """Counts its calls, and goes by the count: what it does depends on who was asked before."""

    def __init__(self) -> None:
        self.calls = 0
        self.inside = self.most = 0
        self.threads: set[int] = set()

    def predict(self, observation: Any, action_masks: Any, **_: Any) -> tuple[Any, None]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.threads.add(threading.get_ident())
        self.calls += 1
        time.sleep(0)  # lets another thread in, if there is one
        order = np.arange(action_masks.shape[1]) * (self.calls % 5 + 1) % 7
        self.inside -= 1
        return (action_masks * (order + 1)).argmax(axis=1), None


def test_an_object_of_ones_own_is_asked_in_turn_and_in_order() -> None:
    found = []
    for threads in (1, 2, 5):
        shared, other = Fickle(), Fickle()
        run = evaluate(
            TINY,
            {"a": shared, "b": other, "c": shared},
            workloads=2500,
            relative_to="a",
            threads=threads,
        )
        assert shared.most == 1
        assert len(shared.threads | other.threads) == 1
        found.append([str(run.policies[name].metrics) for name in "abc"])
    assert found[0] == found[1] == found[2]


def test_a_policy_that_says_so_is_asked_side_by_side() -> None:
    class Meeting(Fickle):
        """Waits, within a call, for another call: alone it would wait in vain."""

        concurrent = True
        met = threading.Barrier(2)

        def predict(self, observation: Any, action_masks: Any, **_: Any) -> tuple[Any, None]:
            if self.calls < 1:
                self.calls += 1
                self.met.wait(timeout=60)
            return action_masks.argmax(axis=1), None

    policies = {"a": Meeting(), "b": Meeting()}
    evaluate(TINY, policies, workloads=3, relative_to="a", threads=2)
