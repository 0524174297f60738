"""Which operators are others by another name? What runtimes and quantisers write, as ONNX's own.

A runtime fuses a product with what follows it, a quantiser gives it scales and zero points. Here
they become the plain operators that they do the work of, before sizes are inferred. Scales and zero
points are applied while results drain, so they are left out. Source: ONNX Runtime's
ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.layouts import (
    BLOCKS,
    LAST,
    PLAIN_IN_BLOCKS,
    PLAIN_WITH_CHANNELS_LAST,
    from_blocks,
    to_blocks,
)
from prema_gym.networks.importers.onnx_graph.protos import (
    MICROSOFT,
    attribute_int,
    kind_of,
    name_of,
    replace_nodes,
)

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

_MS = f"{MICROSOFT}::"

# Products of quantised numbers: the plain one, and which inputs it has of theirs.
_QUANTISED: dict[str, tuple[str, tuple[int, ...]]] = {
    "QLinearConv": ("Conv", (0, 3, 8)),
    "QLinearMatMul": ("MatMul", (0, 3)),
    "ConvInteger": ("Conv", (0, 1)),
    "MatMulInteger": ("MatMul", (0, 1)),
    f"{_MS}QLinearConv": ("Conv", (0, 3, 8)),
    f"{_MS}QGemm": ("Gemm", (0, 3, 6)),
    f"{_MS}MatMulInteger16": ("MatMul", (0, 1)),
    f"{_MS}MatMulIntegerToFloat": ("MatMul", (0, 1)),
    f"{_MS}QOrderedMatMul": ("MatMul", (0, 2)),
    f"{_MS}DynamicQuantizeLSTM": ("LSTM", (0, 1, 2, 3, 4, 5, 6, 7)),
    f"{LAST}QLinearConv": ("Conv", (0, 3, 8)),
    f"{LAST}QLinearConvTranspose": ("ConvTranspose", (0, 3, 8)),
}

# The same for what is no product, and operators that only have another name.
_RENAMED: dict[str, tuple[str, tuple[int, ...]]] = {
    f"{_MS}QLinearAdd": ("Add", (0, 3)),
    f"{_MS}QLinearMul": ("Mul", (0, 3)),
    f"{_MS}QLinearSigmoid": ("Sigmoid", (0,)),
    f"{_MS}QLinearLeakyRelu": ("LeakyRelu", (0,)),
    f"{_MS}QLinearSoftmax": ("Softmax", (0,)),
    f"{_MS}QLinearAveragePool": ("AveragePool", (0,)),
    f"{_MS}QLinearGlobalAveragePool": ("GlobalAveragePool", (0,)),
    f"{_MS}QLinearWhere": ("Where", (0, 1, 4)),
    f"{_MS}QuantizeLinear": ("QuantizeLinear", (0, 1, 2)),
    f"{_MS}DequantizeLinear": ("DequantizeLinear", (0, 1, 2)),
    f"{_MS}Gelu": ("Gelu", (0,)),
    f"{_MS}QuickGelu": ("Gelu", (0,)),
    f"{_MS}GroupNorm": ("GroupNormalization", (0, 1, 2)),
    f"{_MS}NhwcMaxPool": ("MaxPool", (0,)),
    f"{_MS}RotaryEmbedding": ("RotaryEmbedding", (0, 2, 3)),
    f"{_MS}BiasAdd": ("Sum", (0, 2)),
    f"{_MS}BiasDropout": ("Sum", (0, 2)),
    f"{_MS}ConvTransposeWithDynamicPads": ("ConvTranspose", (0, 1, 3)),
    "SimplifiedLayerNormalization": ("RMSNormalization", (0, 1)),
    **{f"{BLOCKS}{kind}": (kind, (0,)) for kind in PLAIN_IN_BLOCKS},
    **{f"{LAST}{kind}": (kind, (0, 1, 2, 3, 4)) for kind in PLAIN_WITH_CHANNELS_LAST},
}
_SEVERAL = frozenset({"LSTM"})  # kinds whose further results are theirs by another name, too
_LAYOUT = ("channels_last", "activation", "activation_params")
_LAST = frozenset({f"{_MS}NhwcMaxPool", f"{_MS}NhwcFusedConv", f"{_MS}NhwcConv"})


def spell_out(graph: GraphProto) -> int:
    """Put ONNX's own operators for others that do the same, in place.

    Returns:
        How many quantised products there were.
    """
    quantised = sum(kind_of(node) in _QUANTISED for node in graph.node)
    nodes = [part for node in graph.node for part in _parts(graph, node)]
    replace_nodes(graph, nodes)
    return quantised


def is_spelled(kind: str) -> bool:
    """Whether operators of this kind are others by another name."""
    return kind in _QUANTISED or kind in _RENAMED or kind in _FUSED


def _parts(graph: GraphProto, node: NodeProto) -> list[NodeProto]:
    """The operators that do the work of one, the one itself if it has no other name."""
    kind = kind_of(node)
    other = _QUANTISED.get(kind) or _RENAMED.get(kind)
    if not node.output or not node.input:
        return [node]  # of which nothing is ever read, or which reads nothing
    if other is not None:
        inputs = [node.input[at] for at in other[1] if at < len(node.input)]
        found = list(_in_layout(_plain(node, other[0], inputs), kind))
    elif kind in _FUSED:
        found = list(_FUSED[kind](graph, node))
    else:
        return [node]
    for part in found:
        part.metadata_props.extend(node.metadata_props)
    return found


def _plain(node: NodeProto, kind: str, inputs: Sequence[str], domain: str = "") -> NodeProto:
    """A node under another name, its settings those that it has."""
    from onnx import NodeProto

    made = NodeProto(
        op_type=kind,
        domain=domain,
        name=name_of(node),
        input=_without_end(inputs),
        output=node.output if kind in _SEVERAL else node.output[:1],
        attribute=[a for a in node.attribute if a.name not in _LAYOUT],
    )
    if attribute_int(node, "channels_last", 0):
        made.attribute.add(name="channels_last", type=2, i=1)
    return made


def _without_end(inputs: Sequence[str]) -> list[str]:
    """Inputs less those left out at the end."""
    kept = [*inputs]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def _in_layout(node: NodeProto, kind: str) -> Iterator[NodeProto]:
    """A window's operator between two transpositions, if its channels are the last axis."""
    last = kind in _LAST or kind.startswith(LAST) or attribute_int(node, "channels_last", 0)
    kept = [a for a in node.attribute if a.name != "channels_last"]
    del node.attribute[:]
    node.attribute.extend(kept)
    if not last:
        yield node
        return
    (read, *others), (written,) = node.input, node.output
    yield _step("Transpose", node, [read], f"{written}/nchw in", perm=[0, 3, 1, 2])
    del node.input[:], node.output[:]
    node.input.extend([f"{written}/nchw in", *others])
    node.output.append(f"{written}/nchw")
    yield node
    yield _step("Transpose", node, [f"{written}/nchw"], written, perm=[0, 2, 3, 1])


