"""Machines with a name, held against the figures of their sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.hardware import NPUConfig, machines
from prema_gym.hardware.machines import MACHINES
from prema_gym.hardware.timing import time_network
from prema_gym.networks import get
from prema_gym.workloads import Scenario, scenarios


def test_the_default_is_the_papers() -> None:
    assert machines.names()[0] == "prema"
    assert machines.get("prema") == NPUConfig()


@pytest.mark.parametrize(
    ("name", "tops"),
    [
        ("tpu-v1", 92),  # Jouppi et al. 2017, Table 2
        ("tpu-v4i", 138),  # Jouppi et al. 2021, Table 1
        ("edge-32", 2),
        ("mobile", 8),
        ("gemmini-16", 0.5),  # Genc et al. 2021: 256 MACs a cycle at 1 GHz
    ],
)
def test_peaks_are_those_of_the_sources(name: str, tops: float) -> None:
    (machine,) = (one for one in MACHINES if one.name == name)
    assert machine.peak_tops == pytest.approx(tops, rel=0.03)


def test_sums_fill_the_accumulators_of_the_sources() -> None:
    """Two halves, one computing and one draining: 4 MiB in the TPU, 64 KiB in Gemmini."""
    for name, num_bytes in (("tpu-v1", 4 * 2**20), ("gemmini-16", 64 * 2**10)):
        config = machines.get(name)
        half = config.accumulator_rows * config.array_cols * config.accumulator_bytes
        assert 2 * half == num_bytes
        assert config.tile_rows == config.accumulator_rows  # no smaller buffer is in the way


def test_every_machine_says_its_sources_and_runs_a_network() -> None:
    milliseconds = {}
    for machine in MACHINES:
        assert machine.title
        assert machine.source
        assert machine.ours
        milliseconds[machine.name] = time_network(machine.config, get("resnet-50")).milliseconds
    # By their peaks, but for the first TPU, whose memory is slow.
    assert sorted(milliseconds, key=lambda name: milliseconds[name]) == [
        "tpu-v4i",
        "prema",
        "tpu-v1",
        "mobile",
        "edge-32",
        "gemmini-16",
    ]


def test_a_name_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    machines.get("edge-32").to_toml(file)
    assert machines.read(file) == machines.read("edge-32") == machines.get("edge-32")
    with pytest.raises(UnknownNameError, match=r"unknown machine 'edge32'; did you mean 'edge-32'"):
        machines.read("edge32")
    with pytest.raises(ConfigError, match="absent"):
        machines.read(str(tmp_path / "absent.toml"))


def test_scenarios_take_a_machine_by_name(tmp_path: Path) -> None:
    file = tmp_path / "camera.toml"
    file.write_text('networks = ["mobilenet-v2"]\nhardware = "edge-32"\n')
    assert scenarios.get(file).hardware == machines.get("edge-32")
    assert scenarios.get("paper", "mobile").hardware == machines.get("mobile")
    assert scenarios.get("paper", "mobile").networks == scenarios.get("paper").networks
    with pytest.raises(UnknownNameError, match="unknown machine 'edge'"):
        Scenario(hardware="edge")  # type: ignore[arg-type]
