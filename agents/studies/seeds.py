"""How well does each algorithm train, whatever the seed? One line an algorithm, over its runs.

Runs are compared by their best validation. All runs validate on the same workloads, so their
ratios to PREMA may stand beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from prema_gym.agents.training.objective import FIVE
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.errors import ConfigError

RATIOS = (*(f"{metric.name}_ratio" for metric in FIVE), "geometric_mean_ratio")


def runs_table(folders: Sequence[Path]) -> list[dict[str, object]]:
    """Mean and range over seeds of each algorithm's ratios to dynamic PREMA (above 1: better).

    Args:
        folders: Of training runs.

    Returns:
        A record an algorithm and scenario: its runs and seeds, decisions and hours of the longest
        run, and of each ratio its ``_mean``, ``_min`` and ``_max`` over the runs' best validations.

    Raises:
        ConfigError: A folder holds no run or no validation, or is given twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError("a run must be given once")
    found: dict[tuple[str, str], list[tuple[int, dict[str, str], dict[str, str]]]] = {}
    for path in folders:
        folder, settings = RunFolder.open(path)
        rows = folder.rows()
        if not rows:
            raise ConfigError(f"{path} has no evaluations yet")
        best = max(rows, key=lambda row: float(row["score"]))
        key = (settings.algo, settings.scenario)
        found.setdefault(key, []).append((settings.seed, best, rows[-1]))
    return [_record(*key, runs) for key, runs in sorted(found.items())]


def _record(
    algo: str, scenario: str, runs: Sequence[tuple[int, dict[str, str], dict[str, str]]]
) -> dict[str, object]:
    record: dict[str, object] = {
        "algo": algo,
        "scenario": scenario,
        "runs": len(runs),
        "seeds": " ".join(str(seed) for seed in sorted(seed for seed, _, _ in runs)),
        "timesteps": max(int(last["timesteps"]) for _, _, last in runs),
        "hours": round(max(float(last["wall_s"]) for _, _, last in runs) / 3600, 2),
    }
    for name in RATIOS:
        values = [float(best[name]) for _, best, _ in runs]
        record |= {
            f"{name}_mean": fmean(values),
            f"{name}_min": min(values),
            f"{name}_max": max(values),
        }
    return record


def shown(records: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """The same for a screen: a ratio as ``mean [least, most]``."""
    rows = []
    for record in records:
        row = {key: value for key, value in record.items() if "_ratio_" not in key}
        for name in RATIOS:
            mean, least, most = (record[f"{name}_{which}"] for which in ("mean", "min", "max"))
            row[name.removesuffix("_ratio")] = f"{mean:.3f} [{least:.3f}, {most:.3f}]"
        rows.append(row)
    return rows
