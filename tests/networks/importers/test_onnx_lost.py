"""Work that hides: in packed weights, in settings, in operators that hold a whole network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from prema_gym.errors import ConfigError
from prema_gym.networks import read_network
from tests.networks.importer_files import node, write_graph

PRODUCT = node("MatMul", "x w", "m")
SPARSE = helper.make_sparse_tensor(
    helper.make_tensor("values", TensorProto.FLOAT, [1], [1.0]),
    helper.make_tensor("places", TensorProto.INT64, [1], [100]),
    [64, 64],
)


def write(folder: Path, one: onnx.NodeProto, stored: int = 0) -> Path:
    """5 × 8 · 8 × 8, then an operator that is not known."""
    weights = {"w": (8, 8), **({"u": (stored,)} if stored else {})}
    path = write_graph(folder / "g.onnx", [PRODUCT, one], {"x": (5, 8)}, weights)
    model = onnx.load(path, load_external_data=False)
    for domain in ("com.microsoft", "ai.onnx.ml"):
        model.opset_import.add(domain=domain, version=1)
    path.write_bytes(model.SerializeToString())
    return path


def test_packed_weights_are_lost_with_their_share(tmp_path: Path) -> None:
    """512 weights for 8 inputs are 64 columns: 5 × 8 × 64 products beside 5 × 8 × 8."""
    path = write(tmp_path, node("Packed", "m u", "y", domain="mine"), stored=512)
    with pytest.raises(ConfigError, match=r"work lost: about 88.9 % of all MACs; --lenient"):
        read_network(path)
    assert read_network(path, lenient=True).network.macs() == 5 * 8 * 8


@pytest.mark.parametrize("stored", [1, 5, 8, 64])
def test_a_value_for_each_place_is_a_scale(stored: int, tmp_path: Path) -> None:
    path = write(tmp_path, node("Snake", "m u", "y", domain="mine"), stored=stored)
    assert read_network(path).notes[-1].endswith("1 of 2 operators skipped (50 %): 1 mine::Snake")


@pytest.mark.parametrize(
    ("domain", "kind", "settings"),
    [
        ("mine", "Op", {"weight": numpy_helper.from_array(np.ones((64, 64), np.float32))}),
        ("mine", "Op", {"weight": SPARSE}),
        ("mine", "Engine", {"code": b"\0" * 5000}),
        ("com.microsoft", "EPContext", {"embed_mode": 0, "ep_cache_context": "network.bin"}),
        ("ai.onnx.ml", "SVMRegressor", {"support_vectors": [1.0] * 16, "n_supports": 2}),
    ],
    ids=["tensor", "sparse tensor", "code", "network in a file", "few support vectors"],
)
def test_what_lies_in_settings_is_lost(
    domain: str, kind: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    path = write(tmp_path, node(kind, "m", "y", domain=domain, **settings))
    with pytest.raises(ConfigError, match=rf"an unknown number of MACs in 1 {domain}::{kind}"):
        read_network(path)
    assert read_network(path, lenient=True).network.macs() == 5 * 8 * 8
