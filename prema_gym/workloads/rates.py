"""How much of the machine's time do tasks ask for, and how often must they arrive to ask for it?

Load is a pure number: the rate of arrivals times the mean true isolated time of one. At 1 the
machine is asked for all of its time, switching not counted. Times are cycles.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from prema_gym.workloads.fields import IntArray
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenario_rules import check_window
from prema_gym.workloads.tables import CatalogArrays, draws, task_probabilities


def mean_isolated_cycles(arrays: CatalogArrays) -> float:
    """Expected true isolated time of one drawn task [cycles]."""
    truth = arrays.fixed_cycles[:, None] + arrays.step_cycles[:, None] * arrays.output_lengths
    return float((task_probabilities(arrays) * truth.astype(np.float64)).sum())


def window_of_load(scenario: Scenario, costs: Mapping[str, IntArray]) -> int:
    """Arrival window in which a scenario's tasks ask for its load [cycles].

    Args:
        scenario: Its ``load`` is a number.
        costs: What `prema_gym.workloads.costs.work_out` found, by the names of `CatalogArrays`.

    Raises:
        ConfigError: The window is longer than the clock can count.
    """
    assert scenario.load is not None  # `catalog` sees to it
    nothing = np.zeros(0, np.int64)
    arrays = CatalogArrays(
        process=nothing,
        trace_cycles=nothing,
        batch_sizes=nothing,
        priorities=nothing,
        network_draws=draws(np.arange(len(scenario.networks)), scenario.network_shares),
        batch_draws=draws(np.arange(len(scenario.batch_sizes)), scenario.batch_shares),
        **costs,
    )
    window = round(scenario.num_tasks * mean_isolated_cycles(arrays) / scenario.load)
    check_window(scenario, window)
    return window
