"""What does every task that a scenario can draw cost, in truth and by estimate?

A `Catalog` is a scenario worked out once: for each network, batch size and input length the
tile-exact profile that the machine follows and the estimate that the scheduler sees. Drawing a task
is then a matter of table look-ups. Unit of time: cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from prema_gym import networks as registry
from prema_gym.errors import UnknownNameError, WorkloadError, located
from prema_gym.files import as_given
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.layout import ProfileTable
from prema_gym.hardware.profile import stack_profiles
from prema_gym.networks.network import Network
from prema_gym.workloads.arrivals import ARRIVALS
from prema_gym.workloads.calibration import calibration
from prema_gym.workloads.costs import work_out
from prema_gym.workloads.fields import IntArray
from prema_gym.workloads.rates import window_of_load
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.tables import (
    NUM_ASKED,
    CatalogArrays,
    FloatArray,
    draws,
    task_probabilities,
)
from prema_gym.workloads.traces.replay import scenario_replay, trace_cycles
from prema_gym.workloads.traces.requests import file_state
from prema_gym.workloads.workload import WorkloadBatch, refuse


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

    @property
    def probabilities(self) -> FloatArray:
        """How likely a drawn task is each profile and output length: `task_probabilities`."""
        return task_probabilities(self.arrays)

    def isolated_cycles(self, profile: int, output_length: int) -> int:
        """True isolated time of a task [cycles]."""
        return int(self.implied(np.int64(profile), np.int64(output_length))["isolated_cycles"])

    def implied(
        self, profile: IntArray | np.int64, output_length: IntArray | np.int64
    ) -> Mapping[str, IntArray]:
        """The fields of tasks that follow from their profile and output length.

        Args:
            profile: Rows of the profile table, int64 of any shape.
            output_length: The tasks' output lengths [output steps], of the same shape.

        Returns:
            Each field that the table of fields says is set by the profile: int64, that shape.
        """
        arrays = self.arrays
        return {
            "batch_size": arrays.profile_batch[profile],
            "network": arrays.profile_network[profile],
            "isolated_cycles": arrays.fixed_cycles[profile]
            + arrays.step_cycles[profile] * output_length,
        }

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
            where = f"scenario {self.scenario.name!r}"
            raise UnknownNameError("network", as_given(network), map(as_given, names), where)
        row = names.index(network)
        batches = self.scenario.batch_sizes
        if batch not in batches or isinstance(batch, bool):
            raise WorkloadError(
                f"batch {batch!r} of {as_given(network)!r} is not in the scenario (its "
                f"batch_sizes: {', '.join(map(str, batches))})"
            )
        first = int(self.arrays.first_profile[row, batches.index(batch)])
        count = int(self.arrays.num_lengths[row])
        if input_length is None:
            return first + (count - 1) // 2
        lengths = self.arrays.input_length[first : first + count].tolist()
        if input_length not in lengths:
            raise WorkloadError(
                f"input length {input_length!r} of {as_given(network)!r} is not in the scenario "
                f"(its lengths: {', '.join(map(str, lengths))}); set it in the scenario's lengths"
            )
        return first + int(lengths.index(input_length))

    def check(self, batch: WorkloadBatch) -> None:
        """Hold a batch against this catalog: its profiles exist and cost what the batch says.

        Raises:
            WorkloadError: For the first array that disagrees, with the workload and task.
        """
        present = np.arange(batch.profile.shape[1]) < batch.num_tasks[:, None]
        beyond = batch.profile >= self.num_profiles
        refuse(present & beyond, "profile", batch.profile, f"there are {self.num_profiles}")
        for name, here in self.implied(batch.profile, batch.output_length).items():
            values = getattr(batch, name)
            refuse(present & (values != here), name, values, "its profile says otherwise")


def compile_scenario(scenario: Scenario) -> Catalog:
    """Work out every profile and estimate that a scenario's tasks can need.

    Equal scenarios share one catalog; its arrays are read-only. A network's name never changes its
    meaning (`prema_gym.networks.register`). A trace's file may change: it is read here, once, and
    the catalog keeps what it read; a scenario compiled after the change has a catalog of its own.

    Raises:
        UnknownNameError: A network that was not registered in this process.
        ConfigError: A task or deadline would be too long for 64-bit cycle counts, a task too long
            for the quantum, or the trace cannot be replayed
            (`prema_gym.workloads.traces.replay.trace_cycles`).
    """
    return _compiled(scenario, () if scenario.trace is None else file_state(scenario.trace.file))


@lru_cache(maxsize=16)
def _compiled(scenario: Scenario, trace_state: tuple[int, ...]) -> Catalog:
    """`compile_scenario`, for a trace's file in one state, which only tells catalogs apart."""
    del trace_state
    replay = None if scenario.trace is None else scenario_replay(scenario)  # quick to fail
    # An unpickled scenario was checked in another process, which may know more networks.
    with located(f"scenario {scenario.name!r}"):
        networks = tuple(map(registry.get, scenario.networks))
    costs = work_out(scenario, networks)
    priorities = np.array(scenario.priorities, dtype=np.int64)
    arrays = CatalogArrays(
        process=np.zeros(3, dtype=np.int64),
        trace_cycles=np.zeros(1, dtype=np.int64),
        trace_asked=np.empty((0, NUM_ASKED), np.int64) if replay is None else replay.asked,
        batch_sizes=np.array(scenario.batch_sizes, dtype=np.int64),
        priorities=draws(priorities, scenario.priority_shares),
        network_draws=draws(np.arange(len(networks)), scenario.network_shares),
        batch_draws=draws(np.arange(len(scenario.batch_sizes)), scenario.batch_shares),
        **costs.columns,
    )
    window = scenario.window_cycles
    if window is None:
        window = window_of_load(scenario, arrays)
    arrays.process[:] = list(ARRIVALS).index(scenario.arrival), window, scenario.burst_size
    if replay is not None:
        arrays = arrays._replace(trace_cycles=trace_cycles(scenario, replay.times, window))
    factors = calibration(arrays)
    for array in (*arrays, factors):
        array.flags.writeable = False
    table = stack_profiles(scenario.hardware, costs.profiles)._replace(calibration=factors)
    return Catalog(scenario, networks, table, arrays)
