"""What must an object have to be played as a policy? `Decider`, and checks of what users hand over.

A policy here is any object with the ``predict`` of Stable-Baselines3 models, a rule or a trained
network alike; none is known by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.metrics import IntArray
from prema_gym.simulator.mechanisms import DEFAULT_MECHANISMS, check_mechanisms


class Decider(Protocol):
    """What can be evaluated: an object with the ``predict`` of Stable-Baselines3's models.

    ``predict(observation, state=…, episode_start=…, deterministic=…, action_masks=…)`` returns
    ``(actions, state)`` for a batch of observation tables; what the state is belongs to the policy.
    An optional attribute ``concurrent`` (default False) says that it may be called from several
    threads at once; without it, all its plays come one after the other, in the same order whatever
    the threads. An optional attribute ``mechanisms`` (names, default ``("checkpoint",)``) says what
    the action space must offer. An optional method
    ``prepare(simulator)`` is called once the workloads are loaded and returns what is asked in its
    place (`evaluation.clairvoyant`). An optional attribute ``test_seeds`` (a range) says on which
    seeds a policy that has learned may be compared. An optional attribute ``only_when_free`` is
    True for a policy without a state that would let a running task go on whatever it is shown: it
    is not asked then, which changes nothing but the number of decisions.
    """

    @property
    def predict(self) -> Callable[..., tuple[Any, Any]]:
        """Choose actions; see the class."""
        ...


def mechanisms_of(policy: Decider) -> tuple[str, ...]:
    """Return the mechanisms a policy's actions index.

    Raises:
        ConfigError: What was given is no policy, or its mechanisms are none.
    """
    if isinstance(policy, type) or not callable(getattr(policy, "predict", None)):
        raise ConfigError(
            f"a policy must be an object with a method predict (baselines.make(name), say), "
            f"got {policy!r}"
        )
    return check_mechanisms(getattr(policy, "mechanisms", DEFAULT_MECHANISMS))


def decides_only_when_free(policy: Decider) -> bool:
    """Whether a policy need not be asked while a task runs."""
    return bool(getattr(policy, "only_when_free", False))


def check_takes_masks(policy: Decider) -> None:
    """Refuse a policy that cannot be told which actions are legal.

    Raises:
        ConfigError: Its ``predict`` takes no ``action_masks``.
    """
    parameters = inspect.signature(policy.predict).parameters.values()
    if not any(p.name == "action_masks" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise ConfigError(
            f"{type(policy).__name__}.predict takes no action_masks, so it could choose illegal "
            "actions: train with MaskablePPO, or save it and give agents.load(FILE), which masks"
        )


def checked_answer(policy: Decider, answer: object, rows: int) -> tuple[IntArray, Any]:
    """Return the actions and the state of a policy's answer, which may be anything.

    Args:
        policy: Who answered.
        answer: What ``predict`` returned.
        rows: Number of tables it was asked about.

    Returns:
        Actions int64 (rows,), and the state.

    Raises:
        ConfigError: It is no pair, or not one whole number for each table.
    """
    where = f"{type(policy).__name__}.predict"
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ConfigError(f"{where} must return (actions, state), got {type(answer).__name__}")
    actions, state = np.asarray(answer[0]), answer[1]
    if actions.dtype.kind not in "iu" or actions.shape != (rows,):
        raise ConfigError(
            f"{where} must return {rows} whole numbers for {rows} tables, got {actions.dtype} of "
            f"shape {actions.shape}"
        )
    return actions.astype(np.int64, copy=False), state
