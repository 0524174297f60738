"""What is known of each ONNX operator? The table: what it costs, and what costs nothing behind it.

Each function turns an operator into layers whose shapes are the file's own. Tensors come from
outside the network as far as a layer can see (wiring is ONNX's matter), so what moves data without
computing needs no layer. A fixed batch is part of a layer's rows or channels, or repeats the layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from prema_gym.networks.importers.onnx_graph.elements import (
    channel_norm,
    elementwise,
    layer_norm,
    resize,
    softmax,
)
from prema_gym.networks.importers.onnx_graph.operands import Cost
from prema_gym.networks.importers.onnx_graph.products import gemm, matmul
from prema_gym.networks.importers.onnx_graph.sequences import gather, recurrent
from prema_gym.networks.importers.onnx_graph.windows import conv, conv_transpose, pool, reduce


class Rider(Enum):
    """What may be done to a result on its way out of a unit, at no cost."""

    AFFINE = auto()
    """A scale or shift; with weights for other operands it is folded into a product."""

    ACTIVATION = auto()
    """Applied while a result drains; on its own it is one op an element."""


NO_RIDERS: frozenset[Rider] = frozenset()
ALL_RIDERS = frozenset(Rider)


@dataclass(frozen=True)
class Known:
    """What is known of a kind of operator.

    Attributes:
        cost: The layers that stand for it; None: it only says where data lies, or ends before the
            network runs.
        rides: What it is to the result it works on, if it can cost nothing there.
        carries: What costs nothing on its own result.
        is_arithmetic: Whether it costs nothing on a single number, such as a scale.
    """

    cost: Cost | None
    rides: Rider | None = None
    carries: frozenset[Rider] = NO_RIDERS
    is_arithmetic: bool = False

    @property
    def is_product(self) -> bool:
        """Whether it drains from an accumulator; without its sizes nothing is worth much."""
        return self.carries == ALL_RIDERS


def _each(kinds: str, known: Known) -> dict[str, Known]:
    """The same for several kinds, written as one reads them."""
    return dict.fromkeys(kinds.split(), known)


_SUM = frozenset({Rider.ACTIVATION})  # the zoo's networks apply it in the pass of a residual sum

OPERATORS: dict[str, Known] = {
    **_each(
        "Cast CastLike Concat Constant ConstantOfShape DepthToSpace Dropout Expand Flatten "
        "Identity Pad Range Reshape Shape Size Slice SpaceToDepth Split Squeeze Tile Transpose "
        "Unsqueeze",
        Known(None),
    ),
    # Windows and products
    "Conv": Known(conv, carries=ALL_RIDERS),
    "ConvTranspose": Known(conv_transpose, carries=ALL_RIDERS),
    "Gemm": Known(gemm, carries=ALL_RIDERS),
    "MatMul": Known(matmul, carries=ALL_RIDERS),
    **_each("AveragePool MaxPool", Known(pool)),
    **_each(
        "ArgMax ArgMin GlobalAveragePool GlobalMaxPool ReduceL1 ReduceL2 ReduceMax ReduceMean "
        "ReduceMin ReduceProd ReduceSum ReduceSumSquare",
        Known(reduce),
    ),
    # Elements
    "Add": Known(elementwise, Rider.AFFINE, carries=_SUM, is_arithmetic=True),
    "Sum": Known(elementwise, carries=_SUM, is_arithmetic=True),
    **_each(
        "DequantizeLinear Div Mul QuantizeLinear Sub",
        Known(elementwise, Rider.AFFINE, is_arithmetic=True),
    ),
    **_each(
        "Abs And Ceil Cos DynamicQuantizeLinear Equal Erf Exp Floor Greater GreaterOrEqual Less "
        "LessOrEqual Log Max Mean Min Mod Neg Not Or Pow Reciprocal Round Sign Sin Sqrt Where Xor",
        Known(elementwise, is_arithmetic=True),
    ),
    **_each(
        "Celu Clip Elu Gelu HardSigmoid HardSwish LeakyRelu Mish PRelu Relu Selu Sigmoid Softplus "
        "Softsign Swish Tanh ThresholdedRelu",
        Known(elementwise, Rider.ACTIVATION),
    ),
    **_each("Resize Upsample", Known(resize)),
    **_each("LogSoftmax Softmax", Known(softmax)),
    "BatchNormalization": Known(channel_norm, Rider.AFFINE),
    "LRN": Known(channel_norm),
    **_each(
        "GroupNormalization InstanceNormalization LayerNormalization RMSNormalization",
        Known(layer_norm),
    ),
    # Tables and sequences
    "Gather": Known(gather),
    **_each("GRU LSTM", Known(recurrent)),
}
"""By kind; an operator that is not here is skipped, and listed as that."""
