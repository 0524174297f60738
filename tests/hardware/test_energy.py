from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from prema_gym.errors import ConfigError
from prema_gym.hardware import (
    EnergyModel,
    NPUConfig,
    energy_of_network,
    energy_of_switch,
    energy_of_timing,
    time_gemm,
    time_network,
)
from prema_gym.hardware.energy import static_energy_mj, static_watts
from prema_gym.networks import get
from tests.hardware.test_timing import TOY as TIMED

TOY, ONE_WATT = replace(TIMED, static_watts=0.0), replace(TIMED, static_watts=1.0)

# One picojoule of a kind at a time shows what each constant multiplies.
NOTHING = {field.name: 0.0 for field in fields(EnergyModel)}


def only(name: str) -> EnergyModel:
    return EnergyModel(**(NOTHING | {name: 1.0}))


@pytest.mark.small
def test_gemm_energy_worked_by_hand() -> None:
    timing = time_gemm(TOY, m=4, k=3, n=3)  # 36 MACs, 54 bytes, 96 bytes of sums, 74 cycles of 1 ms
    expected_pj = {
        "mac_pj": 36,
        "vector_op_pj": 0,
        "buffer_pj_per_byte": 2 * 54,
        "accumulator_pj_per_byte": 2 * 96,
        "dram_pj_per_byte": 54,
        "host_link_pj_per_byte": 0,
        "host_dram_pj_per_byte": 0,
    }
    for name, picojoules in expected_pj.items():
        energy = energy_of_timing(TOY, timing, model=only(name))
        assert energy.total_mj == pytest.approx(picojoules * 1e-9), name
    assert energy_of_timing(ONE_WATT, timing, model=EnergyModel(**NOTHING)).total_mj == 74
    energy = energy_of_timing(TOY, timing)
    assert energy.total_mj == pytest.approx(energy.dynamic_mj + energy.static_mj)
    assert energy.dynamic_mj == pytest.approx(
        energy.compute_mj + energy.on_chip_mj + energy.dram_mj
    )


@pytest.mark.small
def test_switch_energy_worked_by_hand() -> None:
    # 24 bytes saved and restored, 5 reloaded: 53 bytes to or from NPU memory, in 29 + 34 cycles.
    def to_memory(name: str) -> float:
        return energy_of_switch(TOY, context_bytes=24, reload_bytes=5, model=only(name)).total_mj

    assert to_memory("dram_pj_per_byte") == pytest.approx(53e-9)
    assert to_memory("buffer_pj_per_byte") == pytest.approx(53e-9)
    assert to_memory("host_link_pj_per_byte") == 0
    nothing = EnergyModel(**NOTHING)
    there = energy_of_switch(ONE_WATT, context_bytes=24, reload_bytes=5, model=nothing)
    assert there.total_mj == pytest.approx(63)
    # The same over a host link whose time is nothing but latency: 2 · 6 cycles, and 10 to reload.

    def to_host(name: str) -> float:
        return energy_of_switch(
            TOY, context_bytes=24, reload_bytes=5, to_host=True, model=only(name)
        ).total_mj

    assert to_host("dram_pj_per_byte") == pytest.approx(5e-9)
    assert to_host("host_link_pj_per_byte") == pytest.approx(48e-9)
    assert to_host("host_dram_pj_per_byte") == pytest.approx(48e-9)
    there = energy_of_switch(
        ONE_WATT, context_bytes=24, reload_bytes=5, to_host=True, model=nothing
    )
    assert there.total_mj == pytest.approx(22)


@pytest.mark.small
def test_an_empty_context_is_free() -> None:
    assert energy_of_switch(NPUConfig(), context_bytes=0).total_mj == 0
    with pytest.raises(
        ConfigError, match="context_bytes must be a whole number of B of at least 0, got -1"
    ):
        energy_of_switch(NPUConfig(), context_bytes=-1)


@pytest.mark.small
def test_idle_time_costs_static_power() -> None:
    assert static_energy_mj(NPUConfig(), 700_000) == pytest.approx(28.0)  # 1 ms at 28 W


@pytest.mark.small
def test_static_power_is_the_machines_own_or_scaled_with_its_array_and_buffers() -> None:
    assert static_watts(NPUConfig()) == 28.0
    assert static_watts(NPUConfig(array_rows=32, static_watts=0.5)) == 0.5
    # A sixteenth of the array and of the buffers, then of one of them: 30 and 37 parts of 67.
    edge: dict[str, Any] = {"array_rows": 32, "array_cols": 32}
    small: dict[str, Any] = {"ubuf_bytes": 2**19, "wbuf_bytes": 2**18}
    assert static_watts(NPUConfig(**edge, **small)) == pytest.approx(1.75)
    assert static_watts(NPUConfig(**edge)) == pytest.approx(28 * (30 / 16 + 37) / 67)
    assert static_watts(NPUConfig(**small)) == pytest.approx(28 * (30 + 37 / 16) / 67)
    # Operands of half the width: half the array.
    assert static_watts(NPUConfig(element_bytes=1)) == pytest.approx(28 * (15 + 37) / 67)
    with pytest.raises(ConfigError, match=r"static_watts must be a number of W from 0 to 1e\+06"):
        NPUConfig(static_watts=-1.0)


def test_network_energy_is_that_of_its_timing() -> None:
    config = NPUConfig()
    net = get("rnn-mt1")
    energy = energy_of_network(config, net, batch=4, input_length=6, output_length=4)
    timing = time_network(config, net, batch=4, input_length=6, output_length=4)
    assert energy == energy_of_timing(config, timing)
    assert energy.static_mj == pytest.approx(28 * timing.milliseconds)
    # A mobile network costs less than a large one, and a batch less than its single inferences.
    small, large = (energy_of_network(config, get(n)) for n in ("mobilenet-v1", "vgg-16"))
    assert small.total_mj < large.total_mj
    batched = energy_of_network(config, get("vgg-16"), batch=16)
    assert large.total_mj < batched.total_mj < 16 * large.total_mj


@pytest.mark.small
@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan, "1"])
def test_energies_must_be_finite_and_not_negative(value: float) -> None:
    with pytest.raises(ConfigError, match="mac_pj"):
        EnergyModel(mac_pj=value)


@pytest.mark.small
def test_every_energy_names_its_unit_and_source() -> None:
    for field in fields(EnergyModel):
        assert field.metadata["unit"]
        assert "20" in field.metadata["source"], field.name  # the year of a publication
