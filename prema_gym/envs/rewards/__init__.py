"""What is paid: the table of terms, their compiled totals, and the ledger of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.lazy import on_first_use

if TYPE_CHECKING:
    from prema_gym.envs.rewards.reward import Reward, reward_names
    from prema_gym.envs.rewards.terms import TERMS, Term


__all__ = ["TERMS", "Reward", "Term", "reward_names"]


__getattr__, __dir__ = on_first_use(
    __name__, {"reward": ("Reward", "reward_names"), "terms": ("TERMS", "Term")}
)
