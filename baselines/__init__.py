"""PREMA and the policies it is compared with: pure functions of the observation table.

A policy is an *ordering* (whom to run: ``classic.py``, ``prema.py``) joined with a way to *preempt*
(when and by which mechanism: ``preemption.py``) under a name (``registry.py``)::

    policy = baselines.make(baselines.PREMA, mechanisms=("checkpoint", "drain"))
    actions, _ = policy.predict(observation)
"""

from __future__ import annotations

if __name__ == "baselines":  # found as a folder of the working directory
    raise ImportError("write `from prema_gym import baselines`: this folder is part of prema_gym")

from prema_gym.baselines.ordering import Ordering
from prema_gym.baselines.parameters import as_text
from prema_gym.baselines.policy import Policy
from prema_gym.baselines.registry import (
    LEFT_OUT,
    PREMA,
    PolicyInfo,
    describe,
    make,
    meant_by,
    names,
)
from prema_gym.baselines.table import Table

__all__ = [
    "LEFT_OUT",
    "PREMA",
    "Ordering",
    "Policy",
    "PolicyInfo",
    "Table",
    "as_text",
    "describe",
    "make",
    "meant_by",
    "names",
]
