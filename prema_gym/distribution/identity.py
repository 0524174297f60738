"""When are two results the same one? Digests of what it depends on: code, machine, policy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from prema_gym.compiled.sources import PACKAGE, source_digest
from prema_gym.evaluation.versions import versions
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadBatch


def digest_of(*parts: object) -> str:
    """Digest of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=1)
def version() -> dict[str, str]:
    """What computes: versions of packages, and a digest of every source file and weight of ours.

    Between releases the number stays and the source does not.
    """
    return {**versions(), "source": _source_of_all()}


def _source_of_all() -> str:
    roots = [PACKAGE, *(PACKAGE.parent / name for name in ("agents", "baselines"))]
    files = {
        path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else PACKAGE.parent).as_posix(): (
            path
        )
        for root in roots
        for ending in ("*.py", "*.npz")
        for path in root.rglob(ending)
    }
    return _digest_of_files(files)


def _digest_of_files(files: dict[str, Path]) -> str:
    digest = hashlib.sha256()
    for place in sorted(files):
        content = files[place].read_bytes()
        digest.update(f"{place}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def files_digest(paths: Iterable[Path]) -> str:
    """Digest of what a policy is made from: Python files with what lies beside them, or weights."""
    parts: list[str] = []
    for path in paths:
        if path.suffix == ".py":
            source_digest.cache_clear()  # the file may have changed since
            parts.append(source_digest(path.resolve()))
        elif path.is_dir():
            inside = (file for file in path.rglob("*") if file.suffix in (".npz", ".zip", ".pkl"))
            parts.append(_digest_of_files({str(file.relative_to(path)): file for file in inside}))
        else:
            parts.append(_digest_of_files({path.name: path}))
    return digest_of(parts) if parts else ""


@lru_cache(maxsize=16)  # as many as compile_scenario keeps
def catalog_digest(catalog: Catalog) -> str:
    """Digest of a compiled scenario: also of what its files hold, wherever they lie."""
    scenario: dict[str, Any] = catalog.scenario.to_dict()
    digest = hashlib.sha256(json.dumps(scenario, sort_keys=True, default=str).encode())
    for array in (*catalog.arrays, *catalog.table):
        _add(digest, array)
    return digest.hexdigest()


def batch_digest(batch: WorkloadBatch) -> str:
    """Digest of a batch of workloads, padding included."""
    digest = hashlib.sha256()
    for array in batch.arrays:
        _add(digest, array)
    return digest.hexdigest()


def _add(digest: Any, value: object) -> None:  # noqa: ANN401 - what hashlib makes
    array = np.ascontiguousarray(np.asarray(value))
    digest.update(f"{array.dtype}{array.shape}".encode())
    digest.update(array.tobytes())