def _step(
    kind: str, node: NodeProto, inputs: Sequence[str], output: str, perm: Sequence[int] = ()
) -> NodeProto:
    """A further operator, named after the one that it is a part of."""
    from onnx import helper

    name = f"{name_of(node)}/{kind.rpartition(':')[2]}"
    domain, _, plain = kind.rpartition("::")
    made = helper.make_node(plain, _without_end(inputs), [output], name=name, domain=domain)
    if perm:
        made.attribute.append(helper.make_attribute("perm", perm))
    return made


def _text(node: NodeProto, name: str) -> str:
    """A setting that is a text; empty if it is not given."""
    return next((a.s.decode(errors="replace") for a in node.attribute if a.name == name), "")


def _input(node: NodeProto, index: int) -> str:
    return str(node.input[index]) if index < len(node.input) else ""


Parts = Iterator["NodeProto"]


def _conv(graph: GraphProto, node: NodeProto) -> Parts:
    """A convolution, then perhaps a sum with another map, then perhaps an activation."""
    yield from _then(node, kind_of(node), "Conv", summand=_input(node, 3), inputs=(0, 1, 2))


def _gemm(graph: GraphProto, node: NodeProto) -> Parts:
    yield from _then(node, kind_of(node), "Gemm", inputs=(0, 1, 2))


