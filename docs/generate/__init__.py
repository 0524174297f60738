"""Which parts of the pages are made from code, and by what?

Run: python -m docs.generate             rewrites every part that is made from code alone
     python -m docs.generate.tournament  plays all policies; --write puts the tables in place
     python -m docs.generate.switch_costs  plays policies on machines that switch ever more slowly
     python -m docs.generate.blocks      policies beside PREMA on disjoint blocks of workloads
     python -m docs.generate.scaling     how many workers pay, measured and modelled
     python -m docs.generate.generalisation, registered, learned_curve, shipped_policy
                                         what docs/learned.md shows of a trained policy
     python -m docs.generate.pictures    every picture in docs/pictures

A generated part stands between two comments with its name; what is around it is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from docs.generate import (
    algorithm_list,
    client_list,
    command_list,
    environment_lists,
    figure_list,
    format_list,
    latency_list,
    module_map,
    policy_lists,
    task_keys,
    trace_list,
)
from prema_gym import agents
from prema_gym.agents.studies.model_card import card

PAGES = Path(__file__).parents[1]
ENVIRONMENT = PAGES.parent / "prema_gym" / "envs" / "env.py"
"""The docstring of its class is a page too: Gymnasium's specification of the environment."""

PARTS: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    PAGES / "policies.md": policy_lists.PARTS,
    PAGES / "architecture.md": module_map.PARTS,
    PAGES / "learned.md": algorithm_list.PARTS,
    PAGES / "switch-costs.md": latency_list.PARTS,
    PAGES / "figures.md": figure_list.PARTS,
    PAGES / "bring-your-own.md": format_list.PARTS,
    PAGES / "rewards.md": environment_lists.PARTS,
    PAGES / "scenarios.md": task_keys.PARTS,
    PAGES / "traffic.md": trace_list.PARTS,
    PAGES / "commands.md": command_list.PARTS,
    PAGES / "rl-libraries.md": client_list.PARTS,
    PAGES / "distribution.md": {},  # measured too
    PAGES / "fidelity.md": {},  # its part is measured, by a command of its own
    ENVIRONMENT: environment_lists.DOCSTRING_PARTS,
}
"""The parts made from code alone, by page and name."""

CARDS: Mapping[Path, Callable[[], str]] = {
    agents.PRETRAINED / f"{name}.md": partial(card, name) for name in agents.names()
}
"""Model cards of the shipped policies, made whole from the files beside their weights."""
