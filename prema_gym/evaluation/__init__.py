"""What becomes of workloads under a policy, and how do policies compare on the same ones?

One policy on a batch is in ``playing.py``, the comparison in ``compare.py``, the paper's claims
beside ours in ``claims.py``. Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.lazy import on_first_use

if TYPE_CHECKING:
    from prema_gym.evaluation.claims import Reproduction, reproduce
    from prema_gym.evaluation.compare import evaluate, evaluate_settings
    from prema_gym.evaluation.outcomes import outcomes_of
    from prema_gym.evaluation.playing import PlaySettings, play, play_on, simulator_for
    from prema_gym.evaluation.policy import Decider
    from prema_gym.evaluation.results import Evaluation, MetricValue, PolicyResult
    from prema_gym.evaluation.settings import EvaluationSettings

__all__ = [
    "Decider",
    "Evaluation",
    "EvaluationSettings",
    "MetricValue",
    "PlaySettings",
    "PolicyResult",
    "Reproduction",
    "evaluate",
    "evaluate_settings",
    "outcomes_of",
    "play",
    "play_on",
    "reproduce",
    "simulator_for",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "claims": ("Reproduction", "reproduce"),
        "compare": ("evaluate", "evaluate_settings"),
        "outcomes": ("outcomes_of",),
        "playing": ("PlaySettings", "play", "play_on", "simulator_for"),
        "policy": ("Decider",),
        "results": ("Evaluation", "MetricValue", "PolicyResult"),
        "settings": ("EvaluationSettings",),
    },
)
