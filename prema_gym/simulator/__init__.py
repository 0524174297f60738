"""The event engine, and the one observation table every policy reads (``docs/simulator.md``).

The public names of the room. Those that need compiled code are imported on first use, so that a
rule that only reads the table loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.lazy import on_first_use
from prema_gym.simulator.mechanisms import (
    DEFAULT_MECHANISMS,
    MECHANISM_NAMES,
    MECHANISMS,
    Mechanism,
    check_mechanisms,
)
from prema_gym.simulator.observation import (
    AGE_MS,
    BATCH_SIZE,
    COLUMNS,
    CONTEXT_BYTES,
    ESTIMATED_MS,
    EXECUTED_MS,
    NEXT_LAYER_MS,
    NUM_COLUMNS,
    ORDER,
    PREEMPT_MS,
    PREEMPTIONS,
    PRESENT,
    PRIORITY,
    QUANTUM_LEFT_MS,
    REMAINING_MS,
    RESTORE_MS,
    RUNNING,
    SINCE_RUN_MS,
    SLACK_MS,
    TOKEN,
    WAITED_MS,
    Column,
    column_names,
)

if TYPE_CHECKING:
    from prema_gym.simulator.options import (
        DEFAULT_ESTIMATE,
        DEFAULT_SLOTS,
        ESTIMATE,
        ESTIMATES,
        MAX_SLOTS,
        TOKEN_WAITS,
        SchedulerOptions,
        one_estimate,
    )
    from prema_gym.simulator.simulator import Simulator
    from prema_gym.simulator.state import (
        CHECKPOINTING,
        ENV_DTYPE,
        IDLE,
        NONE,
        RESTORING,
        RUN,
        SLICE_KINDS,
        TASK_DTYPE,
        State,
    )

__all__ = [
    "AGE_MS",
    "BATCH_SIZE",
    "CHECKPOINTING",
    "COLUMNS",
    "CONTEXT_BYTES",
    "DEFAULT_ESTIMATE",
    "DEFAULT_MECHANISMS",
    "DEFAULT_SLOTS",
    "ENV_DTYPE",
    "ESTIMATE",
    "ESTIMATED_MS",
    "ESTIMATES",
    "EXECUTED_MS",
    "IDLE",
    "MAX_SLOTS",
    "MECHANISMS",
    "MECHANISM_NAMES",
    "NEXT_LAYER_MS",
    "NONE",
    "NUM_COLUMNS",
    "ORDER",
    "PREEMPTIONS",
    "PREEMPT_MS",
    "PRESENT",
    "PRIORITY",
    "QUANTUM_LEFT_MS",
    "REMAINING_MS",
    "RESTORE_MS",
    "RESTORING",
    "RUN",
    "RUNNING",
    "SINCE_RUN_MS",
    "SLACK_MS",
    "SLICE_KINDS",
    "TASK_DTYPE",
    "TOKEN",
    "TOKEN_WAITS",
    "WAITED_MS",
    "Column",
    "Mechanism",
    "SchedulerOptions",
    "Simulator",
    "State",
    "check_mechanisms",
    "column_names",
    "one_estimate",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "options": (
            "DEFAULT_ESTIMATE",
            "DEFAULT_SLOTS",
            "ESTIMATE",
            "ESTIMATES",
            "MAX_SLOTS",
            "TOKEN_WAITS",
            "SchedulerOptions",
            "one_estimate",
        ),
        "simulator": ("Simulator",),
        "state": (
            "CHECKPOINTING",
            "ENV_DTYPE",
            "IDLE",
            "NONE",
            "RESTORING",
            "RUN",
            "SLICE_KINDS",
            "TASK_DTYPE",
            "State",
        ),
    },
)
