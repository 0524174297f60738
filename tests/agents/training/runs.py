"""Small training runs for tests, and what they leave behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("stable_baselines3")
pytest.importorskip("cma")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from prema_gym import agents
from prema_gym.agents.training.evolution.config import EvolutionConfig
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.settings import TrainSettings

HYPER = {
    "maskable-ppo": {"n_steps": 32},
    "ppo": {"n_steps": 32},
    "a2c": {},
    "dqn": {"learning_starts": 64, "buffer_size": 1000, "batch_size": 32},
}


def small(algo: str, scenario: Path, **changes: object) -> TrainSettings:
    """A run of a second or two."""
    settings = TrainSettings(
        algo=algo,
        scenario=str(scenario),
        timesteps=512,
        num_envs=8,
        seed=3,
        eval_every=256,
        eval_workloads=8,
        threads=1,
        evolution=EvolutionConfig(population=4),
        gradient=GradientConfig(
            hidden=4, readers=4, critic_width=8, hyper=HYPER.get(algo, {}), emphasis={}
        ),
    )
    return replace(settings, **changes)  # type: ignore[arg-type]


def weights_of(run: Path) -> NDArray[np.float32]:
    last = sorted((run / "checkpoints").glob("*.npz"))[-1]
    return np.concatenate([array.reshape(-1) for array in agents.load(last).weights])  # type: ignore[union-attr]


def _written(file: Path) -> tuple[int, int]:
    """Order of event files: second of the start and number in the process, neither as text."""
    parts = file.name.split(".")
    return int(parts[3]), int(parts[-1])


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    """Every curve that TensorBoard would draw."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for file in sorted((run / "tensorboard").glob("events.*"), key=_written):
        events = EventAccumulator(str(file))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            points = [(event.step, event.value) for event in events.Scalars(tag)]
            curves.setdefault(tag, []).extend(points)
    return curves
