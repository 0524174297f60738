"""What is the best schedule of these tasks? The exact optimum of one objective, with its order.

The method is the recursion of :mod:`prema_gym.bounds.recursion`; here are the checks, the threads
and the scales. Times are integer cycles, below 2**53.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.bounds.inputs import (
    MAX_CYCLES,
    array_of,
    batch_shape,
    check_times,
    integer_array,
    weights,
)
from prema_gym.bounds.objectives import Objective, get_objective
from prema_gym.bounds.recursion import Result, Tasks, solve_rows
from prema_gym.checks import Constraint, optional, whole
from prema_gym.compiled.cpus import num_cpus
from prema_gym.errors import ConfigError, WorkloadError

# The tables take 17 bytes a subset, so 18 MB a thread at 20 tasks; each further task doubles that.
MAX_TASKS = 20
NO_TASK = -1
# Parts a thread on average: workloads of unequal size still end at about the same time.
_PARTS_PER_THREAD = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """The best schedule of one workload for one objective.

    Attributes:
        objective: Its name.
        value: The best value any schedule can have, in the objective's unit.
        order: Priority order that attains it, highest first, int64 (num_tasks,) of task indices.
        completion_cycles: Completion of each task under that order, by task index, int64
            (num_tasks,); equal to ``decode(order, arrival, isolated)``.
    """

    objective: str
    value: float
    order: NDArray[np.int64]  # (num_tasks,)
    completion_cycles: NDArray[np.int64]  # (num_tasks,)


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimumBatch:
    """The best schedules of many workloads for one objective; rows as in :class:`Optimum`.

    Attributes:
        objective: Its name.
        value: float64 (num_workloads,).
        order: int64 (num_workloads, max_tasks), padded with −1.
        completion_cycles: int64 (num_workloads, max_tasks), padded with −1.
    """

    objective: str
    value: NDArray[np.float64]  # (num_workloads,)
    order: NDArray[np.int64]  # (num_workloads, max_tasks)
    completion_cycles: NDArray[np.int64]  # (num_workloads, max_tasks)


def optimum(
    arrival: ArrayLike,
    isolated: ArrayLike,
    objective: str = "antt",
    *,
    weight: ArrayLike | None = None,
    deadline: ArrayLike | None = None,
    target: float | Fraction | None = None,
) -> Optimum:
    """Exact clairvoyant optimum of one workload; a bound on every policy on the real machine.

    | objective | value | takes |
    |---|---|---|
    | antt | mean of NTT = (C − r)/p | |
    | stp | sum of 1/NTT; more is better | |
    | weighted_completion | sum of w·C [cycles] | weight |
    | sla_violation | share of tasks with NTT > target | target (needed) |
    | sla_curve | mean of that share over the targets 2 … 20 (``metrics.sla_violation``) | |
    | deadline_misses | sum of w over tasks with C > d | weight, deadline (needed) |
    | tardiness | sum of w·max(0, C − d) [cycles] | weight, deadline (needed) |
    | worst_ntt | largest NTT | |

    Values made of whole numbers (misses, shares, completions and tardiness with whole weights) are
    exact; the others are right to a few roundings. Ties: among last tasks of equal cost the latest
    to arrive, then the highest index, goes last.

    Args:
        arrival: Integers (num_tasks,) [cycles, >= 0], in any order, at most ``MAX_TASKS``.
        isolated: True isolated times, integers (num_tasks,) [cycles, >= 1].
        objective: A name in ``OBJECTIVES``.
        weight: (num_tasks,) [>= 0]; 1 each if left out.
        deadline: Absolute due times, integers (num_tasks,) [cycles].
        target: Largest NTT that is no violation, > 0. A float is taken as the decimal it prints
            as, so a task at exactly 2.3 times its isolated time meets a target of 2.3.

    Returns:
        The value, an order that attains it, and its completion times.

    Raises:
        ConfigError: if there are too many tasks or an argument is unknown, missing or of no use.
        WorkloadError: if the arrays are not a set of tasks.
    """
    shape = array_of("arrival", arrival).shape
    if len(shape) != 1:
        raise WorkloadError(f"arrival must have shape (num_tasks,), got {shape}")
    batch = optimum_batch(
        _one_row("arrival", arrival),
        _one_row("isolated", isolated),
        objective,
        weight=_one_row("weight", weight),
        deadline=_one_row("deadline", deadline),
        target=target,
        threads=1,
    )
    return Optimum(
        objective=objective,
        value=float(batch.value[0]),
        order=batch.order[0],
        completion_cycles=batch.completion_cycles[0],
    )


@overload
def _one_row(name: str, values: None) -> None: ...
@overload
def _one_row(name: str, values: ArrayLike) -> NDArray[np.generic]: ...
def _one_row(name: str, values: ArrayLike | None) -> NDArray[np.generic] | None:
    return None if values is None else array_of(name, values)[np.newaxis]


def optimum_batch(
    arrival: ArrayLike,
    isolated: ArrayLike,
    objective: str = "antt",
    *,
    num_tasks: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    deadline: ArrayLike | None = None,
    target: float | Fraction | None = None,
    threads: int | None = None,
) -> OptimumBatch:
    """Exact clairvoyant optimum of each of many workloads; see :func:`optimum`.

    Memory beyond the arrays is at most 17 bytes × 2^(most tasks) for each thread. The result does
    not depend on the number of threads.

    Args:
        arrival: Integers (num_workloads, max_tasks) [cycles]; padding may hold anything.
        isolated: Integers (num_workloads, max_tasks) [cycles]; so may its padding.
        objective: A name in ``OBJECTIVES``.
        num_tasks: Tasks of each workload, the first ones of its row, integers (num_workloads,)
            [1 … max_tasks]; None means that no row is padded.
        weight: (num_workloads, max_tasks), or None.
        deadline: Integers (num_workloads, max_tasks) [cycles], or None.
        target: One target for all workloads, or None.
        threads: How many threads share the workloads; None means one for each CPU.

    Raises:
        ConfigError, WorkloadError: as :func:`optimum`.
    """
    goal = get_objective(objective)
    _check_arguments(goal, {"weight": weight, "deadline": deadline, "target": target})
    threads = optional(whole()).check("threads", threads)
    tasks = _tasks(arrival, isolated, num_tasks, weight, deadline, target)
    result = Result(
        total=np.empty(len(tasks.num_tasks)),
        order=np.full(tasks.arrival.shape, NO_TASK, np.int64),
        completion=np.full(tasks.arrival.shape, NO_TASK, np.int64),
    )
    _solve_in_threads(goal, tasks, result, num_cpus() if threads is None else threads)
    scale = (-1.0 if goal.maximise else 1.0) * goal.divisor
    value = result.total / (scale * tasks.num_tasks if goal.mean else scale)
    return OptimumBatch(
        objective=objective,
        value=value,
        order=result.order,
        completion_cycles=result.completion,
    )


def _check_arguments(goal: Objective, given: dict[str, object]) -> None:
    """Raise ConfigError for an optional argument that is missing or would be ignored."""
    for name, value in given.items():
        if value is None and name in goal.requires:
            raise ConfigError(f"objective {goal.name!r} needs the argument {name}")
        if value is not None and name not in goal.uses:
            raise ConfigError(f"objective {goal.name!r} makes no use of the argument {name}")


def _tasks(
    arrival: ArrayLike,
    isolated: ArrayLike,
    num_tasks: ArrayLike | None,
    weight: ArrayLike | None,
    deadline: ArrayLike | None,
    target: float | Fraction | None,
) -> Tasks:
    """Check the arrays of a batch and bring them into the form the kernels read."""
    shape = batch_shape(arrival)
    count = (
        np.full(shape[0], shape[1], np.int64)
        if num_tasks is None
        else integer_array("num_tasks", num_tasks, shape[:1])
    )
    if count.min() < 1 or count.max() > shape[1]:
        raise WorkloadError(f"num_tasks must be 1 … {shape[1]}, got {count.min()} … {count.max()}")
    if count.max() > MAX_TASKS:
        raise ConfigError(
            f"the exact optimum takes at most {MAX_TASKS} tasks, got {count.max()}; "
            "lp_bound and antt_bound take any number"
        )
    real = np.arange(shape[1]) < count[:, np.newaxis]
    arrival_cycles = np.where(real, integer_array("arrival", arrival, shape), 0)
    isolated_cycles = np.where(real, integer_array("isolated", isolated, shape), 1)
    check_times(arrival_cycles, isolated_cycles)
    if target is not None:
        due = _target_deadline(arrival_cycles, isolated_cycles, target)
    elif deadline is not None:
        due = np.where(real, integer_array("deadline", deadline, shape), 0)
        if due.min() <= -MAX_CYCLES:
            raise WorkloadError(f"deadline must be > -2**53 cycles, got {due.min()}")
    else:
        due = np.zeros(shape, np.int64)
    return Tasks(count, arrival_cycles, isolated_cycles, weights(weight, shape, real), due)


def _fraction(value: object) -> Fraction:
    exact = Fraction(str(value))
    if exact <= 0:
        raise ValueError
    return exact


_TARGET = Constraint("a finite number above 0", _fraction)


def _target_deadline(
    arrival: NDArray[np.int64], isolated: NDArray[np.int64], target: float | Fraction
) -> NDArray[np.int64]:
    """Latest whole cycle at which NTT <= target, r + ⌊target·p⌋, at most MAX_CYCLES."""
    exact = _TARGET.check("target", target)
    # Python integers: numerator × p can exceed 64 bits.
    due = arrival + isolated.astype(object) * exact.numerator // exact.denominator
    return np.asarray(np.minimum(due, MAX_CYCLES), dtype=np.int64)


def _solve_in_threads(goal: Objective, tasks: Tasks, result: Result, threads: int) -> None:
    """Split the workloads into runs of rows; each thread writes its own rows of ``result``."""
    num_workloads = len(tasks.num_tasks)
    cost = int(goal.cost)
    if threads == 1 or num_workloads == 1:
        solve_rows(0, num_workloads, cost, goal.maximum, tasks, result)
        return
    num_parts = min(threads * _PARTS_PER_THREAD, num_workloads)
    edges = np.linspace(0, num_workloads, num_parts + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        parts = [
            pool.submit(solve_rows, first, end, cost, goal.maximum, tasks, result)
            for first, end in pairwise(edges)
        ]
    for part in parts:
        part.result()  # raises what the thread raised
