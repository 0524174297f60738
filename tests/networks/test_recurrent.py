from __future__ import annotations

import pytest

from prema_gym.errors import ConfigError
from prema_gym.networks import Gemm, GRUCell, LSTMCell, Tensor, VectorWork


@pytest.mark.small
def test_lstm_step_by_hand() -> None:
    """10 inputs and 6 units: gates 16 × 24; new c and h from 4 gate values and the old c."""
    cell = LSTMCell("lstm", Tensor((10,)), hidden=6)
    assert cell.work(3) == (
        Gemm("lstm/gates", 3, 16, 24),
        VectorWork("lstm/state", elements=36, ops_per_element=2, input_elements=90),
    )
    assert cell.macs == 16 * 24
    assert cell.weights == 16 * 24 + 24
    assert cell.output_shape == (6,)


@pytest.mark.small
def test_gru_step_by_hand() -> None:
    """10 inputs and 6 units: two gates 16 × 12, reset state, candidate 16 × 6, new state."""
    cell = GRUCell("gru", Tensor((10,)), hidden=6, bias=False)
    assert cell.work(3) == (
        Gemm("gru/gates", 3, 16, 12),
        VectorWork("gru/reset", elements=18, ops_per_element=1, input_elements=36),
        Gemm("gru/candidate", 3, 16, 6),
        VectorWork("gru/state", elements=18, ops_per_element=2, input_elements=54),
    )
    assert cell.macs == cell.weights == 16 * 18
    assert cell.output_shape == (6,)


@pytest.mark.parametrize("cell", [LSTMCell, GRUCell])
def test_a_cell_takes_one_step_at_a_time(cell: type[LSTMCell] | type[GRUCell]) -> None:
    with pytest.raises(ConfigError, match=r"one step's \(features,\), got \(7, 10\)"):
        cell("cell", Tensor((7, 10)), hidden=6)
    with pytest.raises(ConfigError, match="hidden must be a whole number of at least 1, got -6"):
        cell("cell", Tensor((10,)), hidden=-6)
