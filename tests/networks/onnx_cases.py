"""Small graphs, one for each way in which work could be lost, with their MACs worked out by hand.

Each can be executed, so that tests and the page on imports hold our count against what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.networks.importer_files import node

MS = "com.microsoft"
BLOCKS = "com.microsoft.nchwc"
ML = "ai.onnx.ml"
_DOMAINS = {BLOCKS: 1, ML: 3}  # those that few graphs use, and their versions
Sizes = Sequence[int | str]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A graph and what its products cost.

    Attributes:
        name: What it shows.
        macs: By hand.
        nodes: Its operators.
        inputs: Sizes by name.
        weights: Sizes of stored tensors of random numbers, by name.
        values: Stored tensors themselves.
        kinds: Element types of inputs other than float.
        feeds: Inputs whose values matter.
        opset: Operator set.
        dims: Sizes that are given to open axes.
    """

    name: str
    macs: int
    nodes: Sequence[onnx.NodeProto]
    inputs: Mapping[str, Sizes]
    weights: Mapping[str, Sequence[int]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    feeds: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 20
    dims: Mapping[str, int] = field(default_factory=dict)

    def model(self) -> onnx.ModelProto:
        """As a file holds it, with its weights."""
        random = np.random.default_rng(0)
        read = set(_reads(self.nodes))
        results = [name for one in self.nodes for name in one.output if name not in read]
        stored = [
            numpy_helper.from_array(random.normal(size=sizes).astype(np.float32), name)
            for name, sizes in self.weights.items()
        ]
        stored += [numpy_helper.from_array(np.asarray(v), name) for name, v in self.values.items()]
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [
                helper.make_tensor_value_info(name, self.kinds.get(name, TensorProto.FLOAT), sizes)
                for name, sizes in self.inputs.items()
            ],
            [onnx.ValueInfoProto(name=name) for name in results if name],
            initializer=stored,
        )
        used = {one.domain for one in self.nodes} & _DOMAINS.keys()
        sets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MS, 1)]
        sets += [helper.make_opsetid(domain, _DOMAINS[domain]) for domain in sorted(used)]
        model = helper.make_model(graph, opset_imports=sets)
        model.ir_version = 10
        return model

    def arrays(self) -> dict[str, Any]:
        """Something for every input."""
        random = np.random.default_rng(1)
        found = {}
        for name, sizes in self.inputs.items():
            shape = [self.dims.get(one, 1) if isinstance(one, str) else one for one in sizes]
            kind = helper.tensor_dtype_to_np_dtype(self.kinds.get(name, TensorProto.FLOAT))
            value = random.normal(size=shape) if kind == np.float32 else np.ones(shape)
            found[name] = np.asarray(self.feeds.get(name, value)).astype(kind)
        return found


def _reads(nodes: Sequence[onnx.NodeProto]) -> list[str]:
    return [name for one in nodes for name in one.input]


def graph(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[str] = (), outputs: Sequence[str] = ()
) -> onnx.GraphProto:
    """A body or branch, its sizes left to inference; ``i`` and ``j`` count, ``c`` and ``d`` end."""
    count, condition = TensorProto.INT64, TensorProto.BOOL
    kinds = {
        "i": count,
        "j": count,
        "c": condition,
        "d": condition,
        "go": condition,
        "go2": condition,
    }

    def value(name: str) -> onnx.ValueInfoProto:
        kind = kinds.get(name, TensorProto.FLOAT)
        shape: list[int] | None = [] if name in kinds else None
        return helper.make_tensor_value_info(name, kind, shape)

    return helper.make_graph(nodes, "inner", list(map(value, inputs)), list(map(value, outputs)))


def ms(kind: str, inputs: str, outputs: str, **settings: Any) -> onnx.NodeProto:
    """An operator of ONNX Runtime."""
    return node(kind, inputs, outputs, domain=MS, **settings)


IMAGE = {"x": (1, 64, 8, 24)}


def convs(before: str, after: str, number: int) -> onnx.NodeProto:
    """64 filters over 64 channels, one tap, no padding."""
    return node("Conv", f"{before} w{number}", after)


PIXELS = 8 * 24 * 64 * 64
W = (64, 64, 1, 1)


