"""How is one workload kept in a file, and replayed from it?

The file is JSON with one object per task, in the words of `TaskSpec`, times in ms. A saved file
also holds cycles and isolated and estimated times; they are for the reader, and loading checks
them, so a file made for other hardware is refused instead of silently replayed differently. A file
written by hand needs only ``{"tasks": [{"network": …}, …]}``.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from prema_gym.checks import check_keys, read_record
from prema_gym.errors import ConfigError, WorkloadError, located
from prema_gym.files import read_json, to_strict_json, write_text
from prema_gym.networks import is_file
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.fields import fields_in, fields_set_by
from prema_gym.workloads.tasks import TaskSpec, workload_from_tasks
from prema_gym.workloads.workload import Workload, WorkloadBatch

FORMAT_VERSION = 1
FILE_KEYS = ("format_version", "scenario", "clock_hz", "tasks")
# Every time is in ms and, for exactness, in cycles.
_CYCLE_KEYS = fields_in("cycles")
# What an author says of a task is written as it was said, where it is a number of the task too.
_AS_SAID = tuple(
    name for name in fields_set_by("workload") if name in {one.name for one in fields(TaskSpec)}
)
# Written for the reader: they follow from the rest, and cycles are checked when they are there.
_READERS_KEYS = (*_CYCLE_KEYS, "isolated_ms", "estimated_ms")


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
    lines = [f"  {_line(key)}: {_line(value)}," for key, value in head.items()]
    rows = ",\n".join(f"    {_line(task)}" for task in tasks)
    write_text(path, "\n".join(["{", *lines, '  "tasks": [', rows, "  ]", "}", ""]))


def _line(value: object) -> str:
    return to_strict_json(value, indent=None)


def load_workload(path: str | os.PathLike[str], catalog: Catalog) -> Workload:
    """Read a workload for a catalog.

    Args:
        path: A file from `save_workload`, or one written by hand.
        catalog: Supplies the profiles; must have the file's networks, batches and lengths.

    Raises:
        ConfigError: The file cannot be read or is not JSON, or a value that no scenario allows.
        UnknownNameError: An unknown key or network.
        WorkloadError: A value that this catalog does not allow, or cycles that it does not
            reproduce.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"a workload file is named by a path, got {path!r}")
    where = os.fspath(path)
    data = read_json(where)
    with located(where):
        return _workload_of(data, catalog, os.path.dirname(where))


def _workload_of(data: object, catalog: Catalog, folder: str) -> Workload:
    """The workload that a file in ``folder`` holds."""
    if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
        raise WorkloadError('needs an object with a list of "tasks"')
    check_keys(data, FILE_KEYS, "a workload file")
    machine = {"format_version": FORMAT_VERSION, "clock_hz": catalog.hardware.clock_hz}
    for key, here in machine.items():
        if data.get(key, here) != here:
            raise WorkloadError(f"{key} is {data[key]!r} in the file, but {here} here")
    specs = [_task_from_dict(task, i, folder) for i, task in enumerate(data["tasks"])]
    workload = workload_from_tasks(catalog, specs)
    # Sorting is stable, so position by position the file's tasks in order of arrival.
    by_arrival = sorted(
        range(len(specs)), key=lambda i: catalog.hardware.cycles(specs[i].arrival_ms)
    )
    for position, i in enumerate(by_arrival):
        with located(f"task {i}"):
            _check_cycles(data["tasks"][i], workload, position)
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
        **{name: int(getattr(workload, name)[task]) for name in _AS_SAID},
    }
    for key in _CYCLE_KEYS:
        cycles = int(getattr(workload, key)[task])
        data[key.replace("_cycles", "_ms")] = _short_ms(catalog, cycles)
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
    where = f"task {index}"
    if not isinstance(task, dict):
        return read_record(TaskSpec, task, where)  # which says what is wrong
    given = {key: value for key, value in task.items() if key not in _READERS_KEYS}
    if is_file(given.get("network")):
        given["network"] = os.path.join(folder, given["network"])
    return read_record(TaskSpec, given, where)


def _check_cycles(task: Mapping[str, Any], workload: Workload, position: int) -> None:
    """Hold the cycles that a file states against what its tasks give here."""
    for key in _CYCLE_KEYS:
        if key in task:
            here = int(getattr(workload, key)[position])
            if task[key] != here:
                raise WorkloadError(
                    f"{key} is {task[key]!r} in the file, but {here} here (edited, or "
                    "saved for other hardware or lengths)"
                )
