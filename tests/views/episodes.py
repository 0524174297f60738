"""Episodes that the tests of views look at: played ones, and one of any size made up by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prema_gym import baselines
from prema_gym.evaluation.recording import Recording, record
from prema_gym.simulator import MECHANISMS
from prema_gym.simulator.state import IDLE, NONE, RUN
from prema_gym.views.episode import EpisodeView, TaskView, view_recorded
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch

WILD = "a<b>$x$:x:[red]"
"""A name in which something would go wrong in HTML, Matplotlib or Rich."""


def recorded(policy: str, seed: int = 3, *, tables: bool = False) -> Recording:
    catalog = compile_scenario(scenarios.get("paper"))
    decider = baselines.make(policy, mechanisms=MECHANISMS)
    return record(decider, policy, catalog, sample_batch(catalog, [seed]), tables=tables)


def played(policy: str, seed: int = 3) -> EpisodeView:
    return view_recorded(recorded(policy, seed), f"{policy}, seed {seed}")


def with_name(episode: EpisodeView, network: str) -> EpisodeView:
    """The same with every task of another network."""
    tasks = tuple(replace(task, network=network) for task in episode.tasks)
    return replace(episode, title=network, tasks=tasks)


def made_up(num_slices: int, num_tasks: int = 50) -> EpisodeView:
    """Tasks that take turns, cycle by cycle, after an idle stretch; a cycle is 1.25 ns."""
    start = np.arange(num_slices) * 7
    task = np.arange(num_slices) % num_tasks
    kind = np.full(num_slices, RUN)
    task[0], kind[0] = NONE, IDLE
    timeline = np.stack([task, kind, start, start + 7], axis=1)
    end_ms = num_slices * 7 * 1.25e-6
    tasks = tuple(
        TaskView(
            index=index, network="alexnet", batch_size=1, priority=(1, 3, 9)[index % 3],
            arrival_ms=index * 1e-5, end_ms=end_ms, deadline_ms=1e9, finished=True, slices=(),
        )
        for index in range(num_tasks)
    )  # fmt: skip
    return EpisodeView(
        now_ms=end_ms, num_tasks=num_tasks, decisions=0, tasks=tasks, slots=(), running_slot=None,
        timeline=timeline, clock_hz=800_000_000, title="made up",
    )  # fmt: skip
