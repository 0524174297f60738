"""What does attention cost where a file has it as one operator?

Scores of each query with each key, their softmax, and the weighted sum of the values: two products
for every head, of as many heads as there are queries' (several may read the same keys). A mask
saves nothing. Keys of steps before may lie in a buffer that new ones are written into (past and
present share it): its length is no number of keys. Source: the definitions of ONNX's `Attention`
(operator set 23) and of ONNX Runtime's (ContribOperators.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from prema_gym.errors import ConfigError
from prema_gym.networks.importers.onnx_graph.layers import Pass, Product
from prema_gym.networks.importers.onnx_graph.model import Graph, Operator, Shape
from prema_gym.networks.importers.onnx_graph.operands import (
    Layers,
    UnsupportedError,
    input_shape,
    integer,
)
from prema_gym.networks.layers import Linear
from prema_gym.networks.pointwise import Softmax
from prema_gym.networks.tensor import Tensor


@dataclass(frozen=True)
class _Heads:
    """The sizes of one attention.

    Attributes:
        batch: Items.
        heads: Heads of the queries.
        stored: Heads of the keys and values.
        queries: Places that ask.
        keys: Places that are asked.
        width: Elements of a query and a key.
        value_width: Elements of a value.
        is_split: Whether heads are an axis of the result.
        buffer: Places that are handed on, if that is more than are asked.
    """

    batch: int
    heads: int
    stored: int
    queries: int
    keys: int
    width: int
    value_width: int
    is_split: bool = False
    buffer: int = 0

    def layers(self, name: str) -> Layers:
        """The two products and the softmax between them."""
        count, places = self.batch * self.heads, self.queries * self.keys
        scores = Product(
            f"{name}/scores", rows=self.queries, depth=self.width, columns=self.keys, count=count
        )
        context = Product(
            f"{name}/context",
            rows=self.queries,
            depth=self.keys,
            columns=self.value_width,
            count=count,
        )
        return scores, Softmax(f"{name}/softmax", Tensor((count * places,))), context

    def results(self) -> tuple[Shape, ...]:
        """The result, then all keys and all values."""
        joined = (self.batch, self.queries, self.heads * self.value_width)
        split = (self.batch, self.heads, self.queries, self.value_width)
        kept = (self.batch, self.stored, max(self.keys, self.buffer))
        return (
            split if self.is_split else joined,
            (*kept, self.width),
            (*kept, self.value_width),
        )


Reader = Callable[[Graph, Operator], _Heads]


def attention(graph: Graph, operator: Operator, name: str) -> Layers:
    """ONNX's own, and those of ONNX Runtime that read queries, keys and values."""
    found = _READERS[operator.kind](graph, operator)
    layers = found.layers(name)
    if integer(operator, "do_rotary", 0):
        turned = found.batch * found.queries * (found.heads + found.stored) * found.width
        layers = (Pass(f"{name}/rotary", Tensor((turned,)), results=turned, steps=2), *layers)
    return layers


def attention_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """Of the result, and of the keys and values that are handed on."""
    return _READERS[operator.kind](graph, operator).results()


def projected_attention(graph: Graph, operator: Operator, name: str) -> Layers:
    """Queries, keys and values are first made of the input, by one product with weights."""
    batch, places, features = input_shape(graph, operator, 0, least=3, most=3)
    _, columns = input_shape(graph, operator, 1, least=2, most=2)
    project = Linear(
        f"{name}/project",
        Tensor((batch * places, features)),
        out_features=columns,
        bias=operator.has_input(2),
    )
    return (project, *_projected(graph, operator).layers(name))


def projected_sizes(graph: Graph, operator: Operator) -> Sequence[Shape]:
    """Of the result, and of the keys and values together."""
    found = _projected(graph, operator)
    result, keys, _ = found.results()
    return result, (2, *keys)


