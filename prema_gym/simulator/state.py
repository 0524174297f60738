"""What does the engine remember? Three structured arrays with a leading batch axis.

One record a task (its input, its progress, what happened to it), one record an environment (clock,
running slot, counters), and the slots of the context table, which hold task indices. Copying these
arrays copies a simulation. Times are int64 cycles; the meaning of every value is in
``docs/simulator.md``. Records are indexed as ``record["field"]``, which compiled and plain Python
both understand.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.cpus import CACHE_LINE
from prema_gym.simulator.mechanisms import Mechanism
from prema_gym.workloads.fields import TASK_FIELDS

NONE = -1  # no task in a slot, no running slot, not yet happened

# Status of an environment.
UNLOADED, ASKING, DONE, TRUNCATED = range(4)
# Of one that is played as a stream: time cannot go on before more tasks are loaded. The scheduler
# was about to wake, or the running task to run on.
SHORT_AWAKE, SHORT_RUNNING = -1, -2

# Columns of State.loops: how many requests of a closed loop have been sent, how many lie ready
# (counted from the first one ever sent), when there are too few to go on (0: no closed loop), and
# the sum of the think times before those sent [cycles].
LOOP_SENT, LOOP_READY, LOOP_RESERVE, LOOP_THOUGHT = range(4)
LOOP_FIELDS = 4

# In place of a completion time.
DROPPED, REJECTED = -2, -3  # left unserved when it was too late; found the queue full

# Kinds of a timeline slice.
RUN, CHECKPOINTING, RESTORING, IDLE = range(4)
SLICE_KINDS = ("run", "checkpoint", "restore", "idle")
SLICE_TASK, SLICE_KIND, SLICE_START, SLICE_END = range(4)

TASK_INPUTS = TASK_FIELDS  # what comes in: the numbers of a workload's task
TASK_RECORDS = (
    "first_run_cycles",  # start of the first run, NONE before
    "completion_cycles",  # NONE before
    "executed_cycles",  # useful progress; 0 again after a kill
    "killed_cycles",  # progress thrown away by kills
    "dispatches",  # times it was put on the NPU
    # Times it was preempted by each mechanism; a DRAIN counts where it ended under that decision.
    *(mechanism.counter for mechanism in Mechanism),
    "checkpoint_cycles",  # time spent taking the machine from it and saving its context
    "restore_cycles",  # time spent restoring it
    "host_moves",  # saves that went over the host link
)
# The scheduler's own bookkeeping of a task.
_TASK_INTERNALS = (
    "shown_cycles",  # the estimate the scheduler sees (by `options.Shown`)
    "token_waited_cycles",  # waited at the previous token update
    "stopped_cycles",  # when it last stopped running
    "context_bytes",  # saved context
    "resume_cycles",  # time a restore will take
    "next_layer_cycles",  # waiting: what the scheduler is shown of the layer it goes on with
    "order",  # rank by arrival among the tasks in the table
    "segment",  # where its next boundary was found last: a place to start looking
    "on_host",  # 1: the saved context lies in host memory
    "stream",  # of a long run: which of its streams the task came from
    "number",  # of a long run: its place among all that ever arrived
)
TASK_MOVING = (*TASK_RECORDS, *_TASK_INTERNALS, "token")
"""What changes while a task is played: all but its inputs."""

# Fields read at every wake-up stand first: a record's first two cache lines, of four or more.
_FIRST_LINE = (
    "arrival_cycles",
    "executed_cycles",
    "killed_cycles",
    "shown_cycles",
    "token_waited_cycles",
    "priority",
    "token",
    "deadline_cycles",
)
_SECOND_LINE = (
    "stopped_cycles",
    "batch_size",
    "checkpoints",
    "kills",
    "context_bytes",
    "resume_cycles",
    "next_layer_cycles",
    "order",
)
_HOT = _FIRST_LINE + _SECOND_LINE
_COLD = tuple(n for n in TASK_INPUTS + TASK_RECORDS + _TASK_INTERNALS if n not in _HOT)
HOT_BYTES = 2 * CACHE_LINE
_TASK_LINES = -(-8 * len(_HOT + _COLD) // CACHE_LINE)
TASK_DTYPE = np.dtype(
    {
        "names": _HOT + _COLD,
        "formats": [np.float64 if name == "token" else np.int64 for name in _HOT + _COLD],
        "itemsize": _TASK_LINES * CACHE_LINE,
    }
)

ENV_DTYPE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "status",
            "num_tasks",
            "now_cycles",
            "runner",  # running slot or NONE
            "quantum_end_cycles",
            "arrived",  # tasks [0, arrived) have arrived
            "admitted",  # tasks [0, admitted) got a slot; [admitted, arrived) queue
            "finished",
            "draining",  # 1: the last decision was DRAIN
            "drain_slot",  # sticky drain: the slot to run next, else NONE
            "dram_used_bytes",  # by checkpointed contexts
            "boundary_cycles",  # the runner's next boundary, as of the last observation,
            "boundary_context_bytes",  # the context there,
            "boundary_save_cycles",  # the time to switch and save it,
            "boundary_resume_cycles",  # the time to restore it,
            "boundary_next_layer_cycles",  # what is shown of the layer that goes on there,
            "boundary_to_host",  # and 1 if the context would have to go to the host
            "busy_cycles",
            "switching_cycles",
            "idle_cycles",
            "decisions",
            "wakeups",
            "illegal_actions",
            "num_slices",
            # Of a long run:
            "known_cycles",  # time up to which all arrivals are loaded, 0 to stop at once
            "numbered",  # tasks that ever arrived
            "stop_number",  # stop when so many have
        )
    ],
    align=True,
)


class State(NamedTuple):
    """The arrays one compiled call works on (B environments, N tasks, S slots, C columns).

    ``timeline`` has zero length where no timeline is recorded, ``upcoming`` and ``loops`` where no
    stream is a closed loop.
    """

    env: NDArray[np.void]  # (B,) ENV_DTYPE
    task: NDArray[np.void]  # (B, N) TASK_DTYPE
    slots: NDArray[np.int64]  # (B, S) task index or NONE
    by_arrival: NDArray[np.int64]  # (B, S) slots of the present tasks, as they arrived; then any
    observation: NDArray[np.float32]  # (B, S, C)
    mask: NDArray[np.bool_]  # (B, A)
    timeline: NDArray[np.int64]  # (B, T, 4) task, kind, start, end
    upcoming: NDArray[np.void]  # (B, streams, R) TASK_DTYPE: a ring of what is asked next
    loops: NDArray[np.int64]  # (B, streams, LOOP_FIELDS)

    def copy(self) -> State:
        """Return the same arrays, copied."""
        return State(
            _copied(self.env),
            _copied(self.task),
            self.slots.copy(),
            self.by_arrival.copy(),
            self.observation.copy(),
            self.mask.copy(),
            self.timeline.copy(),
            _copied(self.upcoming),
            self.loops.copy(),
        )


def _copied(records: NDArray[np.void]) -> NDArray[np.void]:
    """Copy records as bytes: NumPy would copy them field by field, twice as slow."""
    return records.view(np.uint8).copy().view(records.dtype)


def aligned(records: NDArray[np.void]) -> NDArray[np.void]:
    """Copy records to where the first one starts with a cache line."""
    copy = _records(records.shape, records.dtype)
    copy.view(np.uint8)[...] = records.view(np.uint8)
    return copy


def _records(shape: tuple[int, ...], dtype: np.dtype[np.void]) -> NDArray[np.void]:
    """Make room for records that start with a cache line, as NumPy's own memory need not."""
    num_bytes = math.prod(shape) * dtype.itemsize
    room = np.empty(num_bytes + CACHE_LINE, np.uint8)
    start = -room.__array_interface__["data"][0] % CACHE_LINE
    return room[start : start + num_bytes].view(dtype).reshape(shape)


def allocate(
    num_envs: int, max_tasks: int, slots: int, columns: int, actions: int, slices: int
) -> State:
    """Return zeroed arrays of the given sizes, every environment ``UNLOADED``."""
    env = np.zeros(num_envs, ENV_DTYPE)
    env["runner"] = NONE
    return State(
        env=env,
        task=aligned(np.zeros((num_envs, max_tasks), TASK_DTYPE)),
        slots=np.full((num_envs, slots), NONE, np.int64),
        by_arrival=np.zeros((num_envs, slots), np.int64),
        observation=np.zeros((num_envs, slots, columns), np.float32),
        mask=np.zeros((num_envs, actions), np.bool_),
        timeline=np.zeros((num_envs, slices, 4), np.int64),
        upcoming=np.zeros((num_envs, 0, 0), TASK_DTYPE),
        loops=np.zeros((num_envs, 0, LOOP_FIELDS), np.int64),
    )
