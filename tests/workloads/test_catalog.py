from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prema_gym import networks as zoo
from prema_gym.errors import ConfigError, UnknownNameError, WorkloadError
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.layout import (
    END_PHASE,
    END_SEGMENT,
    FIRST_PHASE,
    FIRST_SEGMENT,
    LAYER_CYCLES,
    LAYER_ESTIMATED_CYCLES,
)
from prema_gym.hardware.locate import locate
from prema_gym.hardware.plan import layer_tiles
from prema_gym.hardware.profile import build_profile, layer_groups
from prema_gym.workloads import catalog as catalog_module
from prema_gym.workloads.arrivals import BURST
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.estimates import estimate_network
from prema_gym.workloads.fields import TASK_FIELDS, fields_set_by
from prema_gym.workloads.lengths import LengthModel
from prema_gym.workloads.output_lengths import (
    learn_output_lengths,
    output_length,
    ratio_table,
)
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.tables import ARRIVAL, BURST_SIZE, WINDOW_CYCLES
from prema_gym.workloads.workload import Workload, WorkloadBatch


def test_profiles_are_numbered_by_network_batch_and_length(catalog: Catalog) -> None:
    arrays = catalog.arrays
    assert catalog.num_profiles == 2 * (1 + 2 + 3)
    assert arrays.first_profile.tolist() == [[0, 1], [2, 4], [6, 9]]
    assert arrays.num_lengths.tolist() == [1, 2, 3]
    assert arrays.input_length.tolist() == [1, 1, 3, 6, 3, 6, 4, 8, 12, 4, 8, 12]
    assert arrays.profile_network.tolist() == [0] * 2 + [1] * 4 + [2] * 6
    assert arrays.profile_batch.tolist() == [1, 4, 1, 1, 4, 4, 1, 1, 1, 4, 4, 4]


def test_every_profile_is_the_machines_and_every_estimate_algorithm_1(catalog: Catalog) -> None:
    arrays = catalog.arrays
    config = catalog.hardware
    for p in range(catalog.num_profiles):
        network = catalog.networks[arrays.profile_network[p]]
        batch, length = int(arrays.profile_batch[p]), int(arrays.input_length[p])
        profile = build_profile(config, network, batch=batch, input_length=length)
        steps = int(arrays.predicted_length[p])
        for output in (1, steps, steps + 3):
            total = profile.total_cycles(output)
            assert catalog.isolated_cycles(p, output) == total
            # The table's row p is that profile: the end of its last tile is its total.
            assert locate(catalog.table, p, output, total)[0] == total
        model = catalog.scenario.length_model(network.name)
        assert steps == (1 if model is None else learn_output_lengths(model).predict(length))
        assert arrays.estimated_cycles[p] == estimate_network(
            config, network, batch=batch, input_length=length, output_length=steps
        )
        assert arrays.allowance_cycles[p] == 8 * arrays.estimated_cycles[p]


def test_layers_add_up_to_their_network(catalog: Catalog) -> None:
    table, arrays, config = catalog.table, catalog.arrays, catalog.hardware
    for p in range(catalog.num_profiles):
        network = catalog.networks[arrays.profile_network[p]]
        phases = network.phases(int(arrays.input_length[p]))
        steps = int(arrays.predicted_length[p])
        true = guess = 0
        rows = range(table.profiles[p, FIRST_PHASE], table.profiles[p, END_PHASE])
        for row, phase in zip(rows, phases, strict=True):
            segments = table.segments[slice(*table.phases[row, [FIRST_SEGMENT, END_SEGMENT]])]
            batch = int(arrays.profile_batch[p])
            groups = [
                group
                for group, layer in zip(
                    layer_groups(phase.layers, batch), phase.layers, strict=True
                )
                for _ in layer_tiles(config, layer, batch)
            ]
            assert len(groups) == len(segments)
            starts = np.unique(groups, return_index=True)[1]
            times = phase.steps(steps)
            true += times * int(segments[starts, LAYER_CYCLES].sum())
            guess += times * int(segments[starts, LAYER_ESTIMATED_CYCLES].sum())
        assert true == catalog.isolated_cycles(p, steps)
        assert guess == arrays.estimated_cycles[p]


def test_only_networks_with_output_steps_have_them(catalog: Catalog) -> None:
    arrays = catalog.arrays
    stepping = np.array([network.has_output_steps for network in catalog.networks])
    assert np.array_equal(arrays.step_cycles > 0, stepping[arrays.profile_network])
    assert np.array_equal((arrays.output_lengths > 1).any(axis=1), stepping[arrays.profile_network])


def test_every_output_length_is_one_of_the_models(catalog: Catalog) -> None:
    arrays = catalog.arrays
    for p in range(catalog.num_profiles):
        name = catalog.scenario.networks[arrays.profile_network[p]]
        length = int(arrays.input_length[p])
        ratios = ratio_table(catalog.scenario.length_model(name))
        assert arrays.output_lengths[p].tolist() == [output_length(length, r) for r in ratios]


def test_what_follows_from_the_profile_is_what_the_table_of_fields_says(catalog: Catalog) -> None:
    profiles = np.arange(catalog.num_profiles)
    implied = catalog.implied(profiles, np.ones_like(profiles))
    assert sorted(implied) == sorted(fields_set_by("profile"))


