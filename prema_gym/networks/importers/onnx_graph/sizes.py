"""Which sizes do a graph's tensors have? ONNX's inference, and what it leaves open.

Where a batch was open, exporters write sizes as operators of their own: read a shape, pick some of
it, multiply, reshape. ONNX's inference follows the simplest of them. The others are run here, with
ONNX's reference implementation, and put into the graph as constants until no more become known.
Only short lists are worked out, never weights.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

Shape = tuple[int, ...]
"""Sizes of a tensor as the file has them, batch axis included."""

# A list of sizes is as long as a tensor has axes; twice that for padding.
_MOST_ELEMENTS = 64

SHAPE_READERS = frozenset({"Shape", "Size"})
"""Operators whose results depend on shapes alone, known before the network runs."""

# Results no longer than all operands together.
_SHORT = frozenset(
    (
        "Abs Add And Cast Ceil Concat Constant Div Equal Floor Gather Greater Identity Less Max "
        "Min Mod Mul Neg Not Or ReduceMax ReduceMin ReduceProd ReduceSum Reshape Slice Split Sqrt "
        "Squeeze Sub Transpose Unsqueeze Where " + " ".join(SHAPE_READERS)
    ).split()
)
# Results that may be of any length, so run only if that is known.
_LONG = frozenset({"ConstantOfShape", "Expand", "Range", "Tile"})


def infer(model: ModelProto) -> ModelProto:
    """The model with every size that can be told before it runs.

    Raises:
        onnx.shape_inference.InferenceError: The sizes contradict each other.
    """
    from onnx import inliner
    from onnx.shape_inference import infer_shapes

    _drop_weights(model.graph)
    if model.functions:  # operators that the file itself defines
        model = inliner.inline_local_functions(model)
    model = infer_shapes(model, data_prop=True)
    while _has_open_results(model.graph) and _fold(model):
        model = infer_shapes(model, data_prop=True)
    return model


def known_sizes(graph: GraphProto) -> dict[str, Shape]:
    """Sizes of every tensor whose sizes are all known, stored ones included."""
    found = {
        value.name: shape
        for value in (*graph.input, *graph.value_info, *graph.output)
        if (shape := _known_shape(value.type)) is not None
    }
    return found | {weight.name: tuple(weight.dims) for weight in graph.initializer}


def _known_shape(kind: TypeProto) -> Shape | None:
    """The sizes of a tensor type, None if one of them is open (or 0: nothing would be computed)."""
    if not kind.tensor_type.HasField("shape"):
        return None
    sizes = tuple(dim.dim_value for dim in kind.tensor_type.shape.dim)  # 0 where it is open
    return sizes if all(size > 0 for size in sizes) else None


def _is_short(weight: TensorProto) -> bool:
    return bool(math.prod(weight.dims) <= _MOST_ELEMENTS)


def _drop_weights(graph: GraphProto) -> None:
    """Long tensors keep their sizes only, so that large files are not copied again and again."""
    for weight in graph.initializer:
        if not _is_short(weight):
            weight.ClearField("raw_data")
            weight.ClearField("float_data")


def _has_open_results(graph: GraphProto) -> bool:
    known = known_sizes(graph)
    return any(name and name not in known for node in graph.node for name in node.output)


def _fold(model: ModelProto) -> int:
    """Turn operators whose results are known now into constants; returns how many."""
    from onnx import helper, numpy_helper

    graph, sizes, folded = model.graph, known_sizes(model.graph), 0
    stored = {weight.name: _value(weight) for weight in graph.initializer}
    values = {name: value for name, value in stored.items() if value is not None}
    for node in graph.node:
        value = _run(model, node, values, sizes)
        if value is not None and value.size <= _MOST_ELEMENTS:
            values[node.output[0]] = value
            if node.op_type != "Constant":
                tensor = numpy_helper.from_array(value)
                node.CopyFrom(
                    helper.make_node("Constant", [], node.output, name=node.name, value=tensor)
                )
                folded += 1
    return folded


def _value(weight: TensorProto) -> np.ndarray | None:
    """A short stored tensor; None for another, or one whose data are not in the file."""
    from onnx import TensorProto, numpy_helper

    if not _is_short(weight) or weight.data_location == TensorProto.EXTERNAL:
        return None
    try:
        return np.asarray(numpy_helper.to_array(weight))
    except (TypeError, ValueError):
        return None  # fewer data than its sizes say


def _run(
    model: ModelProto,
    node: NodeProto,
    values: dict[str, np.ndarray],
    sizes: dict[str, Shape],
) -> np.ndarray | None:
    """The result of an operator on sizes, None if it is none or cannot be told."""
    if node.domain not in ("", "ai.onnx") or len(node.output) != 1:
        return None
    if node.op_type in SHAPE_READERS and sizes.keys() >= set(node.input):
        # All that is read of it is its shape, so it need not be stored.
        operands = {name: np.broadcast_to(np.float32(0), sizes[name]) for name in node.input}
    elif all(name in values for name in node.input if name):
        operands = {name: values[name] for name in node.input if name}
    else:
        return None
    length = math.prod(sizes.get(node.output[0], (_MOST_ELEMENTS + 1,)))
    if node.op_type not in _SHORT and not (node.op_type in _LONG and length <= _MOST_ELEMENTS):
        return None
    if any(not _is_short(attribute.t) for attribute in node.attribute):
        return None
    return _evaluate(model, node, operands)


def _evaluate(
    model: ModelProto, node: NodeProto, operands: dict[str, np.ndarray]
) -> np.ndarray | None:
    """One operator, by ONNX's reference implementation."""
    from onnx import ValueInfoProto, helper
    from onnx.reference import ReferenceEvaluator

    read = [ValueInfoProto(name=name) for name in operands]
    written = [ValueInfoProto(name=node.output[0])]
    graph = helper.make_graph([node], "one operator", read, written)
    alone = helper.make_model(graph, opset_imports=model.opset_import)
    try:
        (value,) = ReferenceEvaluator(alone).run(None, operands)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None  # a malformed operator: its result stays open, and is reported as that
    return np.asarray(value)
