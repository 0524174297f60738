"""Who is reset, and which generator does each draw from? Made from seeds, or given, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from prema_gym.compiled.bit_generator import Generators
from prema_gym.errors import ConfigError


def seeds_of(seed: object, num_envs: int) -> list[int | None]:
    """Return a seed for each sub-environment, as ``reset(seed=…)`` of a vector environment says.

    Args:
        seed: A number s, for s, s + 1, …; or one for each; or None, for none.
        num_envs: Sub-environments.

    Raises:
        ConfigError: Something else, or another number of seeds.
    """
    if seed is None:
        return [None] * num_envs
    if _is_whole(seed):
        return [int(seed) + i for i in range(num_envs)]  # type: ignore[call-overload]
    if not isinstance(seed, Sequence | np.ndarray) or isinstance(seed, str):
        raise ConfigError(
            f"seed must be a whole number, one for each sub-environment, or None, got {seed!r}"
        )
    if len(seed) != num_envs:
        raise ConfigError(
            f"seed must be one number, or one for each of {num_envs} sub-environments, "
            f"got {len(seed)} seeds"
        )
    for own in seed:
        if own is not None and not _is_whole(own):
            raise ConfigError(f"each seed must be a whole number or None, got {own!r} in {seed!r}")
    return [None if own is None else int(own) for own in seed]


def split_mask(
    options: Mapping[str, Any] | None, num_envs: int
) -> tuple[NDArray[np.bool_] | None, Mapping[str, Any] | None]:
    """Return who is to be reset, None for everybody, and the other options of a reset.

    Raises:
        ConfigError: ``reset_mask`` is no bool (num_envs,), or nobody is in it.
    """
    if not isinstance(options, Mapping) or "reset_mask" not in options:
        return None, options
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,):
        raise ConfigError(f"reset_mask must be a bool array of shape ({num_envs},), got {mask!r}")
    if not mask.any():
        raise ConfigError("reset_mask must be true somewhere: it says whom to reset")
    return mask, {key: value for key, value in options.items() if key != "reset_mask"}


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def seeded(
    rngs: Sequence[np.random.Generator], seeds: Sequence[int | None]
) -> tuple[list[np.random.Generator], dict[int, int]]:
    """Make new generators for those that get a seed, and for those that have none yet.

    Args:
        rngs: The generators there are: one for each sub-environment, or none at all.
        seeds: One for each; None: whatever seed the system gives, where one is needed.

    Returns:
        The generators, and the seeds of the new ones by sub-environment.
    """
    kept = list(rngs)
    used: dict[int, int] = {}
    for i, seed in enumerate(seeds):
        if seed is not None or len(kept) <= i:
            rng, used[i] = seeding.np_random(seed)
            kept[i : i + 1] = [rng]
    return kept, used


def checked(rngs: Sequence[np.random.Generator], num_envs: int) -> Generators:
    """Look up generators that compiled code is to draw from.

    Raises:
        ConfigError: They are something else than one generator for each sub-environment alone.
    """
    for rng in rngs:
        if type(rng) is not np.random.Generator:  # compiled code knows no subclass's `random`
            raise ConfigError(f"a generator must be a numpy.random.Generator, got {rng!r}")
    if len(rngs) != num_envs:
        raise ConfigError(
            f"generators must be one for each of {num_envs} sub-environments, got {len(rngs)}"
        )
    generators = Generators.of(rngs)
    if len(set(generators.addresses.tolist())) < num_envs:
        # Also since threads would draw from it at once.
        raise ConfigError(
            "two sub-environments cannot share a generator: each has its own workloads"
        )
    return generators


@contextmanager
def moved_to(generators: Generators, states: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Let generators go on from other states; an error within puts them back.

    Raises:
        ConfigError: A state is of another kind of generator, or of none.
    """
    before = [owner.state for owner in generators.owners]
    try:
        for owner, state in zip(generators.owners, states, strict=True):
            _move(owner, state)
        yield
    except ConfigError:
        for owner, own in zip(generators.owners, before, strict=True):
            owner.state = own
        raise


def _move(owner: np.random.BitGenerator, state: Mapping[str, Any]) -> None:
    own = type(owner).__name__
    given = state.get("bit_generator") if isinstance(state, Mapping) else None
    if given != own:
        raise ConfigError(f"the state's generator is a {given}, here it is a {own}")
    try:
        owner.state = state
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"the state of its {own} is damaged: {error!r}") from None
