"""What does every task that a scenario can draw cost, in truth and by estimate?

A `Catalog` is a scenario worked out once: for each network, batch size and input length the
tile-exact profile that the machine follows and the estimate that the scheduler sees. Drawing a task
is then a matter of table look-ups. Unit of time: cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from prema_gym import networks as registry
from prema_gym.errors import ConfigError, UnknownNameError, WorkloadError
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.layout import ProfileTable
from prema_gym.hardware.profile import Profile, build_profile, stack_profiles
from prema_gym.networks.network import Network
from prema_gym.workloads.estimates import Estimate, estimate, estimate_layer
from prema_gym.workloads.lengths import (
    NUM_RATIOS,
    LengthModel,
    learn_output_lengths,
    output_length,
    ratio_table,
)
from prema_gym.workloads.scenario import ARRIVALS, Scenario
from prema_gym.workloads.traces import file_state, trace_cycles
from prema_gym.workloads.workload import MAX_CYCLES, IntArray, WorkloadBatch, refuse

# Entries of CatalogArrays.process.
ARRIVAL = 0  # position in `scenario.ARRIVALS`
WINDOW_CYCLES = 1
BURST_SIZE = 2


class CatalogArrays(NamedTuple):
    """A catalog as compiled code takes it: read-only int64 arrays.

    Profiles are numbered by network, then batch size, then input length, so the profile of a
    network, batch and input-length position is ``first_profile[network, batch] + position``.
    """

    process: IntArray  # (3,): ARRIVAL, WINDOW_CYCLES, BURST_SIZE
    trace_cycles: IntArray  # (num_requests,) since the first request, increasing; (1,): no trace
    batch_sizes: IntArray  # (num_batches,) [inputs]
    priorities: IntArray  # (num_priorities,), each as often as its share
    network_draws: IntArray  # (shares,) networks, each as often as its share
    batch_draws: IntArray  # (shares,) positions in batch_sizes, likewise
    first_profile: IntArray  # (num_networks, num_batches)
    num_lengths: IntArray  # (num_networks,): input lengths of each network
    ratios_millionths: IntArray  # (num_networks, NUM_RATIOS): output/input, 0 = one output step
    profile_network: IntArray  # (num_profiles,)
    profile_batch: IntArray  # (num_profiles,) [inputs]
    input_length: IntArray  # (num_profiles,) [time steps]
    fixed_cycles: IntArray  # (num_profiles,) true time outside the output steps
    step_cycles: IntArray  # (num_profiles,) true time of one output step
    predicted_length: IntArray  # (num_profiles,) expected output length [output steps]
    estimated_cycles: IntArray  # (num_profiles,) Algorithm 1 at the predicted length
    allowance_cycles: IntArray  # (num_profiles,) from arrival to deadline


@dataclass(frozen=True, eq=False)
class Catalog:
    """A compiled scenario; make one with `compile_scenario`.

    A copy or unpickled catalog is the compiled scenario of its process, so copying is cheap.
    """

    scenario: Scenario
    networks: tuple[Network, ...] = field(repr=False)
    table: ProfileTable = field(repr=False)
    arrays: CatalogArrays = field(repr=False)

    def __reduce__(self) -> tuple[Callable[[Scenario], Catalog], tuple[Scenario]]:
        return compile_scenario, (self.scenario,)

    @property
    def hardware(self) -> NPUConfig:
        """The machine."""
        return self.scenario.hardware

    @property
    def num_profiles(self) -> int:
        """Rows of the profile table."""
        return len(self.arrays.input_length)

    @property
    def quantum_cycles(self) -> int:
        """Scheduling quantum [cycles]."""
        return self.scenario.quantum_cycles

    def isolated_cycles(self, profile: int, output_length: int) -> int:
        """True isolated time of a task [cycles]."""
        arrays = self.arrays
        return int(arrays.fixed_cycles[profile] + arrays.step_cycles[profile] * output_length)

    def find_profile(self, network: str, batch: int, input_length: int | None = None) -> int:
        """Row of the profile table for a network, batch size and input length.

        Args:
            network: A network of the scenario.
            batch: A batch size of the scenario [inputs].
            input_length: An input length of the network [time steps]; None for its middle one.

        Raises:
            UnknownNameError: The scenario does not have the network.
            WorkloadError: It does not have the batch size or the input length.
        """
        names = self.scenario.networks
        network = registry.full_name(network)
        if network not in names:
            raise UnknownNameError("network", network, names, f"scenario {self.scenario.name!r}")
        row = names.index(network)
        batches = self.scenario.batch_sizes
        if batch not in batches or isinstance(batch, bool):
            raise WorkloadError(
                f"batch {batch!r} of {network!r} is not in the scenario (its batch_sizes: "
                f"{', '.join(map(str, batches))})"
            )
        first = int(self.arrays.first_profile[row, batches.index(batch)])
        count = int(self.arrays.num_lengths[row])
        if input_length is None:
            return first + (count - 1) // 2
        lengths = self.arrays.input_length[first : first + count].tolist()
        if input_length not in lengths:
            raise WorkloadError(
                f"input length {input_length!r} of {network!r} is not in the scenario "
                f"(its lengths: {', '.join(map(str, lengths))}); set it in the scenario's lengths"
            )
        return first + int(lengths.index(input_length))

    def check(self, batch: WorkloadBatch) -> None:
        """Hold a batch against this catalog: its profiles exist and cost what the batch says.

        Raises:
            WorkloadError: For the first array that disagrees, with the workload and task.
        """
        arrays = self.arrays
        present = np.arange(batch.profile.shape[1]) < batch.num_tasks[:, None]
        beyond = batch.profile >= self.num_profiles
        refuse(present & beyond, "profile", batch.profile, f"there are {self.num_profiles}")
        p = batch.profile
        expected = {
            "network": arrays.profile_network[p],
            "batch_size": arrays.profile_batch[p],
            "isolated_cycles": arrays.fixed_cycles[p] + arrays.step_cycles[p] * batch.output_length,
        }
        for name, here in expected.items():
            values = getattr(batch, name)
            refuse(present & (values != here), name, values, "its profile says otherwise")


def compile_scenario(scenario: Scenario) -> Catalog:
    """Work out every profile and estimate that a scenario's tasks can need.

    Equal scenarios share one catalog; its arrays are read-only. A network's name never changes its
    meaning (`prema_gym.networks.register`). A trace's file may change: it is read here, once, and
    the catalog keeps what it read; a scenario compiled after the change has a catalog of its own.

    Raises:
        UnknownNameError: A network that was not registered in this process.
        ConfigError: A task or deadline would be too long for 64-bit cycle counts, or the trace
            cannot be replayed (`prema_gym.workloads.traces.trace_cycles`).
    """
    return _compiled(scenario, () if scenario.trace is None else file_state(scenario.trace))


@lru_cache(maxsize=16)
def _compiled(scenario: Scenario, trace_state: tuple[int, ...]) -> Catalog:
    """`compile_scenario`, for a trace's file in one state, which only tells catalogs apart."""
    del trace_state
    trace = trace_cycles(scenario)  # first, since it is quick to fail
    config = scenario.hardware
    # An unpickled scenario was checked in another process, which may know more networks.
    where = f"scenario {scenario.name!r}"
    networks = tuple(registry.get(name, where=where) for name in scenario.networks)
    rows: list[_ProfileRow] = []
    profiles: list[Profile] = []
    first_profile = np.zeros((len(networks), len(scenario.batch_sizes)), dtype=np.int64)
    num_lengths = np.zeros(len(networks), dtype=np.int64)
    ratios = np.zeros((len(networks), NUM_RATIOS), dtype=np.int64)
    for i, network in enumerate(networks):
        model = scenario.length_model(network.name) if network.is_recurrent else None
        # A network without a sequence has one "length", and one output step.
        lengths = (1,) if model is None else model.input_lengths
        num_lengths[i] = len(lengths)
        if model is not None:
            ratios[i] = ratio_table(model)
        for j, batch in enumerate(scenario.batch_sizes):
            first_profile[i, j] = len(rows)
            expect = partial(estimate_layer, config, batch=batch)
            for length in lengths:
                profile = build_profile(
                    config, network, batch=batch, input_length=length, expect=expect
                )
                guess = estimate(config, network, batch=batch, input_length=length)
                rows.append(_row(scenario, i, batch, length, profile, guess, model))
                profiles.append(profile)
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    process = (
        ARRIVALS.index(scenario.arrival),
        scenario.window_cycles,
        scenario.burst_size,
    )
    arrays = CatalogArrays(
        np.array(process, dtype=np.int64),
        trace,
        np.array(scenario.batch_sizes, dtype=np.int64),
        _drawn(np.array(scenario.priorities, dtype=np.int64), scenario.priority_shares),
        _drawn(np.arange(len(networks)), scenario.network_shares),
        _drawn(np.arange(len(scenario.batch_sizes)), scenario.batch_shares),
        first_profile,
        num_lengths,
        ratios,
        *columns,
    )
    for array in arrays:
        array.flags.writeable = False
    return Catalog(scenario, networks, stack_profiles(config, profiles), arrays)


