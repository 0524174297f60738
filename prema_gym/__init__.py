"""prema-gym: schedule DNN tasks on a preemptible NPU, and compare learned schedulers with PREMA.

Importing this package registers the environments and stays quick: nothing is compiled and neither
Numba nor torch is loaded until something is simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymnasium.envs.registration import register

from prema_gym.moved import stand_in

if TYPE_CHECKING:
    from prema_gym.simulator.observation import Column

__all__ = ["__version__", "observation_columns"]

__version__ = "0.1.0"

stand_in()

register(
    id="PremaNPU-v0",
    entry_point="prema_gym.envs:PremaNPUEnv",
    vector_entry_point="prema_gym.envs:PremaNPUVectorEnv",
)

register(
    id="PremaNPU-MO-v0",
    entry_point="prema_gym.envs:PremaNPUMOEnv",
    vector_entry_point="prema_gym.envs:PremaNPUMOVectorEnv",
)


def observation_columns() -> tuple[Column, ...]:
    """Return the columns of the observation: name, unit, low, high and meaning of each."""
    from prema_gym.simulator.observation import COLUMNS

    return COLUMNS
