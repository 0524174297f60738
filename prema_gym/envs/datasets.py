"""How do episodes of a policy become a data set for offline learning? As one of Minari's.

Needs the ``clients`` extra. A data set remembers its environment, so that whoever loads it makes
the same one again: ``dataset.recover_environment()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from prema_gym.checks import whole
from prema_gym.envs.infos import ACTION_MASK
from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.evaluation.policy import Decider, mechanisms_of

if TYPE_CHECKING:
    from minari import MinariDataset
    from minari.data_collector import EpisodeBuffer

ENV_ID = "prema_gym:PremaNPU-v0"


def record_minari(
    dataset_id: str,
    policy: Decider,
    *,
    episodes: int = 100,
    seed: int = 0,
    **arguments: Any,  # noqa: ANN401 - as for `PremaNPUEnv`
) -> MinariDataset:
    """Play episodes and keep them as a data set in Minari's own folder (``MINARI_DATASETS_PATH``).

    Args:
        dataset_id: Its name, as Minari has names: ``prema/learned-v0``.
        policy: Who plays: ``baselines.make(…)``, ``agents.load(…)``, one of your own.
        episodes: How many.
        seed: Of the first; number *i* has ``seed + i``.
        **arguments: As for `PremaNPUEnv`; ``mechanisms`` are the policy's. Policies look at the
            table in slot order, so that is what is recorded.

    Returns:
        The data set. Each episode has its seed, and every step's mask in ``infos["action_mask"]``.

    Raises:
        ConfigError: No episodes, another observation than the table, or a name that is taken.
        MissingExtraError: Minari is not installed.
    """
    try:
        import minari
    except ImportError:
        raise MissingExtraError("recording a data set", "minari", "clients") from None
    numbers = range(whole().check("episodes", episodes))
    first = whole(0).check("seed", seed)
    for name in ("observation", "slot_order", "info", "mechanisms"):
        if name in arguments:
            raise ConfigError(f"{name} follows from the policy here: record without it")
    if dataset_id in minari.list_local_datasets():
        raise ConfigError(
            f"there is a data set {dataset_id!r} already: minari.delete_dataset({dataset_id!r})"
        )
    env = gymnasium.make(ENV_ID, info="mask", mechanisms=mechanisms_of(policy), **arguments)
    return minari.create_dataset_from_buffers(
        dataset_id,
        [_episode(env, policy, i, first + i) for i in numbers],
        env=env,
        algorithm_name=str(getattr(policy, "name", type(policy).__name__)),
        data_format="arrow",
    )


def _episode(
    env: gymnasium.Env[Any, Any], policy: Decider, number: int, seed: int
) -> EpisodeBuffer:
    """Play one episode: observations and masks of all decisions and of the end."""
    from minari.data_collector import EpisodeBuffer

    observation, info = env.reset(seed=seed)
    seen, infos = [observation], {name: [value] for name, value in info.items()}
    actions: list[np.int64] = []
    rewards: list[float] = []
    ends: list[tuple[bool, bool]] = []
    state, start = None, np.ones(1, np.bool_)
    while not ends or not any(ends[-1]):
        choice, state = policy.predict(
            observation, state, start, deterministic=True, action_masks=info[ACTION_MASK]
        )
        observation, reward, terminated, truncated, info = env.step(int(choice))
        start = np.zeros(1, np.bool_)
        actions.append(np.int64(choice))
        rewards.append(float(reward))
        ends.append((terminated, truncated))
        seen.append(observation)
        for name, value in info.items():
            infos[name].append(value)
    return EpisodeBuffer(
        id=number,
        seed=seed,
        observations=seen,
        actions=actions,
        rewards=rewards,
        terminations=[over for over, _ in ends],
        truncations=[cut for _, cut in ends],
        # Minari cannot read back numbers without an axis.
        infos={name: np.asarray(all_).reshape(len(all_), -1) for name, all_ in infos.items()},
    )
