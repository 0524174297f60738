"""Candidates judged by other workers: the same search, to the bit."""

from __future__ import annotations

import pytest

from prema_gym.agents.training.evolution.errands import JudgeErrand, Round, judge
from prema_gym.agents.training.evolution.search import EvolutionStrategy
from prema_gym.distribution.executors import Executor, Processes, Threads
from tests.agents.conftest import TINY
from tests.agents.training.test_search import CONFIG, LEGS

pytest.importorskip("cma")


def generations(executor: Executor | None) -> list[object]:
    """What two generations bring, and where the search stands then."""
    search = EvolutionStrategy(TINY, CONFIG, workloads=8, seed=5, legs=LEGS, executor=executor)
    found = [search.step() for _ in range(2)]
    plain = [
        (one.decisions, one.fitness, one.spread, one.gains.tolist(), one.length) for one in found
    ]
    return [plain, search.shape.join(search.weights).tolist()]


@pytest.fixture(scope="module")
def alone() -> list[object]:
    return generations(None)


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_judge_to_the_bit(workers: int, alone: list[object]) -> None:
    with Threads(workers) as executor:
        assert generations(executor) == alone


@pytest.mark.heavy
def test_processes_judge_to_the_bit(alone: list[object]) -> None:
    with Processes(2) as executor:
        assert generations(executor) == alone


def test_an_errand_of_an_earlier_generation_is_judged_on_its_own_workloads() -> None:
    search = EvolutionStrategy(TINY, CONFIG, workloads=8, seed=5, legs=LEGS)
    both = [JudgeErrand(search._round, generation, 0, search.shape, None) for generation in (0, 1)]
    first, second = map(judge, both)
    again, _ = judge(both[0])
    assert again.tolist() == first[0].tolist() != second[0].tolist()
    assert isinstance(search._round, Round)
