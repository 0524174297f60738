"""Where do clients live whose pins do not agree with ours? Each in an environment above our own.

What such an environment does not install itself, Python finds in the one that runs this: only what
disagrees is there twice. Nothing of the suite needs them.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path("build") / "clients"


def python_of(name: str) -> Path:
    """The interpreter of a client's environment."""
    return FOLDER / name / "bin" / "python"


def make(name: str, requirements: Sequence[str], *, alone: Sequence[str] = ()) -> Path:
    """Make a client's environment, if it is not there, and install into it.

    Args:
        name: Of its folder.
        requirements: What pip installs, with what that needs.
        alone: What pip installs without what it asks for, since it pins a version that we have
            newer and works with ours.

    Returns:
        Its interpreter.
    """
    python = python_of(name)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / name)], check=True)
        ours = sysconfig.get_paths()["purelib"]
        (site,) = (FOLDER / name).glob("lib/python*/site-packages")
        (site / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    for packages, options in ((requirements, []), (alone, ["--no-deps"])):
        if packages:
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *options, *packages], check=True)
    return python
