from __future__ import annotations

from dataclasses import replace

import pytest

from prema_gym.hardware import NPUConfig, build_profile, time_layer, time_network
from prema_gym.hardware.overlap import Pipelined, executed_phases
from prema_gym.networks import Elementwise, Gemm, Layer, Linear, Network, Phase, Tensor, get
from prema_gym.workloads.estimates import estimate_layer
from tests.hardware.brute_force import WorksLayer, network
from tests.hardware.test_timing import TOY

NONE = NPUConfig()
PIPELINED = replace(NONE, vector_overlap="pipelined")

X = Tensor((4,))
PRODUCT = Linear("product", X, out_features=4)
OUT = PRODUCT.output
AFTER = Linear("after", OUT, out_features=4)


def executed(*layers: Layer) -> list[str]:
    """Names of the layers that the machine runs."""
    phases = executed_phases(PIPELINED, network(Phase(layers)), 1)
    return [layer.name for phase in phases for layer in phase.layers]


@pytest.mark.small
def test_a_tail_worked_by_hand() -> None:
    # One tile of 3 rows × 2 columns: 10 bytes in, 6 out, 6 of the other operand beside it. It fills
    # for 2·2 + 2 − 2 = 4 cycles; its rows leave in 3, or as ⌈6 / 4⌉ · ops cycles of four lanes.
    def cycles(ops: int, inputs: int) -> int:
        gemm = Gemm("gemm", 3, 2, 2, tail_ops=ops, tail_inputs=inputs)
        return time_layer(TOY, WorksLayer("layer", (gemm,))).cycles

    assert cycles(0, 0) == 5 + 10 + (4 + 3) + 6
    assert cycles(1, 1) == 5 + 10 + (4 + 3) + 6
    assert cycles(4, 1) == 5 + 10 + (4 + 8) + 6
    assert cycles(1, 3) == 5 + 10 + 18 + 6


@pytest.mark.small
def test_only_the_last_k_tile_has_a_tail() -> None:
    gemm = Gemm("gemm", 3, 4, 2, tail_ops=4)
    # 10 bytes beside the first K tile, then the rows leave in 8 cycles.
    assert time_layer(TOY, WorksLayer("layer", (gemm,))).cycles == 5 + 10 + 10 + (4 + 8) + 6


@pytest.mark.small
def test_what_follows_a_product_is_joined_to_it() -> None:
    assert executed(PRODUCT, Elementwise("add", (OUT, X))) == ["product+add"]
    assert executed(PRODUCT, Elementwise("scale", (OUT,))) == ["product+scale"]
    twice = Elementwise("twice", (OUT, OUT))
    assert executed(PRODUCT, twice) == ["product+twice"]
    joined = Pipelined("both", PRODUCT, twice)
    assert joined.work(3) == (Gemm("product", 3, 4, 4, tail_ops=1, tail_inputs=0),)
    assert joined.inputs == (X,)


@pytest.mark.small
@pytest.mark.parametrize(
    "layers",
    [
        (PRODUCT, Elementwise("other", (X, X))),  # it works on something else
        (PRODUCT, AFTER, Elementwise("late", (OUT,))),  # not right behind
        (PRODUCT, Elementwise("add", (OUT, X)), AFTER),  # the product itself is needed again
        (PRODUCT, Elementwise("half", (Tensor((2,), OUT.producers),))),
    ],
)
def test_what_is_not_joined(layers: tuple[Layer, ...]) -> None:
    assert executed(*layers) == [layer.name for layer in layers]


def test_an_element_wise_layer_is_joined_once() -> None:
    first = Elementwise("first", (OUT, X))
    assert executed(PRODUCT, first, Elementwise("second", (first.output,))) == [
        "product+first",
        "second",
    ]


@pytest.mark.parametrize("batch", [1, 16])
def test_a_residual_network_moves_each_sum_once_less(batch: int) -> None:
    net = get("resnet-50")
    joined = [one for one in _layers(net) if isinstance(one, Pipelined)]
    assert len(joined) == 16
    before, after = (time_network(config, net, batch=batch) for config in (NONE, PIPELINED))
    stored = sum(one.product.output.elements for one in joined) * batch * NONE.element_bytes
    assert before.bytes_moved - after.bytes_moved == 2 * stored
    assert (before.macs, before.vector_ops) == (after.macs, after.vector_ops)
    assert 0.8 < after.cycles / before.cycles < (0.95 if batch == 1 else 0.88)
    assert build_profile(PIPELINED, net, batch=batch).total_cycles() == after.cycles


def test_depthwise_convolutions_stay_serial() -> None:
    net = get("mobilenet-v1")
    times = {time_network(config, net, batch=16).cycles for config in (NONE, PIPELINED)}
    assert len(times) == 1


def test_the_estimate_stays() -> None:
    net = get("resnet-50")
    (phase,) = net.phases()
    estimates = [
        sum(estimate_layer(NONE, layer, batch=4) for layer in layers)
        for layers in (phase.layers, _layers(net))
    ]
    assert estimates[0] == estimates[1] > 0


def _layers(net: Network) -> list[Layer]:
    return [layer for phase in executed_phases(PIPELINED, net, 1) for layer in phase.layers]