def _matmul(graph: GraphProto, node: NodeProto) -> Parts:
    yield from _then(node, kind_of(node), f"{_MS}FusedMatMul", inputs=(0, 1))


def _then(
    node: NodeProto, kind: str, plain: str, *, inputs: Sequence[int], summand: str = ""
) -> Parts:
    """A product and what is fused with it, in order."""
    (result, *_), activation = node.output, _text(node, "activation")
    at, steps = result, []
    if activation:
        steps.append(_step(activation, node, [f"{result}/drained"], at))
        at = f"{result}/drained"
    if summand:
        steps.append(_step("Add", node, [f"{result}/product", summand], at))
        at = f"{result}/product"
    product = _plain(node, plain.rpartition(":")[2], [_input(node, place) for place in inputs])
    product.domain = plain.rpartition("::")[0]
    product.output[0] = at
    yield from _in_layout(product, kind)
    yield from reversed(steps)


def _stored_product(graph: GraphProto, node: NodeProto) -> Parts:
    """Weights of a few bits, packed: their true sizes are settings."""
    depth, columns = attribute_int(node, "K", 0), attribute_int(node, "N", 0)
    unpacked = f"{_input(node, 1)}/unpacked"
    if all(weight.name != unpacked for weight in graph.initializer):
        graph.initializer.add(name=unpacked, data_type=1, dims=[depth, columns])
    yield _step_named(node, "MatMul", [_input(node, 0), unpacked])