def branch(start: str, end: str, number: int, *, deep: bool = True) -> onnx.GraphProto:
    name = f"{end}_in"
    inner = [convs(start, name, number)] if deep else [node("Relu", start, name)]
    return graph(inner, outputs=[name])


CONTROL = [
    Case(
        name="If, constant condition",
        macs=3 * PIXELS,
        nodes=[
            convs("x", "a", 1),
            node(
                "If",
                "true",
                "b",
                then_branch=branch("a", "t", 2),
                else_branch=branch("a", "e", 2, deep=False),
            ),
            convs("b", "y", 3),
        ],
        inputs=IMAGE,
        weights={"w1": W, "w2": W, "w3": W},
        values={"true": True},
    ),
    Case(
        name="If, condition from sizes (squeeze)",
        macs=10 * 16 * 32 + 10 * 32 * 8,
        nodes=[
            node("Shape", "x", "s"),
            node("Gather", "s zero", "first"),
            node("Equal", "first one", "is"),
            node(
                "If",
                "is",
                "q",
                then_branch=graph([node("Squeeze", "x axes", "t")], outputs=["t"]),
                else_branch=graph([node("Identity", "x", "e")], outputs=["e"]),
            ),
            node("MatMul", "q w1", "m"),
            node("MatMul", "m w2", "y"),
        ],
        inputs={"x": ("N", 10, 16)},
        weights={"w1": (16, 32), "w2": (32, 8)},
        values={"zero": 0, "one": 1, "axes": np.array([0])},
    ),
    Case(
        name="If, unknown condition: the dearer branch",
        macs=2 * PIXELS,
        nodes=[
            convs("x", "a", 1),
            node(
                "If",
                "p",
                "b",
                then_branch=branch("a", "t", 2, deep=False),
                else_branch=branch("a", "e", 2),
            ),
            node("Relu", "b", "y"),
        ],
        inputs={**IMAGE, "p": ()},
        kinds={"p": TensorProto.BOOL},
        feeds={"p": False},
        weights={"w1": W, "w2": W},
    ),
    Case(
        name="Loop, five steps",
        macs=5 * 10 * 16 * 16,
        nodes=[
            node(
                "Loop",
                "five true x",
                "y",
                body=graph(
                    [node("MatMul", "v w1", "n"), node("Identity", "c", "go")],
                    ["i", "c", "v"],
                    ["go", "n"],
                ),
            )
        ],
        inputs={"x": (10, 16)},
        weights={"w1": (16, 16)},
        values={"five": 5, "true": True},
    ),
    Case(
        name="Loop in a loop, results stacked and multiplied",
        macs=3 * 4 * 10 * 16 * 16 + 3 * 10 * 16 * 8,
        nodes=[
            node(
                "Loop",
                "three - x",
                "last all",
                body=graph(
                    [
                        node(
                            "Loop",
                            "four - v",
                            "n",
                            body=graph(
                                [node("MatMul", "u w1", "m"), node("Identity", "d", "go2")],
                                ["j", "d", "u"],
                                ["go2", "m"],
                            ),
                        ),
                        node("Identity", "n", "kept"),
                        node("Identity", "c", "go"),
                    ],
                    ["i", "c", "v"],
                    ["go", "n", "kept"],
                ),
            ),
            node("MatMul", "all w2", "y"),
        ],
        inputs={"x": (10, 16)},
        weights={"w1": (16, 16), "w2": (16, 8)},
        values={"three": 3, "four": 4},
    ),
    Case(
        name="Loop whose rows grow",
        macs=(10 + 11 + 12 + 13) * 16 * 16 + 14 * 16 * 8,
        nodes=[
            node(
                "Loop",
                "four true x",
                "last",
                body=graph(
                    [
                        node("MatMul", "v w1", "m"),
                        node("Concat", "m e", "n", axis=0),
                        node("Identity", "c", "go"),
                    ],
                    ["i", "c", "v"],
                    ["go", "n"],
                ),
            ),
            node("MatMul", "last w2", "y"),
        ],
        inputs={"x": (10, 16), "e": (1, 16)},
        weights={"w1": (16, 16), "w2": (16, 8)},
        values={"four": 4, "true": True},
    ),
    Case(
        name="Loop, keys and values kept from step to step",
        macs=6 * 3 * 8 * 8 + (1 + 2 + 3 + 4 + 5 + 6) * 2 * 8,
        nodes=[
            node(
                "Loop",
                "six true x k0 v0",
                "y k v",
                body=graph(
                    [
                        node("MatMul", "h wq", "q"),
                        node("MatMul", "h wk", "kn"),
                        node("MatMul", "h wv", "vn"),
                        node("Concat", "kp kn", "kk", axis=0),
                        node("Concat", "vp vn", "vv", axis=0),
                        node("Transpose", "kk", "kt", perm=[1, 0]),
                        node("MatMul", "q kt", "s"),
                        node("Softmax", "s", "p"),
                        node("MatMul", "p vv", "o"),
                        node("Identity", "c", "go"),
                    ],
                    ["i", "c", "h", "kp", "vp"],
                    ["go", "o", "kk", "vv"],
                ),
            )
        ],
        inputs={"x": (1, 8), "k0": (0, 8), "v0": (0, 8)},
        weights={"wq": (8, 8), "wk": (8, 8), "wv": (8, 8)},
        values={"six": 6, "true": True},
    ),
    Case(
        name="Loop with a branch for its first step",
        macs=10 * 16 * 16,
        nodes=[
            node(
                "Loop",
                "five true x",
                "y",
                body=graph(
                    [
                        node("Equal", "i zero", "is"),
                        node(
                            "If",
                            "is",
                            "n",
                            then_branch=graph([node("MatMul", "v w1", "t")], outputs=["t"]),
                            else_branch=graph([node("Relu", "v", "e")], outputs=["e"]),
                        ),
                        node("Identity", "c", "go"),
                    ],
                    ["i", "c", "v"],
                    ["go", "n"],
                ),
            )
        ],
        inputs={"x": (10, 16)},
        weights={"w1": (16, 16)},
        values={"five": 5, "true": True, "zero": 0},
    ),
    Case(
        name="Loop in a loop, of as many steps as its number",
        macs=(0 + 1 + 2 + 3) * 10 * 16 * 16,
        nodes=[
            node(
                "Loop",
                "four true x",
                "y",
                body=graph(
                    [
                        node(
                            "Loop",
                            "i - v",
                            "n",
                            body=graph(
                                [node("MatMul", "u w1", "m"), node("Identity", "d", "go2")],
                                ["j", "d", "u"],
                                ["go2", "m"],
                            ),
                        ),
                        node("Identity", "c", "go"),
                    ],
                    ["i", "c", "v"],
                    ["go", "n"],
                ),
            )
        ],
        inputs={"x": (10, 16)},
        weights={"w1": (16, 16)},
        values={"four": 4, "true": True},
    ),
    Case(
        name="Loop that ends as its own count says",
        macs=4 * 10 * 16 * 16,
        nodes=[
            node(
                "Loop",
                "- true zero x",
                "k y",
                body=graph(
                    [
                        node("MatMul", "v w1", "n"),
                        node("Add", "before one", "after"),
                        node("Less", "after four", "go"),
                    ],
                    ["i", "c", "before", "v"],
                    ["go", "after", "n"],
                ),
            )
        ],
        inputs={"x": (10, 16)},
        weights={"w1": (16, 16)},
        values={
            "zero": np.float32(0),
            "one": np.float32(1),
            "four": np.float32(4),
            "true": True,
        },
    ),
    Case(
        name="Scan over twelve steps",
        macs=12 * 3 * (16 * 8 + 8 * 8),
        nodes=[
            node(
                "Scan",
                "h x",
                "last all",
                num_scan_inputs=1,
                body=graph(
                    [
                        node("MatMul", "row w1", "a"),
                        node("MatMul", "state w2", "b"),
                        node("Add", "a b", "s"),
                        node("Tanh", "s", "next"),
                        node("Identity", "next", "out"),
                    ],
                    ["state", "row"],
                    ["next", "out"],
                ),
            )
        ],
        inputs={"h": (3, 8), "x": (12, 3, 16)},
        weights={"w1": (16, 8), "w2": (8, 8)},
    ),
    Case(
        name="drawn numbers are no weights",
        macs=10 * 16 * 8,
        nodes=[
            node("RandomNormal", "", "r", shape=[10, 16]),
            node("MatMul", "r w1", "m"),
            node("Add", "m x", "y"),
        ],
        inputs={"x": (10, 8)},
        weights={"w1": (16, 8)},
    ),
]

