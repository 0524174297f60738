"""How does Stable-Baselines3 train our network? As policy classes of its own kinds.

Actor-critic algorithms (PPO, A2C, masked PPO) see the scores as logits; DQN sees them as values of
actions. Actions that are not legal are excluded by the table itself, so every way of evaluating
such a policy is masked, also where nobody passes a mask.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from prema_gym.agents.scorer.shape import ScorerShape
from prema_gym.agents.scorer.torch_scorer import (
    Schedule,
    SlotCritic,
    SlotScorer,
    features,
    legal_actions,
)
from prema_gym.errors import ConfigError
from prema_gym.simulator import observation as col


class Untouched(BaseFeaturesExtractor):
    """Hands the table on as it is: the network needs its rows."""

    def __init__(self, observation_space: spaces.Box) -> None:
        """Take the table's space."""
        rows, columns = observation_space.shape
        super().__init__(observation_space, features_dim=rows * columns)

    def forward(self, observations: Tensor) -> Tensor:
        """The tables, (B, S, C)."""
        return observations


class SlotHeads(nn.Module):
    """Actor and critic where SB3 expects its MLP extractor."""

    def __init__(self, shape: ScorerShape, actions: int, critic_width: int) -> None:
        """Build both; the actor's latent already are the logits."""
        super().__init__()
        self.scorer = SlotScorer(shape, seed=int(torch.randint(2**31, ()).item()))
        self.critic = SlotCritic(critic_width)
        self.latent_dim_pi = actions
        self.latent_dim_vf = critic_width

    def forward(self, table: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and the critic's latent."""
        seen = features(table)
        return self.scorer(table, seen), self.critic(table, seen)

    def forward_actor(self, table: Tensor) -> Tensor:
        """Logits, (B, actions)."""
        logits: Tensor = self.scorer(table)
        return logits

    def forward_critic(self, table: Tensor) -> Tensor:
        """Latent of the return, (B, width)."""
        latent: Tensor = self.critic(table)
        return latent


def shape_for(
    observation_space: spaces.Box, action_space: spaces.Discrete, hidden: int, readers: int
) -> ScorerShape:
    """Sizes of the network for an environment's spaces.

    Raises:
        ConfigError: The actions are no multiple of the slots.
    """
    slots = observation_space.shape[0]
    mechanisms, rest = divmod(int(action_space.n), slots)
    if rest or mechanisms == 0:
        raise ConfigError(f"{action_space.n} actions do not belong to a table of {slots} slots")
    return ScorerShape(hidden=hidden, readers=readers, mechanisms=mechanisms)


class _SlotActorCritic:
    """What the two actor-critic policies below share: the network in place of SB3's MLPs."""

    # Set here and by SB3's classes, whose types differ between the two.
    mlp_extractor: Any
    action_net: Any

    def __init__(
        self,
        observation_space: spaces.Box,
        action_space: spaces.Discrete,
        lr_schedule: Schedule,
        *args: Any,  # noqa: ANN401 - SB3's own arguments
        hidden: int = 32,
        readers: int = 32,
        critic_width: int = 32,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        self._sizes = {"hidden": hidden, "readers": readers, "critic_width": critic_width}
        kwargs["features_extractor_class"] = Untouched
        super().__init__(observation_space, action_space, lr_schedule, *args, **kwargs)  # type: ignore[call-arg]

    @property
    def scorer(self) -> SlotScorer:
        """The actor."""
        scorer: SlotScorer = self.mlp_extractor.scorer
        return scorer

    def _build(self, lr_schedule: Schedule) -> None:
        space, actions = self.observation_space, self.action_space  # type: ignore[attr-defined]
        shape = shape_for(space, actions, self._sizes["hidden"], self._sizes["readers"])
        self.mlp_extractor = SlotHeads(shape, int(actions.n), self._sizes["critic_width"])
        self.action_net = nn.Identity()
        self.value_net = nn.Linear(self._sizes["critic_width"], 1)
        # SB3 moves the policy to its device after this; the optimiser keeps the same parameters.
        self.optimizer = self.optimizer_class(  # type: ignore[attr-defined]
            self.parameters(),  # type: ignore[attr-defined]
            lr=lr_schedule(1),
            **self.optimizer_kwargs,  # type: ignore[attr-defined]
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data: dict[str, Any] = super()._get_constructor_parameters()  # type: ignore[misc]
        return data | self._sizes


class SlotPolicy(_SlotActorCritic, ActorCriticPolicy):
    """For PPO and A2C."""


class MaskableSlotPolicy(_SlotActorCritic, MaskableActorCriticPolicy):
    """For masked PPO."""


class SlotQNetwork(QNetwork):
    """Values of actions: the scores, and for an illegal action what the simulator makes of it.

    An illegal action continues the running task, else runs the earliest arrival
    (``docs/simulator.md``), so it is worth exactly what that action is worth. Exploration may thus
    try any action and learn something true.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401
        hidden: int = 32,
        readers: int = 32,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Take SB3's arguments and the sizes of the network."""
        super().__init__(*args, **kwargs)
        shape = shape_for(self.observation_space, self.action_space, hidden, readers)  # type: ignore[arg-type]
        self.q_net = SlotScorer(shape, seed=int(torch.randint(2**31, ()).item()))  # type: ignore[assignment]

    def forward(self, obs: Tensor) -> Tensor:  # type: ignore[override]
        """Values (B, actions)."""
        scores: Tensor = self.q_net(obs)
        slots = obs.shape[-2]
        running = obs[..., col.RUNNING] > 0
        order = torch.where(
            obs[..., col.PRESENT] > 0, obs[..., col.ORDER], torch.full_like(obs[..., 0], slots)
        )
        instead = torch.where(
            running.any(dim=-1), running.to(scores.dtype).argmax(dim=-1), order.argmin(dim=-1)
        )
        fallback = scores.gather(-1, instead.unsqueeze(-1))
        # A table without tasks is worth 0: nothing is left to be paid for.
        fallback = torch.where(
            (obs[..., col.PRESENT] > 0).any(dim=-1, keepdim=True),
            fallback,
            torch.zeros_like(fallback),
        )
        legal = legal_actions(obs, scores.shape[-1] // slots)
        return torch.where(legal, scores, fallback)

    def _predict(self, observation: Tensor, deterministic: bool = True) -> Tensor:  # type: ignore[override]
        values = self(observation)
        legal = legal_actions(observation, values.shape[-1] // observation.shape[-2])
        masked = torch.where(legal, values, torch.full_like(values, -torch.inf))
        return masked.argmax(dim=1).reshape(-1)


class SlotQPolicy(DQNPolicy):
    """For DQN."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401
        hidden: int = 32,
        readers: int = 32,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Take SB3's arguments and the sizes of the network."""
        self._sizes = {"hidden": hidden, "readers": readers}
        kwargs["features_extractor_class"] = Untouched
        super().__init__(*args, **kwargs)

    @property
    def scorer(self) -> SlotScorer:
        """The network whose highest score is chosen."""
        return self.q_net.q_net  # type: ignore[return-value]

    def make_q_net(self) -> QNetwork:
        """Build one network."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return SlotQNetwork(**arguments, **self._sizes).to(self.device)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | self._sizes
