"""How do the scripts of this folder end? Mistakes in one line, whoever makes the page."""

from __future__ import annotations

import sys
from collections.abc import Callable

from prema_gym.errors import PremaError


def run(script: Callable[[], None]) -> None:
    """Run a script's ``main``; exits with one line where something is wrong."""
    try:
        script()
    except PremaError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: cannot write to {error.filename}: {error.strerror}")
