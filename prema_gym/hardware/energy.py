"""How much energy does an inference take, and how much does a preemption add?

Operations and bytes of the timing model times a published energy each, plus the machine's static
power times time. The absolute figures are as good as the sources, which stand for different chips
of 45 to 28 nm; ratios between policies on one machine depend on them much less.

Unit: millijoules; energies per operation in picojoules. Source: beside each number; the sum is
ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.checks import check_fields, declared, number, whole
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.timing import Timing, time_network
from prema_gym.hardware.transfers import dram_cycles, host_cycles, machine_array
from prema_gym.networks.network import Network

_MJ_PER_PJ = 1e-9

_HOROWITZ = "Horowitz, ISSCC 2014, energy table for 45 nm at 0.9 V"


_BYTES = whole(0, unit="B")


def _constant(default: float, unit: str, source: str) -> float:
    """Declare a number that physics does not let be negative."""
    constant: float = declared(default, number(0.0, unit=unit), unit=unit, source=source)
    return constant


@dataclass(frozen=True, kw_only=True)
class EnergyModel:
    """Energy per operation; each field carries its unit and source.

    Raises:
        ConfigError: A value is negative or not finite.
    """

    mac_pj: float = _constant(
        2.0, "pJ", f"{_HOROWITZ}: 16-bit floating multiply 1.1 and 32-bit floating add 0.9"
    )
    vector_op_pj: float = _constant(
        1.5, "pJ", f"{_HOROWITZ}: 16-bit floating multiply 1.1 and 16-bit floating add 0.4"
    )
    buffer_pj_per_byte: float = _constant(
        12.5, "pJ/B", f"{_HOROWITZ}: 100 pJ for 64 bits of a 1 MB memory, a bank of UBUF or WBUF"
    )
    accumulator_pj_per_byte: float = _constant(
        1.25, "pJ/B", f"{_HOROWITZ}: 10 pJ for 64 bits of an 8 KB memory, one column's sums"
    )
    dram_pj_per_byte: float = _constant(
        31.2, "pJ/B", "O'Connor et al., MICRO 2017: HBM2 at 3.9 pJ/bit"
    )
    host_link_pj_per_byte: float = _constant(
        80.0, "pJ/B", "Arunkumar et al. (MCM-GPU), ISCA 2017: 10 pJ/bit for links across a board"
    )
    host_dram_pj_per_byte: float = _constant(
        162.5, "pJ/B", f"{_HOROWITZ}: off-chip memory from 1.3 nJ for 64 bits, its lower end"
    )

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Energy by where it goes, in millijoules."""

    compute_mj: float = 0.0  # array and vector unit
    on_chip_mj: float = 0.0  # buffers and accumulators
    dram_mj: float = 0.0  # NPU memory
    host_mj: float = 0.0  # host link and host memory
    static_mj: float = 0.0  # leakage and clock over the elapsed time

    @property
    def dynamic_mj(self) -> float:
        """All but the static part: what the same work takes however long it lasts."""
        return self.compute_mj + self.on_chip_mj + self.dram_mj + self.host_mj

    @property
    def total_mj(self) -> float:
        """Everything."""
        return self.dynamic_mj + self.static_mj


_PAPER_MACHINE = NPUConfig(static_watts=28.0)
"""Jouppi et al., ISCA 2017: TPU v1 idle, a 700 MHz systolic array in 28 nm."""

_ARRAY_SHARE, _BUFFERS_SHARE = 30 / 67, 37 / 67
"""The two parts that fill most of TPU v1's die, 30 % and 37 % of it (ibid., its floor plan)."""


def static_watts(config: NPUConfig) -> float:
    """Static power [W]: what the machine says of itself, else the paper's machine's, scaled.

    Leakage goes with area, so the array's part is scaled with its multipliers and their width, the
    buffers' with the bytes they hold; a slower clock saves nothing. Source: the rule is ours.
    """
    if config.static_watts is not None:
        return config.static_watts

    def array(machine: NPUConfig) -> int:
        return machine.array_rows * machine.array_cols * machine.element_bytes

    def buffers(machine: NPUConfig) -> int:
        return machine.ubuf_bytes + machine.wbuf_bytes

    known = _PAPER_MACHINE
    of_array = array(config) / array(known)
    of_buffers = buffers(config) / buffers(known)
    return static_watts(known) * (_ARRAY_SHARE * of_array + _BUFFERS_SHARE * of_buffers)


