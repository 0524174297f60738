"""What becomes of a batch of workloads under one policy? `play` builds the simulator and plays it.

Every comparison, validation and study goes through here, so that all ask a policy in the same way.
`play_on` plays on a simulator at hand: one that is used again and again, or looked at afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from prema_gym.baselines.choosing import program_of
from prema_gym.checks import check_fields, declared, instance, optional, whole
from prema_gym.errors import ConfigError
from prema_gym.evaluation.compiled import play_by
from prema_gym.evaluation.outcomes import outcomes_of
from prema_gym.evaluation.policy import (
    Decider,
    check_takes_masks,
    checked_answer,
    decides_only_when_free,
    mechanisms_of,
)
from prema_gym.metrics import Outcomes
from prema_gym.simulator import (
    DEFAULT_ESTIMATE,
    DEFAULT_SLOTS,
    ESTIMATE,
    MAX_SLOTS,
    SchedulerOptions,
    Simulator,
)
from prema_gym.simulator.unchecked import UncheckedSimulator
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadBatch


@dataclass(frozen=True, kw_only=True)
class PlaySettings:
    """What a policy plays with, whichever it is.

    Attributes:
        estimate: What it is shown as isolated times: ``algorithm1``, ``calibrated`` or ``oracle``.
        slots: Rows of the context table.
        options: Open points of the scheduler.
        max_decisions: Cut a workload off after so many decisions; None: no limit.
    """

    estimate: str = declared(
        DEFAULT_ESTIMATE, ESTIMATE, help="what policies are shown as isolated times"
    )
    slots: int = declared(
        DEFAULT_SLOTS, whole(1, MAX_SLOTS), unit="slots", help="rows of the context table"
    )
    options: SchedulerOptions = declared(
        factory=SchedulerOptions,
        constraint=instance(SchedulerOptions, "SchedulerOptions"),
        help="open points of the scheduler",
    )
    max_decisions: int | None = declared(
        None,
        optional(whole(1)),
        unit="decisions",
        help="cut a workload off after so many decisions",
    )

    def __post_init__(self) -> None:
        check_fields(self)


def play(
    policy: Decider, catalog: Catalog, batch: WorkloadBatch, settings: PlaySettings | None = None
) -> Outcomes:
    """Play a batch of workloads to their ends under one policy.

    Args:
        policy: Decides.
        catalog: The compiled scenario.
        batch: The workloads.
        settings: What it plays with; None: the defaults.

    Returns:
        What became of them; ``truncated`` marks those that the limit cut off.

    Raises:
        ConfigError: The policy cannot be played.
        WorkloadError: A workload does not belong to the catalog.
    """
    return play_on(simulator_for(policy, catalog, batch, settings), policy, batch)


def simulator_for(
    policy: Decider,
    catalog: Catalog,
    batch: WorkloadBatch,
    settings: PlaySettings | None = None,
    *,
    record_timeline: bool = False,
) -> Simulator:
    """Build the simulator on which a policy can play a batch.

    Args:
        policy: Says which mechanisms its actions name.
        catalog: The compiled scenario.
        batch: As long as those that will be played, with as many tasks.
        settings: What it plays with; None: the defaults.
        record_timeline: Keep who ran when, for pictures.
    """
    settings = PlaySettings() if settings is None else settings
    return Simulator(
        catalog,
        num_envs=len(batch),
        max_tasks=batch.profile.shape[1],
        mechanisms=mechanisms_of(policy),
        estimate=settings.estimate,
        only_when_free=decides_only_when_free(policy),
        slots=settings.slots,
        options=settings.options,
        max_decisions=settings.max_decisions,
        record_timeline=record_timeline,
    )


def play_on(simulator: Simulator, policy: Decider, batch: WorkloadBatch) -> Outcomes:
    """Do what :func:`play` does on a simulator at hand, which holds the records afterwards.

    Args:
        simulator: One environment a workload, built with the policy's mechanisms.
        policy: Decides.
        batch: The workloads.

    Raises:
        ConfigError: The policy cannot be played, or has other mechanisms than the simulator.
        WorkloadError: A workload does not belong to the simulator's catalog.
    """
    if mechanisms_of(policy) != simulator.mechanisms:
        raise ConfigError(
            f"the policy's mechanisms are {mechanisms_of(policy)}, the simulator's are "
            f"{simulator.mechanisms}: build the simulator with the policy's"
        )
    check_takes_masks(policy)
    simulator.load(batch)
    prepare = getattr(policy, "prepare", None)
    finish(simulator, policy if prepare is None else prepare(simulator))
    return outcomes_of(simulator)


def finish(simulator: Simulator, policy: Decider) -> None:
    """Let a policy decide until every loaded workload has ended.

    A rule without a memory decides in compiled code; any other policy is asked through ``predict``.

    Args:
        simulator: Loaded, and at its first decisions.
        policy: Decides.

    Raises:
        ConfigError: An answer of the policy is none.
    """
    program = program_of(policy)
    if program is not None and not simulator.record_timeline:
        play_by(simulator, program)
        return
    Asking(simulator, policy).on()


class Asking:
    """A policy that is asked through ``predict``, with what it remembers between the calls.

    Workloads that have ended are no longer listened to. A policy that returns no state is not even
    asked about them; one that keeps a state sees every row in every call, since only it knows how
    its state is laid out.

    Args:
        simulator: Loaded.
        policy: Decides.
    """

    def __init__(self, simulator: UncheckedSimulator, policy: Decider) -> None:
        self._simulator, self._policy = simulator, policy
        self._actions = np.zeros(simulator.num_envs, np.int64)
        self._episode_start = np.ones(simulator.num_envs, dtype=bool)
        self._state: Any = None

    def on(self) -> None:
        """Decide until no environment asks any more.

        Raises:
            ConfigError: An answer of the policy is none.
        """
        simulator, policy = self._simulator, self._policy
        everyone = np.arange(simulator.num_envs)
        while True:
            going = np.flatnonzero(simulator.asking)
            if going.size == 0:
                return
            # Without a state the rows are independent, so those that have ended can be left out.
            first = bool(self._episode_start.any())
            asked = going if self._state is None and not first else everyone
            answer = policy.predict(
                simulator.observation[asked],
                state=self._state,
                episode_start=self._episode_start[asked],
                deterministic=True,
                action_masks=simulator.mask[asked],
            )
            self._actions[asked], self._state = checked_answer(policy, answer, asked.size)
            simulator.make_room()
            simulator.step_range(self._actions, 0, simulator.num_envs)
            self._episode_start[:] = False
