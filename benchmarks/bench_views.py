"""How long do the commands that show results take, and how large is what they write?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prema_gym import baselines

LONG = 'name = "long"\nnum_tasks = {tasks}\narrival = "poisson"\nload = 0.8\n'
"""A workload of many tasks, at a load that leaves the queue short."""
REPORT_POLICIES = 24
REPORT_WORKLOADS = 1000


def main() -> None:
    """Time whole processes, as a person waits for them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _show(folder, "timeline --output eight.pftrace")
        for tasks in (10_000, 100_000):
            (folder / "long.toml").write_text(LONG.format(tasks=tasks))
            _show(folder, f"timeline --scenario long.toml --output {tasks}.pftrace")
        named = ",".join(baselines.names()[:REPORT_POLICIES])
        _show(
            folder,
            f"report --policies {named} --workloads {REPORT_WORKLOADS} --output report.html",
            f"report, {REPORT_WORKLOADS} workloads × {REPORT_POLICIES} policies",
        )


def _show(folder: Path, command: str, called: str | None = None) -> None:
    words = command.split()
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "prema_gym", *words], cwd=folder, check=True, capture_output=True
    )
    seconds = time.perf_counter() - start
    size = (folder / words[-1]).stat().st_size
    print(f"{called or command}: {seconds:.1f} s, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
