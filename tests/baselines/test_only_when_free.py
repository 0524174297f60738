"""Policies that decide on a free machine only: asked at every wake-up they play the same."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.evaluation.playing import play
from prema_gym.metrics import Outcomes
from prema_gym.workloads import compile_scenario, scenarios
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.workload import WorkloadBatch

NAMES = tuple(name for name in baselines.names() if baselines.make(name).only_when_free)


@lru_cache
def drawn() -> tuple[Catalog, WorkloadBatch]:
    catalog = compile_scenario(scenarios.get("paper"))
    return catalog, sample_batch(catalog, range(8))


class AlwaysAsked:
    """The same policy, without the word that it need not be asked while a task runs."""

    def __init__(self, name: str) -> None:
        self._policy = baselines.make(name)
        self.mechanisms = self._policy.mechanisms

    def predict(self, observation: Any, **given: Any) -> Any:
        return self._policy.predict(observation, **given)


def test_all_ten_are_here() -> None:
    assert {name for name in baselines.names() if name.startswith("np-")} < set(NAMES)
    assert set(NAMES) == {
        "np-fcfs", "np-hpf", "np-sjf", "np-token", "np-prema", "np-edf", "np-hrrn",
        "np-edf-admission", "moca", "aurora",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_asked_changes_nothing(name: str) -> None:
    catalog, batch = drawn()
    spared, asked = (
        play(baselines.make(name), catalog, batch),
        play(AlwaysAsked(name), catalog, batch),
    )
    for field in fields(Outcomes):
        if field.name != "decisions":
            one, two = getattr(spared, field.name), getattr(asked, field.name)
            assert np.array_equal(one, two), field.name
    assert (spared.decisions < asked.decisions).all()
