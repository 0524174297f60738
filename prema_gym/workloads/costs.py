"""What does every profile of a scenario cost, in truth and by estimate?

For each network, batch size and input length: the tile-exact profile that the machine follows, the
output lengths that a task may draw, and the estimate that the scheduler sees. Unit of time: cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.files import as_given
from prema_gym.hardware.profile import Profile, build_profile
from prema_gym.networks.network import Network
from prema_gym.workloads.estimates import estimate, estimate_layer
from prema_gym.workloads.fields import MAX_CYCLES, IntArray
from prema_gym.workloads.output_lengths import learn_output_lengths, output_length, ratio_table
from prema_gym.workloads.scenario import Scenario

MOST_QUANTA = 1_000_000
"""Quanta that a task may take alone: one of the paper's takes a thousand at most, and a workload of
a million is played for minutes."""


class Costs(NamedTuple):
    """Every profile of a scenario, and what `CatalogArrays` holds of them."""

    profiles: list[Profile]
    columns: Mapping[str, IntArray]  # by the names of CatalogArrays


def work_out(scenario: Scenario, networks: Sequence[Network]) -> Costs:
    """Work out every profile of a scenario, by network, then batch size, then input length.

    Args:
        scenario: The scenario.
        networks: Its networks.

    Raises:
        ConfigError: A task or deadline would be too long for 64-bit cycle counts, or a task too
            long for the scenario's quantum.
    """
    first_profile = np.zeros((len(networks), len(scenario.batch_sizes)), dtype=np.int64)
    num_lengths = np.zeros(len(networks), dtype=np.int64)
    profiles: list[Profile] = []
    rows: list[Mapping[str, int | list[int]]] = []
    for i, network in enumerate(networks):
        for j, batch in enumerate(scenario.batch_sizes):
            first_profile[i, j] = len(rows)
            for profile, row in _profiles(scenario, network, batch):
                profiles.append(profile)
                rows.append({"profile_network": i, **row})
        num_lengths[i] = len(rows) - first_profile[i, -1]
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in rows[0]}
    return Costs(profiles, {"first_profile": first_profile, "num_lengths": num_lengths, **columns})


def allowance_cycles(scenario: Scenario, estimated_cycles: int) -> int:
    """Time from a task's arrival to its deadline [cycles]."""
    if scenario.slo_ms is not None:
        return scenario.hardware.cycles(scenario.slo_ms)
    return round(scenario.sla_factor * estimated_cycles)


def _profiles(
    scenario: Scenario, network: Network, batch: int
) -> Iterator[tuple[Profile, Mapping[str, int | list[int]]]]:
    """The profile of each input length, and its numbers by the names of CatalogArrays."""
    config = scenario.hardware
    model = scenario.length_model(network.name) if network.is_recurrent else None
    # A network without a sequence has one "length", and one output step.
    lengths = (1,) if model is None else model.input_lengths
    expect = partial(estimate_layer, config, batch=batch)
    for length in lengths:
        profile = build_profile(config, network, batch=batch, input_length=length, expect=expect)
        predicted = 1 if model is None else learn_output_lengths(model).predict(length)
        guess = estimate(config, network, batch=batch, input_length=length).cycles(predicted)
        outputs = [output_length(length, ratio) for ratio in ratio_table(model)]
        allowance = allowance_cycles(scenario, guess)
        longest = profile.total_cycles(max(outputs))
        what = f"{as_given(network.name)!r} at batch {batch} and input length {length}"
        if max(allowance, longest) > MAX_CYCLES:
            raise ConfigError(f"{what} takes or is allowed more than {MAX_CYCLES} cycles")
        if longest > MOST_QUANTA * scenario.quantum_cycles:
            raise ConfigError(
                f"{what} takes {config.milliseconds(longest):.3g} ms, and a scheduler is asked "
                f"every quantum_ms = {scenario.quantum_ms:g}: a task may take at most "
                f"{MOST_QUANTA} quanta; use a longer quantum, or a faster machine"
            )
        yield (
            profile,
            {
                "profile_batch": batch,
                "input_length": length,
                "output_lengths": outputs,
                "fixed_cycles": profile.fixed_cycles,
                "step_cycles": profile.step_cycles,
                "predicted_length": predicted,
                "estimated_cycles": guess,
                "allowance_cycles": allowance,
            },
        )
