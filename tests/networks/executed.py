"""How many multiply-accumulates does a graph need, by what its operators read and wrote?

Nothing here knows the importer: an execution is a list of what ran, with the sizes of the arrays,
and a formula for each kind of product says what that was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

Shape = Sequence[int]


@dataclass(frozen=True)
class Ran:
    """One operator that ran once: its kind, the sizes that it read and wrote, its settings."""

    kind: str
    read: Sequence[Shape]
    wrote: Sequence[Shape]
    settings: Mapping[str, Any]


def executed_macs(ran: Sequence[Ran]) -> int:
    return sum(_COUNTS[one.kind](one) for one in ran if one.kind in _COUNTS)


def reference_run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Ran]:
    """Execute a model with ONNX's reference implementation, its inner graphs included."""
    found: list[Ran] = []
    evaluator = ReferenceEvaluator(model)
    for one in _nodes(evaluator):
        _watch(one, found)
    evaluator.run(None, dict(feeds))
    return found


def _nodes(evaluator: Any) -> Iterator[Any]:
    """Every operator of an evaluator, and of those in it."""
    for one in evaluator.rt_nodes_:
        yield one
        for value in list(vars(one).values()):
            if hasattr(value, "rt_nodes_"):
                yield from _nodes(value)


def _watch(one: Any, found: list[Ran]) -> None:
    """Note each time that an operator runs."""
    plain = one.run
    settings = {a.name: onnx.helper.get_attribute_value(a) for a in one.onnx_node.attribute}

    def run(*arrays: Any, **more: Any) -> Any:
        results = plain(*arrays, **more)
        sizes = [np.shape(array) for array in arrays]
        wrote = [np.shape(array) for array in results]
        found.append(Ran(one.onnx_node.op_type, sizes, wrote, settings))
        return results

    one.run = run


def _filters(one: Ran) -> int:
    """Each result is a sum over all that its filter holds."""
    weights = one.read[3 if one.kind == "QLinearConv" else 1]
    return math.prod(one.wrote[0]) * math.prod(weights[1:])


def _scattered(one: Ran) -> int:
    return math.prod(one.read[0]) * math.prod(one.read[1][1:])


def _summed(one: Ran) -> int:
    """Each result is a sum along one axis; all of it together reads the left operand whole."""
    rows, columns = one.wrote[0]
    return math.prod(one.read[0]) * columns if rows else 0


def _matmul(one: Ran) -> int:
    transposed = one.settings.get("transA")
    return math.prod(one.wrote[0]) * one.read[0][-2 if transposed else -1]


def _einsum(one: Ran) -> int:
    """As many as there are values of all letters together."""
    text = one.settings["equation"]
    terms = (text.decode() if isinstance(text, bytes) else text).split("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, one.read, strict=True):
        letters = term.replace("...", "ABCDEF"[: len(shape) - len(term.replace("...", ""))])
        sizes |= dict(zip(letters, shape, strict=True))
    return math.prod(sizes.values())


def _regression(one: Ran) -> int:
    return math.prod(one.read[0]) * math.prod(one.wrote[-1]) // one.read[0][0]


def _gates(one: Ran) -> int:
    length, batch, _ = one.read[0]
    return length * batch * (math.prod(one.read[1]) + math.prod(one.read[2]))


def _packed(one: Ran) -> int:
    return math.prod(one.read[0]) * int(one.settings["N"])


def _attends(one: Ran) -> int:
    """Queries × keys × (what is compared + what is summed), for all heads together."""
    query, key, value = one.read[:3]
    keys = key[-2]
    if len(query) == 4:
        heads = query[0] * query[1] * query[2]
        return heads * keys * (query[3] + value[3])
    past = next((shape[-2] for shape in one.read[3:] if len(shape) == 4), 0)
    width = 2 * query[2]  # keys and values of one size in all our cases
    return query[0] * query[1] * (keys + past) * width


def _projects(one: Ran) -> int:
    batch, places, features = one.read[0]
    columns = one.read[1][1]
    return batch * places * (features * columns + 2 * places * columns // 3)


def _routed(one: Ran) -> int:
    """Each token meets all that an expert holds, for each expert that it chooses."""
    tokens, bits = math.prod(one.read[0][:-1]), int(one.settings.get("expert_weight_bits", 8))
    experts = one.read[1][-1]
    held = sum(math.prod(shape) for shape in one.read[2:] if len(shape) == 3)
    return tokens * int(one.settings["k"]) * held // experts * 8 // bits


def _remembers(one: Ran) -> int:
    """A state is written and asked at each token; a delta rule asks it once more."""
    batch, heads, width, value_width = one.wrote[1]
    length = one.read[0][1]
    asked = max(int(one.settings["q_num_heads"]), heads) + heads
    asked += heads * (b"delta" in one.settings["update_rule"])
    return batch * length * asked * width * value_width


_COUNTS: dict[str, Callable[[Ran], int]] = {
    **dict.fromkeys(("Conv", "FusedConv", "QLinearConv", "ConvInteger", "DeformConv"), _filters),
    **dict.fromkeys(("ConvTranspose", "ConvTransposeWithDynamicPads"), _scattered),
    **dict.fromkeys(("LinearRegressor", "LinearClassifier"), _regression),
    **dict.fromkeys(("Gemm", "FusedGemm", "QGemm"), _summed),
    **dict.fromkeys(
        ("MatMul", "FusedMatMul", "MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul"),
        _matmul,
    ),
    "Einsum": _einsum,
    **dict.fromkeys(("RNN", "GRU", "LSTM", "DynamicQuantizeLSTM"), _gates),
    "MatMulNBits": _packed,
    **dict.fromkeys(("MultiHeadAttention", "GroupQueryAttention"), _attends),
    **dict.fromkeys(("MoE", "QMoE"), _routed),
    "LinearAttention": _remembers,
    "CausalConvWithState": _filters,
    "Attention": lambda one: _projects(one) if len(one.read[1]) == 2 else _attends(one),
}
