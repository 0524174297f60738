from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import prema_gym.hardware
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.hardware import NPUConfig
from tests.hardware.brute_force import machines


@pytest.mark.small
def test_defaults_are_the_papers_machine() -> None:
    config = NPUConfig()
    assert (config.array_rows, config.array_cols, config.accumulator_rows) == (128, 128, 2048)
    assert (config.ubuf_bytes, config.wbuf_bytes) == (8 * 2**20, 4 * 2**20)
    assert config.tile_rows == 2048
    assert config.cycles_per_byte("dram_bytes_per_s") == Fraction(7, 3580)
    assert config.cycles_per_byte("host_link_bytes_per_s") == Fraction(7, 160)
    # What the default of dram_bytes rests on.
    assert 16 * config.context_limit_bytes < config.dram_bytes


@pytest.mark.small
def test_every_field_has_a_unit_and_a_reason() -> None:
    for field in fields(NPUConfig):
        assert field.metadata["unit"], field.name
        assert len(field.metadata["source"]) > 10, field.name


@pytest.mark.small
def test_times_convert_by_the_clock() -> None:
    assert NPUConfig().cycles(0.25) == 175_000
    assert NPUConfig(clock_hz=10**9).cycles(0.25) == 250_000
    assert NPUConfig().milliseconds(175_000) == 0.25
    assert NPUConfig().microseconds(700) == 1.0


@pytest.mark.small
def test_whole_floats_and_numpy_integers_are_stored_as_integers() -> None:
    config = NPUConfig.from_dict(
        {"dram_bytes_per_s": 358e9, "clock_hz": 7e8, "array_rows": np.int64(128)}
    )
    assert config == NPUConfig()
    values = config.to_dict()
    assert type(values.pop("switch_latency_us")) is float
    assert all(type(value) in (int, str) for value in values.values())


@pytest.mark.small
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("array_rows", 0),
        ("array_cols", -128),
        ("accumulator_rows", 1.5),
        ("clock_hz", "700 MHz"),
        ("clock_hz", True),
        ("ubuf_bytes", None),
        ("ubuf_bytes", math.inf),
        ("dram_latency_cycles", -1),
        ("dram_bytes", -1),
        ("dram_bytes_per_s", 0),
        ("dram_bytes_per_s", math.nan),
        ("dram_bytes_per_s", -math.inf),
        ("host_link_bytes_per_s", 10**19),
        ("element_bytes", 65),
    ],
)
def test_values_not_allowed_are_named_with_what_is(field: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{field} must be a whole number of .*, got "):
        NPUConfig(**{field: value})


@pytest.mark.small
def test_buffers_must_hold_double_buffered_tiles() -> None:
    NPUConfig(wbuf_bytes=2 * 128 * 128 * 2, ubuf_bytes=2 * 128 * 2)
    with pytest.raises(
        ConfigError, match=r"wbuf_bytes must be at least 65536, two weight tiles .* got 65535"
    ):
        NPUConfig(wbuf_bytes=65535)
    with pytest.raises(
        ConfigError, match=r"ubuf_bytes must be at least 512, two activation rows .* got 511"
    ):
        NPUConfig(ubuf_bytes=511)


@pytest.mark.small
def test_sizes_that_overflow_64_bits_are_refused() -> None:
    with pytest.raises(ConfigError, match="dram_bytes_per_s must keep cycle counts within 64 bits"):
        NPUConfig(ubuf_bytes=2**40, clock_hz=999_999_937, dram_bytes_per_s=999_999_929)


@pytest.mark.small
def test_a_machine_is_frozen_hashable_and_keyword_only() -> None:
    with pytest.raises(FrozenInstanceError):
        NPUConfig().clock_hz = 1  # type: ignore[misc]
    assert hash(NPUConfig()) == hash(NPUConfig())
    with pytest.raises(TypeError):
        NPUConfig(128)  # type: ignore[call-arg]


@given(machines())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_dictionaries_come_back_equal(config: NPUConfig) -> None:
    assert NPUConfig.from_dict(config.to_dict()) == config


@pytest.mark.small
def test_toml_comes_back_equal_with_infinity(tmp_path: Path) -> None:
    config = NPUConfig(dram_bytes_per_s=math.inf, array_rows=64)
    config.to_toml(tmp_path / "npu.toml")
    assert NPUConfig.from_toml(tmp_path / "npu.toml") == config
    assert os.listdir(tmp_path) == ["npu.toml"]
    (tmp_path / "short.toml").write_text("clock_hz = 1e9\ndram_bytes_per_s = inf\n")
    assert NPUConfig.from_toml(tmp_path / "short.toml").clock_hz == 10**9


@pytest.mark.small
def test_an_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text("ubuf_byte = 4\n")
    with pytest.raises(UnknownNameError, match=r"'ubuf_byte' in .*npu.toml; did you mean 'ubuf_b"):
        NPUConfig.from_toml(path)


@pytest.mark.small
def test_a_scenario_file_in_place_of_a_machine_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[hardware]\narray_rows = 64\n')
    message = r"'name' in .*mine\.toml.*\[hardware\] at top level$"
    with pytest.raises(UnknownNameError, match=message):
        NPUConfig.from_toml(path)


@pytest.mark.small
def test_a_value_not_allowed_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text("array_rows = 0\n")
    with pytest.raises(
        ConfigError, match=r"npu\.toml: array_rows must be .* from 1 to 1048576, got 0"
    ):
        NPUConfig.from_toml(path)


@pytest.mark.small
def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*absent.toml"):
        NPUConfig.from_toml(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("clock_hz = = 1")
    with pytest.raises(ConfigError, match=r"bad.toml' is not valid TOML"):
        NPUConfig.from_toml(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(ConfigError, match=r"latin.toml' is not UTF-8"):
        NPUConfig.from_toml(tmp_path / "latin.toml")


@pytest.mark.small
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "npu.toml"
    NPUConfig().to_toml(path)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(ConfigError, match=r"cannot write .*npu.toml': No space left"):
        NPUConfig(array_rows=64).to_toml(path)
    assert os.listdir(tmp_path) == ["npu.toml"]
    assert NPUConfig.from_toml(path) == NPUConfig()
    with pytest.raises(ConfigError, match="cannot write"):
        NPUConfig().to_toml(tmp_path / "absent" / "npu.toml")


@pytest.mark.small
def test_public_names_exist_and_unknown_ones_do_not() -> None:
    for name in prema_gym.hardware.__all__:
        assert getattr(prema_gym.hardware, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'time_gem'"):
        prema_gym.hardware.time_gem  # noqa: B018


def test_importing_the_room_loads_no_compiled_code() -> None:
    code = "import sys, prema_gym.hardware; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
