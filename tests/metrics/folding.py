"""Requests written by hand, folded into a tally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prema_gym.metrics.tally import Fold, Tally, fold_finished, fold_left, new_tally
from prema_gym.simulator.state import TASK_DTYPE


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the engine's record of a request holds; times are cycles."""

    number: int
    arrival: int
    completion: int
    deadline: int
    isolated: int
    network: int = 0
    priority: int = 1
    stream: int = 0


def folded(
    given: Sequence[Request], *, warmup: int, requests: int, left_at: int | None = None
) -> Tally:
    """A tally of two networks, priorities 1 and 3, and three streams.

    Args:
        given: In order of arrival.
        warmup: Requests before those that count.
        requests: That count.
        left_at: They are still in the system then; None: they have finished.
    """
    tasks = np.zeros(len(given), TASK_DTYPE)
    for task, one in zip(tasks, given, strict=True):
        task["number"], task["arrival_cycles"] = one.number, one.arrival
        task["completion_cycles"], task["deadline_cycles"] = one.completion, one.deadline
        task["isolated_cycles"], task["network"] = one.isolated, one.network
        task["priority"], task["stream"] = one.priority, one.stream
    fold = Fold(
        warmup=warmup,
        requests=requests,
        start_cycles=given[warmup].arrival,
        priorities=np.array([1, 3], np.int64),
        first_priority=3,
        first_stream=5,
    )
    tally = new_tally(8)
    if left_at is None:
        fold_finished(tasks, len(given), fold, tally)
    else:
        fold_left(tasks, len(given), left_at, fold, tally)
    return tally