def assumptions(config: NPUConfig) -> list[str]:
    """What energies of this machine assume beyond what is known of the paper's: a line each."""
    found = []
    if config.static_watts is None and static_watts(config) != static_watts(_PAPER_MACHINE):
        found.append(
            f"energy: {static_watts(config):.3g} W of static power, scaled from the paper's "
            "machine by array and buffers; say the machine's own as static_watts in [hardware]"
        )
    if config.element_bytes != _PAPER_MACHINE.element_bytes:
        found.append(
            f"energy: a MAC costs what one of 16 bits does, also with {config.element_bytes}-byte "
            "operands"
        )
    return found


def static_energy_mj(config: NPUConfig, cycles: float) -> float:
    """Static energy of ``cycles``, busy or idle."""
    return static_watts(config) * config.milliseconds(cycles)


def energy_of_network(
    config: NPUConfig,
    network: Network,
    *,
    batch: int = 1,
    input_length: int = 1,
    output_length: int = 1,
    model: EnergyModel | None = None,
) -> Energy:
    """Energy of one inference that runs alone.

    Args:
        config: The machine.
        network: The network.
        batch: Inputs processed together, at least 1.
        input_length: Input steps of a recurrent network; others ignore it.
        output_length: Output steps, for a phase that repeats once for each; others ignore it.
        model: Energy per operation; None for the documented defaults.

    Raises:
        ConfigError: ``batch`` or a length is not a positive integer.
    """
    timing = time_network(
        config, network, batch=batch, input_length=input_length, output_length=output_length
    )
    return energy_of_timing(config, timing, model=model)


def energy_of_timing(
    config: NPUConfig, timing: Timing, *, model: EnergyModel | None = None
) -> Energy:
    """Energy of anything timed on ``config``: a GEMM, a layer or a network.

    Every byte loaded is written to a buffer once and read from it by each tile that uses it, every
    result is written and read once; every sum is written to the accumulators and read from them
    once, to add to it or to drain it.
    """
    model = EnergyModel() if model is None else model
    compute_pj = timing.array_macs * model.mac_pj + timing.vector_ops * model.vector_op_pj
    on_chip_pj = (
        timing.buffer_bytes * model.buffer_pj_per_byte
        + 2 * timing.sums_bytes * model.accumulator_pj_per_byte
    )
    return Energy(
        compute_mj=compute_pj * _MJ_PER_PJ,
        on_chip_mj=on_chip_pj * _MJ_PER_PJ,
        dram_mj=timing.bytes_moved * model.dram_pj_per_byte * _MJ_PER_PJ,
        static_mj=static_energy_mj(config, timing.cycles),
    )


def energy_of_switch(
    config: NPUConfig,
    *,
    context_bytes: int,
    reload_bytes: int = 0,
    refill_cycles: int = 0,
    to_host: bool = False,
    model: EnergyModel | None = None,
) -> Energy:
    """Energy that one CHECKPOINT and its later restore add to a task.

    The context leaves a buffer and comes back to it; reloaded weights and inputs come from NPU
    memory once more. Static energy is that of the save and the restore. Work lost by a KILL is no
    switch: it costs what running it cost.

    Args:
        config: The machine.
        context_bytes: Saved and restored, at least 0.
        reload_bytes: Loaded again on restore, at least 0.
        refill_cycles: To fill the array again, at least 0.
        to_host: Whether the context went to host memory.
        model: Energy per operation; None for the documented defaults.

    Raises:
        ConfigError: A number of bytes or cycles is negative.
    """
    context_bytes = _BYTES.check("context_bytes", context_bytes)
    reload_bytes = _BYTES.check("reload_bytes", reload_bytes)
    cycles = whole(0, unit="cycles").check("refill_cycles", refill_cycles)
    model = EnergyModel() if model is None else model
    machine = machine_array(config)
    moved = 2 * context_bytes
    if to_host:
        cycles += 2 * host_cycles(machine, context_bytes) + dram_cycles(machine, reload_bytes)
        host_pj = moved * (model.host_link_pj_per_byte + model.host_dram_pj_per_byte)
        dram_pj = reload_bytes * model.dram_pj_per_byte
    else:
        cycles += dram_cycles(machine, context_bytes) + dram_cycles(
            machine, context_bytes + reload_bytes
        )
        host_pj = 0.0
        dram_pj = (moved + reload_bytes) * model.dram_pj_per_byte
    return Energy(
        on_chip_mj=(moved + reload_bytes) * model.buffer_pj_per_byte * _MJ_PER_PJ,
        dram_mj=dram_pj * _MJ_PER_PJ,
        host_mj=host_pj * _MJ_PER_PJ,
        static_mj=static_energy_mj(config, int(cycles)),
    )
