"""Every script of examples/ runs, small; the folder's page lists them all."""

from __future__ import annotations

import re
import runpy
import sys
import warnings
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
    "sb3_masked.py": (
        ("torch", "sb3_contrib"),
        ("--timesteps", "512", "--num-envs", "4", "--workloads", "3"), "deterministic",
    ),
    "optuna_pruning.py": (
        ("torch", "sb3_contrib", "optuna"),
        ("--trials", "2", "--timesteps", "256", "--validations", "1", "--workloads", "2",
         "--output", "search"),
        "best score",
    ),
    "torchrl_ppo.py": (("torchrl",), ("--timesteps", "512", "--num-envs", "4"), " 512 steps"),
    "skrl_ppo.py": (("skrl",), ("--timesteps", "512", "--num-envs", "4"), "a weight has moved"),
    "minari_d3rlpy.py": (
        ("minari",), ("--episodes", "2", "--steps", "20"), "recorded 2 episodes",
    ),
    "rllib_ppo.py": (("ray.rllib",), ("--timesteps", "512", "--num-envs", "4"), "an episode"),
    "tianshou_dqn.py": (
        ("tianshou",), ("--timesteps", "512", "--num-envs", "2"), "an episode, loss",
    ),
    "morl_pcn.py": (
        ("morl_baselines",), ("--timesteps", "1200", "--episodes", "2"), "exact front",
    ),
}  # fmt: skip
"""What each needs, how it is run small, and what it says then."""
OF_CLIENTS = {
    "minari_d3rlpy.py", "morl_pcn.py", "optuna_pruning.py", "rllib_ppo.py", "skrl_ppo.py",
    "tianshou_dqn.py", "torchrl_ppo.py",
}  # fmt: skip


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
        pytest.importorskip(package, reason=f"{name} needs {package}: see docs/rl-libraries.md")
    if name in OF_CLIENTS:
        warnings.simplefilter("ignore")  # of libraries about each other
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert said in capsys.readouterr().out


def test_every_script_is_listed_and_run() -> None:
    scripts = {file.name for file in FOLDER.glob("*.py")}
    assert scripts == set(SMALL)
    assert set(re.findall(r"`(\w+\.py)`", (FOLDER / "README.md").read_text())) == scripts
