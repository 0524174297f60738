from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.workloads.lengths import LengthModel
from prema_gym.workloads.output_lengths import (
    NUM_RATIOS,
    PROFILE_SEED,
    RATIO_ONE,
    OutputLengthTable,
    learn_output_lengths,
    output_length,
    ratio_table,
)

MODEL = LengthModel(network="x", input_lengths=(10, 20, 40), ratio_median=1.5, ratio_sigma=0.3)


@pytest.mark.small
def test_output_length_is_the_rounded_product() -> None:
    assert output_length(10, 1_500_000) == 15
    assert output_length(10, 149_999) == 1
    assert output_length(10, 150_000) == 2  # 1.5, halves upwards
    assert output_length(10, 0) == 1
    assert output_length(1, 1) == 1


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(1, 10**6), st.integers(0, 10**9))
def test_output_length_is_within_half_a_step(length: int, ratio: int) -> None:
    exact = length * ratio / RATIO_ONE
    assert abs(output_length(length, ratio) - max(1.0, exact)) <= 0.5 + 1e-9 * exact


def test_ratio_table_has_the_median_spread_and_symmetry_of_its_distribution() -> None:
    table = np.array(ratio_table(MODEL)) / RATIO_ONE
    assert len(table) == NUM_RATIOS
    assert np.all(np.diff(table) > 0)
    logs = np.log(table / 1.5)
    assert logs + logs[::-1] == pytest.approx(0.0, abs=1e-5)
    # 64 midpoint quantiles leave out the far tails: a little below the full 0.3.
    assert 0.29 < logs.std() < 0.3


def test_known_ratio_values() -> None:
    # Quantiles of the standard normal at 1/128 and 63/128: −2.4176, −0.01958 (statistical tables).
    table = ratio_table(MODEL)
    assert table[0] == pytest.approx(1_500_000 * math.exp(-0.3 * 2.41756), rel=1e-5)
    assert table[31] == pytest.approx(1_500_000 * math.exp(-0.3 * 0.019584), rel=1e-5)


def test_a_fixed_ratio_and_a_known_length() -> None:
    fixed = LengthModel(network="x", input_lengths=(10,), ratio_median=2.0)
    assert set(ratio_table(fixed)) == {2_000_000}
    known = LengthModel(network="x", input_lengths=(10, 30))
    assert set(ratio_table(known)) == {0}
    assert learn_output_lengths(known).predict(30) == 1


def test_the_learnt_table_is_the_geometric_mean_of_the_runs() -> None:
    # sigma 0: every run of one input length gives the same output.
    fixed = LengthModel(network="x", input_lengths=(10, 20), ratio_median=1.25)
    table = learn_output_lengths(fixed)
    assert table.input_lengths == (10, 20)
    assert table.geometric_means == pytest.approx((13, 25))  # 12.5 rounds up
    # Otherwise near the median of the ratio, within 3 standard errors of ~330 runs. With sigma 1
    # the arithmetic mean would be exp(1/2) = 1.65 times that.
    wide = learn_output_lengths(replace(MODEL, network="wide", ratio_sigma=1.0))
    for length, mean in zip(wide.input_lengths, wide.geometric_means, strict=True):
        assert mean == pytest.approx(1.5 * length, rel=3 * 1.0 / math.sqrt(330))


def test_unseen_lengths_are_interpolated_or_nearest() -> None:
    table = OutputLengthTable((10, 20), (12.0, 30.0))
    assert [table.predict(n) for n in (10, 15, 20)] == [12, 21, 30]
    assert [table.predict(n) for n in (1, 99)] == [12, 30]
    assert OutputLengthTable((4,), (0.2,)).predict(4) == 1


def test_profile_runs_are_repeatable_and_own_to_the_network() -> None:
    assert learn_output_lengths(MODEL) is learn_output_lengths(MODEL)
    learn_output_lengths.cache_clear()
    again = learn_output_lengths(MODEL)
    other = learn_output_lengths(
        LengthModel(network="y", input_lengths=(10, 20, 40), ratio_median=1.5, ratio_sigma=0.3)
    )
    assert again == learn_output_lengths(MODEL)
    assert again.geometric_means != other.geometric_means


def test_profile_runs_never_share_a_workloads_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile stream is spawned, so no seed of a workload (below 2**128) gives the same one."""
    seen: list[np.random.SeedSequence] = []
    plain = np.random.default_rng

    def spy(seed: np.random.SeedSequence) -> np.random.Generator:
        seen.append(seed)
        return plain(seed)

    monkeypatch.setattr(np.random, "default_rng", spy)
    learn_output_lengths.__wrapped__(MODEL)
    assert len(seen) == 1
    assert seen[0].spawn_key != ()
    runs = plain(seen[0]).random(12)
    entropy = seen[0].entropy
    assert isinstance(entropy, int)
    for seed in (0, 1, PROFILE_SEED, entropy + (seen[0].spawn_key[0] << 32)):
        assert not np.isin(plain(seed).random(1000), runs).any()


def test_few_runs_leave_lengths_unseen_and_still_predict() -> None:
    model = LengthModel(network="x", input_lengths=tuple(range(10, 60)), ratio_median=1.0)
    table = learn_output_lengths(model, 5)
    assert len(table.input_lengths) <= 5
    assert all(table.predict(n) >= 1 for n in range(1, 100))


def test_drawing_by_look_up_has_the_distribution_of_the_table() -> None:
    uniforms = np.random.default_rng(1).random(64_000)
    counts = Counter((uniforms * NUM_RATIOS).astype(int).tolist())
    chi_square = sum((counts[i] - 1000) ** 2 / 1000 for i in range(NUM_RATIOS))
    assert chi_square < 103.4  # 63 degrees of freedom, 0.1 %
