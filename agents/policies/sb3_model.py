"""How does a model saved by Stable-Baselines3 take part? Behind ``predict``, masked in every case.

MaskablePPO takes a mask itself. PPO, A2C and DQN do not: their preferences are read and the best
legal action is taken, so that no evaluation ever plays an illegal one.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import load_from_zip_file

from prema_gym.agents import seeds
from prema_gym.agents.algorithms import ALGORITHMS
from prema_gym.agents.policies.learned import TRAINED_MECHANISMS, LearnedPolicy
from prema_gym.agents.policies.old_names import moved_objects
from prema_gym.errors import ConfigError
from prema_gym.simulator.observation import NUM_COLUMNS


class SB3Policy:
    """A Stable-Baselines3 model as a policy; runs with the slots it was trained with.

    Attributes:
        name: What reports call it.
        mechanisms: The simulation's mechanisms, which its actions index.
        rule: What it does, in one sentence.
        source: Where it comes from.
        slots: Rows of the tables it was trained with, and needs.
        model: The model.
        parameters: Value of each parameter by name: none, all is in the weights.
        test_seeds: Seeds of workloads that no policy was trained or selected on.
    """

    test_seeds = seeds.TEST

    def __init__(self, name: str, model: BaseAlgorithm, about: Mapping[str, Any]) -> None:
        """Take a model.

        Args:
            name: See the class.
            model: See the class.
            about: Plain data with ``mechanisms``.
        """
        self.name = name
        self.model = model
        self.about = dict(about)
        self.mechanisms: tuple[str, ...] = tuple(about["mechanisms"])
        shape = model.observation_space.shape
        assert shape is not None, "load_zip checks it"
        self.slots = int(shape[0])
        self.rule = f"Do what a {type(model).__name__} model prefers among the legal actions."
        self.source = str(about.get("source", "a Stable-Baselines3 file"))
        self.parameters: dict[str, object] = {}

    def __repr__(self) -> str:
        return f"<policy {self.name} ({', '.join(self.mechanisms)})>"

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,  # noqa: ANN401 - handed through, whatever it is
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], Any]:
        """Name the preferred legal action for one table or for each of a batch.

        Args:
            observation: Table float32 (slots, columns), or a batch (envs, slots, columns).
            state: Returned as it is.
            episode_start: Ignored.
            deterministic: Ignored: always the preferred action.
            action_masks: Legal actions, bool (actions,) or (envs, actions). Required.

        Raises:
            ConfigError: No mask is given, or the table has another shape than in training.
        """
        tables = np.asarray(observation, dtype=np.float32)
        single = tables.ndim == 2
        batch = tables[np.newaxis] if single else tables
        if batch.shape[1:] != (self.slots, NUM_COLUMNS):
            raise ConfigError(
                f"{self.name} was trained on tables of shape {(self.slots, NUM_COLUMNS)}, got "
                f"{batch.shape[1:]}: evaluate it with --slots {self.slots}"
            )
        if action_masks is None:
            raise ConfigError(f"{self.name} needs action_masks to choose legal actions")
        legal = torch.as_tensor(np.asarray(action_masks, dtype=bool).reshape(len(batch), -1))
        with torch.no_grad():
            preferences = self._preferences(torch.as_tensor(batch).to(self.model.device)).cpu()
        preferences[~legal] = -torch.inf
        actions = preferences.argmax(dim=-1).numpy().astype(np.int64)
        return (actions.squeeze(axis=0) if single else actions), state

    def _preferences(self, tables: torch.Tensor) -> torch.Tensor:
        policy: Any = self.model.policy
        policy.set_training_mode(False)
        if hasattr(policy, "q_net"):
            values: torch.Tensor = policy.q_net(tables)
            return values.clone()
        logits: torch.Tensor = policy.get_distribution(tables).distribution.logits
        return logits.clone()


def load_zip(path: Path, name: str) -> LearnedPolicy | SB3Policy:
    """Load a file that SB3 saved: our network as a policy of any slots, others as they are.

    SB3 files hold pickled objects: load only what you trust.

    Raises:
        ConfigError: It is damaged, missing, of another kind, or for another table.
    """
    if not zipfile.is_zipfile(path):
        why = "is damaged or not a Stable-Baselines3 file" if path.exists() else "does not exist"
        raise ConfigError(f"{path} {why}")
    model = _load(path)
    about = {
        "mechanisms": TRAINED_MECHANISMS,
        "source": f"{path.name}, {model.num_timesteps} steps",
    }
    space, actions = model.observation_space, getattr(model.action_space, "n", None)
    if space.shape is None or len(space.shape) != 2 or space.shape[1] != NUM_COLUMNS:
        raise ConfigError(f"{path} was trained on observations of shape {space.shape}, not tables")
    if actions != space.shape[0]:
        raise ConfigError(
            f"{path} has {actions} actions for {space.shape[0]} slots: only models for one "
            "mechanism (checkpoint) can be loaded"
        )
    scorer = getattr(model.policy, "scorer", None)
    if scorer is None:
        return SB3Policy(name, model, about)
    return LearnedPolicy(name, scorer.weights, about)


def _load(path: Path) -> BaseAlgorithm:
    try:
        moved = moved_objects(path)
        data, _, _ = load_from_zip_file(path, device="cpu", custom_objects=moved)
        return _kind(data or {}).load(path, device="cpu", custom_objects=moved)
    except Exception as error:  # whatever zipfile, pickle, torch or SB3 make of a foreign file
        reason = (str(error) or "no reason given").splitlines()[0]
        raise ConfigError(
            f"{path} is damaged or not a model that can be loaded (a .zip that Stable-Baselines3 "
            f"saved): {type(error).__name__}: {reason}"
        ) from None


def _kind(data: Mapping[str, Any]) -> type[BaseAlgorithm]:
    """Which algorithm saved this: SB3 does not say, but its policy's class and settings do."""
    for algorithm in ALGORITHMS.values():
        if algorithm.model and algorithm.mark in ("", *data):
            kind: type[BaseAlgorithm] = algorithm.load("model")
            if issubclass(data["policy_class"], kind.policy_aliases["MlpPolicy"]):
                return kind
    raise ConfigError(f"its policy is a {data['policy_class'].__name__}")
