"""Which machines have a name? Presets of `NPUConfig`, each with its sources, and files.

A preset is *like* the machine it is named after: its array, clock, memories and widths, under our
timing. It is not a model of that chip, and what its sources do not say is a choice of ours.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from prema_gym.errors import UnknownNameError
from prema_gym.hardware.config import NPUConfig

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine with a name.

    Attributes:
        name: Short name, for options and scenario files.
        title: What it is.
        config: The machine.
        source: Where its figures are from.
        ours: What no source says.
    """

    name: str
    title: str
    config: NPUConfig
    source: str
    ours: str

    @property
    def peak_tops(self) -> float:
        """10¹² operations a second at most, two a MAC."""
        config = self.config
        return 2 * config.array_rows * config.array_cols * config.clock_hz / 1e12


MACHINES: tuple[Machine, ...] = (
    Machine(
        name="prema",
        title="the paper's NPU, the default",
        config=NPUConfig(),
        source="fidelity.md; each field of NPUConfig has its own",
        ours="see the fields",
    ),
    Machine(
        name="tpu-v1",
        title="like the first TPU: large array, 8 bits, slow memory",
        config=NPUConfig(
            array_rows=256,
            array_cols=256,
            accumulator_rows=2048,
            clock_hz=700_000_000,
            ubuf_bytes=24 * _MIB,
            wbuf_bytes=256 * _KIB,
            dram_bytes_per_s=34_000_000_000,
            dram_bytes=8 * _GIB,
            host_link_bytes_per_s=14_000_000_000,
            element_bytes=1,
            accumulator_bytes=4,
            vector_lanes=256,
        ),
        source="Jouppi et al., ISCA 2017: array, clock, 24 MiB of activations, 4 MiB of "
        "accumulators as two halves of 2 048 rows, a weight FIFO of four tiles, 8 GiB at 34 GB/s, "
        "14 GB/s of PCIe",
        ours="activations, too, come from that memory (there: the host); latency as the default",
    ),
    Machine(
        name="tpu-v4i",
        title="like TPU v4i, for inference: bfloat16, one core",
        config=NPUConfig(
            array_rows=256,
            array_cols=256,
            accumulator_rows=2048,
            clock_hz=1_050_000_000,
            ubuf_bytes=128 * _MIB,
            wbuf_bytes=16 * _MIB,
            dram_bytes_per_s=614_000_000_000,
            dram_latency_cycles=150,
            dram_bytes=8 * _GIB,
            host_link_bytes_per_s=16_000_000_000,
            element_bytes=2,
            accumulator_bytes=4,
            vector_lanes=1024,
        ),
        source="Jouppi et al., ISCA 2021, Table 1: 1.05 GHz, 138 TFLOPS in bfloat16, 128 MiB of "
        "common memory, 16 MiB of vector memory, 8 GiB at 614 GB/s",
        ours="its four arrays of 128 × 128 are one of 256 × 256 (the same peak); the vector memory "
        "holds weights; 128 lanes of 8; latency in ns and host link as the default",
    ),
    Machine(
        name="edge-32",
        title="an edge NPU with LPDDR4: 8 bits, 32 × 32",
        config=NPUConfig(
            array_rows=32,
            array_cols=32,
            accumulator_rows=1024,
            clock_hz=1_000_000_000,
            ubuf_bytes=1 * _MIB,
            wbuf_bytes=256 * _KIB,
            dram_bytes_per_s=12_800_000_000,
            dram_bytes=2 * _GIB,
            host_link_bytes_per_s=500_000_000,
            element_bytes=1,
            accumulator_bytes=4,
            vector_lanes=32,
        ),
        source="JEDEC JESD209-4, LPDDR4: 3 200 MT/s on 32 bits are 12.8 GB/s; 2 TOPS, the size of "
        "NPUs in cameras",
        ours="array, clock and memories on chip; 100 ns to memory; a USB 3 link",
    ),
    Machine(
        name="mobile",
        title="a phone's NPU with LPDDR5: 8 bits, 64 × 64",
        config=NPUConfig(
            array_rows=64,
            array_cols=64,
            accumulator_rows=2048,
            clock_hz=1_000_000_000,
            ubuf_bytes=3 * _MIB,
            wbuf_bytes=1 * _MIB,
            dram_bytes_per_s=51_200_000_000,
            dram_bytes=8 * _GIB,
            host_link_bytes_per_s=2_000_000_000,
            element_bytes=1,
            accumulator_bytes=4,
            vector_lanes=64,
        ),
        source="JEDEC JESD209-5, LPDDR5: 6 400 MT/s on 64 bits are 51.2 GB/s; 8.2 TOPS and 4 MiB "
        "on chip, as Arm's Ethos-N78 offers up to 10 TOPS and 4 MiB",
        ours="array and clock, how the 4 MiB are split; 100 ns to memory; flash storage as host",
    ),
    Machine(
        name="gemmini-16",
        title="like Gemmini's default: 8 bits, 16 × 16",
        config=NPUConfig(
            array_rows=16,
            array_cols=16,
            accumulator_rows=512,
            clock_hz=1_000_000_000,
            ubuf_bytes=192 * _KIB,
            wbuf_bytes=64 * _KIB,
            dram_bytes_per_s=16_000_000_000,
            dram_bytes=4 * _GIB,
            host_link_bytes_per_s=16_000_000_000,
            element_bytes=1,
            accumulator_bytes=4,
            vector_lanes=16,
        ),
        source="Genc et al., DAC 2021: 16 × 16, 8-bit operands and 32-bit sums, 256 KiB of "
        "scratchpad, 64 KiB of accumulators as two halves of 512 rows, 1 GHz, a bus of 128 bits",
        ours="a quarter of the scratchpad holds weights; 100 ns to memory, which the host shares",
    ),
)
"""In the order of a listing."""

_BY_NAME = {machine.name: machine for machine in MACHINES}


def names() -> tuple[str, ...]:
    """The names of all presets."""
    return tuple(_BY_NAME)


def get(name: str) -> NPUConfig:
    """The machine of a preset.

    Raises:
        UnknownNameError: There is no such preset.
    """
    if name not in _BY_NAME:
        raise UnknownNameError("machine", name, names(), note="or the name of a file, FILE.toml")
    return _BY_NAME[name].config


def read(name_or_path: str | os.PathLike[str]) -> NPUConfig:
    """The machine of a preset or of a TOML file.

    Raises:
        UnknownNameError: Neither a preset nor a TOML file's name, or an unknown key.
        ConfigError: The file cannot be read, is not TOML, or holds a value not allowed.
    """
    given = os.fspath(name_or_path)
    return NPUConfig.from_toml(given) if given.endswith(".toml") else get(given)
