"""Scenarios, workloads drawn from them, and the scheduler's estimates.

Names are loaded on first use, so that importing the package compiles nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prema_gym.workloads.accuracy import EstimateAccuracy, estimate_accuracy
    from prema_gym.workloads.catalog import Catalog, CatalogArrays, compile_scenario
    from prema_gym.workloads.estimates import Estimate, estimate_network
    from prema_gym.workloads.generate import draw_uniforms, sample, sample_batch
    from prema_gym.workloads.lengths import LengthModel, quantile_grid
    from prema_gym.workloads.scenario import Scenario
    from prema_gym.workloads.storage import load_workload, save_workload
    from prema_gym.workloads.tasks import TaskSpec, workload_from_tasks
    from prema_gym.workloads.workload import Workload, WorkloadArrays, WorkloadBatch

# Module of this package → its public names; the same list as above (a test holds them equal).
_PUBLIC = {
    "accuracy": ("EstimateAccuracy", "estimate_accuracy"),
    "catalog": ("Catalog", "CatalogArrays", "compile_scenario"),
    "estimates": ("Estimate", "estimate_network"),
    "generate": ("draw_uniforms", "sample", "sample_batch"),
    "lengths": ("LengthModel", "quantile_grid"),
    "scenario": ("Scenario",),
    "storage": ("load_workload", "save_workload"),
    "tasks": ("TaskSpec", "workload_from_tasks"),
    "workload": ("Workload", "WorkloadArrays", "WorkloadBatch"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [
    "Catalog",
    "CatalogArrays",
    "Estimate",
    "EstimateAccuracy",
    "LengthModel",
    "Scenario",
    "TaskSpec",
    "Workload",
    "WorkloadArrays",
    "WorkloadBatch",
    "compile_scenario",
    "draw_uniforms",
    "estimate_accuracy",
    "estimate_network",
    "load_workload",
    "quantile_grid",
    "sample",
    "sample_batch",
    "save_workload",
    "workload_from_tasks",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
