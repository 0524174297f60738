"""Which sizes do a graph's tensors have? ONNX's inference, and what it leaves open.

Where a batch was open, exporters write sizes as operators of their own: read a shape, pick some of
it, multiply, reshape. ONNX's inference follows the simplest of them. The others are run here, with
ONNX's reference implementation, and put into the graph as constants until no more become known;
what stands behind a branch or in a loop then joins them. Only short lists are worked out, never
weights.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph import control
from prema_gym.networks.importers.onnx_graph.model import (
    SHAPE_READERS,
    SHORT_RESULTS,
    Graph,
    Shape,
)
from prema_gym.networks.importers.onnx_graph.operands import UnsupportedError
from prema_gym.networks.importers.onnx_graph.operators import OPERATORS
from prema_gym.networks.importers.onnx_graph.protos import (
    MOST_ELEMENTS,
    declare,
    is_short,
    kind_of,
    known_sizes,
    known_values,
    operator_of,
    understood,
)
from prema_gym.networks.importers.onnx_graph.spelling import spell_out

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_MOST_SIZE = 2**63 - 1  # that a file can hold

# Results that may be of any length, so run only if that is known.
_LONG = frozenset({"ConstantOfShape", "Expand", "Range", "Tile"})


def settle_sizes(model: ModelProto, weigh: control.Weigh) -> tuple[ModelProto, list[str], int]:
    """The model with every size that can be told before it runs, its branches and loops entered.

    Args:
        model: A model without functions.
        weigh: What operators cost, to compare branches.

    Returns:
        The model, notes on what was assumed, and how many products were quantised.

    Raises:
        ConfigError: The sizes contradict each other.
    """
    notes: list[str] = []
    quantised = spell_out(model.graph)
    while True:
        model = _inferred(model)
        values: dict[str, np.ndarray] = {}
        while _is_open(model.graph):
            folded, values = _fold(model)
            if not folded and not _give(model.graph):
                break
            model = _inferred(model)
        if not control.has_control(model.graph):
            return model, notes, quantised
        found = control.enter(model, values, weigh, force=False)
        if found is None:
            found = control.enter(model, values, weigh, force=True)
        if found is None:
            return model, notes, quantised
        notes += found
        quantised += spell_out(model.graph)


def _inferred(model: ModelProto) -> ModelProto:
    """The model with the sizes that ONNX's own inference finds."""
    from onnx.shape_inference import infer_shapes

    with understood():
        return infer_shapes(model, data_prop=True)


def _is_open(graph: GraphProto) -> bool:
    known = known_sizes(graph)
    open_results = (name and name not in known for node in graph.node for name in node.output)
    return control.has_control(graph) or any(open_results) or _has_open_numbers(graph)


def _has_open_numbers(graph: GraphProto) -> bool:
    """Whether an operator's cost depends on a number that may still become known."""
    wanted = {
        node.input[at]
        for node in graph.node
        if (known := OPERATORS.get(kind_of(node))) is not None
        for at in known.numbers
        if at < len(node.input) and node.input[at]
    }
    return bool(wanted) and not wanted <= known_values(graph).keys()


def _give(graph: GraphProto) -> int:
    """Write down the sizes of results that we know and ONNX does not; returns how many."""
    shapes, values = known_sizes(graph), known_values(graph)
    given: dict[str, Shape] = {}
    for node in graph.node:
        known = OPERATORS.get(kind_of(node))
        if known is None or known.gives is None or all(n in shapes for n in node.output if n):
            continue
        operator = operator_of(node)
        try:
            found = known.gives(Graph((operator,), shapes, frozenset(), values=values), operator)
        except (ConfigError, UnsupportedError):
            continue  # its price says what is wrong
        new = {
            name: shape
            for name, shape in zip(node.output, found, strict=False)
            if name and name not in shapes and all(0 <= size <= _MOST_SIZE for size in shape)
        }
        given |= new
        shapes |= new
    declare(graph, given)
    return len(given)


def _fold(model: ModelProto) -> tuple[int, dict[str, np.ndarray]]:
    """Turn operators whose results are known now into constants.

    Returns:
        How many, and what is known of short tensors.
    """
    from onnx import helper, numpy_helper

    graph, sizes, folded = model.graph, known_sizes(model.graph), 0
    values = known_values(graph)
    for node in graph.node:
        value = _run(model, node, values, sizes)
        if value is not None and value.size <= MOST_ELEMENTS:
            values[node.output[0]] = value
            if node.op_type != "Constant":
                tensor = numpy_helper.from_array(value)
                node.CopyFrom(
                    helper.make_node("Constant", [], node.output, name=node.name, value=tensor)
                )
                folded += 1
    return folded, values


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
        try:
            operands = {name: np.broadcast_to(np.float32(0), sizes[name]) for name in node.input}
        except ValueError:
            return None  # more elements than can be counted
    elif all(name in values for name in node.input if name):
        operands = {name: values[name] for name in node.input if name}
    else:
        return None
    length = math.prod(sizes.get(node.output[0], (MOST_ELEMENTS + 1,)))
    if node.op_type not in SHORT_RESULTS and not (
        node.op_type in _LONG and length <= MOST_ELEMENTS
    ):
        return None
    if any(not is_short(attribute.t) for attribute in node.attribute):
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
