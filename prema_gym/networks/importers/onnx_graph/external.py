"""Which lists of sizes does an ONNX file keep in a file beside it? They are read if it is there.

Of weights no value is ever looked at, so theirs may be missing; but an exporter that moves every
stored tensor out moves the shape of a `Reshape`, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prema_gym.networks.importers.onnx_graph.protos import is_short, subgraphs

if TYPE_CHECKING:
    from onnx import GraphProto, TensorProto


def fetch_short(graph: GraphProto, folder: Path) -> list[str]:
    """Put short external tensors into the graph, in place; one that cannot be read stays outside.

    Args:
        graph: The graph, and those in its operators.
        folder: Where the file of the graph lies; nothing outside it is opened.

    Returns:
        A line for each list of whole numbers that is not there, for the reader of an error.
    """
    from onnx import TensorProto

    missing = []
    for tensor in _stored(graph):
        if tensor.data_location == TensorProto.EXTERNAL and is_short(tensor):
            data = _data(tensor, folder)
            if data is None:
                if tensor.data_type in (TensorProto.INT32, TensorProto.INT64):
                    missing.append(f"{tensor.name!r} lies in another file, which cannot be read")
            else:
                tensor.raw_data = data
                tensor.data_location = TensorProto.DEFAULT
                tensor.ClearField("external_data")
    return missing


def _stored(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))
        for inner in subgraphs(node):
            yield from _stored(inner)


def _data(tensor: TensorProto, folder: Path) -> bytes | None:
    """The bytes of a tensor; None if they are not there."""
    from onnx import helper

    entries = {entry.key: entry.value for entry in tensor.external_data}
    try:
        size = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        length = math.prod(tensor.dims) * size
        home = folder.resolve()
        path = (home / entries["location"]).resolve()
        if not path.is_relative_to(home) or not path.is_file():
            return None
        with path.open("rb") as file:
            file.seek(int(entries.get("offset", 0)))
            data = file.read(length)
    except (KeyError, OSError, ValueError, OverflowError):
        return None
    return data if len(data) == length else None