def _stored_experts(graph: GraphProto, node: NodeProto) -> Parts:
    """Experts whose weights have a few bits, packed; the rows of a matrix hold its inputs."""
    bits = attribute_int(node, "expert_weight_bits", 4)
    bits = {"fp8": 8, "fp4": 4, "nvfp4": 4, "wfp4afp8": 4}.get(_text(node, "quant_type"), bits)
    if bits not in (2, 4, 8):
        yield node  # unknown, so told as lost
        return
    sizes = {weight.name: [*weight.dims] for weight in graph.initializer}
    inputs = [_input(node, 0), _input(node, 1)]
    for at in (2, 5, 8):  # each before its scales and its bias
        packed, unpacked = _input(node, at), f"{_input(node, at)}/unpacked"
        if sizes.get(packed) and unpacked not in sizes:
            *before, last = sizes[packed]
            if last * 8 // bits >= 2**63:
                raise ConfigError(f"{packed!r} has a size of {last}: no tensor is so large")
            graph.initializer.add(name=unpacked, data_type=1, dims=[*before, last * 8 // bits])
        inputs += [unpacked if sizes.get(packed) else packed, _input(node, at + 2)]
    yield _plain(node, "MoE", inputs, MICROSOFT)


def _dynamic_product(graph: GraphProto, node: NodeProto) -> Parts:
    """Inputs are quantised as the network runs: a pass of its own."""
    (result, *_) = node.output
    parts = [f"{result}/{part}" for part in ("quantised", "scale", "zero")]
    quantise = _step("DynamicQuantizeLinear", node, [_input(node, 0)], parts[0])
    quantise.output.extend(parts[1:])
    yield quantise
    if bias := _input(node, 4):
        yield _step("MatMul", node, [parts[0], _input(node, 1)], f"{result}/product")
        yield _step("Add", node, [f"{result}/product", bias], result)
    else:
        yield _step_named(node, "MatMul", [parts[0], _input(node, 1)])


def _step_named(node: NodeProto, kind: str, inputs: Sequence[str], output: str = "") -> NodeProto:
    """One operator in place of another, under its name; its result is the first one."""
    step = _step(kind, node, inputs, output or node.output[0])
    step.name = name_of(node)
    return step


def _biased(kind: str) -> Callable[[GraphProto, NodeProto], Parts]:
    """A bias, then something else; without one just that."""

    def parts(graph: GraphProto, node: NodeProto) -> Parts:
        read, (result, *_) = _input(node, 0), node.output
        if bias := _input(node, 1):
            yield _step("Add", node, [read, bias], f"{result}/biased")
            read = f"{result}/biased"
        yield _step_named(node, kind, [read])

    return parts


def _product_gelu(graph: GraphProto, node: NodeProto) -> Parts:
    (result, *_) = node.output
    yield _step("MatMul", node, [_input(node, 0), _input(node, 1)], f"{result}/product")
    yield _step("Add", node, [f"{result}/product", _input(node, 2)], f"{result}/biased")
    yield _step("Gelu", node, [f"{result}/biased"], result)


def _skip_norm(kind: str) -> Callable[[GraphProto, NodeProto], Parts]:
    """A residual sum, which may be a result too, and its normalisation."""

    def parts(graph: GraphProto, node: NodeProto) -> Parts:
        total = node.output[3] if len(node.output) > 3 else ""
        total = total or f"{node.output[0]}/sum"
        yield _step("Add", node, [_input(node, 0), _input(node, 1)], total)
        yield _step_named(node, kind, [total, _input(node, 2)])

    return parts


def _embeddings(graph: GraphProto, node: NodeProto) -> Parts:
    """Words, places and segments looked up, added and normalised."""
    result, words = node.output[0], _input(node, 0)
    pairs = [(words, 2), (words, 3), (_input(node, 1), 4)]
    pairs = [(read, table) for read, table in pairs if read and _input(node, table)]
    found = [f"{result}/embedding {number}" for number in range(len(pairs))]
    for (read, table), written in zip(pairs, found, strict=True):
        yield _step("Gather", node, [_input(node, table), read], written)
    yield _step("Sum", node, found, f"{result}/sum")
    yield _step_named(node, "LayerNormalization", [f"{result}/sum", _input(node, 5)])


def _linear(graph: GraphProto, node: NodeProto) -> Parts:
    """A regression: one product, whose coefficients are a setting; a classifier's class first."""
    numbers = {one.name: one.floats for one in node.attribute}
    offsets, weights = numbers.get("intercepts", ()), f"{name_of(node)}/coefficients"
    rows = attribute_int(node, "targets", 0) or max(len(offsets), 1)
    depth = len(numbers.get("coefficients", ())) // rows
    graph.initializer.add(name=weights, data_type=1, dims=[depth, rows])
    result = node.output[-1]
    yield _step_named(node, "MatMul", [_input(node, 0), weights], result)
    if len(node.output) > 1:
        yield _step("ArgMax", node, [result], node.output[0])


def _concat(graph: GraphProto, node: NodeProto) -> Parts:
    """Each part has its own scale and zero point behind it."""
    yield _plain(node, "Concat", list(node.input)[2::3])


_FUSED: dict[str, Callable[[GraphProto, NodeProto], Parts]] = {
    f"{_MS}FusedConv": _conv,
    f"{_MS}NhwcFusedConv": _conv,
    f"{_MS}NhwcConv": _conv,
    f"{BLOCKS}Conv": _conv,
    f"{BLOCKS}ReorderInput": to_blocks,
    f"{BLOCKS}ReorderOutput": from_blocks,
    f"{_MS}FusedGemm": _gemm,
    f"{_MS}GemmFloat8": _gemm,
    "ai.onnx.ml::LinearClassifier": _linear,
    "ai.onnx.ml::LinearRegressor": _linear,
    f"{_MS}FusedMatMulActivation": _matmul,
    f"{_MS}TransposeMatMul": _matmul,
    f"{_MS}SparseToDenseMatMul": _matmul,
    f"{_MS}QLinearConcat": _concat,
    f"{_MS}MatMulNBits": _stored_product,
    f"{_MS}MatMulBnb4": _stored_product,
    f"{_MS}QMoE": _stored_experts,
    f"{_MS}DynamicQuantizeMatMul": _dynamic_product,
    f"{_MS}GemmFastGelu": _product_gelu,
    f"{_MS}BiasGelu": _biased("Gelu"),
    f"{_MS}FastGelu": _biased("Gelu"),
    f"{_MS}BiasSoftmax": _biased("Softmax"),
    f"{_MS}SkipLayerNormalization": _skip_norm("LayerNormalization"),
    f"{_MS}SkipSimplifiedLayerNormalization": _skip_norm("RMSNormalization"),
    f"{_MS}EmbedLayerNormalization": _embeddings,
}
