from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.compiled.bit_generator import address_of
from prema_gym.compiled.jit import COMPILED
from prema_gym.workloads.arrivals import BURST, PERIODIC, POISSON, TRACE, UNIFORM
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.generate import (
    NUM_UNIFORMS,
    Draft,
    Drawing,
    draw_one,
    draw_uniforms,
    generate,
    new_draft,
    sample_batch,
)
from prema_gym.workloads.output_lengths import NUM_RATIOS, output_length
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.tables import NUM_ASKED, CatalogArrays
from prema_gym.workloads.workload import WorkloadBatch, empty_arrays

WINDOW = 1_000_000


def arrays(
    kind: int = UNIFORM,
    window: int = WINDOW,
    burst: int = 4,
    trace: Sequence[int] = (0,),
) -> CatalogArrays:
    """Two networks (1 and 3 input lengths), two batches: 2·1 + 2·3 = 8 profiles, by hand."""

    def table(*values: object) -> np.ndarray:
        array = np.array(values, dtype=np.int64)
        array.flags.writeable = False  # as a compiled catalog's, so the same compiled code serves
        return array

    outputs = [
        [output_length(length, 500_000 + i) for i in range(NUM_RATIOS)] for length in (10, 20, 30)
    ]
    return CatalogArrays(
        process=table(kind, window, burst),
        trace_cycles=table(*trace),
        trace_asked=np.empty((0, NUM_ASKED), np.int64),
        batch_sizes=table(1, 4),
        priorities=table(1, 3, 9),
        network_draws=table(0, 1),
        batch_draws=table(0, 1),
        first_profile=table([0, 1], [2, 5]),
        num_lengths=table(1, 3),
        profile_network=table(0, 0, 1, 1, 1, 1, 1, 1),
        profile_batch=table(1, 4, 1, 1, 1, 4, 4, 4),
        input_length=table(1, 1, 10, 20, 30, 10, 20, 30),
        output_lengths=table(*([1] * NUM_RATIOS,) * 2, *outputs, *outputs),
        fixed_cycles=table(100, 400, 1, 2, 3, 4, 5, 6),
        step_cycles=table(0, 0, 7, 7, 7, 9, 9, 9),
        predicted_length=table(1, 1, 5, 10, 15, 5, 10, 15),
        estimated_cycles=table(90, 390, 36, 72, 108, 49, 95, 141),
        allowance_cycles=table(720, 3120, 288, 576, 864, 392, 760, 1128),
    )


def drafted(uniforms: np.ndarray) -> Draft:
    return new_draft(*uniforms.shape[:2])._replace(uniforms=uniforms)


def make(catalog: CatalogArrays, uniforms: np.ndarray) -> WorkloadBatch:
    out = empty_arrays(*uniforms.shape[:2])
    generate(catalog, drafted(uniforms), len(uniforms), out)
    return WorkloadBatch(**out._asdict())


