"""Blocks: each is a comparison of its own, and PREMA against itself is 1 everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.agents.studies.blocks import HEADER, compare_in_blocks, summary
from prema_gym.errors import ConfigError
from prema_gym.evaluation import evaluate
from prema_gym.workloads import scenarios

PAPER = scenarios.get("paper")


def test_a_block_is_what_evaluate_says_of_its_seeds() -> None:
    policies = {name: baselines.make(name) for name in ("static-sjf", baselines.PREMA)}
    found = compare_in_blocks(policies, PAPER, "calibrated", blocks=2, workloads=4, seed=40)
    assert np.array_equal(found[baselines.PREMA].ratios, np.ones((2, 5)))
    result = evaluate(
        PAPER,
        policies,
        workloads=4,
        seed=44,
        relative_to=baselines.PREMA,
        estimate="calibrated",
    )
    metrics = result.policies["static-sjf"].metrics
    expected = [
        metrics[name].ratio for name in ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high")
    ]
    assert found["static-sjf"].ratios[1] == pytest.approx(expected)
    means = found["static-sjf"].geometric_means
    assert means[1] == pytest.approx(np.prod(expected) ** 0.2)
    cells = summary(found["static-sjf"])
    assert len(cells) == len(HEADER)
    assert cells[0] == f"{np.sqrt(means[0] * means[1]):.3f}"
    assert summary(found[baselines.PREMA])[-2] == "2"  # blocks in which nothing is lost


def test_only_test_seeds() -> None:
    with pytest.raises(ConfigError, match="test seeds"):
        compare_in_blocks({}, PAPER, "oracle", blocks=2, workloads=2, seed=10**9 - 3)
