from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.layers import Linear
from prema_gym.networks.network import Network, Phase
from prema_gym.networks.tensor import Tensor
from prema_gym.workloads.estimates import estimate, estimate_gemm, estimate_network

NPU = NPUConfig()
# Without a memory limit only the compute side of Algorithm 1 is left.
COMPUTE = NPUConfig(dram_bytes_per_s=math.inf)


@pytest.mark.parametrize(
    ("m", "k", "n", "cycles"),
    [
        # One edge tile of 128 rows: 128 + 128 + 2·128.
        (128, 128, 128, 512),
        # ⌈256/128⌉·⌈512/128⌉ = 8 tiles of 256 rows: 8·(256 + 384).
        (256, 512, 256, 5120),
        # ⌈200/128⌉·⌈300/128⌉ = 6 tiles of 1 000 rows: ceilings, not floors.
        (1000, 300, 200, 6 * 1384),
        # A full tile of 2 048 rows and no edge; then the same and an edge of one row.
        (2048, 128, 128, 2048 + 384),
        (2049, 128, 128, 2048 + 384 + 1 + 384),
        (5000, 1, 1, 2 * (2048 + 384) + (5000 - 4096) + 384),
        # The smallest GEMM costs one tile, never nothing.
        (1, 1, 1, 385),
    ],
)
def test_compute_side_by_hand(m: int, k: int, n: int, cycles: int) -> None:
    assert estimate_gemm(COMPUTE, m, k, n) == cycles


def test_memory_side_by_hand() -> None:
    # M = 1: (128·128 + 128·1)·2 B = 33 024 B; at 358 GB/s and 700 MHz 64.57 → 65 cycles, less than
    # the 385 of computing. With a tenth of the bandwidth 645.7 → 646 cycles.
    slow = NPUConfig(dram_bytes_per_s=35_800_000_000)
    assert estimate_gemm(NPU, 1, 128, 128) == 385
    assert estimate_gemm(slow, 1, 128, 128) == 646
    # A full tile: (128·128 + 128·2 048)·2 = 557 056 B → 10 892.2 → 10 893 > 2 432 cycles.
    assert estimate_gemm(slow, 2048, 128, 128) == 10_893
    assert estimate_gemm(slow, 2049, 128, 128) == 10_893 + 646


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.tuples(st.integers(1, 9000), st.integers(1, 900), st.integers(1, 900)),
    st.integers(0, 2),
    st.integers(1, 300),
)
def test_an_estimate_never_falls_when_a_size_grows(
    sizes: tuple[int, int, int], axis: int, more: int
) -> None:
    grown = tuple(size + more * (i == axis) for i, size in enumerate(sizes))
    assert estimate_gemm(NPU, *grown) >= estimate_gemm(NPU, *sizes)


def _linear(name: str, features: int, out: int) -> Linear:
    return Linear(name, Tensor((features,)), out_features=out)


def _build(input_length: int) -> tuple[Phase, ...]:
    encoder = Phase((_linear("encode", 128, 128),), input_length)
    decoder = Phase((_linear("decode", 256, 128), _linear("project", 128, 300)), "output")
    return encoder, decoder


SEQUENCE = Network(
    name="toy",
    title="toy",
    source="these tests",
    domain="text",
    build=_build,
    input_lengths=(1, 50),
)


def test_a_network_is_the_sum_of_its_phases() -> None:
    # Encoder step 1 tile; decoder step 2 tiles + ⌈300/128⌉ = 3 tiles; tiles of 4 + 384 rows.
    parts = estimate(COMPUTE, SEQUENCE, batch=4, input_length=10)
    assert parts == (10 * 388, 5 * 388)
    assert parts.cycles(7) == 10 * 388 + 7 * 5 * 388
    given = estimate_network(COMPUTE, SEQUENCE, batch=4, input_length=10, output_length=7)
    assert given == parts.cycles(7)


def test_vector_work_is_not_estimated_and_nothing_is_free() -> None:
    from prema_gym.networks.layers import Embedding

    table = Embedding("table", Tensor(()), vocabulary=10, features=100)
    network = Network.from_layers("copy", [table], source="these tests")
    assert estimate(NPU, network, batch=1, input_length=1) == (0, 0)
    assert estimate_network(NPU, network) == 1


def test_count_multiplies() -> None:
    from prema_gym.networks.convolution import Conv2d

    image = Tensor((8, 10, 10))
    options = {"out_channels": 8, "kernel": 3, "padding": 1}
    grouped = Conv2d("c", image, groups=4, **options)  # type: ignore[arg-type]
    network = Network.from_layers("grouped", [grouped], source="these tests")
    # Four products of M = 100, one tile each.
    assert estimate_network(COMPUTE, network) == 4 * (100 + 384)


@pytest.mark.small
def test_hidden_preload_counts_rows_and_no_fill() -> None:
    # 2 048 rows and then 100, which are fewer than the array is deep; both compute bound.
    hidden = NPUConfig(weight_preload="hidden")
    assert estimate_gemm(hidden, 2148, 128, 256) == 2 * (2048 + 128)