def _projected(graph: Graph, operator: Operator) -> _Heads:
    batch, places, _ = input_shape(graph, operator, 0, least=3, most=3)
    _, columns = input_shape(graph, operator, 1, least=2, most=2)
    heads = _count(operator, "num_heads")
    widths = operator.attributes.get("qkv_hidden_sizes") or [columns // 3] * 3
    if not isinstance(widths, list) or len(widths) != 3 or sum(widths) != columns:
        raise ConfigError(f"qkv_hidden_sizes {widths} do not fit {columns} columns of weights")
    width, value_width = _share(widths[0], heads), _share(widths[2], heads)
    found = _Heads(batch, heads, heads, places, places, width, value_width)
    return _with_past(graph, operator, found)


def _own(graph: Graph, operator: Operator) -> _Heads:
    """Heads are an axis, or lie side by side in the features."""
    query = input_shape(graph, operator, 0, least=3, most=4)
    if len(query) == 4:
        batch, heads, queries, width = query
        _, stored, keys, _ = input_shape(graph, operator, 1, least=4, most=4)
        value_width = input_shape(graph, operator, 2, least=4, most=4)[3]
    else:
        heads, stored = _count(operator, "q_num_heads"), _count(operator, "kv_num_heads")
        batch, queries, features = query
        keys = input_shape(graph, operator, 1, least=3, most=3)[1]
        width = _share(features, heads)
        value_width = _share(input_shape(graph, operator, 2, least=3, most=3)[2], stored)
    found = _Heads(batch, heads, stored, queries, keys, width, value_width, len(query) == 4)
    return _with_past(graph, operator, found)


def _multi_head(graph: Graph, operator: Operator) -> _Heads:
    """Queries, keys and values apart, or packed into one tensor behind the heads."""
    heads = _count(operator, "num_heads")
    query = input_shape(graph, operator, 0, least=3, most=5)
    if len(query) == 5:  # batch, places, heads, 3, width
        batch, queries, _, _, width = query
        return _with_past(
            graph, operator, _Heads(batch, heads, heads, queries, queries, width, width)
        )
    batch, queries, features = query[0], query[1], query[-1]
    width = _share(features, heads)
    key = input_shape(graph, operator, 1, least=3, most=5)
    if len(key) == 5:  # batch, places, heads, 2, width
        keys, value_width = key[1], key[4]
    elif len(key) == 4:  # heads are an axis: keys of another network
        keys = key[2]
        value_width = input_shape(graph, operator, 2, least=4, most=4)[3]
    else:
        keys = key[1]
        value_width = _share(input_shape(graph, operator, 2, least=3, most=3)[2], heads)
    found = _Heads(batch, heads, heads, queries, keys, width, value_width)
    return _with_past(graph, operator, found)


def _grouped(graph: Graph, operator: Operator) -> _Heads:
    """Fewer heads of keys than of queries; all three may be packed side by side."""
    if integer(operator, "sliding_window_cache", 0):
        raise UnsupportedError(f"{operator.kind} (sliding_window_cache)")
    heads, stored = _count(operator, "num_heads"), _count(operator, "kv_num_heads")
    batch, queries, features = input_shape(graph, operator, 0, least=3, most=3)
    width, keys = _share(features, heads), queries
    if operator.has_input(1):
        keys = input_shape(graph, operator, 1, least=3, most=3)[1]
    else:
        width = _share(features, heads + 2 * stored)
    found = _Heads(batch, heads, stored, queries, keys, width, width)
    return _with_past(graph, operator, found)


@dataclass(frozen=True)
class _Past:
    """Where an operator has the keys of the steps before.

    Attributes:
        keys: The input that holds them, their places its last axis but one.
        number: The input that says how many there are, if it has one.
        is_total: Whether that number counts the new ones as well.
    """

    keys: int
    number: int | None = None
    is_total: bool = False


_PAST = {
    "Attention": _Past(4),
    "com.microsoft::Attention": _Past(4, number=6),
    "com.microsoft::QAttention": _Past(8),
    "com.microsoft::MultiHeadAttention": _Past(6, number=8),
    "com.microsoft::GroupQueryAttention": _Past(3, number=6, is_total=True),
}


def _with_past(graph: Graph, operator: Operator, found: _Heads) -> _Heads:
    """With the keys of the steps before, if there are any.

    Raises:
        ConfigError: There is said to be another number than there can be.
    """
    past = _PAST[operator.kind]
    if not operator.has_input(past.keys):
        return found
    room = input_shape(graph, operator, past.keys, least=4, most=5)[-2]
    keys = _said(graph, operator, past, found.keys)
    if keys is None and _is_shared(graph, operator, room):
        return replace(found, keys=room)
    if keys is None:
        return replace(found, keys=found.keys + room)
    if not found.keys <= keys <= found.keys + room:
        raise ConfigError(f"{keys} keys cannot be {found.keys} new ones and up to {room} before")
    return replace(found, keys=keys, buffer=room)


def _said(graph: Graph, operator: Operator, past: _Past, new: int) -> int | None:
    """How many keys there are by the number that the operator reads, if it is known."""
    if past.number is None or not operator.has_input(past.number):
        return None
    number = graph.values.get(operator.inputs[past.number])
    if number is None or number.size != 1:
        return None
    return int(number.flat[0]) + (0 if past.is_total else new)


def _is_shared(graph: Graph, operator: Operator, room: int) -> bool:
    """Whether new keys are written among those before: what is handed on is no longer."""
    if integer(operator, "past_present_share_buffer", 0):
        return True
    present = graph.shapes.get(operator.outputs[1]) if len(operator.outputs) > 1 else None
    return present is not None and len(present) > 1 and present[-2] == room


def key_numbers(kind: str) -> tuple[int, ...]:
    """Which inputs of an attention say how many keys there are."""
    number = _PAST[kind].number
    return () if number is None else (number,)


def buffer_note(graph: Graph, operator: Operator) -> str:
    """What was assumed of how many keys there are; may be empty."""
    past = _PAST[operator.kind]
    if not operator.has_input(past.keys) or _said(graph, operator, past, 0) is not None:
        return ""
    room = input_shape(graph, operator, past.keys, least=4, most=5)[-2]
    if not _is_shared(graph, operator, room):
        return ""
    kind = operator.kind.rpartition(":")[2]
    return f"{kind}: the keys in its buffer are known only when it runs; taken as full, {room}"


def _count(operator: Operator, name: str) -> int:
    """A number of heads.

    Raises:
        UnsupportedError: It is not given.
    """
    count = integer(operator, name, 0)
    if count < 1:
        raise UnsupportedError(f"{operator.kind} (without {name})")
    return count


def _share(features: int, heads: int) -> int:
    """Features of one head."""
    if features % heads:
        raise ConfigError(f"{features} features cannot be shared by {heads} heads")
    return features // heads


_READERS: dict[str, Reader] = {
    "Attention": _own,
    "com.microsoft::MultiHeadAttention": _multi_head,
    "com.microsoft::GroupQueryAttention": _grouped,
}
