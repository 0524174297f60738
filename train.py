"""Train a scheduler: `python train.py --algo es --output runs/mine`, then evaluate it.

It is `prema-gym train`, from a checkout. Everything is in the run's folder afterwards;
`prema-gym evaluate --policies path:runs/mine` compares it with PREMA.
"""

from __future__ import annotations

from collections.abc import Sequence

from prema_gym_command import interruptible

with interruptible():
    from prema_gym.cli import run
    from prema_gym.cli.commands import single


def main(arguments: Sequence[str] | None = None) -> None:
    """Train or resume, then report; ends with an exit status."""
    run(single("train"), "train.py", arguments)


if __name__ == "__main__":
    main()
