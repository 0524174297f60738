from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from prema_gym.agents.scorer.shape import Weights  # noqa: E402
from prema_gym.agents.scorer.torch_scorer import NEVER, SlotCritic, SlotScorer, legal_actions  # noqa: E402
from prema_gym.simulator.observation import NUM_COLUMNS  # noqa: E402
from prema_gym.workloads.catalog import Catalog  # noqa: E402
from tests.agents.conftest import random_policy, tables  # noqa: E402


@pytest.mark.parametrize("mechanisms", [("checkpoint",), ("checkpoint", "drain", "kill")])
def test_torch_and_compiled_networks_score_alike(
    tiny: Catalog, mechanisms: tuple[str, ...]
) -> None:
    policy = random_policy(mechanisms=mechanisms)
    network = SlotScorer(policy.shape)
    network.load(policy.weights)
    seen = 0
    for observation, mask in tables(tiny, count=64, steps=40, mechanisms=mechanisms):
        with torch.no_grad():
            scores = network(torch.from_numpy(observation)).numpy()
        assert np.array_equal(scores > NEVER / 2, mask)
        legal = legal_actions(torch.from_numpy(observation), len(mechanisms)).numpy()
        assert np.array_equal(legal, mask)
        expected = policy.scores(observation)
        np.testing.assert_allclose(scores[mask], expected[mask], rtol=1e-4, atol=1e-4)
        seen += len(observation)
    assert seen > 300


def test_without_a_task_the_one_action_is_zero() -> None:
    network = SlotScorer(random_policy(mechanisms=("checkpoint", "kill")).shape)
    network.load(random_policy(mechanisms=("checkpoint", "kill")).weights)
    scores = network(torch.zeros(1, 3, NUM_COLUMNS)).tolist()
    assert scores == [[0] + [NEVER] * 5]


def test_weights_come_back_as_they_were() -> None:
    policy = random_policy()
    network = SlotScorer(policy.shape)
    network.load(policy.weights)
    for name, before, after in zip(Weights._fields, policy.weights, network.weights, strict=True):
        assert np.array_equal(before, after), name


def test_gradients_are_finite_and_reach_every_weight(tiny: Catalog) -> None:
    policy = random_policy()
    network = SlotScorer(policy.shape)
    network.load(policy.weights)
    observation = np.concatenate([table for table, _ in tables(tiny, count=32, steps=20)])
    log_probability = torch.log_softmax(network(torch.from_numpy(observation)), dim=-1)
    (-log_probability[:, 0].clamp(min=-50).mean()).backward()
    for name, parameter in network.named_parameters():
        assert isinstance(parameter.grad, torch.Tensor), name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.count_nonzero() > 0, name


def test_the_critic_does_not_care_for_slots(tiny: Catalog) -> None:
    torch.manual_seed(0)
    critic = SlotCritic(7)
    observation, _ = next(tables(tiny, count=10, steps=1))
    table = torch.from_numpy(observation)
    with torch.no_grad():
        latent = critic(table)
        assert latent.shape == (10, 7)
        torch.testing.assert_close(critic(table.flip(dims=(1,))), latent, rtol=1e-4, atol=1e-5)
