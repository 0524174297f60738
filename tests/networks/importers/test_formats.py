"""A file's name is a network's name; which files there are is one table."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.networks import (
    Linear,
    Phase,
    Tensor,
    get,
    is_file,
    names,
    notes,
    read_network,
    register,
)
from prema_gym.networks.importers import formats
from prema_gym.networks.importers.formats import FORMATS, NetworkFormat, Reading, endings
from prema_gym.workloads import Scenario
from tests.networks.importer_files import node, onnx_file, scalesim, write_graph

pytestmark = pytest.mark.usefixtures("own_networks")


def test_a_file_is_read_once_and_known_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    shutil.copy(onnx_file("resnet18"), tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    network = get("models/resnet18.onnx")
    full = str(tmp_path.resolve() / "models" / "resnet18.onnx")
    assert network.name == names()[-1] == full
    assert network.macs() == 1_814_073_344
    os.remove("models/resnet18.onnx")
    assert get("models/resnet18.onnx") is get(full) is network
    # From another folder the same text is another file.
    monkeypatch.chdir(tmp_path / "models")
    assert get("../models/resnet18.onnx") is network
    with pytest.raises(ConfigError, match="cannot read"):
        get("models/resnet18.onnx")


def test_notes_are_kept() -> None:
    path = str(onnx_file("swiglu_256_4096_14336"))
    assert notes(path) == notes("alexnet") == ()
    get(path)
    assert notes(path) == read_network(path).notes != ()


def test_a_registered_network_comes_before_a_file() -> None:
    network = read_network(scalesim("GEMM_mnk_gpt2"), name="gpt2.csv").network
    register(network)
    assert get("gpt2.csv") is network


def test_which_names_are_files(tmp_path: Path) -> None:
    assert [is_file(name) for name in ("a.csv", "A.ONNX", ".csv", "alexnet", "a.toml", 3)] == [
        *[True] * 3,
        *[False] * 3,
    ]
    with pytest.raises(ConfigError) as caught:
        read_network(tmp_path / "a.pt")
    allowed = ".csv (SCALE-Sim table) or .onnx (ONNX graph)"
    assert allowed in endings(named=True)
    assert str(caught.value).endswith(
        f"a.pt' is no network file: its name must end in {endings(named=True)}"
    )
    with pytest.raises(UnknownNameError, match=f"a file's name ends in {re.escape(endings())}"):
        get("a.pt")


def test_a_file_that_cannot_be_read_gets_no_name() -> None:
    with pytest.raises(ConfigError, match=r"^cannot read 'absent\.csv': No such file"):
        get("absent.csv")
    assert "absent.csv" not in names()


def test_a_table_needs_no_optional_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert get(str(scalesim("GEMM_mnk_gpt2"))).macs() == 20_686_307_328


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.ending)
def test_each_format_has_a_reader_and_endings_do_not_overlap(one: NetworkFormat) -> None:
    assert [other.ending for other in FORMATS if f"a{one.ending}".endswith(other.ending)] == [
        one.ending
    ]
    with pytest.raises(ConfigError, match="cannot read"):
        one.read(f"absent{one.ending}", Reading())


def test_a_new_format_is_a_module_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that takes a network's name then knows it."""

    def read(path: str, *, lenient: bool) -> tuple[tuple[Phase, ...], list[str]]:
        features = int(Path(path).read_text())
        return (Phase((Linear("fc", Tensor((features,)), out_features=2),)),), ["lenient"] * lenient

    reader = ModuleType("widths")
    monkeypatch.setattr(reader, "read", read, raising=False)
    monkeypatch.setitem(sys.modules, f"{formats.__name__.rpartition('.')[0]}.widths", reader)
    line = NetworkFormat(ending=".width", name="width", reads="a number", module="widths")
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, line))

    (tmp_path / "mine.toml").write_text('networks = ["a.width"]\n')
    path = tmp_path / "a.width"
    path.write_text("5")
    assert is_file("a.width")
    assert get(str(path)).macs() == 10
    assert get(str(path)).source == f"width {path}"
    assert read_network(path, lenient=True).notes == (f"{path}: lenient",)
    assert Scenario.from_toml(tmp_path / "mine.toml").networks == (str(path),)
    with pytest.raises(UnknownNameError, match=r"ends in .* or \.width"):
        get("a.pt")


def test_a_scenario_says_how_a_file_is_read(tmp_path: Path) -> None:
    """One file may take part twice; the order of the words makes no other network."""
    nodes = [node("MatMul", "x w", "y")]
    path = write_graph(tmp_path / "g.onnx", nodes, {"x": ("N", "t", 16)}, {"w": (16, 8)})
    (tmp_path / "mine.toml").write_text('networks = ["g.onnx?t=4", "g.onnx?t=128&N=2"]\n')
    scenario = Scenario.from_toml(tmp_path / "mine.toml")
    assert scenario.networks == (f"{path}?t=4", f"{path}?N=2&t=128")
    assert [get(name).macs() for name in scenario.networks] == [4 * 128, 2 * 128 * 128]
    assert get(f"{path}?t=128&N=2") is get(scenario.networks[1])
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    with pytest.raises(ConfigError, match=r"'g.onnx\?t=x': the size of an axis must be NAME=SIZE"):
        get("g.onnx?t=x")


def test_a_table_has_no_axes() -> None:
    with pytest.raises(ConfigError, match=r"a SCALE-Sim table has no open axes, got t=3$"):
        read_network(f"{scalesim('GEMM_mnk_gpt2')}?t=3")
    assert str(Reading(lenient=True, dims={"b": 2, "a": 1})) == "a=1&b=2&lenient"
    with pytest.raises(ConfigError, match="dims must be a table, each value a whole number"):
        Reading(dims={"t": -1})
