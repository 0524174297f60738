"""How long does the scheduler *expect* a task to take (Algorithm 1), and how good is that?

The estimate looks at a network's GEMMs only and at the sizes of the machine: no vector work, no
latency, no tile edges along K and N. It is what a scheduler in hardware could work out. The machine
itself never uses it (`prema_gym.hardware` has the true timing). Unit of time: cycles.

Source: fidelity.md, "Algorithm 1". A ragged last tile along M costs its own rows; where M is a
multiple of the accumulator rows there is no such tile.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.layers import Gemm, Layer
from prema_gym.networks.network import Network


class Estimate(NamedTuple):
    """Estimated cycles of a network at one batch size and input length."""

    fixed_cycles: int  # everything that runs a known number of times
    step_cycles: int  # each output step

    def cycles(self, output_length: int) -> int:
        """Estimated isolated time for an output length, at least one cycle.

        A network without any GEMM would be estimated at 0; slowdowns divide by the estimate.
        """
        return max(1, self.fixed_cycles + self.step_cycles * output_length)


@lru_cache(maxsize=65536)
def estimate_gemm(config: NPUConfig, m: int, k: int, n: int) -> int:
    """Algorithm 1 for one GEMM (M×K)·(K×N) [cycles]."""
    rows = config.tile_rows
    full, edge_rows = divmod(m, rows)
    column_of_tiles = full * _tile_cycles(config, rows)
    if edge_rows:
        column_of_tiles += _tile_cycles(config, edge_rows)
    # Ceilings: rounding down would make every GEMM smaller than the array free (fidelity.md).
    return -(-n // config.array_cols) * -(-k // config.array_rows) * column_of_tiles


def estimate_layer(config: NPUConfig, layer: Layer, *, batch: int) -> int:
    """Algorithm 1 summed over the GEMMs of one layer [cycles]; 0 for a layer without any."""
    return sum(
        work.count * estimate_gemm(config, work.m, work.k, work.n)
        for work in layer.work(batch)
        if isinstance(work, Gemm)
    )


def estimate(config: NPUConfig, network: Network, *, batch: int, input_length: int) -> Estimate:
    """Algorithm 1 summed over a network's GEMM layers.

    Args:
        config: The machine.
        network: The network.
        batch: Inputs worked on at once.
        input_length: Time steps of the input; ignored by a network without a sequence.
    """
    fixed = step = 0
    for phase in network.phases(input_length):
        once = sum(estimate_layer(config, layer, batch=batch) for layer in phase.layers)
        if phase.repeat == "output":
            step += once
        else:
            fixed += once * phase.repeat
    return Estimate(fixed, step)


def estimate_network(
    config: NPUConfig,
    network: Network,
    *,
    batch: int = 1,
    input_length: int = 1,
    output_length: int = 1,
) -> int:
    """Estimated isolated time of a network for a known output length [cycles]."""
    parts = estimate(config, network, batch=batch, input_length=input_length)
    return parts.cycles(output_length)


def _tile_cycles(config: NPUConfig, rows: int) -> int:
    """Time of one tile of full depth and width: the larger of computing and loading it."""
    if config.weight_preload == "hidden":
        compute = max(rows, config.array_rows)
    else:
        compute = rows + config.array_cols + 2 * config.array_rows
    loaded = config.array_rows * (config.array_cols + rows) * config.element_bytes
    return max(compute, math.ceil(loaded * config.cycles_per_byte("dram_bytes_per_s")))
