"""How is a policy made where it is played? By a function and what it is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from prema_gym.distribution.identity import files_digest
from prema_gym.evaluation.policy import Decider


@dataclass(frozen=True)
class Recipe:
    """How a policy is made.

    Attributes:
        make: Makes it; a function of a module, so that another process finds it.
        argument: What it is called with.
        files: What it is made from, beside this package.
    """

    make: Callable[[str], Decider]
    argument: str
    files: tuple[Path, ...] = ()

    @property
    def maker(self) -> str:
        """The function's name: two may make different policies of one name."""
        return f"{self.make.__module__}.{self.make.__qualname__}"

    def digest(self) -> str:
        """Digest of the files."""
        return files_digest(self.files)


def policy_of(recipe: Recipe, digest: str) -> Decider:
    """The policy: one for all who ask where it says that it remembers nothing, else a fresh one.

    What is played must not depend on what its worker played before.

    Args:
        recipe: How it is made.
        digest: Of its files: where they changed it is another policy.
    """
    policy = _kept(recipe, digest)
    return policy if getattr(policy, "concurrent", False) else recipe.make(recipe.argument)


@lru_cache(maxsize=64)  # more than there are policies with names
def _kept(recipe: Recipe, digest: str) -> Decider:
    del digest
    return recipe.make(recipe.argument)
