"""One table of a task's fields: whatever lists them follows from it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from prema_gym.simulator.state import TASK_DTYPE, TASK_INPUTS
from prema_gym.workloads import Workload, WorkloadArrays, WorkloadBatch
from prema_gym.workloads.fields import TASK_FIELDS, TASK_TABLE, fields_in, fields_set_by
from prema_gym.workloads.workload import empty_arrays


def test_every_form_of_a_workload_has_the_fields_of_the_table() -> None:
    assert tuple(f.name for f in fields(Workload)) == TASK_FIELDS
    assert tuple(f.name for f in fields(WorkloadBatch)) == (*TASK_FIELDS, "num_tasks")
    assert WorkloadArrays._fields == (*TASK_FIELDS, "num_tasks")
    assert TASK_INPUTS == TASK_FIELDS
    assert all(TASK_DTYPE[name] == np.int64 for name in TASK_FIELDS)
    assert empty_arrays(2, 3)._fields == WorkloadArrays._fields


def test_units_are_in_the_names() -> None:
    for name, row in TASK_TABLE.items():
        assert (row.unit == "cycles") == name.endswith("_cycles")
        assert row.meaning
        assert row.least in (0, 1)
    assert set(fields_in("cycles")) < set(TASK_FIELDS)
    assert "isolated_cycles" in fields_set_by("profile")
