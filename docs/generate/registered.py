"""How do learned policies do on every registered scenario? The table of docs/learned.md, printed.

Run: python -m docs.generate.registered learned --requests 5000
"""

from __future__ import annotations

import argparse

from docs.generate.scripts import run
from prema_gym import agents
from prema_gym.agents.studies.registered import table


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("policies", nargs="+", help="shipped policies, run folders or files")
    parser.add_argument("--scenario", action="append", help="only this one; may be repeated")
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--workloads", type=int, default=500)
    options = parser.parse_args()
    policies = {name: agents.load(name.removeprefix("path:")) for name in options.policies}
    counts = {"requests": options.requests, "workloads": options.workloads}
    print(table(policies, options.scenario, **counts))


if __name__ == "__main__":
    run(main)
