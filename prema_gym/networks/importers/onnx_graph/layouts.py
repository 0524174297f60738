"""Which operators does ONNX Runtime write in a layout of its own? What it saves fully optimised.

`com.microsoft.nchwc` keeps channels in blocks, filled up to a whole number of them, which the
weights show; `com.ms.internal.nhwc` has channels last. Source: ONNX Runtime's nchwc_transformer.cc
and nchwc_schema_defs.cc.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prema_gym.networks.importers.onnx_graph.protos import (
    PRIVATE,
    attribute_int,
    kind_of,
    name_of,
)

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

BLOCKS = "com.microsoft.nchwc::"
LAST = "com.ms.internal.nhwc::"

CHANNELS = "Channels"
"""An operator of ours: what it reads, with another number of channels; 0: the same."""

PLAIN_IN_BLOCKS = ("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool")
PLAIN_WITH_CHANNELS_LAST = (
    *PLAIN_IN_BLOCKS,
    "BatchNormalization",
    "Conv",
    "ConvTranspose",
    "InstanceNormalization",
    "LRN",
    "LpPool",
)
"""Those that are ONNX's own but for the layout."""


def to_blocks(graph: GraphProto, node: NodeProto) -> Iterator[NodeProto]:
    """Channels are put into blocks; how many there are then, the weights behind say."""
    (read, *_), (written, *_) = node.input, node.output
    if attribute_int(node, "channels_last", 0):
        yield _node("Transpose", node, read, f"{written}/nchw", perm=[0, 3, 1, 2])
        read = f"{written}/nchw"
    yield _node(CHANNELS, node, read, written, values=[_wanted(graph, written)])


def from_blocks(graph: GraphProto, node: NodeProto) -> Iterator[NodeProto]:
    """Channels leave their blocks, the filling is dropped."""
    (read, *_), (written, *_) = node.input, node.output
    last = attribute_int(node, "channels_last", 0)
    inner = f"{written}/nchw" if last else written
    yield _node(CHANNELS, node, read, inner, values=[attribute_int(node, "channels", 0)])
    if last:
        yield _node("Transpose", node, inner, written, perm=[0, 2, 3, 1])


def _wanted(graph: GraphProto, tensor: str) -> int:
    """Channels that the convolutions expect which read a tensor; 0 if none does."""
    sizes = {weight.name: tuple(weight.dims) for weight in graph.initializer}
    for node in graph.node:
        if kind_of(node) == f"{BLOCKS}Conv" and list(node.input)[:1] == [tensor]:
            weights = sizes.get(node.input[1], ()) if len(node.input) > 1 else ()
            if len(weights) > 1:
                return attribute_int(node, "group", 1) * int(weights[1])
    return 0


def _node(kind: str, node: NodeProto, read: str, written: str, **own: Any) -> NodeProto:  # noqa: ANN401
    from onnx import helper

    domain = PRIVATE if kind == CHANNELS else ""
    name = f"{name_of(node)}/{kind}"
    attributes: dict[str, Any] = dict(own)
    return helper.make_node(kind, [read], [written], name=name, domain=domain, **attributes)
