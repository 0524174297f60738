from __future__ import annotations

import inspect
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.agents import seeds
from prema_gym.errors import ConfigError
from prema_gym.evaluation.compare import evaluate


def test_the_ranges_do_not_touch() -> None:
    spans = sorted((seeds.TEST, seeds.VALIDATION, seeds.TRAINING), key=lambda span: span.start)
    assert all(a.stop <= b.start for a, b in pairwise(spans))


def test_the_default_seed_of_an_evaluation_is_a_test_seed() -> None:
    default = inspect.signature(evaluate).parameters["seed"].default
    seeds.check_test(default, 1_000_000)


def test_other_seeds_are_no_test_seeds() -> None:
    with pytest.raises(ConfigError, match="test seeds are 0 to 999999999"):
        seeds.check_test(seeds.VALIDATION.start - 10, 11)


@given(run=st.integers(0, 2**31), round_index=st.integers(0, 10**9), count=st.integers(1, 50))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_training_workloads_are_training_seeds(run: int, round_index: int, count: int) -> None:
    drawn = seeds.training_workloads(run, round_index, count)
    assert len(drawn) == count
    assert all(int(seed) in seeds.TRAINING for seed in drawn)


def test_rounds_and_runs_draw_other_workloads_and_the_same_again() -> None:
    first = seeds.training_workloads(1, 0, 500)
    assert np.array_equal(first, seeds.training_workloads(1, 0, 500))
    assert not np.intersect1d(first, seeds.training_workloads(1, 1, 500)).size
    assert not np.intersect1d(first, seeds.training_workloads(2, 0, 500)).size


def test_environments_of_neighbouring_runs_share_no_seed() -> None:
    copies = 65_536  # more than any run has
    assert seeds.training_environment(4) >= seeds.training_environment(3) + copies
    assert seeds.training_environment(0) == seeds.TRAINING.start
    with pytest.raises(ConfigError, match="from 0 to 30516, got 30517"):
        seeds.training_environment(30_517)


def test_validation_workloads_are_the_first_of_their_range() -> None:
    assert seeds.validation_workloads(3).tolist() == [10**9, 10**9 + 1, 10**9 + 2]
    assert seeds.validation_workloads(2, first=3).tolist() == [10**9 + 3, 10**9 + 4]
    with pytest.raises(ConfigError, match="got 2 after 999999999"):
        seeds.validation_workloads(2, first=999_999_999)
    with pytest.raises(ConfigError, match="at least 1"):
        seeds.validation_workloads(0)
