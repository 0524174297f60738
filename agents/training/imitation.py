"""How can a network begin as PREMA? By imitating its choices on workloads it has seen.

Cross-entropy on the tables that the teacher meets itself. It stays a start, not an end: the network
then does what PREMA does in most tables, and training moves it from there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.agents.policies.learned import TRAINED_MECHANISMS
from prema_gym.agents.scorer.shape import ScorerShape, Weights
from prema_gym.agents.scorer.torch_scorer import SlotScorer
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

WORKLOADS = 128
"""Workloads watched: some 10 000 tables for a few hundred weights to a few thousand."""
STEPS = 1500
BATCH = 256
LEARNING_RATE = 5e-3
"""Adam's, at first; the weights are of order one."""
_ROUND = 10**9  # a round of training seeds that no training reaches


class _Watched:
    """Plays what a teacher plays, and keeps the tables it saw and the actions it took."""

    def __init__(self, teacher: baselines.Policy) -> None:
        self.mechanisms = teacher.mechanisms
        self.tables: list[NDArray[np.float32]] = []
        self.choices: list[NDArray[np.int64]] = []
        self._teacher = teacher

    def predict(
        self, observation: NDArray[np.float32], **_: object
    ) -> tuple[NDArray[np.int64], None]:
        actions, _state = self._teacher.predict(observation)
        self.tables.append(observation)
        self.choices.append(actions)
        return actions, None  # without a state, only tables that wait for an answer are shown


def watch(
    teacher: str, scenario: Scenario, seed: int, mechanisms: tuple[str, ...] = TRAINED_MECHANISMS
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Tables that a baseline meets and the actions it takes: (N, S, C) and (N,)."""
    catalog = compile_scenario(scenario)
    watched = _Watched(baselines.make(teacher, mechanisms=mechanisms))
    drawn = seeds.training_workloads(seed, _ROUND, WORKLOADS)
    batch = sample_batch(catalog, drawn.tolist())
    play(watched, catalog, batch, PlaySettings(slots=scenario.num_tasks))
    return np.concatenate(watched.tables), np.concatenate(watched.choices)


def imitate(
    teacher: str,
    scenario: Scenario,
    shape: ScorerShape,
    seed: int,
    *,
    steps: int = STEPS,
    say: Callable[[str], None] = lambda line: None,
) -> Weights:
    """Weights with which the network chooses as ``teacher`` mostly does.

    Args:
        teacher: Name of a baseline.
        scenario: Where it is watched, with the quantum to train with.
        shape: Sizes of the network; one mechanism.
        seed: Seed of the workloads, the weights and the order of batches.
        steps: Batches of ``BATCH`` tables.
        say: Told how well the imitation agrees.
    """
    tables, choices = watch(teacher, scenario, seed)
    inputs, targets = torch.from_numpy(tables), torch.from_numpy(choices)
    network = SlotScorer(shape, seed=seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.01, total_iters=steps)
    rng = np.random.default_rng(np.random.SeedSequence((seed, 0x1A)))
    for _ in range(steps):
        rows = torch.from_numpy(rng.integers(0, len(tables), BATCH))
        loss = functional.cross_entropy(network(inputs[rows]), targets[rows])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        agreement = (network(inputs).argmax(dim=-1) == targets).float().mean().item()
    say(f"imitates {teacher} in {100 * agreement:.1f} % of {len(tables)} tables")
    return network.weights
