"""How long does it take to move bytes to and from NPU memory, or over the host link?

For compiled code: what it needs of a machine is an array. Unit of time: cycles. Source:
fidelity.md, "The machine" and "Preemption".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.layout import (
    DRAM_BYTES,
    DRAM_DEN,
    DRAM_LATENCY_CYCLES,
    DRAM_NUM,
    HOST_DEN,
    HOST_NUM,
    INNER_REFILL_CYCLES,
    MACHINE_FIELDS,
    SWITCH_CYCLES,
)


def machine_array(config: NPUConfig) -> NDArray[np.int64]:
    """What the kernels need of a machine, int64 (MACHINE_FIELDS,)."""
    dram = config.cycles_per_byte("dram_bytes_per_s")
    host = config.cycles_per_byte("host_link_bytes_per_s")
    machine = np.zeros(MACHINE_FIELDS, dtype=np.int64)
    machine[DRAM_BYTES] = config.dram_bytes
    machine[DRAM_LATENCY_CYCLES] = config.dram_latency_cycles
    machine[DRAM_NUM], machine[DRAM_DEN] = dram.numerator, dram.denominator
    machine[HOST_NUM], machine[HOST_DEN] = host.numerator, host.denominator
    machine[SWITCH_CYCLES] = config.switch_cycles
    machine[INNER_REFILL_CYCLES] = config.hidden_fill_cycles
    machine.flags.writeable = False
    return machine


@in_place
def dram_cycles(machine: NDArray[np.int64], num_bytes: int) -> int:
    """Cycles to move ``num_bytes`` to or from NPU memory, latency included; 0 for nothing.

    Args:
        machine: int64 (MACHINE_FIELDS,).
        num_bytes: Bytes moved, ``>= 0``.
    """
    if num_bytes == 0:
        return 0
    den = machine[DRAM_DEN]
    return int(machine[DRAM_LATENCY_CYCLES] + (num_bytes * machine[DRAM_NUM] + den - 1) // den)


@in_place
def host_cycles(machine: NDArray[np.int64], num_bytes: int) -> int:
    """Cycles to move ``num_bytes`` over the host link, latency included; 0 for nothing.

    Args:
        machine: int64 (MACHINE_FIELDS,).
        num_bytes: Bytes moved, ``>= 0``.
    """
    if num_bytes == 0:
        return 0
    den = machine[HOST_DEN]
    return int(machine[DRAM_LATENCY_CYCLES] + (num_bytes * machine[HOST_NUM] + den - 1) // den)