def test_equal_scenarios_share_a_read_only_catalog(catalog: Catalog) -> None:
    again = Scenario.from_dict(catalog.scenario.to_dict())
    assert compile_scenario(again) is compile_scenario(catalog.scenario)
    for array in (*catalog.arrays, *catalog.table):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_arrival_process_is_passed_on(catalog: Catalog) -> None:
    scenario = replace(catalog.scenario, arrival="burst", window_ms=2.0, burst_size=3)
    process = compile_scenario(scenario).arrays.process
    assert process[[ARRIVAL, WINDOW_CYCLES, BURST_SIZE]].tolist() == [BURST, 1_400_000, 3]


def test_a_profile_is_found_by_what_people_call_it(catalog: Catalog) -> None:
    assert catalog.find_profile("mobilenet-v1", 4) == 1
    assert catalog.find_profile("rnn-mt1", 4, 8) == 10
    assert catalog.find_profile("rnn-mt1", 1) == 7  # the middle length, 8
    assert catalog.find_profile("rnn-sa", 1) == 2  # the lower of two
    with pytest.raises(UnknownNameError, match="did you mean 'rnn-sa'"):
        catalog.find_profile("rnnsa", 1)
    with pytest.raises(WorkloadError, match="batch 2 of 'rnn-sa' is not in the scenario"):
        catalog.find_profile("rnn-sa", 2)
    with pytest.raises(WorkloadError, match=r"input length 5 of 'rnn-sa'.*\(its lengths: 3, 6\)"):
        catalog.find_profile("rnn-sa", 1, 5)


def test_estimates_do_not_follow_the_evaluated_workload(catalog: Catalog) -> None:
    """Compiling again gives the same predictions, whatever was drawn in between."""
    from prema_gym.workloads.generate import sample_batch

    sample_batch(catalog, range(50))
    catalog_module._compiled.cache_clear()
    learn_output_lengths.cache_clear()
    again = compile_scenario(catalog.scenario)
    assert np.array_equal(again.arrays.predicted_length, catalog.arrays.predicted_length)
    assert np.array_equal(again.arrays.estimated_cycles, catalog.arrays.estimated_cycles)


def test_times_beyond_64_bits_are_refused() -> None:
    long = LengthModel(network="rnn-mt1", input_lengths=(1000,), ratio_median=1000.0)
    slow = NPUConfig(clock_hz=10**12, dram_bytes_per_s=10_000)
    # A decoder step loads some 40 MB, 4·10¹⁵ cycles; a million of them do not fit.
    with pytest.raises(
        ConfigError,
        match=r"isolated time must be a whole number of cycles from 0 to 9223372036854775807",
    ):
        compile_scenario(Scenario(networks=("rnn-mt1",), lengths=(long,), hardware=slow))
    # VGG-16 at batch 65 536 takes some 10¹¹ cycles; 10⁸ times that is more than 2⁶².
    with pytest.raises(ConfigError, match=r"'vgg-16' at batch 65536 .* is allowed more than"):
        compile_scenario(Scenario(networks=("vgg-16",), batch_sizes=(65_536,), sla_factor=1e8))


def test_copies_are_the_same_catalog(catalog: Catalog) -> None:
    compile_scenario(catalog.scenario)
    assert copy.deepcopy(catalog) is pickle.loads(pickle.dumps(catalog))
    assert len(repr(catalog)) < 5000


def test_a_batch_is_held_against_its_catalog(catalog: Catalog) -> None:
    from prema_gym.workloads.generate import sample_batch

    good = sample_batch(catalog, range(3))
    catalog.check(good)
    short = WorkloadBatch.of([good.row(0), workload_of_one(good)])
    catalog.check(short)
    for name, value, message in [
        ("profile", 12, "profile of workload 1, task 2 is 12: there are 12"),
        ("network", 7, "network of workload 1, task 2 is 7: its profile says otherwise"),
        ("batch_size", 3, "batch_size of workload 1, task 2 is 3"),
        ("isolated_cycles", 5, "isolated_cycles of workload 1, task 2 is 5"),
    ]:
        wrong = getattr(good, name).copy()
        wrong[1, 2] = value
        with pytest.raises(WorkloadError, match=message):
            catalog.check(WorkloadBatch(**good.arrays._asdict() | {name: wrong}))


def workload_of_one(batch: WorkloadBatch) -> Workload:
    """The first task of a batch's first workload, alone."""
    return Workload(**{name: getattr(batch, name)[0, :1].copy() for name in TASK_FIELDS})


def test_every_network_of_the_zoo_compiles() -> None:
    catalog = compile_scenario(
        Scenario(networks=zoo.names(), batch_sizes=(1,), quantum_ms=10.0)  # long answers
    )
    assert (catalog.arrays.estimated_cycles > 0).all()
    assert (catalog.arrays.fixed_cycles + catalog.arrays.step_cycles > 0).all()


@pytest.mark.parametrize(
    "machine",
    [
        {"dram_bytes_per_s": 100_000},
        {"dram_latency_cycles": 10**12},
        {"array_rows": 2**20, "array_cols": 1},
    ],
)
def test_tasks_of_more_quanta_than_anybody_waits_for_are_refused(machine: dict[str, Any]) -> None:
    slow = Scenario(networks=("alexnet",), hardware=NPUConfig(**machine))
    with pytest.raises(ConfigError, match=r"'alexnet' .* ms, .* at most 1000000 quanta; use a lo"):
        compile_scenario(slow)
    compile_scenario(replace(slow, quantum_ms=1e6))
