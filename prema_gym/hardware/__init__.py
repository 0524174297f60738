"""What does the machine cost in time, bytes, energy and area?

The public names of the room. Those that need compiled code are imported on first use, so that
``import prema_gym.hardware`` stays quick and loads none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from prema_gym.hardware.area import ContextTableArea, context_table_area
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.timing import (
    LayerTiming,
    NetworkTiming,
    Timing,
    time_gemm,
    time_layer,
    time_network,
)

if TYPE_CHECKING:
    from prema_gym.hardware.energy import (
        Energy,
        EnergyModel,
        energy_of_network,
        energy_of_switch,
        energy_of_timing,
    )
    from prema_gym.hardware.preemption import (
        PreemptionCost,
        PreemptionRow,
        Spread,
        preemption_cost,
        preemption_table,
    )
    from prema_gym.hardware.profile import (
        PreemptionPoint,
        Profile,
        ProfileTable,
        build_profile,
        stack_profiles,
    )

__all__ = [
    "ContextTableArea",
    "Energy",
    "EnergyModel",
    "LayerTiming",
    "NPUConfig",
    "NetworkTiming",
    "PreemptionCost",
    "PreemptionPoint",
    "PreemptionRow",
    "Profile",
    "ProfileTable",
    "Spread",
    "Timing",
    "build_profile",
    "context_table_area",
    "energy_of_network",
    "energy_of_switch",
    "energy_of_timing",
    "preemption_cost",
    "preemption_table",
    "stack_profiles",
    "time_gemm",
    "time_layer",
    "time_network",
]

# Where the names imported on first use live, in the order they are searched.
_COMPILED_MODULES = ("profile", "preemption", "energy")


def __getattr__(name: str) -> object:
    if name in __all__:
        for module_name in _COMPILED_MODULES:
            module = importlib.import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
