"""How does a training run become a shipped policy, with the table that docs/learned.md shows?

Run: python -m docs.generate.shipped_policy runs/learned learned --command "python train.py …"
     python -m docs.generate.shipped_policy --again learned    after the simulator moved: its table
"""

from __future__ import annotations

import argparse
from pathlib import Path

from docs.generate.scripts import run
from prema_gym.agents.studies.shipping import measure_again, ship
from prema_gym.files import to_strict_json


def main() -> None:
    """Read the command line and ship."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path, nargs="?", help="folder of a training run")
    parser.add_argument("name", help="what the policy is called from now on")
    parser.add_argument("--command", help="the command that trained it")
    parser.add_argument("--cpu-minutes", type=float, help="what that took")
    parser.add_argument("--again", action="store_true", help="measure what is shipped already")
    options = parser.parse_args()
    if options.again:
        print(to_strict_json(measure_again(options.name)))
    elif options.run is None or options.command is None:
        parser.error("a run's folder and --command, or --again, must be given")
    else:
        print(to_strict_json(ship(options.run, options.name, options.command, options.cpu_minutes)))


if __name__ == "__main__":
    run(main)