WINDOWS = [
    Case(
        name="Conv over three axes and a layer",
        macs=64 * 3 * 27 * 16 * 112 * 112 + 64 * 400,
        nodes=[
            node("Conv", "x w1", "c", pads=[1] * 6),
            node("GlobalAveragePool", "c", "p"),
            node("Flatten", "p", "f"),
            node("Gemm", "f w2", "y", transB=1),
        ],
        inputs={"x": (1, 3, 16, 112, 112)},
        weights={"w1": (64, 3, 3, 3, 3), "w2": (400, 64)},
    ),
    Case(
        name="Conv over three axes, depthwise, strided",
        macs=8 * 27 * 2 * 3 * 4,
        nodes=[node("Conv", "x w1", "y", group=8, strides=[2, 2, 2])],
        inputs={"x": (1, 8, 5, 7, 9)},
        weights={"w1": (8, 1, 3, 3, 3)},
    ),
    Case(
        name="pools over three axes, and dilated",
        macs=6 * 4 * 3 * 4 * 5,
        nodes=[
            node("MaxPool", "x", "p", kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
            node("Conv", "p w1", "c"),
            node("MaxPool", "c", "y", kernel_shape=[2, 2, 2], dilations=[2, 2, 2]),
        ],
        inputs={"x": (1, 4, 6, 8, 10)},
        weights={"w1": (6, 4, 1, 1, 1)},
    ),
    Case(
        name="ConvTranspose in groups",
        macs=5 * 7 * 6 * 2 * 9,
        nodes=[node("ConvTranspose", "x w1", "y", group=3, strides=[2, 2])],
        inputs={"x": (1, 6, 5, 7)},
        weights={"w1": (6, 2, 3, 3)},
    ),
    Case(
        name="ConvTranspose over three axes",
        macs=2 * 3 * 4 * 6 * 5 * 8,
        nodes=[node("ConvTranspose", "x w1", "y")],
        inputs={"x": (1, 6, 2, 3, 4)},
        weights={"w1": (6, 5, 2, 2, 2)},
    ),
    Case(
        name="DeformConv",
        macs=6 * 8 * 8 * 4 * 9,
        nodes=[node("DeformConv", "x w1 o", "y", kernel_shape=[3, 3], pads=[1] * 4)],
        inputs={"x": (1, 4, 8, 8), "o": (1, 18, 8, 8)},
        weights={"w1": (6, 4, 3, 3)},
    ),
    Case(
        name="FusedConv with a sum and an activation",
        macs=8 * 8 * 16 * 4 * 9,
        nodes=[ms("FusedConv", "x w1 b z", "y", pads=[1] * 4, activation="Relu")],
        inputs={"x": (1, 4, 8, 8), "z": (1, 16, 8, 8)},
        weights={"w1": (16, 4, 3, 3), "b": (16,)},
    ),
    Case(
        name="an unknown width of the batch, zero keys before",
        macs=4 * 16 * 8,
        nodes=[node("Concat", "past x", "all", axis=1), node("MatMul", "all w1", "y")],
        inputs={"past": (1, 0, 16), "x": (1, 4, 16)},
        weights={"w1": (16, 8)},
    ),
    Case(
        name="a named axis is given",
        macs=128 * 16 * 8,
        nodes=[node("MatMul", "x w1", "y")],
        inputs={"x": (1, "t", 16)},
        weights={"w1": (16, 8)},
        dims={"t": 128},
    ),
]


def _einsum(equation: str, left: Sizes, right: Sizes, macs: int, stored: bool = False) -> Case:
    return Case(
        name=f"Einsum {equation}" + (" with weights" if stored else ""),
        macs=macs,
        nodes=[node("Einsum", "x v", "y", equation=equation)],
        inputs={"x": left} if stored else {"x": left, "v": right},
        weights={"v": [int(one) for one in right]} if stored else {},
    )


PRODUCTS = [
    _einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 5), 2 * 3 * 4 * 5),
    _einsum("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5), 2 * 3 * 4 * 5 * 6),
    _einsum("bsd,dhk->bhsk", (2, 3, 8), (8, 2, 4), 2 * 3 * 8 * 2 * 4, True),
    _einsum("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5), 2 * 3 * 4 * 5),
    _einsum("ij,jk", (3, 4), (4, 5), 3 * 4 * 5),
    Case(
        name="Gemm, both transposed",
        macs=5 * 6 * 7,
        nodes=[node("Gemm", "x w1", "y", transA=1, transB=1)],
        inputs={"x": (6, 5)},
        weights={"w1": (7, 6)},
    ),
    Case(
        name="FusedMatMul, transposed",
        macs=2 * 3 * 5 * 4 * 5,
        nodes=[ms("FusedMatMul", "x v", "m", transB=1, alpha=0.5), node("Relu", "m", "y")],
        inputs={"x": (2, 3, 5, 4), "v": (2, 3, 5, 4)},
    ),
    Case(
        name="FusedGemm",
        macs=5 * 6 * 7,
        nodes=[ms("FusedGemm", "x w1 b", "y", activation="Relu")],
        inputs={"x": (5, 6)},
        weights={"w1": (6, 7), "b": (7,)},
    ),
    Case(
        name="MatMulNBits",
        macs=5 * 64 * 24 + 5 * 24,
        nodes=[
            ms("MatMulNBits", "x w1 s", "m", K=64, N=24, bits=4, block_size=32),
            node("MatMul", "m w2", "y"),
        ],
        inputs={"x": (1, 5, 64)},
        weights={"s": (24 * 2,), "w2": (24, 1)},
        values={"w1": np.zeros((24, 2, 16), np.uint8)},
    ),
    Case(
        name="BiasGelu and FastGelu behind products",
        macs=5 * 6 * 7 + 5 * 7 * 8,
        nodes=[
            node("MatMul", "x w1", "m"),
            ms("BiasGelu", "m b", "g"),
            node("MatMul", "g w2", "n"),
            ms("FastGelu", "n", "y"),
        ],
        inputs={"x": (5, 6)},
        weights={"w1": (6, 7), "b": (7,), "w2": (7, 8)},
    ),
    Case(
        name="SkipLayerNormalization between products",
        macs=2 * 5 * 8 * 8,
        nodes=[
            node("MatMul", "x w1", "m"),
            ms("SkipLayerNormalization", "m x g b", "s"),
            node("MatMul", "s w2", "y"),
        ],
        inputs={"x": (1, 5, 8)},
        weights={"w1": (8, 8), "g": (8,), "b": (8,), "w2": (8, 8)},
    ),
    Case(
        name="QGemm",
        macs=5 * 6 * 7,
        nodes=[ms("QGemm", "x s z w1 s z - s z", "y")],
        inputs={"x": (5, 6)},
        kinds={"x": TensorProto.UINT8},
        values={
            "s": np.float32(1),
            "z": np.uint8(0),
            "w1": np.ones((6, 7), np.uint8),
        },
    ),
    Case(
        name="DynamicQuantizeMatMul",
        macs=5 * 6 * 7,
        nodes=[ms("DynamicQuantizeMatMul", "x w1 s z b", "y")],
        inputs={"x": (5, 6)},
        weights={"b": (7,)},
        values={
            "s": np.float32(1),
            "z": np.uint8(0),
            "w1": np.ones((6, 7), np.uint8),
        },
    ),
]

SAVED = [
    Case(
        name="channels in blocks, as ONNX Runtime saves",
        macs=8 * 8 * 32 * 16 * 9 + 4 * 4 * 32 * 9 + 16 * 32,
        nodes=[
            node("ReorderInput", "x", "b", domain=BLOCKS),
            node("Conv", "b w1", "c", domain=BLOCKS, pads=[1] * 4, activation="Relu"),
            node("MaxPool", "c", "p", domain=BLOCKS, kernel_shape=[2, 2], strides=[2, 2]),
            node("Conv", "p w2", "d", domain=BLOCKS, pads=[1] * 4, group=32),
            node("ReorderOutput", "d", "o", domain=BLOCKS, channels=32),
            node("GlobalAveragePool", "o", "g"),
            node("Flatten", "g", "f"),
            node("MatMul", "f w3", "y"),
        ],
        inputs={"x": (1, 16, 8, 8)},
        weights={"w1": (32, 16, 3, 3), "w2": (32, 1, 3, 3), "w3": (32, 16)},
    ),
    Case(
        name="FusedMatMul, rows before the batch",
        macs=2 * 5 * 3 * 4 * 6,
        nodes=[ms("FusedMatMul", "x v", "y", transBatchA=1)],
        inputs={"x": (3, 2, 5, 4), "v": (2, 5, 4, 6)},
    ),
    Case(
        name="ConvTransposeWithDynamicPads",
        macs=5 * 7 * 6 * 2 * 9,
        nodes=[
            ms("ConvTransposeWithDynamicPads", "x w1 p", "y", strides=[2, 2], kernel_shape=[3, 3])
        ],
        inputs={"x": (1, 6, 5, 7)},
        weights={"w1": (6, 2, 3, 3)},
        values={"p": np.array([0, 0, 0, 0])},
    ),
    Case(
        name="DynamicQuantizeLSTM",
        macs=7 * 2 * 20 * (3 + 5) + 7 * 2 * 5 * 4,
        nodes=[
            ms("DynamicQuantizeLSTM", "x w r - - - - - s z s z", "h", hidden_size=5),
            node("MatMul", "h w2", "y"),
        ],
        inputs={"x": (7, 2, 3)},
        weights={"w2": (5, 4)},
        values={
            "w": np.ones((1, 3, 20), np.int8),
            "r": np.ones((1, 5, 20), np.int8),
            "s": np.ones(1, np.float32),
            "z": np.zeros(1, np.int8),
        },
    ),
    Case(
        name="a scaler, a layer, a regression",
        macs=5 * 10 * 8 + 5 * 8 * 3,
        nodes=[
            node("Scaler", "x", "s", domain=ML, offset=[0.0] * 10, scale=[1.0] * 10),
            node("MatMul", "s w1", "m"),
            node("LinearRegressor", "m", "y", domain=ML, coefficients=[1.0] * 24, targets=3),
        ],
        inputs={"x": (5, 10)},
        weights={"w1": (10, 8)},
    ),
    Case(
        name="a layer and a classifier",
        macs=5 * 10 * 8 + 5 * 8 * 3,
        nodes=[
            node("MatMul", "x w1", "m"),
            node(
                "LinearClassifier",
                "m",
                "label y",
                domain=ML,
                coefficients=[1.0] * 24,
                intercepts=[0.0] * 3,
                classlabels_ints=[0, 1, 2],
            ),
        ],
        inputs={"x": (5, 10)},
        weights={"w1": (10, 8)},
    ),
    Case(
        name="sums of nothing",
        macs=8 * 8,
        nodes=[node("ReduceSum", "x axes", "r"), node("MatMul", "z w1", "y")],
        inputs={"x": (4, 0, 3), "z": (1, 8)},
        weights={"w1": (8, 8)},
        values={"axes": np.array([1])},
    ),
]

SEQUENCES = [
    Case(
        name=f"{kind}, both directions",
        macs=2 * 7 * 2 * gates * 5 * (3 + 5),
        nodes=[node(kind, "x w r", "y", hidden_size=5, direction="bidirectional")],
        inputs={"x": (7, 2, 3)},
        weights={"w": (2, gates * 5, 3), "r": (2, gates * 5, 5)},
    )
    for kind, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
]

ATTENTION = [
    Case(
        name="Attention, operator set 23, grouped heads",
        macs=2 * 8 * 5 * 7 * (16 + 16),
        nodes=[node("Attention", "q k v", "y", q_num_heads=8, kv_num_heads=2)],
        inputs={"q": (2, 5, 128), "k": (2, 7, 32), "v": (2, 7, 32)},
        opset=23,
    ),
    Case(
        name="Attention, operator set 23, heads apart",
        macs=2 * 4 * 5 * 7 * (16 + 8),
        nodes=[node("Attention", "q k v", "y")],
        inputs={"q": (2, 4, 5, 16), "k": (2, 4, 7, 16), "v": (2, 4, 7, 8)},
        opset=23,
    ),
    Case(
        name="Attention of ONNX Runtime",
        macs=2 * 5 * 32 * 96 + 2 * 4 * 5 * 5 * (8 + 8) + 2 * 5 * 32 * 6,
        nodes=[ms("Attention", "x w1 b", "a", num_heads=4), node("MatMul", "a w2", "y")],
        inputs={"x": (2, 5, 32)},
        weights={"w1": (32, 96), "b": (96,), "w2": (32, 6)},
    ),
    Case(
        name="MultiHeadAttention",
        macs=2 * 4 * 5 * 7 * (8 + 8),
        nodes=[ms("MultiHeadAttention", "q k v", "y", num_heads=4)],
        inputs={"q": (2, 5, 32), "k": (2, 7, 32), "v": (2, 7, 32)},
    ),
    Case(
        name="MultiHeadAttention with keys before",
        macs=4 * 5 * (5 + 3) * (8 + 8),
        nodes=[ms("MultiHeadAttention", "q k v - - - pk pv", "y nk nv", num_heads=4)],
        inputs={
            "q": (1, 5, 32),
            "k": (1, 5, 32),
            "v": (1, 5, 32),
            "pk": (1, 4, 3, 8),
            "pv": (1, 4, 3, 8),
        },
    ),
    Case(
        name="GroupQueryAttention",
        macs=4 * 6 * 6 * (8 + 8),
        nodes=[ms("GroupQueryAttention", "q k v - - l t", "y nk nv", num_heads=4, kv_num_heads=2)],
        inputs={"q": (1, 6, 32), "k": (1, 6, 16), "v": (1, 6, 16)},
        values={"l": np.array([5], np.int32), "t": np.int32(6)},
    ),
]

_STEP = {"q": (1, 1, 32), "k": (1, 1, 16), "v": (1, 1, 16)}
_BUFFER = {"pk": (1, 2, 10, 8), "pv": (1, 2, 10, 8)}

LANGUAGE = [
    Case(
        name="GroupQueryAttention, keys before and a new one",
        macs=4 * 11 * (8 + 8),
        nodes=[
            ms("GroupQueryAttention", "q k v pk pv l t", "y nk nv", num_heads=4, kv_num_heads=2)
        ],
        inputs={**_STEP, **_BUFFER},
        values={"l": np.array([10], np.int32), "t": np.int32(11)},
    ),
    Case(
        name="MoE, two of four experts",
        macs=5 * 2 * (8 * 16 + 16 * 8),
        nodes=[ms("MoE", "x p w1 - w2", "y", k=2)],
        inputs={"x": (5, 8), "p": (5, 4)},
        weights={"w1": (4, 16, 8), "w2": (4, 8, 16)},
    ),
    Case(
        name="QMoE, four bits, gate and value in one matrix",
        macs=5 * 2 * (32 * 128 + 64 * 32),
        nodes=[
            ms(
                "QMoE",
                "x p w1 s1 - w2 s2 -",
                "y",
                k=2,
                expert_weight_bits=4,
                activation_type="swiglu",
                swiglu_fusion=1,
            )
        ],
        inputs={"x": (5, 32), "p": (5, 4)},
        weights={"s1": (4, 128), "s2": (4, 32)},
        values={"w1": np.ones((4, 128, 16), np.uint8), "w2": np.ones((4, 32, 32), np.uint8)},
    ),
    *(
        Case(
            name=f"LinearAttention, {rule}",
            macs=6 * 2 * 8 * 10 * products,
            nodes=[
                ms(
                    "LinearAttention",
                    f"q k v - {'d' if 'gated' in rule else '-'} {'b' if 'delta' in rule else '-'}",
                    "y s",
                    q_num_heads=4,
                    kv_num_heads=2,
                    update_rule=rule,
                )
            ],
            inputs={
                **{"q": (1, 6, 32), "k": (1, 6, 16), "v": (1, 6, 20)},
                **({"d": (1, 6, 2)} if "gated" in rule else {}),
                **({"b": (1, 6, 2)} if "delta" in rule else {}),
            },
        )
        # Written once and asked by two queries; the delta rules ask for the key first.
        for rule, products in (("linear", 3), ("gated", 3), ("delta", 4), ("gated_delta", 4))
    ),
    Case(
        name="CausalConvWithState",
        macs=2 * 6 * 12 * 4 + 2 * 6 * 12 * 5,
        nodes=[
            ms("CausalConvWithState", "x w1 - p", "c s", activation="silu"),
            node("MatMul", "c w2", "y"),
        ],
        inputs={"x": (2, 6, 12), "p": (2, 6, 3)},
        weights={"w1": (6, 1, 4), "w2": (12, 5)},
    ),
]

CASES = [*CONTROL, *WINDOWS, *PRODUCTS, *SAVED, *SEQUENCES, *ATTENTION, *LANGUAGE]
