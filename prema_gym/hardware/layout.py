"""How do profiles lie in arrays? The columns of their tables, for whoever builds or reads one.

A network is a few phases, a phase a few uniform *segments*: enough to find the next preemption
point after any progress exactly, without a list of tiles.

Unit of time: cycles. Source: the layout is ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Columns of ProfileTable.segments. A segment is GROUPS equal output tiles, each of TILES tiles: one
# of FIRST_CYCLES, then some of INNER_CYCLES, then, if there are two or more, one that takes the
# rest of GROUP_CYCLES.
START_CYCLES = 0  # since the phase's repetition began
GROUPS = 1
TILES = 2
GROUP_CYCLES = 3
FIRST_CYCLES = 4
INNER_CYCLES = 5
UNSTORED_BYTES = 6  # output of the tile before the segment, on chip yet; 0 only at a layer's start
OUTPUT_BYTES = 7  # finished by one output tile
PARTIAL_BYTES = 8  # partial sums between the K tiles of an output tile
FIRST_LOAD_BYTES = 9
INNER_LOAD_BYTES = 10  # of each tile of an output tile but the first
RESIDENT_BYTES = 11  # loaded before the segment for tiles from its start on
FIRST_KEPT_BYTES = 12  # by how much that grows with an output tile's first tile, or shrinks
INNER_KEPT_BYTES = 13  # and with each other one
REFILL_CYCLES = 14  # of the array at a restore before an output tile's first tile
LAYER_CYCLES = 15  # of the whole layer, as `layer_groups` counts layers, the segment belongs to
LAYER_ESTIMATED_CYCLES = 16  # what the scheduler expects that layer to take
SEGMENT_FIELDS = 17

AT_END = -1  # in place of a segment: no tile is left

# Columns of ProfileTable.phases.
FIRST_SEGMENT = 0
END_SEGMENT = 1
PHASE_CYCLES = 2  # of one repetition
REPEAT = 3  # a number >= 1, or:
OUTPUT_STEPS = 0  # once per output step
PHASE_FIELDS = 4

# Columns of ProfileTable.profiles.
FIRST_PHASE = 0
END_PHASE = 1

# Entries of ProfileTable.machine. n bytes take ceil(n · NUM / DEN) cycles.
DRAM_BYTES = 0
DRAM_LATENCY_CYCLES = 1
DRAM_NUM = 2
DRAM_DEN = 3
HOST_NUM = 4
HOST_DEN = 5
INNER_REFILL_CYCLES = 6  # of the array at a restore before any other tile of an output tile
SWITCH_CYCLES = 7  # of a preemption, before anything is saved
MACHINE_FIELDS = 8


class ProfileTable(NamedTuple):
    """The profiles of many networks as int64 arrays, for compiled code."""

    segments: NDArray[np.int64]  # (num_segments, SEGMENT_FIELDS)
    starts: NDArray[np.int64]  # (num_segments,) their START_CYCLES once more: a search reads lines
    phases: NDArray[np.int64]  # (num_phases, PHASE_FIELDS)
    profiles: NDArray[np.int64]  # (num_profiles, 2)
    calibration: NDArray[np.float64]  # (num_profiles,) true time over estimate, on average; or 1
    machine: NDArray[np.int64]  # (MACHINE_FIELDS,)