def _drawn(values: IntArray, shares: tuple[int, ...] | None) -> IntArray:
    """A table to draw from: every place of it is as likely as the others."""
    return values if shares is None else np.repeat(values, shares)


class _ProfileRow(NamedTuple):
    """What CatalogArrays holds of one profile, in the same order."""

    profile_network: int
    profile_batch: int
    input_length: int
    fixed_cycles: int
    step_cycles: int
    predicted_length: int
    estimated_cycles: int
    allowance_cycles: int


def _row(
    scenario: Scenario,
    network: int,
    batch: int,
    length: int,
    profile: Profile,
    guess: Estimate,
    model: LengthModel | None,
) -> _ProfileRow:
    """One profile's numbers, checked against 64-bit time."""
    predicted = 1 if model is None else learn_output_lengths(model).predict(length)
    longest = 1 if model is None else output_length(length, max(ratio_table(model)))
    estimated = guess.cycles(predicted)
    row = _ProfileRow(
        profile_network=network,
        profile_batch=batch,
        input_length=length,
        fixed_cycles=profile.fixed_cycles,
        step_cycles=profile.step_cycles,
        predicted_length=predicted,
        estimated_cycles=estimated,
        allowance_cycles=round(scenario.sla_factor * estimated),
    )
    if max(row.allowance_cycles, profile.total_cycles(longest)) > MAX_CYCLES:
        raise ConfigError(
            f"{scenario.networks[network]!r} at batch {batch} and input length {length} takes or "
            f"is allowed more than {MAX_CYCLES} cycles"
        )
    return row
