"""How is one workload kept in a file, and replayed from it?

The file is JSON with one object per task, in the words of `TaskSpec`, times in ms. A saved file
also holds cycles and isolated and estimated times; they are for the reader, and loading checks
them, so a file made for other hardware is refused instead of silently replayed differently. A file
written by hand needs only ``{"tasks": [{"network": …}, …]}``.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from prema_gym.errors import ConfigError, PremaError, UnknownNameError, WorkloadError
from prema_gym.files import write_text_atomically
from prema_gym.networks import is_file
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.tasks import TaskSpec, workload_from_tasks
from prema_gym.workloads.workload import Workload, WorkloadBatch

FORMAT_VERSION = 1
_TASK_KEYS = tuple(f.name for f in fields(TaskSpec))
_TIMES = ("arrival", "isolated", "estimated", "deadline")
_CYCLE_KEYS = tuple(f"{name}_cycles" for name in _TIMES)
# Written for the reader; they follow from the rest.
_IGNORED_KEYS = ("isolated_ms", "estimated_ms")
_FILE_KEYS = ("format_version", "scenario", "clock_hz", "tasks")


def save_workload(path: str | os.PathLike[str], workload: Workload, catalog: Catalog) -> None:
    """Write a workload; a reader sees the old file or the whole new one, never a part.

    Args:
        path: The file; an existing one is replaced.
        workload: The tasks.
        catalog: The catalog that they were drawn from.

    Raises:
        ConfigError: The file cannot be written; nothing is left behind.
    """
    tasks = [_task_to_dict(workload, i, catalog) for i in range(workload.num_tasks)]
    head = {
        "format_version": FORMAT_VERSION,
        "scenario": catalog.scenario.name,
        "clock_hz": catalog.hardware.clock_hz,
    }
    # One line per task: a workload reads like a table.
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    rows = ",\n".join(f"    {json.dumps(task, allow_nan=False)}" for task in tasks)
    _write_whole(path, "\n".join(["{", *lines, '  "tasks": [', rows, "  ]", "}", ""]))


def load_workload(path: str | os.PathLike[str], catalog: Catalog) -> Workload:
    """Read a workload for a catalog.

    Args:
        path: A file from `save_workload`, or one written by hand.
        catalog: Supplies the profiles; must have the file's networks, batches and lengths.

    Raises:
        ConfigError: The file cannot be read, or is not JSON.
        UnknownNameError: An unknown key or network.
        WorkloadError: A value not allowed, or cycles that this catalog does not reproduce.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"a workload file is named by a path, got {path!r}")
    where = os.fspath(path)
    data = _read_json(where)
    if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
        raise WorkloadError(f'{where}: needs an object with a list of "tasks"')
    _check_keys(data, _FILE_KEYS, where)
    if data.get("format_version", FORMAT_VERSION) != FORMAT_VERSION:
        raise WorkloadError(
            f"{where}: format_version {data['format_version']!r} is not {FORMAT_VERSION}"
        )
    if data.get("clock_hz", catalog.hardware.clock_hz) != catalog.hardware.clock_hz:
        raise WorkloadError(
            f"{where}: made for a clock of {data['clock_hz']!r} Hz, this machine's is "
            f"{catalog.hardware.clock_hz}"
        )
    try:
        folder = os.path.dirname(where)
        specs = [_task_from_dict(task, i, folder) for i, task in enumerate(data["tasks"])]
        workload = workload_from_tasks(catalog, specs)
    except PremaError as error:
        error.args = (f"{where}: {error}",)
        raise
    # Sorting is stable, so position by position the file's tasks in order of arrival.
    by_arrival = sorted(
        range(len(specs)), key=lambda i: catalog.hardware.cycles(specs[i].arrival_ms)
    )
    for position, i in enumerate(by_arrival):
        _check_cycles(data["tasks"][i], workload, position, f"{where}: task {i}")
    return workload


WorkloadLike = Workload | WorkloadBatch | str | os.PathLike[str]
"""A workload, some, or the file of one."""


