"""Do damaged files end in an error of ours, soon and in little memory?

    python -m benchmarks.mutated_imports [NUMBER [FIRST_SEED]]

Reads NUMBER (10 000) files, networks and traces, that ``tests.networks.mutated`` changes at random,
each from its own seed. Stops at nothing, and lists what went wrong: another error than ours, a
process that died, a file that took more than ten seconds or one gigabyte.
"""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from prema_gym.errors import PremaError
from tests.networks import mutated

MOST_SECONDS = 10.0
MOST_BYTES = 2**30
MOST_WAIT = 60
"""After so many seconds a file is given up, and its process with it."""

_CHUNK = 100


def read_one(seed: int, path: Path) -> tuple[str, float]:
    """What a mutated file came to, and how long it took [s]."""
    start = time.perf_counter()
    try:
        mutated.read_one(path, seed)
        outcome = "read"
    except PremaError:
        outcome = "refused"
    except Exception as error:  # what this is for
        outcome = f"{type(error).__name__}: {error}"[:200]
    return outcome, time.perf_counter() - start


def read_chunk(first: int, number: int) -> list[tuple[int, str, float, int]]:
    """Seed, outcome, seconds, and the most memory so far [bytes] of a run of files."""
    files = mutated.originals()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + number):
            signal.alarm(MOST_WAIT)  # which ends the process
            outcome, seconds = read_one(seed, mutated.write(seed, files, Path(folder)))
            memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found.append((seed, outcome, seconds, memory))
    return found


def main() -> None:
    """Read them all and say what went wrong."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    outcomes: Counter[str] = Counter()
    slowest, most, wrong = 0.0, 0, []
    for start in range(first, first + number, _CHUNK):
        chunk = min(_CHUNK, first + number - start)
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                results = pool.submit(read_chunk, start, chunk).result()
        except BrokenProcessPool:
            wrong.append(f"seeds {start} to {start + chunk - 1}: the process died")
            continue
        for seed, outcome, seconds, memory in results:
            outcomes[outcome if outcome in ("read", "refused") else "wrong"] += 1
            slowest, most = max(slowest, seconds), max(most, memory)
            if outcome not in ("read", "refused"):
                wrong.append(f"seed {seed}: {outcome}")
            if seconds > MOST_SECONDS or memory > MOST_BYTES:
                wrong.append(f"seed {seed}: {seconds:.1f} s, {memory / 2**20:.0f} MiB")
    print(dict(outcomes), f"slowest {slowest:.2f} s, most memory {most / 2**20:.0f} MiB")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
