"""What becomes of a batch of workloads under one policy?

A policy here is any object with the ``predict`` of Stable-Baselines3 models, a rule or a trained
network alike; none is known by name. Times are integer cycles.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prema_gym.errors import ConfigError
from prema_gym.hardware.energy import EnergyModel, energy_of_network, static_energy_mj
from prema_gym.metrics import FloatArray, IntArray, Outcomes, sum_in_order
from prema_gym.simulator.mechanisms import DEFAULT_MECHANISMS, Mechanism, check_mechanisms
from prema_gym.simulator.simulator import Simulator
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadBatch


class Decider(Protocol):
    """What can be evaluated: an object with the ``predict`` of Stable-Baselines3's models.

    ``predict(observation, state=…, episode_start=…, deterministic=…, action_masks=…)`` returns
    ``(actions, state)`` for a batch of observation tables; what the state is belongs to the policy.
    It may be called from several threads at once. An optional attribute ``mechanisms`` (names,
    default ``("checkpoint",)``) says what the action space must offer. An optional method
    ``prepare(simulator)`` is called once the workloads are loaded and returns what is asked in its
    place (`evaluation.clairvoyant`). An optional attribute ``test_seeds`` (a range) says on which
    seeds a policy that has learned may be compared.
    """

    @property
    def predict(self) -> Callable[..., tuple[Any, Any]]:
        """Choose actions; see the class."""
        ...


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


def mechanisms_of(policy: Decider) -> tuple[str, ...]:
    """Return the mechanisms a policy's actions index.

    Raises:
        ConfigError: What was given is no policy, or its mechanisms are none.
    """
    if isinstance(policy, type) or not callable(getattr(policy, "predict", None)):
        raise ConfigError(
            f"a policy is an object with a method predict (baselines.make(name), say), "
            f"given {policy!r}"
        )
    return check_mechanisms(getattr(policy, "mechanisms", DEFAULT_MECHANISMS))


def run_policy(simulator: Simulator, policy: Decider, batch: WorkloadBatch) -> Outcomes:
    """Play a batch of workloads to their ends under one policy.

    Environments that are done are no longer listened to. A policy that returns no state is not
    even asked about them; one that keeps a state sees every row in every call, since only it knows
    how its state is laid out.

    Args:
        simulator: One environment a workload, built with the policy's mechanisms.
        policy: Decides; must take ``action_masks``.
        batch: The workloads.

    Returns:
        What became of them; ``truncated`` marks runs cut off by the simulator's limits.

    Raises:
        ConfigError: The policy takes no action masks or has other mechanisms than the simulator.
    """
    _check_policy(policy, simulator)
    simulator.load(batch)
    prepare = getattr(policy, "prepare", None)
    if prepare is not None:
        policy = prepare(simulator)
    actions = np.zeros(simulator.num_envs, np.int64)
    everyone = np.arange(simulator.num_envs)
    episode_start = np.ones(simulator.num_envs, dtype=bool)
    state: Any = None
    first = True
    while True:
        running = np.flatnonzero(~simulator.done)
        if running.size == 0:
            break
        # Without a state the rows are independent, so those that are done can be left out.
        asked = running if state is None and not first else everyone
        answer = policy.predict(
            simulator.observation[asked],
            state=state,
            episode_start=episode_start[asked],
            deterministic=True,
            action_masks=simulator.mask[asked],
        )
        actions[asked], state = _checked_answer(policy, answer, asked.size)
        simulator.step(actions)
        episode_start[:] = False
        first = False
    return outcomes_of(simulator)


def _check_policy(policy: Decider, simulator: Simulator) -> None:
    if mechanisms_of(policy) != simulator.mechanisms:
        raise ConfigError(
            f"the policy's mechanisms are {mechanisms_of(policy)}, the simulator's are "
            f"{simulator.mechanisms}: build the simulator with the policy's"
        )
    if not callable(getattr(policy, "predict", None)):
        raise ConfigError(f"a policy needs a method predict; {type(policy).__name__} has none")
    parameters = inspect.signature(policy.predict).parameters.values()
    if not any(p.name == "action_masks" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise ConfigError(
            f"{type(policy).__name__}.predict takes no action_masks, so it could choose illegal "
            "actions: train with MaskablePPO, or save it and give agents.load(FILE), which masks"
        )


def _checked_answer(policy: Decider, answer: object, rows: int) -> tuple[IntArray, Any]:
    """Return the actions and the state of a policy's answer, which may be anything."""
    where = f"{type(policy).__name__}.predict"
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ConfigError(f"{where} must return (actions, state), got {type(answer).__name__}")
    actions, state = np.asarray(answer[0]), answer[1]
    if actions.dtype.kind not in "iu" or actions.shape != (rows,):
        raise ConfigError(
            f"{where} must return {rows} whole numbers for {rows} tables, got {actions.dtype} of "
            f"shape {actions.shape}"
        )
    return actions.astype(np.int64, copy=False), state


def outcomes_of(played: Played) -> Outcomes:
    """Copy what became of the loaded workloads so far, one a row."""
    tasks, env, present = played.tasks, played.env, played.task_present
    scenario = played.catalog.scenario

    def total(name: str) -> IntArray:
        return np.asarray(np.where(present, tasks[name], 0).sum(axis=-1), dtype=np.int64)

    return Outcomes(
        arrival_cycles=tasks["arrival_cycles"].copy(),
        completion_cycles=tasks["completion_cycles"].copy(),
        isolated_cycles=tasks["isolated_cycles"].copy(),
        priority=tasks["priority"].copy(),
        deadline_cycles=tasks["deadline_cycles"].copy(),
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
    return np.asarray(dynamic + elapsed * static_energy_mj(hardware, 1, model=model))


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
