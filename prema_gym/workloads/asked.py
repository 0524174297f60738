"""What does a request of a trace ask for, where its file says so? Compiled look-ups.

What the file does not say is drawn, as for any other task (`prema_gym.workloads.generate`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.workloads.tables import (
    ASKED_BATCH,
    ASKED_INPUT,
    ASKED_NETWORK,
    ASKED_OUTPUT,
    NOT_ASKED,
    CatalogArrays,
    FloatArray,
)


@inlined
def asked_or(arrays: CatalogArrays, request: int, column: int, drawn: int) -> int:
    """What a request asks for; what is drawn, where its file does not say.

    Args:
        arrays: The tables.
        request: Its number in the trace, or ``NOT_ASKED`` for a task of no trace.
        column: Of ``trace_asked``.
        drawn: What else it gets.
    """
    if request == NOT_ASKED:
        return drawn
    asked = arrays.trace_asked[request, column]
    return int(drawn if asked == NOT_ASKED else asked)


@inlined
def nearest_profile(arrays: CatalogArrays, first: int, count: int, length: int) -> int:
    """The profile whose input length is nearest, the longer of two as near.

    Args:
        arrays: The tables.
        first: First profile of a network and batch size; their lengths increase.
        count: How many there are.
        length: Asked for [time steps].
    """
    found = first
    for profile in range(first + 1, first + count):
        before = abs(arrays.input_length[found] - length)
        if abs(arrays.input_length[profile] - length) <= before:
            found = profile
    return found


@in_place
def sum_of_isolated_cycles(
    arrays: CatalogArrays,
    networks: FloatArray,
    batches: FloatArray,
    outputs: FloatArray,
    total: npt.NDArray[np.float64],
) -> None:
    """Add up the expected true isolated times of all requests of a trace.

    Args:
        arrays: The tables.
        networks: How likely each network is where it is drawn, (num_networks,).
        batches: Likewise each batch size, (num_batches,).
        outputs: Mean drawn output length of each profile, (num_profiles,) [output steps].
        total: Written, (1,) [cycles].
    """
    total[0] = 0.0
    for request in range(arrays.trace_asked.shape[0]):
        network = arrays.trace_asked[request, ASKED_NETWORK]
        batch = arrays.trace_asked[request, ASKED_BATCH]
        for n in range(networks.shape[0]):
            for b in range(batches.shape[0]):
                weight = 1.0
                if network == NOT_ASKED:
                    weight *= networks[n]
                if batch == NOT_ASKED:
                    weight *= batches[b]
                if network in (NOT_ASKED, n) and batch in (NOT_ASKED, b) and weight > 0.0:
                    total[0] += weight * _mean_of(arrays, n, b, request, outputs)


@inlined
def _mean_of(
    arrays: CatalogArrays, network: int, batch: int, request: int, outputs: FloatArray
) -> float:
    """Expected true isolated time of a request, its network and batch size known [cycles]."""
    first = arrays.first_profile[network, batch]
    count = arrays.num_lengths[network]
    length = arrays.trace_asked[request, ASKED_INPUT]
    if length != NOT_ASKED:
        first = nearest_profile(arrays, first, count, length)
        count = 1
    steps = arrays.trace_asked[request, ASKED_OUTPUT]
    total = 0.0
    for profile in range(first, first + count):
        output = outputs[profile] if steps == NOT_ASKED else float(steps)
        total += arrays.fixed_cycles[profile] + arrays.step_cycles[profile] * output
    return float(total / count)
