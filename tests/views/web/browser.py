"""A page as a browser sees it: headless Chromium with a fresh profile, driven by its own options.

Without Chromium the tests that need it are skipped, and say how to get it.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 4_000
"""Time a page's scripts have, on the browser's own clock."""

DONE = "<script>addEventListener('load', () => setTimeout(() => {%s}, 50));</script>"


def open_page(path: Path, scratch: Path, *options: str) -> tuple[str, list[str]]:
    """The page after its scripts have run, and what it wrote to the console."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    done = subprocess.run(
        [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
            f"--user-data-dir={scratch / 'profile'}", f"--virtual-time-budget={WAIT_MS}",
            "--enable-logging=stderr", *options, path.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout, re.findall(r"CONSOLE.*", done.stderr)


def asked(page: str, script: str, path: Path, scratch: Path, *options: str) -> str:
    """What a script finds on a page: the text it gives to ``say``; the console must stay silent."""
    told = "const say = (x) => { document.documentElement.dataset.said = JSON.stringify(x); };"
    path.write_text(page.replace("</body>", DONE % (told + script) + "</body>"), encoding="utf-8")
    dom, console = open_page(path, scratch, *options)
    assert console == []
    found = re.search(r'data-said="([^"]*)"', dom)
    assert found is not None, "the script did not come to its end"
    return html.unescape(found.group(1))
