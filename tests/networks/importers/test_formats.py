"""A file's name is a network's name; which files there are is one table."""

from __future__ import annotations

import os
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
from prema_gym.networks.importers.formats import FORMATS, NetworkFormat, Reading
from prema_gym.workloads import Scenario
from tests.networks.importer_files import onnx_file, scalesim

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
    assert str(caught.value).endswith(
        "a.pt' is no network file: its name must end in .csv (SCALE-Sim table) or .onnx "
        "(ONNX graph)"
    )
    with pytest.raises(UnknownNameError, match=r"a file's name ends in \.csv or \.onnx"):
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
    with pytest.raises(UnknownNameError, match=r"ends in \.csv or \.onnx or \.width"):
        get("a.pt")
