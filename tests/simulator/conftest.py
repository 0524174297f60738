"""Compiles the engine once, so that no test's time contains it."""

from __future__ import annotations

import pytest

from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.network import Phase
from prema_gym.networks.work import Gemm
from tests.simulator.twins import Case, Net, Task, Works, first_come, play_engine


@pytest.fixture(scope="session", autouse=True)
def compiled_engine() -> None:
    net = Net("net", (Phase((Works("layer", (Gemm("g", 8, 8, 8),)),), 1),))
    tasks = (Task(net=0, arrival=0), Task(net=0, arrival=1))
    play_engine(Case(config=NPUConfig(), nets=(net,), tasks=tasks), first_come)
