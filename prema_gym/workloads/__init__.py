"""Scenarios, workloads drawn from them, and the scheduler's estimates.

Names are loaded on first use, so that importing the package compiles nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.lazy import on_first_use

if TYPE_CHECKING:
    from prema_gym.workloads.accuracy import EstimateAccuracy, estimate_accuracy
    from prema_gym.workloads.catalog import Catalog, compile_scenario
    from prema_gym.workloads.estimates import Estimate, estimate_network
    from prema_gym.workloads.generate import draw_uniforms, sample, sample_batch
    from prema_gym.workloads.lengths import LengthModel, quantile_grid
    from prema_gym.workloads.scenario import Scenario
    from prema_gym.workloads.storage import load_workload, save_workload
    from prema_gym.workloads.tables import CatalogArrays
    from prema_gym.workloads.tasks import TaskSpec, workload_from_tasks
    from prema_gym.workloads.workload import Workload, WorkloadArrays, WorkloadBatch

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


# The same list as above (a test holds them equal).
__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "accuracy": ("EstimateAccuracy", "estimate_accuracy"),
        "catalog": ("Catalog", "compile_scenario"),
        "estimates": ("Estimate", "estimate_network"),
        "generate": ("draw_uniforms", "sample", "sample_batch"),
        "lengths": ("LengthModel", "quantile_grid"),
        "scenario": ("Scenario",),
        "storage": ("load_workload", "save_workload"),
        "tables": ("CatalogArrays",),
        "tasks": ("TaskSpec", "workload_from_tasks"),
        "workload": ("Workload", "WorkloadArrays", "WorkloadBatch"),
    },
)
