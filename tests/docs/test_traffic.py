"""docs/traffic.md answers a serving engineer in four commands, with his own ONNX, TOML and CSV."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from prema_gym import cli
from prema_gym.workloads.processes import PROCESSES
from tests.networks.importer_files import onnx_file, scalesim

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "traffic.md").read_text()


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, flags=re.S)
    assert found is not None
    return found[1]


COMMANDS = [line for line in _block("").splitlines() if line.startswith("prema-gym ")]
README = (ROOT / "README.md").read_text()


@pytest.fixture
def engineer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page's scenario names."""
    shutil.copy(onnx_file("mobilenetv2"), tmp_path / "detector.onnx")
    shutil.copy(scalesim("mlperf_AlphaGoZero"), tmp_path / "ranker.csv")
    (tmp_path / "serving.toml").write_text(_block("toml"))
    gaps = np.random.default_rng(0).gamma(0.5, 2.0, 3_000)
    rows = "\n".join(f"{ms:.3f}" for ms in np.cumsum(gaps))
    (tmp_path / "requests.csv").write_text(f"arrival_ms\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.heavy
def test_the_four_commands_answer(engineer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) == 4
    assert _block("") in README, "the README has them, too"
    said = []
    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            cli.main(shlex.split(command)[1:])
        out, err = capsys.readouterr()
        assert stop.value.code == 0, err
        said.append(out)
    mix, rows, breaking, advice = said
    assert "camera" in mix
    assert "trace" in mix
    for name in ("camera · np-fcfs", "log · static-edf", "camera · dynamic-prema"):
        assert name in rows
    assert "p95 within its deadline up to load" in breaking
    first = [line.split()[0].rstrip(":") for line in advice.splitlines()[-4:]]
    assert [word for word in first if word in ("Take", "Gain", "Cost")] == ["Take", "Gain", "Cost"]
    assert (engineer / "sweep" / "sweep.csv").exists()


def test_every_process_is_on_the_page() -> None:
    table = PAGE[PAGE.index("| `arrival` | what it does") :].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)`", "\n".join(r.split("|")[1] for r in table.splitlines()[2:])))
    assert named == set(PROCESSES)
