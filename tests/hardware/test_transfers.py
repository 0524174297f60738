from __future__ import annotations

import math
from dataclasses import replace

import pytest

from prema_gym.hardware import NPUConfig
from prema_gym.hardware.transfers import dram_cycles, host_cycles, machine_array


@pytest.mark.small
def test_a_full_ubuf_saves_in_23_microseconds() -> None:
    config = NPUConfig()
    cycles = int(dram_cycles(machine_array(config), config.ubuf_bytes))
    assert cycles == 100 + math.ceil(8 * 2**20 * 0.7 / 358)
    without_latency_us = config.microseconds(cycles - config.dram_latency_cycles)
    assert without_latency_us == pytest.approx(8 * 2**20 / 358e3, rel=1e-4)
    assert 23 < without_latency_us < 24


@pytest.mark.small
def test_transfer_cycles_round_up_exactly() -> None:
    config = NPUConfig()  # 7 / 3580 cycles a byte
    machine = machine_array(config)
    assert dram_cycles(machine, 0) == host_cycles(machine, 0) == 0
    assert dram_cycles(machine, 1) == 101
    assert dram_cycles(machine, 3580) == 107
    assert dram_cycles(machine, 3581) == 108
    assert host_cycles(machine, 16) == 101  # 0.7 cycles
    assert host_cycles(machine, 1600) == 170
    free = machine_array(replace(config, dram_bytes_per_s=math.inf, host_link_bytes_per_s=math.inf))
    assert dram_cycles(free, 10**12) == host_cycles(free, 10**12) == 100
