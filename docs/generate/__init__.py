"""Which parts of the pages are made from code, and by what?

Run: python -m docs.generate             rewrites every part that is made from code alone
     python -m docs.generate.tournament  plays all policies; --write puts the tables in place
     python -m docs.generate.generalisation, learned_curve, timelines, shipped_policy
                                         what docs/learned.md shows of a trained policy

A generated part stands between two comments with its name; what is around it is written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.generate import algorithm_list, module_map, policy_lists

PAGES = Path(__file__).parents[1]
PARTS: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    PAGES / "policies.md": policy_lists.PARTS,
    PAGES / "architecture.md": module_map.PARTS,
    PAGES / "learned.md": algorithm_list.PARTS,
}
"""The parts made from code alone, by page and name."""
