"""What does the machine cost in time, bytes, energy and area?

The public names of the room. Those that need compiled code are imported on first use, so that
``import prema_gym.hardware`` stays quick and loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.hardware.area import ContextTableArea, context_table_area
from prema_gym.hardware.bottleneck import Shares, shares_of
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.machines import Machine
from prema_gym.hardware.memory import MemoryNeed, memory_need
from prema_gym.hardware.timing import (
    LayerTiming,
    NetworkTiming,
    Timing,
    time_gemm,
    time_layer,
    time_network,
)
from prema_gym.lazy import on_first_use

if TYPE_CHECKING:
    from prema_gym.hardware.energy import (
        Energy,
        EnergyModel,
        energy_of_network,
        energy_of_switch,
        energy_of_timing,
    )
    from prema_gym.hardware.layout import ProfileTable
    from prema_gym.hardware.locate import PreemptionPoint
    from prema_gym.hardware.preemption import (
        PreemptionCost,
        PreemptionRow,
        preemption_cost,
        preemption_table,
    )
    from prema_gym.hardware.profile import Profile, build_profile, stack_profiles
    from prema_gym.hardware.spread import Spread

__all__ = [
    "ContextTableArea",
    "Energy",
    "EnergyModel",
    "LayerTiming",
    "Machine",
    "MemoryNeed",
    "NPUConfig",
    "NetworkTiming",
    "PreemptionCost",
    "PreemptionPoint",
    "PreemptionRow",
    "Profile",
    "ProfileTable",
    "Shares",
    "Spread",
    "Timing",
    "build_profile",
    "context_table_area",
    "energy_of_network",
    "energy_of_switch",
    "energy_of_timing",
    "memory_need",
    "preemption_cost",
    "preemption_table",
    "shares_of",
    "stack_profiles",
    "time_gemm",
    "time_layer",
    "time_network",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "energy": (
            "Energy",
            "EnergyModel",
            "energy_of_network",
            "energy_of_switch",
            "energy_of_timing",
        ),
        "layout": ("ProfileTable",),
        "preemption": ("PreemptionCost", "PreemptionRow", "preemption_cost", "preemption_table"),
        "locate": ("PreemptionPoint",),
        "profile": ("Profile", "build_profile", "stack_profiles"),
        "spread": ("Spread",),
    },
)
