"""Where does the command `prema-gym` start? Here: the imports take a moment, and may be broken off.

It lies beside the package, since importing anything inside imports the package first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it, an interrupt ends the process as it ends a command: one word, status 130."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)


def main() -> None:
    """Import the command line, and run it."""
    with interruptible():
        from prema_gym.cli import main as command

        command()


if __name__ == "__main__":
    main()
