"""What became of played workloads, and what energy did they take? Records turned into outcomes.

The one rule of energy is here: reports, rewards and totals read it. Times are integer cycles.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prema_gym.hardware.energy import EnergyModel, energy_of_network, static_energy_mj
from prema_gym.metrics import UNFINISHED, FloatArray, IntArray, Outcomes, sum_in_order
from prema_gym.simulator import Mechanism
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.fields import TASK_FIELDS


class Played(Protocol):
    """Records of played workloads: a `Simulator`, or rows copied from one."""

    @property
    def catalog(self) -> Catalog:
        """The compiled scenario."""
        ...

    @property
    def tasks(self) -> NDArray[np.void]:
        """Task records (W, N)."""
        ...

    @property
    def env(self) -> NDArray[np.void]:
        """Clock and counters (W,)."""
        ...

    @property
    def task_present(self) -> NDArray[np.bool_]:
        """True where there is a task, bool (W, N)."""
        ...

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """True where a limit cut the workload off, bool (W,)."""
        ...


def outcomes_of(played: Played) -> Outcomes:
    """Copy what became of the loaded workloads so far, one a row."""
    tasks, env, present = played.tasks, played.env, played.task_present
    scenario = played.catalog.scenario

    def total(name: str) -> IntArray:
        return np.asarray(np.where(present, tasks[name], 0).sum(axis=-1), dtype=np.int64)

    return Outcomes(
        **{name: tasks[name].copy() for name in TASK_FIELDS},
        # Dropped and rejected tasks never finish.
        completion_cycles=np.maximum(tasks["completion_cycles"], UNFINISHED),
        first_run_cycles=np.maximum(tasks["first_run_cycles"], UNFINISHED),
        checkpoints=tasks["checkpoints"].copy(),
        kills=tasks["kills"].copy(),
        present=present,
        busy_cycles=env["busy_cycles"].copy(),
        killed_cycles=total("killed_cycles"),
        switching_cycles=env["switching_cycles"].copy(),
        idle_cycles=env["idle_cycles"].copy(),
        preemptions=np.stack([total(mechanism.counter) for mechanism in Mechanism], axis=-1),
        host_moves=total("host_moves"),
        decisions=env["decisions"].copy(),
        illegal_actions=env["illegal_actions"].copy(),
        truncated=played.truncated,
        energy_mj=energy_mj(played),
        high_priority=max(scenario.priorities),
        cycles_per_ms=scenario.hardware.clock_hz / 1e3,
    )


def energy_mj(played: Played, model: EnergyModel | None = None) -> FloatArray:
    """Energy each workload has taken so far: float64 (W,) [mJ].

    Work costs its inference's dynamic energy in proportion to the cycles executed, killed ones
    included. A switch costs what the bytes cost that its save and restore had time to move
    (latency counts as moving, which overstates a switch by 100 cycles in some 10 000). A task with
    a context on the host is priced as if all its switches went there. Static power runs from 0 to
    the end. Source: ours; energies per operation as documented in ``EnergyModel``.
    """
    model = EnergyModel() if model is None else model
    hardware = played.catalog.hardware
    tasks, env = played.tasks, played.env
    fixed, step = _dynamic_energy(played.catalog, model)
    inference = fixed[tasks["profile"]] + step[tasks["profile"]] * tasks["output_length"]
    worked = tasks["executed_cycles"] + tasks["killed_cycles"]
    work = inference * worked / np.maximum(tasks["isolated_cycles"], 1)  # padding holds 0

    # Energy of a cycle in which a context moves; an infinitely fast link moves in none.
    def per_cycle(bandwidth: str, pj_per_byte: float) -> float:
        bytes_per_s = getattr(hardware, bandwidth)
        rate = 0.0 if math.isinf(bytes_per_s) else bytes_per_s / hardware.clock_hz
        return rate * (pj_per_byte + model.buffer_pj_per_byte) * 1e-9  # pJ → mJ

    dram = per_cycle("dram_bytes_per_s", model.dram_pj_per_byte)
    host_pj = model.host_link_pj_per_byte + model.host_dram_pj_per_byte
    host = per_cycle("host_link_bytes_per_s", host_pj)
    switching = tasks["checkpoint_cycles"] + tasks["restore_cycles"]
    switch = switching * np.where(tasks["host_moves"] > 0, host, dram)
    dynamic = sum_in_order(np.where(played.task_present, work + switch, 0.0))
    elapsed = env["busy_cycles"] + env["switching_cycles"] + env["idle_cycles"]
    return np.asarray(dynamic + elapsed * static_energy_mj(hardware, 1))


@lru_cache(maxsize=16)  # as many as compile_scenario keeps
def _dynamic_energy(catalog: Catalog, model: EnergyModel) -> tuple[FloatArray, FloatArray]:
    """Dynamic energy of every profile [mJ]: (fixed part, each output step), float64 (profiles,)."""
    arrays = catalog.arrays
    at_one, at_two = np.array(
        [
            [
                energy_of_network(
                    catalog.hardware,
                    catalog.networks[network],
                    batch=batch,
                    input_length=length,
                    output_length=steps,
                    model=model,
                ).dynamic_mj
                for network, batch, length in zip(
                    arrays.profile_network.tolist(),
                    arrays.profile_batch.tolist(),
                    arrays.input_length.tolist(),
                    strict=True,
                )
            ]
            for steps in (1, 2)
        ]
    )
    step = at_two - at_one
    return at_one - step, step
