"""How do results reach programs? As flat records: strict JSON, or CSV.

Strict JSON knows no NaN and no infinity: both become ``null`` (CSV: an empty field). A JSON
report has its definitions beside its numbers.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from prema_gym.errors import ConfigError
from prema_gym.evaluation.claims import Reproduction
from prema_gym.evaluation.optima import per_workload_regrets
from prema_gym.evaluation.results import Evaluation, PolicyResult
from prema_gym.files import write_atomically
from prema_gym.metrics import FloatArray

Record = Mapping[str, object]
"""One row of a listing: values by column name."""


def to_json(data: object) -> str:
    """Indented strict JSON with a final newline; NumPy values become plain ones."""
    return json.dumps(strict(data), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def strict(value: object) -> object:
    """The value as strict JSON has it: plain, and None in place of NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return strict(value.tolist())
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    if isinstance(value, np.generic):
        return strict(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def to_csv(records: Sequence[Record]) -> str:
    """Comma-separated values with a header line; lists are joined by ``/``."""
    out = io.StringIO()
    if records:
        writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            writer.writerow({key: _field(value) for key, value in record.items()})
    return out.getvalue()


def _field(value: object) -> object:
    plain = strict(value)
    if plain is None:
        return ""
    return "/".join(map(str, plain)) if isinstance(plain, list) else plain


def evaluation_records(evaluation: Evaluation) -> list[dict[str, object]]:
    """One record a policy and metric: SLA curve (``sla_violation_at_n``), regrets, optimum too.

    The rows of networks and priorities follow, as ``network/NAME/p99_latency_ms``.
    """
    records: list[dict[str, object]] = []
    for policy, result in evaluation.policies.items():
        curve = {f"sla_violation_at_{n}": value for n, value in result.sla_curve.items()}
        for name, found in (result.metrics | curve).items():
            records.append(
                {
                    "policy": policy,
                    "metric": name,
                    "mean": found.mean,
                    "ci95_low": found.ci95[0],
                    "ci95_high": found.ci95[1],
                    "ratio": found.ratio,
                    "ratio_ci95_low": found.ratio_ci95[0],
                    "ratio_ci95_high": found.ratio_ci95[1],
                    "mark": found.mark,
                }
            )
        records += [_bare(policy, f"regret_{name}", v) for name, v in result.regret.items()]
        records += [
            _bare(policy, f"{kind}/{group}/{name}", value)
            for kind, rows in result.groups.items()
            for group, row in rows.items()
            for name, value in row.items()
        ]
    return records + [_bare("optimum", name, v) for name, v in evaluation.optimum.items()]


def _bare(policy: str, metric: str, mean: float) -> dict[str, object]:
    """A record without an interval and a ratio."""
    rest = ("ci95_low", "ci95_high", "ratio", "ratio_ci95_low", "ratio_ci95_high")
    blank = dict.fromkeys(rest, math.nan)
    return {"policy": policy, "metric": metric, "mean": mean} | blank | {"mark": ""}


def per_workload_records(evaluation: Evaluation) -> list[dict[str, object]]:
    """One record a policy and workload, with its seed or number; empty if they were not kept."""
    first, column = (0, "workload") if evaluation.seed is None else (evaluation.seed, "seed")
    return [
        {"policy": policy, column: first + i}
        | {name: float(values[i]) for name, values in columns.items()}
        for policy, result in evaluation.policies.items()
        if result.per_workload
        for columns in (result.per_workload | _against_optima(evaluation, result),)
        for i in range(evaluation.workloads)
    ]


def _against_optima(evaluation: Evaluation, result: PolicyResult) -> dict[str, FloatArray]:
    """Each workload's optimum, and how far the policy stays behind it: columns by name."""
    columns = {}
    for name, best in evaluation.per_workload_optimum.items():
        columns[f"optimum_{name}"] = best
        columns[f"regret_{name}"] = per_workload_regrets(result, best, name)
    return columns


def evaluation_files(evaluation: Evaluation) -> dict[str, str]:
    """Files of a comparison: name → text."""
    files = {
        "evaluation.json": to_json(evaluation.to_dict()),
        "evaluation.csv": to_csv(evaluation_records(evaluation)),
    }
    rows = per_workload_records(evaluation)
    return files | ({"per_workload.csv": to_csv(rows)} if rows else {})


def task_records(evaluation: Evaluation) -> list[dict[str, object]]:
    """One record a policy and task; see `Evaluation.task_columns`.

    Raises:
        ConfigError: Tasks were not kept.
    """
    records = []
    for policy in evaluation.policies:
        columns = evaluation.task_columns(policy)
        count = len(columns["task"])
        values = [
            column.tolist() if isinstance(column, np.ndarray) else [column] * count
            for column in columns.values()
        ]
        records += [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
    return records


def write_tasks(directory: Path, evaluation: Evaluation) -> list[Path]:
    """Write every task to ``tasks.csv``, and to ``tasks.parquet`` where pyarrow is installed.

    Raises:
        ConfigError: Tasks were not kept, or a file cannot be written.
    """
    records = task_records(evaluation)
    endings = (".csv", ".parquet") if find_spec("pyarrow") else (".csv",)
    paths = [directory / f"tasks{ending}" for ending in endings]
    for path in paths:
        write_records(path, records)
    return paths


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Write records to a file, as its ending says: ``.csv`` or ``.parquet`` (extra: frames).

    Raises:
        ConfigError: The file cannot be written.
    """

    def write(beside: Path) -> None:
        if path.suffix == ".csv":
            beside.write_text(to_csv(records), encoding="utf-8")
            return
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), beside)

    try:
        write_atomically(path, write)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error


def reproduction_records(reproduction: Reproduction) -> list[dict[str, object]]:
    """One record a claim, then one a condition and metric of CHECKPOINT over KILL."""
    claims = [
        {
            "claim": row.name,
            "statement": row.statement,
            "unit": row.unit,
            "paper": row.paper,
            "ours": row.ours,
            "ci95_low": row.ci95[0],
            "ci95_high": row.ci95[1],
            "ratio": row.ratio,
            "off": row.off,
            "other_preload": row.other_preload,
            "note": row.note,
            "command": row.command,
        }
        for row in reproduction.claims
    ]
    conditions = [
        dict.fromkeys(claims[0], "")
        | {
            "claim": f"condition-{metric}",
            "statement": f"CHECKPOINT over KILL, {row.ordering}: {metric}; {row.scenario}, "
            f"{row.tasks} tasks in {row.window_ms:.4g} ms, {row.kills_per_task:.3g} kills a task",
            "unit": "%",
            "ours": figure.value,
            "ci95_low": figure.ci95[0],
            "ci95_high": figure.ci95[1],
        }
        for row in reproduction.conditions
        for metric, figure in (("antt", row.antt), ("stp", row.stp), ("fairness", row.fairness))
    ]
    return [*claims, *conditions]