def uniforms_for(workloads: int, num_tasks: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((workloads, num_tasks, NUM_UNIFORMS))


@pytest.mark.small
def test_one_task_by_hand() -> None:
    # arrival 0.25·10⁶; network ⌊0.6·2⌋ = 1; batch ⌊0.5·2⌋ → 4; priority ⌊0.9·3⌋ → 9;
    # input length ⌊0.4·3⌋ → 20, profile 5 + 1; ratio 0.5: max(1, round(20·0.5)) = 10.
    numbers = np.array([[[0.25, 0.6, 0.5, 0.9, 0.4, 0.0]]])
    batch = make(arrays(), numbers)
    expected = {
        "arrival_cycles": 250_000,
        "profile": 6,
        "output_length": 10,
        "priority": 9,
        "batch_size": 4,
        "network": 1,
        "isolated_cycles": 5 + 9 * 10,
        "estimated_cycles": 95,
        "deadline_cycles": 250_000 + 760,
    }
    assert {name: int(getattr(batch, name)[0, 0]) for name in expected} == expected


@pytest.mark.small
def test_tasks_are_sorted_and_equal_arrivals_keep_the_order_of_drawing() -> None:
    numbers = np.zeros((1, 4, NUM_UNIFORMS))
    numbers[0, :, 0] = [0.5, 0.2, 0.5, 0.2]
    numbers[0, :, 3] = [0.1, 0.4, 0.7, 0.7]  # priorities 1, 3, 9, 9
    batch = make(arrays(), numbers)
    assert batch.arrival_cycles.tolist() == [[200_000, 200_000, 500_000, 500_000]]
    assert batch.priority.tolist() == [[3, 9, 1, 9]]


@pytest.mark.small
def test_only_the_first_rows_are_written_and_spare_columns_cleared() -> None:
    out = empty_arrays(4, 6)
    for array in out:
        array[:] = -7
    numbers = uniforms_for(3, 3)
    generate(arrays(), drafted(numbers), 2, out)
    expected = make(arrays(), numbers)
    for name in TASK_FIELDS:
        written = getattr(out, name)
        assert np.array_equal(written[:2, :3], getattr(expected, name)[:2])
        assert not written[:2, 3:].any()
        assert (written[2:] == -7).all()
    assert out.num_tasks.tolist() == [3, 3, -7, -7]


@pytest.mark.skipif(not COMPILED, reason="compiled code only")
@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_compiled_code_draws_what_python_draws(kind: type[np.random.BitGenerator]) -> None:
    theirs = [np.random.Generator(kind(seed)) for seed in (3, 4)]
    ours = [np.random.Generator(kind(seed)) for seed in (3, 4)]
    for rng in (*theirs, *ours):
        rng.random(7)  # somewhere on their way
    numbers = np.stack([draw_uniforms(rng, 5) for rng in theirs])
    expected = make(arrays(), numbers)
    out = empty_arrays(2, 5)
    addresses = np.array([address_of(rng) for rng in ours])
    drawing = Drawing(arrays(), new_draft(2, 5), addresses)
    draw_one(drawing, 1, 0, out)  # environment 1 into row 0
    draw_one(drawing, 0, 1, out)
    for name in TASK_FIELDS:
        assert np.array_equal(getattr(out, name)[::-1], getattr(expected, name))
    for one, other in zip(theirs, ours, strict=True):
        assert one.integers(2**60) == other.integers(2**60)  # they stand at the same place


def test_the_largest_uniform_number_stays_in_range() -> None:
    numbers = np.full((1, 2, NUM_UNIFORMS), np.nextafter(1.0, 0.0))
    for kind in (UNIFORM, POISSON, PERIODIC, BURST):
        batch = make(arrays(kind), numbers)
        assert batch.profile.tolist() == [[7, 7]]
        assert batch.priority.tolist() == [[9, 9]]
    assert make(arrays(), numbers).arrival_cycles.max() == WINDOW - 1
    # The last of three starts.
    replayed = make(arrays(TRACE, trace=(0, 10, 30, 70)), numbers)
    assert replayed.arrival_cycles.tolist() == [[0, 40]]


@pytest.mark.small
def test_poisson_gaps_are_exponential_quantiles() -> None:
    # Mean gap 10⁶/4; u = 1 − e⁻¹ is one mean, u = 0 none, u = 1 − e⁻² two.
    numbers = np.zeros((1, 4, NUM_UNIFORMS))
    numbers[0, :, 0] = [-math.expm1(-1), 0.0, -math.expm1(-2), 0.5]
    gaps = [250_000, 0, 500_000, 173_286]  # ln 2 · 250 000 = 173 286.8
    found = make(arrays(POISSON), numbers).arrival_cycles[0]
    assert found == pytest.approx(np.cumsum(gaps), abs=2)  # one cycle a rounded gap


@pytest.mark.small
def test_periodic_arrivals_are_evenly_spaced_from_zero() -> None:
    found = make(arrays(PERIODIC, window=100), uniforms_for(1, 8)).arrival_cycles
    assert found.tolist() == [[0, 12, 25, 37, 50, 62, 75, 87]]


@pytest.mark.small
def test_burst_members_arrive_together() -> None:
    numbers = uniforms_for(1, 7)
    found = make(arrays(BURST, burst=3), numbers).arrival_cycles[0]
    instants = [int(numbers[0, i, 0] * WINDOW) for i in (0, 3, 6)]
    assert found.tolist() == sorted([instants[0]] * 3 + [instants[1]] * 3 + [instants[2]])


@pytest.mark.small
def test_a_trace_is_replayed_from_where_the_first_number_says() -> None:
    catalog = arrays(TRACE, trace=(0, 10, 10, 30, 70))  # three starts for three tasks
    numbers = uniforms_for(3, 3)
    numbers[:, 0, 0] = [0.33, 0.34, 0.67]
    numbers[1, :, 3] = [0.1, 0.4, 0.7]  # priorities 1, 3, 9: equal arrivals keep their order
    found = make(catalog, numbers)
    assert found.arrival_cycles.tolist() == [[0, 10, 10], [0, 0, 20], [0, 20, 60]]
    assert found.priority[1].tolist() == [1, 3, 9]


@pytest.mark.small
def test_a_trace_of_one_request() -> None:
    found = make(arrays(TRACE), uniforms_for(5, 1)).arrival_cycles
    assert not found.any()


def test_a_window_of_zero_lets_all_arrive_at_zero() -> None:
    for kind in (UNIFORM, POISSON, PERIODIC, BURST):
        assert not make(arrays(kind, window=0), uniforms_for(3, 5)).arrival_cycles.any()


def test_the_longest_window_and_most_tasks_do_not_overflow() -> None:
    window = 9 * 10**12
    found = make(arrays(PERIODIC, window), uniforms_for(1, 1_000_000)).arrival_cycles[0]
    assert (np.diff(found) == 9_000_000).all()
    assert found[0] == 0


@settings(deadline=None, derandomize=True, max_examples=50)
@given(
    seed=st.integers(0, 2**63 - 1),
    num_tasks=st.integers(1, 100),
    kind=st.sampled_from([UNIFORM, POISSON, PERIODIC, BURST, TRACE]),
    window=st.integers(0, 10**12),
    burst=st.integers(1, 12),
    gaps=st.lists(st.integers(0, 10**12), min_size=99, max_size=130),
)
def test_every_workload_is_valid_and_agrees_with_its_catalog(
    seed: int, num_tasks: int, kind: int, window: int, burst: int, gaps: list[int]
) -> None:
    catalog = arrays(kind, window, burst, [0, *np.cumsum(gaps).tolist()])
    numbers = uniforms_for(1, num_tasks, seed)
    tasks = make(catalog, numbers).row(0)  # validates order, signs, shapes
    assert tasks.num_tasks == num_tasks
    p = tasks.profile
    assert np.array_equal(tasks.network, catalog.profile_network[p])
    assert np.array_equal(tasks.batch_size, catalog.profile_batch[p])
    assert np.array_equal(tasks.estimated_cycles, catalog.estimated_cycles[p])
    assert np.array_equal(tasks.deadline_cycles, tasks.arrival_cycles + catalog.allowance_cycles[p])
    true = catalog.fixed_cycles[p] + catalog.step_cycles[p] * tasks.output_length
    assert np.array_equal(tasks.isolated_cycles, true)
    allowed = {(q, int(n)) for q in range(8) for n in catalog.output_lengths[q]}
    assert set(zip(p.tolist(), tasks.output_length.tolist(), strict=True)) <= allowed
    if kind == TRACE:
        found = np.diff(tasks.arrival_cycles)
        starts = range(len(gaps) + 2 - num_tasks)
        assert any(found.tolist() == gaps[i : i + num_tasks - 1] for i in starts)
    elif kind != POISSON and window:
        assert tasks.arrival_cycles.max() < window


def test_a_workload_does_not_depend_on_its_neighbours() -> None:
    numbers = uniforms_for(20, 8)
    together = make(arrays(), numbers)
    for i in range(20):
        assert together.row(i) == make(arrays(), numbers[i : i + 1]).row(0)


def test_many_tasks_are_sorted_stably_too() -> None:
    numbers = uniforms_for(1, 3000)
    numbers[0, :, 0] = np.floor(numbers[0, :, 0] * 50) / 50  # many ties
    order = np.argsort(numbers[0, :, 0], kind="stable")
    found = make(arrays(), numbers)
    priorities = np.array([1, 3, 9])[(numbers[0, order, 3] * 3).astype(int)]
    assert np.array_equal(found.priority[0], priorities)


def test_draws_have_their_stated_frequencies() -> None:
    numbers = draw_uniforms(np.random.default_rng(3), 30_000)
    assert numbers.shape == (30_000, NUM_UNIFORMS)
    batch = make(arrays(), numbers[None])

    def chi_square(values: np.ndarray, expected: dict[int, float]) -> float:
        counts = Counter(values.tolist())
        assert set(counts) == set(expected)
        return sum((counts[v] - 30_000 * p) ** 2 / (30_000 * p) for v, p in expected.items())

    third = 1 / 3
    # Limits: the 0.1 % point of chi square with 1, 1, 2, 7 and 9 degrees of freedom.
    assert chi_square(batch.network[0], {0: 0.5, 1: 0.5}) < 10.83
    assert chi_square(batch.batch_size[0], {1: 0.5, 4: 0.5}) < 10.83
    assert chi_square(batch.priority[0], dict.fromkeys((1, 3, 9), third)) < 13.82
    profiles = {0: 0.25, 1: 0.25} | dict.fromkeys(range(2, 8), 0.5 / 6)
    assert chi_square(batch.profile[0], profiles) < 24.32
    tenths = batch.arrival_cycles[0] * 10 // WINDOW
    assert chi_square(tenths, dict.fromkeys(range(10), 0.1)) < 27.88


def test_shares_say_how_often_each_is_drawn() -> None:
    even = Scenario(
        networks=("alexnet", "rnn-sa"), batch_sizes=(1, 4, 16), priorities=(1, 9), num_tasks=20_000
    )
    odd = replace(even, network_shares=(3, 1), batch_shares=(1, 1, 2), priority_shares=(9, 1))
    once, shared = (sample_batch(compile_scenario(s), [5]) for s in (even, odd))
    for values, wanted in (
        (shared.network, {0: 0.75, 1: 0.25}),
        (shared.batch_size, {1: 0.25, 4: 0.25, 16: 0.5}),
        (shared.priority, {1: 0.9, 9: 0.1}),
    ):
        assert set(np.unique(values)) == set(wanted)
        for value, share in wanted.items():
            # Four standard deviations of a share of 20 000 draws.
            assert (values == value).mean() == pytest.approx(share, abs=4 * 0.5 / math.sqrt(20_000))
    np.testing.assert_array_equal(shared.arrival_cycles, once.arrival_cycles)
    alike = replace(even, network_shares=(7, 7), batch_shares=(2, 2, 2), priority_shares=(1, 1))
    assert sample_batch(compile_scenario(alike), [5]) == once


def test_poisson_gaps_have_the_mean_and_spread_of_their_distribution() -> None:
    numbers = draw_uniforms(np.random.default_rng(4), 20_000)[None]
    window = 20_000 * 1_000_000  # a mean gap of a million cycles
    gaps = np.diff(make(arrays(POISSON, window), numbers).arrival_cycles[0])
    assert gaps.mean() == pytest.approx(1e6, rel=3 / math.sqrt(20_000))
    assert gaps.std() == pytest.approx(1e6, rel=4 / math.sqrt(20_000) * 1.5)
