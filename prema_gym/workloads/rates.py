"""How much of the machine's time do tasks ask for, and how often must they arrive to ask for it?

Load is a pure number: the rate of arrivals times the mean true isolated time of one. At 1 the
machine is asked for all of its time, switching not counted. Times are cycles.
"""

from __future__ import annotations

import numpy as np

from prema_gym.workloads.asked import sum_of_isolated_cycles
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenario_rules import check_window
from prema_gym.workloads.tables import CatalogArrays, task_probabilities


def mean_isolated_cycles(arrays: CatalogArrays) -> float:
    """Expected true isolated time of one drawn task, or of one request of a trace [cycles]."""
    truth = arrays.fixed_cycles[:, None] + arrays.step_cycles[:, None] * arrays.output_lengths
    if not len(arrays.trace_asked):
        return float((task_probabilities(arrays) * truth.astype(np.float64)).sum())
    num_networks, num_batches = arrays.first_profile.shape
    networks = np.bincount(arrays.network_draws, minlength=num_networks)
    batches = np.bincount(arrays.batch_draws, minlength=num_batches)
    total = np.zeros(1)
    sum_of_isolated_cycles(
        arrays,
        networks / networks.sum(),
        batches / batches.sum(),
        arrays.output_lengths.mean(axis=1),
        total,
    )
    return float(total[0]) / len(arrays.trace_asked)


def window_of_load(scenario: Scenario, arrays: CatalogArrays) -> int:
    """Arrival window in which a scenario's tasks ask for its load [cycles].

    Args:
        scenario: Its ``load`` is a number.
        arrays: Its tables; the window among them is not read.

    Raises:
        ConfigError: The window is longer than the clock can count.
    """
    assert scenario.load is not None  # `catalog` sees to it
    window = round(scenario.num_tasks * mean_isolated_cycles(arrays) / scenario.load)
    check_window(scenario, window)
    return window
