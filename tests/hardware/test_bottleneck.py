"""What binds: by hand on single layers, and every cycle is put down to something."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from prema_gym.hardware import NPUConfig, machines
from prema_gym.hardware.bottleneck import shares_of
from prema_gym.hardware.timing import time_gemm, time_layer, time_network
from prema_gym.networks import Elementwise, Tensor, get, names

BIG = NPUConfig(dram_bytes_per_s=10**15, dram_latency_cycles=0)


def test_a_deep_product_is_compute_a_flat_one_fill() -> None:
    deep = shares_of(time_gemm(BIG, m=2048, k=1280, n=1280))
    assert deep.binding == "compute"
    # Every tile: 2048 rows at work of 2048 + 128 + 2 · 128 − 2
    assert deep.compute == pytest.approx(2048 / 2430, abs=0.001)
    assert shares_of(time_gemm(BIG, m=1, k=1280, n=1280)).binding == "fill"


def test_element_wise_work_is_vector_or_memory() -> None:
    layer = Elementwise("sum", (Tensor((2**20,)),) * 8)
    fast = shares_of(time_layer(BIG, layer))
    assert fast.binding == "vector"
    assert fast.compute == fast.fill == 0
    slow = NPUConfig(dram_bytes_per_s=10**9)
    assert shares_of(time_layer(slow, layer)).binding == "memory"


@pytest.mark.parametrize("name", ["resnet-50", "mobilenet-v3-small", "rnn-mt1", "gpt2-decode"])
@pytest.mark.parametrize("machine", ["prema", "tpu-v1", "edge-32"])
def test_shares_are_of_the_whole(name: str, machine: str) -> None:
    shares = asdict(shares_of(time_network(machines.get(machine), get(name), batch=4)))
    assert name in names()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(0 <= share <= 1 for share in shares.values())
