"""`prema-gym warmup` compiles, says so, and leaves nothing to compile for a first step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import run

FIRST_STEPS = """
import gymnasium
import numpy as np

from prema_gym import agents, baselines
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.streams import evaluate_streams
from prema_gym.workloads import scenarios
from prema_gym.workloads.changes import changed

env = gymnasium.make("prema_gym:PremaNPU-v0")
_, info = env.reset(seed=1)
over = False
while not over:
    *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
    over = terminated or truncated
for threads in (1, 2):
    envs = gymnasium.make_vec("PremaNPU-v0", num_envs=130, threads=threads, slots=8)
    envs.reset(seed=0)
    for _ in range(60):
        envs.step(envs.action_masks().argmax(axis=1))
    envs.close()
learned = {"learned": agents.load("learned")}
few = changed(scenarios.get("bursty-90"), {"requests": 100})
evaluate_streams(few, {"np-fcfs": baselines.make("np-fcfs"), **learned})
evaluate(scenarios.get("light"), learned, workloads=2, seed=3_000_000, relative_to="learned")
"""


def test_warmup_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "warmup")
    assert status == 0
    assert out == ""
    assert "compiled" in err


@pytest.mark.heavy
def test_nothing_is_left_to_compile(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def python(*arguments: str) -> set[Path]:
        subprocess.run([sys.executable, *arguments], env=environment, check=True)
        return set(tmp_path.rglob("*.nbc"))

    warm = python("-c", "from prema_gym.cli import main; main(['warmup'])")
    assert warm
    assert python("-c", FIRST_STEPS) == warm, "the first steps compiled something"