def check_workload_type(given: object) -> None:
    """Refuse what can be no workload.

    Raises:
        ConfigError: It is neither a workload, nor a batch, nor the path of a file.
    """
    if not isinstance(given, Workload | WorkloadBatch | str | os.PathLike):
        raise ConfigError(
            f"workload must be a Workload, a WorkloadBatch or a file, got {reprlib.repr(given)}"
        )


def as_batch(given: WorkloadLike, catalog: Catalog) -> WorkloadBatch:
    """Return workloads that a user hands over as a batch of its own, held against a catalog.

    Raises:
        ConfigError: It is neither a workload, nor a batch, nor a file that can be read.
        UnknownNameError: As `load_workload`.
        WorkloadError: It does not belong to the catalog.
    """
    check_workload_type(given)
    if isinstance(given, str | os.PathLike):
        given = load_workload(given, catalog)
    batch = WorkloadBatch.of([given]) if isinstance(given, Workload) else given
    # A copy: compiled code trusts what was checked here.
    batch = WorkloadBatch(**{name: np.array(a) for name, a in batch.arrays._asdict().items()})
    catalog.check(batch)
    return batch


def _task_to_dict(workload: Workload, task: int, catalog: Catalog) -> dict[str, Any]:
    """One task in the words of TaskSpec, with cycles beside every time."""
    profile = int(workload.profile[task])
    data: dict[str, Any] = {
        "network": catalog.scenario.networks[int(workload.network[task])],
        "batch": int(workload.batch_size[task]),
        "input_length": int(catalog.arrays.input_length[profile]),
        "output_length": int(workload.output_length[task]),
        "priority": int(workload.priority[task]),
    }
    for name, key in zip(_TIMES, _CYCLE_KEYS, strict=True):
        cycles = int(getattr(workload, key)[task])
        data[f"{name}_ms"] = _short_ms(catalog, cycles)
        data[key] = cycles
    return data


def _short_ms(catalog: Catalog, cycles: int) -> float:
    """Milliseconds with as few digits (at least to the nanosecond) as give the same cycles."""
    exact = catalog.hardware.milliseconds(cycles)
    for digits in (6, 9, 12):
        if catalog.hardware.cycles(round(exact, digits)) == cycles:
            return round(exact, digits)
    return exact


def _task_from_dict(task: object, index: int, folder: str) -> TaskSpec:
    """The TaskSpec of one object of a file in ``folder``, where a network's file is looked for."""
    if not isinstance(task, dict) or "network" not in task:
        raise WorkloadError(f"task {index} must be an object with at least a network")
    _check_keys(task, (*_TASK_KEYS, *_CYCLE_KEYS, *_IGNORED_KEYS), f"task {index}")
    given = {key: task[key] for key in _TASK_KEYS if key in task}
    if is_file(given["network"]):
        given["network"] = os.path.join(folder, given["network"])
    return TaskSpec(**given)


def _check_cycles(task: Mapping[str, Any], workload: Workload, position: int, where: str) -> None:
    """Hold the cycles that a file states against what its tasks give here."""
    for key in _CYCLE_KEYS:
        if key in task:
            here = int(getattr(workload, key)[position])
            if task[key] != here:
                raise WorkloadError(
                    f"{where}: {key} is {task[key]!r} in the file, but {here} here (edited, or "
                    "saved for other hardware or lengths)"
                )


def _check_keys(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise UnknownNameError("key", key, known, where)


def _read_json(path: str) -> object:
    """A file's JSON, without the NaN and Infinity that Python would also accept."""

    def refuse(constant: str) -> NoReturn:
        raise ConfigError(f"{path!r} is not valid JSON: {constant} is not a number")

    def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key in (names := [key for key, _ in pairs]):
            if names.count(key) > 1:
                raise ConfigError(f"{path!r} gives {key!r} twice in one object")
        return dict(pairs)

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        return json.loads(text, parse_constant=refuse, object_pairs_hook=each_once)
    except OSError as error:
        raise ConfigError(f"cannot read {path!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path!r} is not UTF-8 text") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{path!r} is not valid JSON: {error}") from error


def _write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file at once; nothing is left behind if it cannot be written."""
    try:
        write_text_atomically(Path(path), text)
    except OSError as error:
        raise ConfigError(f"cannot write {os.fspath(path)!r}: {error.strerror}") from error
