"""Run every benchmark, or those named: ``python -m benchmarks [engine evaluate bounds …]``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def main() -> None:
    """Run each ``bench_NAME.py`` in a fresh section of the output."""
    found = sorted(
        module.name.removeprefix("bench_")
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if module.name.startswith("bench_")
    )
    chosen = sys.argv[1:] or found
    for name in chosen:
        if name not in found:
            sys.exit(f"unknown benchmark {name!r} (known: {', '.join(found)})")
    for name in chosen:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main()
