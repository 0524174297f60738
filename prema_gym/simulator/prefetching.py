"""What will the engine need next? Compiled: asks the memory for it while another step is taken.

The records of a large batch do not fit the caches. Nothing here changes a result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.cpus import CACHE_LINE
from prema_gym.compiled.jit import inlined, prefetch
from prema_gym.hardware.layout import FIRST_PHASE, PHASE_FIELDS, SEGMENT_FIELDS, ProfileTable
from prema_gym.simulator.state import ENV_DTYPE, HOT_BYTES, TASK_DTYPE, State

_ENV_BYTES, _TASK_BYTES, _SLOT_BYTES = ENV_DTYPE.itemsize, TASK_DTYPE.itemsize, 8
_SEGMENT_BYTES, _PHASE_BYTES = 8 * SEGMENT_FIELDS, 8 * PHASE_FIELDS


@inlined
def prefetch_ahead(
    state: State, table: ProfileTable, actions: NDArray[np.int64], b: int, last: int
) -> None:
    """Ask the memory for what the next two environments of ``[b, last)`` will need."""
    num_tasks, num_slots = state.task.shape[1], state.slots.shape[1]
    after = min(b + 2, last - 1)
    for byte in range(0, _ENV_BYTES, CACHE_LINE):
        prefetch(state.env, after * _ENV_BYTES + byte)
    for byte in range(0, num_slots * _SLOT_BYTES, CACHE_LINE):
        prefetch(state.slots, after * num_slots * _SLOT_BYTES + byte)
    following = min(b + 1, last - 1)  # whose slots were asked for one environment ago
    for slot in range(num_slots):
        # An empty slot asks for the first task instead: cheaper than a branch.
        place = following * num_tasks + max(state.slots[following, slot], 0)
        for byte in range(0, HOT_BYTES, CACHE_LINE):
            prefetch(state.task, place * _TASK_BYTES + byte)
    # All of the two tasks that a decision is about, and where in its network the named one stands.
    runner = max(state.env[following]["runner"], 0)
    for slot in (runner, min(max(actions[following], 0), num_slots - 1)):
        place = following * num_tasks + max(state.slots[following, slot], 0)
        for byte in range(HOT_BYTES, _TASK_BYTES, CACHE_LINE):
            prefetch(state.task, place * _TASK_BYTES + byte)
    index = max(state.slots[b, min(max(actions[b], 0), num_slots - 1)], 0)
    task = state.task[b, index]
    prefetch(table.phases, table.profiles[task["profile"], FIRST_PHASE] * _PHASE_BYTES)
    segment = max(task["segment"], 0)
    for byte in range(0, 4 * CACHE_LINE, CACHE_LINE):
        prefetch(table.segments, segment * _SEGMENT_BYTES + byte)
