"""The array's cycles against SCALE-Sim 3.0.0, layer by layer: thirty products, three networks."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from prema_gym.hardware import NPUConfig, time_layer
from prema_gym.networks import Conv2d, Gemm, Layer, read_network
from prema_gym.networks.sizes import as_pair
from tests.hardware.scalesim import PYTHON, TABLES, Record, printed, recorded
from tests.networks.importer_files import layers

# Where both mean the same: nothing waits for memory, and all rows of a product are one M tile.
ANY_ROWS = 2**20
ROOMY = 2**40


def test_cycles_are_those_of_scalesim() -> None:
    """It prints the number of the last cycle, counted from 0; its outputs are rounded up."""
    compared = 0
    for record, config, layer in _layers(accumulator_rows=ANY_ROWS):
        _, weight_tiles = _product(config, layer)
        ours = time_layer(config, layer).cycles + weight_tiles * _rows_it_adds(layer)
        assert ours == record.total_cycles + 1, (record, layer)
        assert record.stall_cycles == 0
        compared += 1
    assert compared == 2 * 30 + 5 + 5 + 8


def test_accumulators_fill_the_array_once_for_each_m_tile() -> None:
    """Its accumulators take any number of rows, ours 2 048: a second M tile fills again."""
    more = {}
    for record, config, layer in _layers(accumulator_rows=NPUConfig().accumulator_rows):
        gemm, weight_tiles = _product(config, layer)
        m_tiles = math.ceil(gemm.m / config.accumulator_rows)
        refills = (m_tiles - 1) * weight_tiles * config.fill_cycles
        ours = time_layer(config, layer).cycles + weight_tiles * _rows_it_adds(layer)
        assert ours == record.total_cycles + 1 + refills, (record, layer)
        if refills:
            more[record.table, layer.name] = refills
    assert more == {("conv_nets_alexnet", "Conv1"): 3 * 382}


def test_outputs_it_rounds_up() -> None:
    rounded = {layer.name: _rows_it_adds(layer) for *_, layer in _layers() if _rows_it_adds(layer)}
    assert rounded == {"Conv1": 55 * 55 - 54 * 54}


@pytest.mark.heavy
@pytest.mark.parametrize("at", range(len(TABLES)))
def test_scalesim_still_prints_this(at: int) -> None:
    if not PYTHON.exists():
        pytest.skip("no SCALE-Sim: make scalesim")
    table, (rows, columns) = TABLES[at]
    before = [one for one in recorded() if one[:3] == (table.stem, rows, columns)]
    assert printed(table, (rows, columns)) == before


def _layers(accumulator_rows: int = ANY_ROWS) -> Iterator[tuple[Record, NPUConfig, Layer]]:
    """What SCALE-Sim printed for each layer, our machine for it, and the layer as we read it."""
    records = iter(recorded())
    for table, (rows, columns) in TABLES:
        config = NPUConfig(
            array_rows=rows,
            array_cols=columns,
            accumulator_rows=accumulator_rows,
            ubuf_bytes=ROOMY,
            dram_bytes_per_s=math.inf,
            dram_latency_cycles=0,
        )
        for index, layer in enumerate(layers(read_network(table).network)):
            record = next(records)
            assert record[:4] == (table.stem, rows, columns, index)
            yield record, config, layer
    assert next(records, None) is None


def _product(config: NPUConfig, layer: Layer) -> tuple[Gemm, int]:
    """The layer's product, and the weight tiles it is cut into."""
    (gemm,) = layer.work(1)
    assert isinstance(gemm, Gemm)
    return gemm, math.ceil(gemm.k / config.array_rows) * math.ceil(gemm.n / config.array_cols)


def _rows_it_adds(layer: Layer) -> int:
    """By how many rows a convolution's product grows where its output is rounded up."""
    if not isinstance(layer, Conv2d):
        return 0
    _, height, width = layer.output_shape
    sizes = zip(layer.input.shape[1:], as_pair(layer.kernel), as_pair(layer.stride), strict=True)
    return math.prod(math.ceil((size - k) / s) + 1 for size, k, s in sizes) - height * width
