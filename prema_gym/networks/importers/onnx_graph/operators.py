"""What is known of each ONNX operator? The table: what it costs, and what costs nothing behind it.

Each function turns an operator into layers whose shapes are the file's own. Tensors come from
outside the network as far as a layer can see (wiring is ONNX's matter), so what moves data without
computing needs no layer. A fixed batch is part of a layer's rows or channels, or repeats the layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from prema_gym.networks.importers.onnx_graph.attention import (
    attention,
    attention_sizes,
    buffer_note,
    key_numbers,
    projected_attention,
    projected_sizes,
)
from prema_gym.networks.importers.onnx_graph.blocks import (
    causal_conv,
    causal_conv_sizes,
    experts,
    linear_attention,
    linear_attention_sizes,
)
from prema_gym.networks.importers.onnx_graph.contraction import einsum, einsum_sizes
from prema_gym.networks.importers.onnx_graph.elements import (
    channel_norm,
    elementwise,
    layer_norm,
    resize,
    scaled,
    softmax,
    spread,
)
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, words
from prema_gym.networks.importers.onnx_graph.operands import Cost, Gives, same
from prema_gym.networks.importers.onnx_graph.products import gemm, matmul, product_sizes
from prema_gym.networks.importers.onnx_graph.sequences import (
    channel_sizes,
    counter_sizes,
    element_sizes,
    gather,
    recurrent,
    stack_sizes,
)
from prema_gym.networks.importers.onnx_graph.windows import (
    conv,
    conv_transpose,
    deform_conv,
    pool,
    reduce,
)


class Rider(Enum):
    """What may be done to a result on its way out of a unit, at no cost."""

    AFFINE = auto()
    """A scale or shift; with weights for other operands it is folded into a product."""

    ACTIVATION = auto()
    """Applied while a result drains; on its own it is one op an element."""

    WIDTH = auto()
    """Another number format, by a scale that is known: as a result is written or read anyway."""


NO_RIDERS: frozenset[Rider] = frozenset()
ALL_RIDERS = frozenset(Rider)
WIDTH_ONLY = frozenset({Rider.WIDTH})


@dataclass(frozen=True)
class Known:
    """What is known of a kind of operator.

    Attributes:
        cost: The layers that stand for it; None: it only says where data lies, or ends before the
            network runs.
        rides: What it is to the result it works on, if it can cost nothing there.
        carries: What costs nothing on its own result.
        is_arithmetic: Whether it costs nothing on a single number, such as a scale.
        gives: Sizes of its results, where ONNX's own inference does not know them.
        multiplies: Whether it is a product though nothing rides on it.
        weights: Which of its inputs are weights, if they are constant; empty: all.
        numbers: Which of its inputs are numbers that its cost depends on.
        note: What was assumed of it; may be empty.
    """

    cost: Cost | None
    rides: Rider | None = None
    carries: frozenset[Rider] = NO_RIDERS
    is_arithmetic: bool = False
    gives: Gives | None = None
    multiplies: bool = False
    weights: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    note: Callable[[Graph, Operator], str] | None = None

    @property
    def is_product(self) -> bool:
        """Whether it is matrix products; without its sizes nothing is worth much."""
        return self.multiplies or self.carries == ALL_RIDERS


def _each(kinds: str, known: Known) -> dict[str, Known]:
    """The same for several kinds, written as one reads them."""
    return dict.fromkeys(kinds.split(), known)


def _attends(kinds: str, cost: Cost, gives: Gives) -> dict[str, Known]:
    """Kinds of attention, each of which says in its own place how many keys there are."""
    return {
        kind: Known(
            cost, carries=ALL_RIDERS, gives=gives, numbers=key_numbers(kind), note=buffer_note
        )
        for kind in kinds.split()
    }


_SUM = frozenset(
    {Rider.ACTIVATION, Rider.WIDTH}
)  # the zoo's networks apply it in the pass of a residual sum

OPERATORS: dict[str, Known] = {
    **_each(
        "Cast CastLike Concat Constant ConstantOfShape DepthToSpace Dropout Expand Flatten "
        "Identity Pad Range Reshape Shape Size Slice SpaceToDepth Split Squeeze Tile Transpose "
        "Unsqueeze",
        Known(None),
    ),
    # Into and out of the bodies of loops and branches
    **_each("prema_gym::State prema_gym::Chosen", Known(None, gives=same)),
    "prema_gym::Growing": Known(None),
    "prema_gym::Counter": Known(None, gives=counter_sizes),
    "prema_gym::Element": Known(None, gives=element_sizes),
    "prema_gym::Channels": Known(None, gives=channel_sizes),
    "prema_gym::Stack": Known(None, gives=stack_sizes),
    # Windows and products
    "Conv": Known(conv, carries=ALL_RIDERS),
    "ConvTranspose": Known(conv_transpose, carries=ALL_RIDERS),
    "DeformConv": Known(deform_conv, carries=ALL_RIDERS),
    "Gemm": Known(gemm, carries=ALL_RIDERS),
    "MatMul": Known(matmul, carries=ALL_RIDERS),
    "com.microsoft::FusedMatMul": Known(matmul, carries=ALL_RIDERS, gives=product_sizes),
    "Einsum": Known(einsum, carries=ALL_RIDERS, gives=einsum_sizes),
    **_each("AveragePool LpPool MaxPool", Known(pool)),
    **_each(
        "ArgMax ArgMin GlobalAveragePool GlobalLpPool GlobalMaxPool ReduceL1 ReduceL2 ReduceLogSum "
        "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
        Known(reduce),
    ),
    # Attention in one operator
    **_attends(
        "Attention com.microsoft::GroupQueryAttention com.microsoft::MultiHeadAttention",
        attention,
        attention_sizes,
    ),
    **_attends(
        "com.microsoft::Attention com.microsoft::QAttention", projected_attention, projected_sizes
    ),
    "com.microsoft::MoE": Known(experts, carries=ALL_RIDERS, gives=same, weights=(2, 4, 6)),
    "com.microsoft::LinearAttention": Known(
        linear_attention, multiplies=True, gives=linear_attention_sizes
    ),
    "com.microsoft::CausalConvWithState": Known(
        causal_conv, carries=WIDTH_ONLY, multiplies=True, gives=causal_conv_sizes
    ),
    # Elements
    "Add": Known(elementwise, Rider.AFFINE, carries=_SUM, is_arithmetic=True, gives=spread),
    "Sum": Known(elementwise, carries=_SUM, is_arithmetic=True, gives=spread),
    **_each("Div Mul Sub", Known(elementwise, Rider.AFFINE, is_arithmetic=True, gives=spread)),
    **_each(
        "DequantizeLinear QuantizeLinear",
        Known(elementwise, Rider.WIDTH, is_arithmetic=True, gives=same),
    ),
    **_each(
        "Abs Acos Acosh And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr "
        "BitwiseXor Ceil Cos Cosh CumProd CumSum DynamicQuantizeLinear Equal Erf Exp Floor Greater "
        "GreaterOrEqual IsInf IsNaN Less LessOrEqual Log Max Mean Min Mod Neg Not Or Pow "
        "Reciprocal Round Sign Sin Sinh Sqrt Tan Where Xor",
        Known(elementwise, is_arithmetic=True),
    ),
    **_each(
        "Celu Clip Elu Gelu HardSigmoid HardSwish LeakyRelu Mish PRelu Relu Selu Shrink Sigmoid "
        "Softplus Softsign Swish Tanh ThresholdedRelu",
        Known(elementwise, Rider.ACTIVATION, gives=same),
    ),
    **_each("RotaryEmbedding SwiGLU", Known(elementwise, gives=same)),
    **_each(
        "ai.onnx.ml::Binarizer ai.onnx.ml::Imputer ai.onnx.ml::Normalizer ai.onnx.ml::Scaler",
        Known(elementwise, gives=same),
    ),
    **_each("Resize Upsample", Known(resize)),
    "com.microsoft.nchwc::Upsample": Known(resize, gives=scaled),
    **_each("Hardmax LogSoftmax Softmax", Known(softmax, gives=same)),
    "BatchNormalization": Known(channel_norm, Rider.AFFINE),
    "LRN": Known(channel_norm),
    **_each(
        "GroupNormalization InstanceNormalization LayerNormalization RMSNormalization",
        Known(layer_norm, gives=same),
    ),
    # Tables and sequences
    "Gather": Known(gather, weights=(0,)),
    **_each("GRU LSTM RNN", Known(recurrent, multiplies=True, weights=(1, 2, 3))),
}
"""By kind; an operator that is not here is skipped, and listed as that."""

NO_PRODUCTS = words(
    "AffineGrid Bernoulli BitCast BlackmanWindow CenterCropPad Col2Im Compress ConcatFromSequence "
    "DFT Det EyeLike GatherElements GatherND GridSample HammingWindow HannWindow ImageDecoder "
    "LpNormalization MaxRoiPool MaxUnpool MeanVarianceNormalization MelWeightMatrix Multinomial "
    "NegativeLogLikelihoodLoss NonMaxSuppression NonZero OneHot Optional OptionalGetElement "
    "OptionalHasElement RandomNormal RandomNormalLike RandomUniform RandomUniformLike "
    "RegexFullMatch ReverseSequence RoiAlign STFT Scatter ScatterElements ScatterND SequenceAt "
    "SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength "
    "SoftmaxCrossEntropyLoss SplitToSequence StringConcat StringNormalizer StringSplit "
    "TensorScatter TfIdfVectorizer TopK Trilu Unique"
)
"""Operators that are skipped, but whatever they read is not multiplied as matrices."""

HIDDEN_PRODUCTS = words(
    "ai.onnx.ml::SVMClassifier ai.onnx.ml::SVMRegressor com.microsoft::EPContext "
    "com.microsoft::MatMulFpQ4 com.microsoft::Snpe"
)
"""Operators that are skipped and multiply, whatever their operands look like."""
