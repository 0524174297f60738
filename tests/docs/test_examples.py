"""Every script of examples/ runs, small; the folder's page lists them all."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SMALL: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "compare_policies.py": ((), ("--workloads", "3"), "mine "),
    "train_and_evaluate.py": (
        ("torch", "cma"), ("--timesteps", "1", "--output", "run", "--workloads", "3"), "fairness",
    ),
    "own_network.py": (("onnx",), ("--workloads", "3"), "dynamic-prema"),
    "ppo_slots.py": (("torch",), ("--timesteps", "512", "--num-envs", "4"), "loss "),
    "plot_from_frame.py": (
        ("pandas", "matplotlib"), ("--workloads", "3", "--output", "x.png"), "wrote x.png",
    ),
}  # fmt: skip
"""What each needs, how it is run small, and what it says then."""


@pytest.mark.heavy
@pytest.mark.parametrize("name", SMALL)
def test_an_example_runs(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    needs, arguments, said = SMALL[name]
    for package in needs:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert said in capsys.readouterr().out


def test_every_script_is_listed_and_run() -> None:
    scripts = {file.name for file in FOLDER.glob("*.py")}
    assert scripts == set(SMALL)
    assert set(re.findall(r"`(\w+\.py)`", (FOLDER / "README.md").read_text())) == scripts
