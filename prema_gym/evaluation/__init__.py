"""What becomes of workloads under a policy, and how do policies compare on the same ones?

One policy on a batch is in ``play.py``, the comparison in ``compare.py``, the paper's claims beside
ours in ``claims.py``. Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.lazy import on_first_use

if TYPE_CHECKING:
    from prema_gym.evaluation.claims import Reproduction, reproduce
    from prema_gym.evaluation.compare import evaluate, evaluate_settings
    from prema_gym.evaluation.play import Decider, run_policy
    from prema_gym.evaluation.results import Estimate, Evaluation, PolicyResult

__all__ = [
    "Decider",
    "Estimate",
    "Evaluation",
    "PolicyResult",
    "Reproduction",
    "evaluate",
    "evaluate_settings",
    "reproduce",
    "run_policy",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "claims": ("Reproduction", "reproduce"),
        "compare": ("evaluate", "evaluate_settings"),
        "play": ("Decider", "run_policy"),
        "results": ("Estimate", "Evaluation", "PolicyResult"),
    },
)
