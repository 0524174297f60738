"""How does a decision play out? The compiled event engine, from one decision to the next.

Implements ``docs/simulator.md``; the slow twin in ``tests/reference.py`` holds it to the cycle.
Here are the kernels that Python calls, which loop over the batch. What they do to one environment:
``loading.py`` (the beginning), ``decisions.py`` (what a decision does), ``wakeups.py`` (on to the
next one), ``clock.py`` (time passes), ``rules.py`` (what is legal, what it costs, what is seen).
Integers are cycles, bytes and indices; the only floats are tokens and the observation table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prema_gym.compiled.jit import in_place, inlined
from prema_gym.hardware.layout import ProfileTable
from prema_gym.simulator.decisions import act
from prema_gym.simulator.loading import start_one
from prema_gym.simulator.options import EngineOptions
from prema_gym.simulator.prefetching import prefetch_ahead
from prema_gym.simulator.rules import observe, write_mask
from prema_gym.simulator.state import ASKING, State
from prema_gym.simulator.wakeups import play_on
from prema_gym.workloads.workload import WorkloadArrays


@in_place
def advance(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    actions: NDArray[np.int64],
    first: int,
    last: int,
) -> None:
    """Take one decision in each of the environments ``[first, last)`` that wait for one.

    The tables and masks of all of them are written, so that these arrays may be new ones.

    Args:
        state: ``State``; written in place.
        table: ``ProfileTable`` of the scenario; only read.
        options: ``EngineOptions``; only read.
        actions: int64 (B,); ignored where the environment does not ask.
        first: First environment.
        last: One past the last; threads may share a batch by ranges.
    """
    for b in range(first, last):
        advance_one(state, table, options, actions, b, last)


@inlined
def advance_one(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    actions: NDArray[np.int64],
    b: int,
    last: int,
) -> None:
    """Do the part of environment ``b`` in :func:`advance`, for kernels with a loop of their own."""
    prefetch_ahead(state, table, actions, b, last)
    if state.env[b]["status"] == ASKING:
        wake = act(state, b, table, options, actions[b])
        play_on(state, b, options, wake)
    observe(state, b, table, options)


@in_place
def start(
    state: State,
    table: ProfileTable,
    options: EngineOptions,
    workload: WorkloadArrays,
    rows: NDArray[np.int64],
) -> None:
    """Load row k of ``workload`` into environment ``rows[k]`` and play to its first decision.

    Args:
        state: ``State``; the named environments are overwritten.
        table: ``ProfileTable`` of the scenario.
        options: ``EngineOptions``.
        workload: ``WorkloadArrays``; int64 (K, N) each, ``num_tasks`` int64 (K,).
        rows: int64 (K,), environments to load.
    """
    for k in range(rows.shape[0]):
        start_one(state, table, options, workload, k, rows[k])


@in_place
def show(state: State, table: ProfileTable, options: EngineOptions) -> None:
    """Write the tables and masks of every environment as it stands.

    Args:
        state: ``State``; its tables and masks are written.
        table: ``ProfileTable`` of the scenario.
        options: ``EngineOptions``.
    """
    for b in range(state.env.shape[0]):
        observe(state, b, table, options)


@in_place
def write_masks(env: NDArray[np.void], slots: NDArray[np.int64], mask: NDArray[np.bool_]) -> None:
    """Write the legal actions of every environment.

    Args:
        env: Clock and counters (B,), ``state.ENV_DTYPE``; only read.
        slots: int64 (B, S); only read.
        mask: bool (B, S · mechanisms), written.
    """
    for b in range(mask.shape[0]):
        write_mask(env[b], slots, mask, b)
