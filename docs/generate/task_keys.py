"""What does a task say in a workload file? The keys of docs/scenarios.md, as they are declared."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields

from docs.generate.sections import table
from prema_gym.workloads import TaskSpec


def task_keys() -> str:
    """Every key of a task: unit, default, meaning."""
    rows = [
        (
            f"`{one.name}`",
            one.metadata["unit"],
            "needed" if one.default is MISSING else f"`{json.dumps(one.default)}`",
            one.metadata["help"],
        )
        for one in fields(TaskSpec)
    ]
    return table(("key", "unit", "default", "meaning"), rows)


PARTS = {"task-keys": task_keys}
