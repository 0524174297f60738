from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.scorer.shape import ScorerShape
from prema_gym.simulator import Simulator
from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

# Three networks without sequences: quick to compile, and short enough for plain Python.
TINY = Scenario(
    name="tiny", networks=("alexnet", "googlenet", "mobilenet-v1"), num_tasks=4, quantum_ms=2.0
)


@pytest.fixture(scope="session")
def tiny() -> Catalog:
    return compile_scenario(TINY)


@pytest.fixture(scope="session")
def tiny_toml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "tiny.toml"
    TINY.to_toml(path)
    return path


def random_policy(seed: int = 0, mechanisms: tuple[str, ...] = ("checkpoint",)) -> LearnedPolicy:
    """A network with every weight drawn: it prefers somebody, for no reason."""
    shape = ScorerShape(hidden=5, readers=3, mechanisms=len(mechanisms))
    weights = shape.split(np.random.default_rng(seed).standard_normal(shape.size))
    return LearnedPolicy("random-weights", weights, {"mechanisms": list(mechanisms)})


def tables(
    catalog: Catalog, *, count: int, steps: int, mechanisms: tuple[str, ...] = ("checkpoint",)
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """Observation tables and masks of decisions that random legal actions lead to."""
    simulator = Simulator(
        catalog, num_envs=count, slots=6, mechanisms=mechanisms, max_decisions=1000
    )
    simulator.load(sample_batch(catalog, range(count)))
    rng = np.random.default_rng(1)
    for _ in range(steps):
        asked = simulator.asking
        if not asked.any():
            return
        yield simulator.observation[asked].copy(), simulator.mask[asked].copy()
        simulator.step(np.array([rng.choice(np.flatnonzero(row)) for row in simulator.mask]))
