"""How does a small network learn what a planner does? By imitation along its own roll-outs.

A network that has only seen the planner's own tables does not know what to do in those that its own
mistakes lead to (measured: it is 3 % worse over the five metrics). So after the first round, which
the planner plays, the network plays, the planner says in every table where the network thought what
it would have done, and the network learns from all tables so far. Each workload has a preference of
its own, which planner and network are told. Source: DAgger, Ross, Gordon and Bagnell, AISTATS 2011,
arXiv 1011.0686.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from prema_gym.agents import seeds
from prema_gym.agents.policies.balancer_policy import Thinking
from prema_gym.agents.scorer.balancer_names import NUM_INPUTS
from prema_gym.agents.scorer.balancer_shape import BalancerShape, BalancerWeights
from prema_gym.agents.training.evolution.search import first_guess
from prema_gym.baselines.replan import Replan
from prema_gym.baselines.table import Table
from prema_gym.errors import ConfigError
from prema_gym.simulator import Simulator
from prema_gym.simulator import observation as col
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario

TEACHER = "replan"
BALANCED = Replan(fairness=4.0, tail=3.0)
"""What the planner aims at where the network is told "balanced": with calibrated estimates all five
metrics are a little above PREMA's then (docs/learned.md), and a search has room on both sides."""
ROUNDS = 6
WORKLOADS = 480
"""Of a round: some 40 000 tables."""
PREFERENCES_APART = 8
"""Different preferences in a round, half of them balanced: the planner takes one at a call."""
SPREAD = 0.7
"""Standard deviation of the logarithm of a preference: from a half to twice in two of three."""
STEPS = 2500
BATCH = 512
LEARNING_RATE = 5e-3
"""Adam's, at first; the weights are of order one."""
ESTIMATES = ("calibrated", "algorithm1")
"""Shown by turns, to teacher and network alike."""
NEVER = -1e8
"""Score of a slot without a task."""
_ROUND = 10**9 + 10  # rounds of training seeds that no training reaches


class _Seen:
    """Tables where the network thought, and what the planner would have done."""

    def __init__(self) -> None:
        self.inputs: list[NDArray[np.float32]] = []
        self.of_all: list[NDArray[np.float32]] = []
        self.preferences: list[NDArray[np.float32]] = []
        self.present: list[NDArray[np.bool_]] = []
        self.choices: list[NDArray[np.int64]] = []

    def tensors(self) -> list[Tensor]:
        """All of it, one table a row."""
        parts = (self.inputs, self.of_all, self.preferences, self.present, self.choices)
        return [torch.from_numpy(np.concatenate(part)) for part in parts]


class BalancerNetwork(nn.Module):
    """The balancer network in torch, on inputs that were seen; the twin of the compiled one."""

    line: nn.Parameter
    encode: nn.Parameter
    encode_bias: nn.Parameter
    read: nn.Parameter
    read_bias: nn.Parameter
    score: nn.Parameter

    def __init__(self, weights: BalancerWeights) -> None:
        """Take over a network's weights."""
        super().__init__()
        for name, array in weights._asdict().items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(array.copy())))

    @property
    def weights(self) -> BalancerWeights:
        """A copy of the weights."""
        return BalancerWeights(
            *(getattr(self, name).detach().numpy().copy() for name in BalancerWeights._fields)
        )

    def forward(
        self, inputs: Tensor, of_all: Tensor, preference: Tensor, present: Tensor
    ) -> Tensor:
        """Scores (B, S) from inputs (B, S, F), (B, G), (B, P) and who is present, bool (B, S)."""
        here = present.unsqueeze(-1)
        bias = self.encode_bias + preference @ self.encode[NUM_INPUTS:]
        encoding = functional.softsign(inputs @ self.encode[:NUM_INPUTS] + bias.unsqueeze(1))
        mean = (encoding * here).sum(1) / present.sum(1, keepdim=True)
        highest = torch.where(here, encoding, torch.full_like(encoding, -1.0)).amax(1)
        hidden = encoding.shape[-1]
        known = torch.cat((mean, highest, of_all, preference), dim=1)
        context = known @ self.read[hidden:] + self.read_bias
        readers = functional.softsign(encoding @ self.read[:hidden] + context.unsqueeze(1))
        return torch.where(present, inputs @ self.line + readers @ self.score, NEVER)


