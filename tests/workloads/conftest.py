from __future__ import annotations

import pytest

from prema_gym.workloads.catalog import Catalog, compile_scenario
from prema_gym.workloads.lengths import LengthModel
from prema_gym.workloads.scenario import Scenario

SMALL = Scenario(
    name="small",
    networks=("mobilenet-v1", "rnn-sa", "rnn-mt1"),
    batch_sizes=(1, 4),
    num_tasks=5,
    lengths=(
        LengthModel(network="rnn-sa", input_lengths=(3, 6)),
        LengthModel(
            network="rnn-mt1", input_lengths=(4, 8, 12), ratio_median=1.25, ratio_sigma=0.3
        ),
    ),
)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """Three networks, 2·(1 + 2 + 3) = 12 profiles, quick to compile."""
    return compile_scenario(SMALL)
