from __future__ import annotations

import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import Gemm, VectorWork


@pytest.mark.small
def test_gemm_counts_by_hand() -> None:
    gemm = Gemm("g", m=2, k=3, n=5, count=7)
    assert gemm.macs == 7 * 30
    assert gemm.streamed_elements == 6
    assert Gemm("g", 2, 3, 5, 7, input_elements=4).streamed_elements == 4
    assert gemm.weight_elements == 7 * 15
    assert gemm.output_elements == 7 * 10


@pytest.mark.small
def test_vector_ops_by_hand() -> None:
    assert VectorWork("v", elements=4, ops_per_element=3, input_elements=9, count=2).ops == 24


@pytest.mark.parametrize(
    ("field", "value"), [("m", 0), ("k", -1), ("n", 2.0), ("count", True), ("m", "3")]
)
def test_gemm_refuses_a_bad_size_and_says_which(field: str, value: object) -> None:
    sizes = {"m": 1, "k": 1, "n": 1, "count": 1} | {field: value}
    with pytest.raises(
        ConfigError, match=rf"^gemm 'g': {field} must be a whole number of at least 1, got"
    ):
        Gemm("g", **sizes)  # type: ignore[arg-type]


def test_vector_work_may_read_nothing_but_not_less() -> None:
    assert VectorWork("v", 1, 1, 0).input_elements == 0
    with pytest.raises(
        ConfigError, match="input_elements must be a whole number of at least 0, got -1"
    ):
        VectorWork("v", 1, 1, -1)


def test_work_needs_a_name() -> None:
    with pytest.raises(ConfigError, match="name must be a non-empty text"):
        Gemm("", 1, 1, 1)
