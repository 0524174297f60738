"""How does a model saved by Stable-Baselines3 take part? Behind ``predict``, masked in every case.

Its preferences are read (``sb3_preferences.py``) and the best legal action is taken, so that no
evaluation ever plays an illegal one, whatever algorithm trained it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.vec_env import VecNormalize

from prema_gym.agents import seeds
from prema_gym.agents.policies.learned import TRAINED_MECHANISMS, LearnedPolicy
from prema_gym.agents.policies.normalised import statistics_beside
from prema_gym.agents.policies.old_names import moved_objects
from prema_gym.agents.policies.sb3_preferences import family_of
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
        policy: The model's policy.
        statistics: By which its tables were normalised in training; None: they were not.
        parameters: Value of each parameter by name: none, all is in the weights.
        test_seeds: Seeds of workloads that no policy was trained or selected on.
    """

    test_seeds = seeds.TEST

    def __init__(
        self,
        name: str,
        policy: BasePolicy,
        about: Mapping[str, Any],
        statistics: VecNormalize | None = None,
    ) -> None:
        """Take a model's policy.

        Args:
            name: See the class.
            policy: See the class.
            about: Plain data with ``mechanisms``.
            statistics: See the class.
        """
        self.name = name
        self.policy = policy
        self.statistics = statistics
        family = family_of(type(policy))
        self._prefer = family.preferences
        self.about = dict(about)
        self.mechanisms: tuple[str, ...] = tuple(about["mechanisms"])
        shape = policy.observation_space.shape
        assert shape is not None, "load_zip checks it"
        self.slots = int(shape[0])
        self.rule = f"Do what a model of {family.title} prefers among the legal actions."
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
            state: What it remembers (RecurrentPPO), as it returned it; None at first.
            episode_start: Where an episode begins, bool (envs,): nothing is remembered there.
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
        if self.statistics is not None:
            batch = np.asarray(self.statistics.normalize_obs(batch), np.float32)
        starts = np.zeros(len(batch)) if episode_start is None else np.atleast_1d(episode_start)
        device = self.policy.device
        self.policy.set_training_mode(False)
        with torch.no_grad():
            preferences, state = self._prefer(
                self.policy,
                torch.as_tensor(batch).to(device),
                state,
                torch.as_tensor(starts, dtype=torch.float32, device=device),
            )
        preferences = preferences.cpu().masked_fill(~legal, -torch.inf)
        actions = preferences.argmax(dim=-1).numpy().astype(np.int64)
        return (actions.squeeze(axis=0) if single else actions), state


def load_zip(path: Path, name: str) -> LearnedPolicy | SB3Policy:
    """Load a file that SB3 saved: our network as a policy of any slots, others as they are.

    SB3 files hold pickled objects: load only what you trust.

    Raises:
        ConfigError: It is damaged, missing, of another kind, or for another table; or it was
            trained on normalised tables, and the statistics are not beside it.
    """
    if not zipfile.is_zipfile(path):
        why = "is damaged or not a Stable-Baselines3 file" if path.exists() else "does not exist"
        raise ConfigError(f"{path} {why}")
    policy, data = _load(path)
    about = {
        "mechanisms": TRAINED_MECHANISMS,
        "source": f"{path.name}, {data.get('num_timesteps')} steps",
    }
    space, actions = policy.observation_space, getattr(policy.action_space, "n", None)
    if space.shape is None or len(space.shape) != 2 or space.shape[1] != NUM_COLUMNS:
        raise ConfigError(f"{path} was trained on observations of shape {space.shape}, not tables")
    if actions != space.shape[0]:
        raise ConfigError(
            f"{path} has {actions} actions for {space.shape[0]} slots: only models for one "
            "mechanism (checkpoint) can be loaded"
        )
    statistics = statistics_beside(path, data)
    scorer = getattr(policy, "scorer", None)
    if scorer is None:
        return SB3Policy(name, policy, about, statistics)
    if statistics is not None:
        raise ConfigError(
            f"{path}: our network scales tables itself; train it without VecNormalize"
        )
    return LearnedPolicy(name, scorer.weights, about)


def _load(path: Path) -> tuple[BasePolicy, Mapping[str, Any]]:
    """The policy alone, and what the file holds beside weights: no algorithm is needed to play."""
    try:
        moved = moved_objects(path)
        data, weights, _ = load_from_zip_file(path, device="cpu", custom_objects=moved)
        assert data is not None, "it holds weights alone"
        kind, spaces = data["policy_class"], (data["observation_space"], data["action_space"])
        sizes = {key: one for key, one in data["policy_kwargs"].items() if key != "device"}
        family_of(kind)
        policy: BasePolicy = kind(*spaces, lambda _: 0.0, **sizes)
        policy.load_state_dict(dict(weights["policy"]))
        return policy, data
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except Exception as error:  # whatever zipfile, pickle, torch or SB3 make of a foreign file
        reason = (str(error) or "no reason given").splitlines()[0]
        raise ConfigError(
            f"{path} is damaged or not a model that can be loaded (a .zip that Stable-Baselines3 "
            f"saved): {type(error).__name__}: {reason}"
        ) from None
