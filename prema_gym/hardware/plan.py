"""Which tiles does a layer run? Those of its works, each product in the order that is quickest.

Unit of time: cycles. Source: fidelity.md, "Reuse on chip".
"""

from __future__ import annotations

from functools import lru_cache

from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.pipeline import PacedRun, pace
from prema_gym.hardware.reuse import Order, orders
from prema_gym.hardware.tiles import TileRun, gemm_runs, merged, repeated, vector_runs
from prema_gym.networks.layers import Layer
from prema_gym.networks.work import Gemm, Work


def layer_tiles(config: NPUConfig, layer: Layer, batch: int) -> list[PacedRun]:
    """Cut one layer into tiles, and give each its time.

    Args:
        config: The machine.
        layer: The layer; its works follow each other, each ``count`` times.
        batch: Inputs processed together, at least 1.

    Returns:
        Runs in the order of execution, equal neighbours merged.

    Raises:
        ConfigError: ``batch`` is not a positive integer, or a work needs too many runs.
    """
    return pace(config, merged(run for work in layer.work(batch) for run in _runs(config, work)))


def work_tiles(config: NPUConfig, work: Work) -> list[PacedRun]:
    """The same for a work that is alone in its layer."""
    return pace(config, _runs(config, work))


@lru_cache(maxsize=4096)
def best_order(config: NPUConfig, gemm: Gemm) -> Order:
    """The quickest order of a product alone; of several the one that moves least, then the first.

    The time of each order falls with the bandwidth, so that of the quickest does.
    """
    choices = orders(config, gemm)
    return choices[0] if len(choices) == 1 else min(choices, key=lambda o: _cost(config, gemm, o))


def _cost(config: NPUConfig, gemm: Gemm, order: Order) -> tuple[int, int]:
    cycles = moved = 0
    for paced in pace(config, gemm_runs(config, gemm, order)):
        cycles += paced.run.groups * paced.group_cycles
        moved += paced.run.groups * paced.run.loaded_bytes
    return cycles, moved


def _runs(config: NPUConfig, work: Work) -> list[TileRun]:
    """The tiles of one work, with its repetitions."""
    if isinstance(work, Gemm):
        once = gemm_runs(config, work, best_order(config, work))
    else:
        once = vector_runs(config, work)
    return repeated(work.name, once, work.count)
