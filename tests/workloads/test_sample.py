from __future__ import annotations

import random

import gymnasium
import numpy as np
import pytest

from prema_gym.errors import WorkloadError
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.generate import draw_uniforms, sample, sample_batch


@pytest.mark.small
def test_a_seed_gives_its_workload_alone_and_in_any_batch(catalog: Catalog) -> None:
    batch = sample_batch(catalog, [3, 0, 7, 3])
    for row, seed in enumerate([3, 0, 7, 3]):
        alone = sample(catalog, np.random.default_rng(seed))
        assert batch.row(row) == alone
        assert sample_batch(catalog, [seed]).row(0) == alone
    assert batch.row(0) != batch.row(1)


def test_a_seed_is_the_one_gymnasium_uses(catalog: Catalog) -> None:
    generator, _ = gymnasium.utils.seeding.np_random(11)
    assert sample(catalog, generator) == sample_batch(catalog, [11]).row(0)


def test_a_generator_goes_on_to_new_workloads(catalog: Catalog) -> None:
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    first = [sample(catalog, one) for _ in range(3)]
    assert first == [sample(catalog, other) for _ in range(3)]
    assert first[0] != first[1]


def test_global_generators_do_not_matter(catalog: Catalog) -> None:
    before = sample_batch(catalog, [0])
    random.seed(123)
    np.random.seed(123)  # noqa: NPY002
    assert sample_batch(catalog, [0]) == before


def test_a_batch_needs_a_seed(catalog: Catalog) -> None:
    with pytest.raises(WorkloadError, match="at least one seed"):
        sample_batch(catalog, [])


# Seed 0 of the paper's scenario: arrival [cycles], network, batch, priority, input and output
# length. Rewrite it, and raise the environments' version, if drawing changes on purpose:
# print the rows that the test compares. Machine timing and estimates are not part of it.
GOLDEN_SEED_0: list[tuple[int, str, int, int, int, int]] = [
    (2097983, "mobilenet-v1", 1, 1, 1, 1),
    (3400847, "rnn-asr", 16, 3, 237, 32),
    (4160100, "vgg-16", 4, 9, 1, 1),
    (4246450, "rnn-mt1", 4, 9, 32, 20),
    (4307695, "mobilenet-v1", 16, 9, 1, 1),
    (4458731, "vgg-16", 1, 1, 1, 1),
    (4819127, "mobilenet-v1", 1, 9, 1, 1),
    (6001829, "alexnet", 16, 1, 1, 1),
]


def test_seed_0_of_the_papers_scenario_never_changes() -> None:
    catalog = compile_scenario(scenarios.get("paper"))
    tasks = sample_batch(catalog, [0]).row(0)
    found = [
        (
            int(tasks.arrival_cycles[i]),
            catalog.scenario.networks[tasks.network[i]],
            int(tasks.batch_size[i]),
            int(tasks.priority[i]),
            int(catalog.arrays.input_length[tasks.profile[i]]),
            int(tasks.output_length[i]),
        )
        for i in range(tasks.num_tasks)
    ]
    assert found == GOLDEN_SEED_0


def test_the_first_golden_task_by_hand() -> None:
    """The earliest arrival of seed 0, from its six uniform numbers."""
    uniforms = draw_uniforms(np.random.default_rng(0), 8)
    u = uniforms[uniforms[:, 0].argmin()]
    assert int(u[0] * 7_000_000) == GOLDEN_SEED_0[0][0]
    assert scenarios.get("paper").networks[int(u[1] * 8)] == GOLDEN_SEED_0[0][1]
    assert (1, 4, 16)[int(u[2] * 3)] == GOLDEN_SEED_0[0][2]
    assert (1, 3, 9)[int(u[3] * 3)] == GOLDEN_SEED_0[0][3]
