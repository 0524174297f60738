"""What may a policy see? One table: a row per slot of the context table, one list of columns.

The list drives the observation space, the documentation and every policy. Natural units
(milliseconds, bytes); a scheduler in hardware could have read every value. The exact meaning of
each column is in ``docs/simulator.md``. Source: the paper's context table (fidelity.md, S), widened
by what its Algorithms 2 and 3 and the later schedulers need.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Column(NamedTuple):
    """One column of the observation table."""

    name: str
    unit: str
    low: float
    high: float
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column("present", "0/1", 0, 1, "the slot holds a task"),
    Column("running", "0/1", 0, 1, "the task occupies the NPU"),
    Column("priority", "weight", 0, math.inf, "priority weight (paper: 1, 3, 9)"),
    Column("order", "rank", 0, math.inf, "rank by arrival among the tasks in the table, from 0"),
    Column("age_ms", "ms", 0, math.inf, "time since arrival"),
    Column("waited_ms", "ms", 0, math.inf, "time in the system and not running"),
    Column("since_run_ms", "ms", 0, math.inf, "time since it last ran (since arrival if never)"),
    Column("estimated_ms", "ms", 0, math.inf, "estimated isolated time, as `estimate` says"),
    Column("executed_ms", "ms", 0, math.inf, "useful work done"),
    Column("remaining_ms", "ms", 0, math.inf, "estimated work left, not below 0"),
    Column("next_layer_ms", "ms", 0, math.inf, "estimated time of the layer it goes on with"),
    Column("token", "tokens", 0, math.inf, "tokens (Algorithm 2)"),
    Column("slack_ms", "ms", -math.inf, math.inf, "deadline − now − remaining"),
    Column("preempt_ms", "ms", 0, math.inf, "running: time to free the NPU by a checkpoint now"),
    Column("restore_ms", "ms", 0, math.inf, "waiting: time to bring its context back"),
    Column("context_bytes", "bytes", 0, math.inf, "context to save (running) or saved (waiting)"),
    Column("batch_size", "inputs", 0, math.inf, "inputs in the task's batch"),
    Column("preemptions", "count", 0, math.inf, "times checkpointed or killed"),
    Column("quantum_left_ms", "ms", 0, math.inf, "running: time until the quantum ends"),
)

NUM_COLUMNS = len(COLUMNS)
# Column indices as plain integers: compiled code and policies index the table with them.
(
    PRESENT,
    RUNNING,
    PRIORITY,
    ORDER,
    AGE_MS,
    WAITED_MS,
    SINCE_RUN_MS,
    ESTIMATED_MS,
    EXECUTED_MS,
    REMAINING_MS,
    NEXT_LAYER_MS,
    TOKEN,
    SLACK_MS,
    PREEMPT_MS,
    RESTORE_MS,
    CONTEXT_BYTES,
    BATCH_SIZE,
    PREEMPTIONS,
    QUANTUM_LEFT_MS,
) = range(NUM_COLUMNS)


def column_names() -> tuple[str, ...]:
    """Names of the columns, in order; position = index in the table's last axis."""
    return tuple(column.name for column in COLUMNS)
