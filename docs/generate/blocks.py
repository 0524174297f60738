"""Are policies better than dynamic PREMA on every draw? A table of disjoint blocks of workloads.

Run: python -m docs.generate.blocks [--policies …] [--blocks 10] [--workloads 200]

Ten disjoint blocks of 200 test workloads, with Algorithm 1's estimates and with calibrated ones;
PREMA is shown the same. Prints Markdown.
"""

from __future__ import annotations

import argparse

from docs.generate.scripts import run
from docs.generate.sections import table
from prema_gym.agents.studies.blocks import HEADER, SEED, compare_in_blocks, summary
from prema_gym.cli.naming import make_policy, split_names
from prema_gym.workloads import scenarios

POLICIES = "learned,learned-ppo,replan,replan:fairness=3.5,replan:fairness=4"
ESTIMATES = ("algorithm1", "calibrated")


def markdown(names: str, blocks: int, workloads: int, seed: int) -> str:
    """A table for each estimate: a line a policy."""
    parts = []
    for estimate in ESTIMATES:
        policies = {name: make_policy(name) for name in split_names(names)}
        found = compare_in_blocks(
            policies,
            scenarios.get("paper"),
            estimate,
            blocks=blocks,
            workloads=workloads,
            seed=seed,
        )
        rows = [(f"`{name}`", *summary(of_policy)) for name, of_policy in found.items()]
        parts.append(f"\n`estimate = {estimate}`:\n\n")
        parts.append(table(("policy", *HEADER), rows, right=len(HEADER)))
    return "".join(parts) + "\n"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--policies", default=POLICIES, help="names separated by commas")
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--workloads", type=int, default=200, help="of each block")
    parser.add_argument("--seed", type=int, default=SEED, help="first seed of the first block")
    options = parser.parse_args()
    own = "" if options.policies == POLICIES else f" --policies {options.policies}"
    command = (
        f"python -m docs.generate.blocks{own} --blocks {options.blocks} "
        f"--workloads {options.workloads} --seed {options.seed}"
    )
    text = f"\nBy `{command}`; *italics* mark a loss.\n"
    text += markdown(options.policies, options.blocks, options.workloads, options.seed)
    print(text)


if __name__ == "__main__":
    run(main)
