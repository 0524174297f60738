"""How long does it take to read a trace of a million requests, and how much memory?

Run: python -m benchmarks.bench_traces [ROWS]. Each file is read in a process of its own, whose peak
is told beside the time. Unit of time: seconds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

HEAD = "arrival_ms,network,batch,priority,slo_ms,input_length,output_length"
NETWORKS = ("resnet-50", "bert-base", "llama-1b-decode")


def write_csv(path: Path, rows: int) -> None:
    """A log of the plain format with every column."""
    rng = np.random.default_rng(0)
    arrival = np.cumsum(rng.exponential(1.0, rows))
    names = rng.integers(len(NETWORKS), size=rows)
    sizes = rng.integers(1, 4096, size=(rows, 2))
    with path.open("w") as file:
        file.write(HEAD + "\n")
        for ms, name, (long, short) in zip(arrival, names, sizes, strict=True):
            file.write(f"{ms:.6f},{NETWORKS[name]},1,3,50.5,{long},{short}\n")


def write_azure(path: Path, rows: int) -> None:
    """A log as Azure's of 2024."""
    rng = np.random.default_rng(0)
    stamps = np.datetime64("2024-05-10") + np.cumsum(rng.integers(1, 10**5, rows)).astype("m8[us]")
    sizes = rng.integers(1, 4096, size=(rows, 2))
    with path.open("w") as file:
        file.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        for stamp, (long, short) in zip(stamps, sizes, strict=True):
            file.write(f"{str(stamp).replace('T', ' ')}+00:00,{long},{short}\n")


def measure(path: Path) -> tuple[float, float, int]:
    """Read one file and work out its arrivals here: seconds of CPU, peak [MB], requests."""
    from prema_gym.workloads import Scenario
    from prema_gym.workloads.traces.replay import real_time, replay_of, replayed_cycles

    start = time.process_time()
    scenario = Scenario(networks=NETWORKS, arrival="trace", trace=str(path), trace_speed=1.0)
    found = replay_of(scenario)
    assert scenario.trace is not None
    replayed_cycles(found.times, real_time(scenario, 1.0), scenario.trace)
    seconds = time.process_time() - start  # of this process: others may be at work, too
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return seconds, peak, len(found.times)


def main() -> None:
    """Print a line for each kind of file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        csv, azure = Path(folder) / "log.csv", Path(folder) / "azure.csv"
        write_csv(csv, rows)
        write_azure(azure, rows)
        files = [csv, azure]
        try:
            import pandas as pd
        except ImportError:
            print("no Parquet: install the extra frames")
        else:
            parquet = csv.with_suffix(".parquet")
            pd.read_csv(csv).to_parquet(parquet)
            files.append(parquet)
        print(f"load average {os.getloadavg()[0]:.1f}")
        for path in files:
            # A process of its own, started anew: its peak is that of reading alone.
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, peak, count = pool.apply(measure, (path,))
            print(f"{path.name}: {count} requests in {seconds:.2f} s of CPU, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
