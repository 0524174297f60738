"""How long does a layer or a network take alone, and what is the time spent on?

Sums the tiles that :mod:`prema_gym.hardware.pipeline` has timed; the profile lays out the very same
ones, so the total here is a task's isolated time. Unit of time: cycles, exact integers. Source:
fidelity.md, "Time of a layer".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from prema_gym.checks import whole
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.overlap import executed_phases
from prema_gym.hardware.pipeline import PacedRun
from prema_gym.hardware.plan import layer_tiles, work_tiles
from prema_gym.networks.layers import Layer
from prema_gym.networks.network import Network
from prema_gym.networks.work import Gemm


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Cycles, work and traffic of some tiles.

    ``cycles`` is the elapsed time: for every tile the longer of computing and moving what moves
    meanwhile, and what nothing hides. ``compute_cycles`` and ``memory_cycles`` count the two sides
    separately.
    """

    cycles: int
    compute_cycles: int  # array and vector unit
    vector_cycles: int  # the vector unit's part of compute_cycles
    memory_cycles: int  # transfers beside the computing, without exposed_cycles
    exposed_cycles: int  # memory latency, first load and last store of each layer
    macs: int  # as the network counts them; a depthwise convolution's run on the vector unit
    array_macs: int  # those on the array
    vector_ops: int  # lane operations of the vector unit
    bytes_moved: int  # between memory and chip
    buffer_bytes: int  # written to and read from UBUF and WBUF
    sums_bytes: int  # written to the accumulators, every K tile of every output tile
    array_pes: int
    clock_hz: int

    @property
    def stall_cycles(self) -> int:
        """Cycles in which nothing computes: ``cycles − compute_cycles``, never negative."""
        return self.cycles - self.compute_cycles

    @property
    def utilisation(self) -> float:
        """MACs per PE and cycle: 0 without GEMM work, 1 if every PE were busy all the time."""
        if self.cycles == 0:
            return 0.0
        return self.array_macs / (self.array_pes * self.cycles)

    @property
    def milliseconds(self) -> float:
        """Elapsed time in milliseconds."""
        return self.cycles * 1e3 / self.clock_hz


@dataclass(frozen=True, kw_only=True)
class LayerTiming(Timing):
    """One layer; every figure counts all ``repeat`` executions."""

    name: str
    repeat: int = 1


@dataclass(frozen=True, kw_only=True)
class NetworkTiming(Timing):
    """One network; every figure is the sum over ``layers``."""

    name: str
    batch: int
    layers: tuple[LayerTiming, ...]


_MACHINE_FIELDS = ("array_pes", "clock_hz")
# The figures that add up over tiles, layers and repetitions.
_SUMMED_FIELDS = tuple(f.name for f in fields(Timing) if f.name not in _MACHINE_FIELDS)


def time_gemm(config: NPUConfig, *, m: int, k: int, n: int) -> Timing:
    """Time one matrix product (m × k)·(k × n), alone in its layer.

    Args:
        config: The machine.
        m: Rows of the activations and of the result.
        k: Columns of the activations, rows of the weights.
        n: Columns of the weights and of the result.

    Raises:
        ConfigError: A size is below 1.
    """
    gemm = Gemm("gemm", m=m, k=k, n=n)
    return Timing(**_sums(work_tiles(config, gemm), gemm.macs), **_machine(config))


def time_layer(config: NPUConfig, layer: Layer, *, batch: int = 1) -> LayerTiming:
    """Time one execution of one layer.

    Args:
        config: The machine.
        layer: The layer.
        batch: Inputs processed together, at least 1.

    Raises:
        ConfigError: ``batch`` is not a positive integer.
    """
    return _time_layer(config, layer, batch, repeat=1)


def time_network(
    config: NPUConfig,
    network: Network,
    *,
    batch: int = 1,
    input_length: int = 1,
    output_length: int = 1,
) -> NetworkTiming:
    """Time one inference of a network, layer by layer.

    Args:
        config: The machine.
        network: The network.
        batch: Inputs processed together, at least 1.
        input_length: Input steps of a recurrent network; others ignore it. One step by default, as
            for :meth:`Network.macs`.
        output_length: Output steps, for a phase that repeats once for each; others ignore it.

    Returns:
        The sum and each layer; ``cycles`` is the isolated time, equal to
        ``build_profile(…).total_cycles(output_length)``.

    Raises:
        ConfigError: ``batch`` or a length is not a positive integer.
    """
    output_length = whole().check("output_length", output_length)
    layers = tuple(
        _time_layer(config, layer, batch, phase.steps(output_length))
        for phase in executed_phases(config, network, input_length)
        for layer in phase.layers
    )
    sums = {name: sum(getattr(layer, name) for layer in layers) for name in _SUMMED_FIELDS}
    return NetworkTiming(**sums, **_machine(config), name=network.name, batch=batch, layers=layers)


def _time_layer(config: NPUConfig, layer: Layer, batch: int, repeat: int) -> LayerTiming:
    once = _sums(layer_tiles(config, layer, batch), layer.macs * batch)
    sums = {name: value * repeat for name, value in once.items()}
    return LayerTiming(**sums, **_machine(config), name=layer.name, repeat=repeat)


def _machine(config: NPUConfig) -> dict[str, int]:
    return {"array_pes": config.array_rows * config.array_cols, "clock_hz": config.clock_hz}


def _sums(tiles: Sequence[PacedRun], macs: int) -> dict[str, int]:
    """Add up the tiles of one layer of ``macs`` MACs."""
    sums = dict.fromkeys(_SUMMED_FIELDS, 0)
    sums["macs"] = macs
    for paced in tiles:
        run = paced.run
        for count, slot in paced.slots:
            sums["cycles"] += count * slot.cycles
            sums["compute_cycles"] += count * slot.compute_cycles
            sums["vector_cycles"] += 0 if run.is_gemm else count * slot.compute_cycles
            sums["memory_cycles"] += count * slot.memory_cycles
            sums["exposed_cycles"] += count * slot.exposed_cycles
            sums["bytes_moved"] += count * (slot.moved_bytes + slot.exposed_bytes)
        sums["buffer_bytes"] += run.groups * (run.operand_bytes + run.output_bytes)
        sums["array_macs"] += run.groups * run.output_macs
        sums["vector_ops"] += run.groups * run.vector_ops
        sums["sums_bytes"] += run.groups * run.tiles * run.partial_bytes
    # A byte that is moved is written to a buffer or read from it by the transfer, too.
    sums["buffer_bytes"] += sums["bytes_moved"]
    return sums
