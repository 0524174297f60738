"""Where does a policy stay better than PREMA? The table of docs/learned.md, printed.

Run: python -m docs.generate.generalisation learned --workloads 500
"""

from __future__ import annotations

import argparse

from docs.generate.scripts import run
from prema_gym import agents
from prema_gym.agents.studies.generalisation import table
from prema_gym.workloads import scenarios


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("policy", help="a shipped policy, a run folder or a file")
    parser.add_argument("--scenario", default="paper")
    parser.add_argument("--workloads", type=int, default=500)
    options = parser.parse_args()
    policy = agents.load(options.policy.removeprefix("path:"))
    print(table(policy, scenarios.get(options.scenario), options.workloads))


if __name__ == "__main__":
    run(main)