def distil(
    teacher: str,
    scenario: Scenario,
    shape: BalancerShape,
    seed: int,
    *,
    say: Callable[[str], None] = lambda line: None,
) -> BalancerWeights:
    """Weights with which the network chooses as the planner mostly does.

    Args:
        teacher: "replan".
        scenario: Where they play.
        shape: Sizes of the network.
        seed: Seed of workloads, preferences, weights and the order of batches.
        say: Told after each round how well it imitates.

    Raises:
        ConfigError: The teacher is no planner.
    """
    if teacher != TEACHER:
        raise ConfigError(f"a balancer network imitates {TEACHER!r}, not {teacher!r}")
    guess = first_guess(shape, seed)
    assert isinstance(guess, BalancerWeights)
    network = BalancerNetwork(guess)
    rng = np.random.default_rng(np.random.SeedSequence((seed, 0xDA)))
    seen = _Seen()
    with _one_thread():
        for k in range(ROUNDS):
            drawn = seeds.training_workloads(seed, _ROUND + k, WORKLOADS).tolist()
            for part in np.array_split(np.array(drawn), PREFERENCES_APART):
                _collect(network.weights, scenario, part.tolist(), k, rng, seen)
            agreement = _learn(network, seen, STEPS, rng)
            tables = sum(map(len, seen.choices))
            say(f"round {k + 1}: imitates {teacher} in {100 * agreement:.1f} % of {tables} tables")
    return network.weights


def _collect(
    weights: BalancerWeights,
    scenario: Scenario,
    drawn: list[int],
    turn: int,
    rng: np.random.Generator,
    seen: _Seen,
) -> None:
    """Play some workloads of one preference, and ask the planner at every thought."""
    balanced = rng.random() < 0.5
    logs = np.zeros(2) if balanced else SPREAD * rng.standard_normal(2)
    liked = np.exp(logs)
    fairness, tail = BALANCED.fairness * liked[0], BALANCED.tail * liked[1]
    planner = replace(BALANCED, fairness=float(fairness), tail=float(tail))
    catalog = compile_scenario(scenario)
    simulator = Simulator(
        catalog,
        num_envs=len(drawn),
        slots=scenario.num_tasks,
        estimate=ESTIMATES[int(rng.random() < 0.5)],
    )
    preference = np.tile(logs.astype(np.float32), (len(drawn), 1))
    thinking = Thinking(weights, len(drawn), scenario.num_tasks, preference, keep=True)
    simulator.load(sample_batch(catalog, drawn))
    actions = np.zeros(len(drawn), np.int64)
    planned = None
    while simulator.asking.any():
        asked, tables = simulator.asking, simulator.observation
        thinking.choose(tables, asked, actions)
        wanted, planned = planner.remember(Table(tables), planned, None)
        rows = np.flatnonzero(thinking.thought)
        present = tables[rows, :, col.PRESENT] > 0
        seen.inputs.append(np.where(present[..., np.newaxis], thinking.inputs[rows], 0.0))
        seen.of_all.append(thinking.of_all[rows])
        seen.preferences.append(preference[rows])
        seen.present.append(present)
        seen.choices.append(wanted[rows])
        if turn == 0:  # the planner plays
            actions[asked] = wanted[asked]
        simulator.step_range(actions, 0, len(drawn))


def _learn(network: BalancerNetwork, seen: _Seen, steps: int, rng: np.random.Generator) -> float:
    """Learn from all tables so far; the share in which network and planner agree at the end."""
    *known, choices = seen.tensors()
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        rows = torch.from_numpy(rng.integers(0, len(choices), BATCH))
        scores = network(*(part[rows] for part in known))
        loss = functional.cross_entropy(scores, choices[rows])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        return float((network(*known).argmax(dim=-1) == choices).float().mean())


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums in one order, whatever the machine: the same weights to the bit."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
