"""Are these arrays a set of tasks? Checks shared by every bound; times are integer cycles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prema_gym.errors import WorkloadError

# Below this every time is exact as int64 and as float64; it is 149 days at 700 MHz.
MAX_CYCLES = 2**53


def array_of(name: str, values: ArrayLike) -> NDArray[np.generic]:
    """Return ``values`` as an array.

    Raises:
        WorkloadError: if rows differ in length, or it holds something else than numbers.
    """
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise WorkloadError(f"{name} must be an array of numbers, each row as long") from error
    if array.dtype.kind not in "biuf" and array.size > 0:
        what = "None" if values is None else f"dtype {array.dtype}"
        raise WorkloadError(f"{name} must hold numbers, got {what}")
    return array


def integer_array(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return ``values`` as an int64 array of ``shape``.

    Raises:
        WorkloadError: if the values are not integers (no silent rounding) or the shape differs.
    """
    array = array_of(name, values)
    if array.dtype.kind not in "iu":
        raise WorkloadError(f"{name} must hold integers, got dtype {array.dtype}")
    if array.shape != shape:
        raise WorkloadError(f"{name} must have shape {shape}, got {array.shape}")
    if array.dtype.kind == "u" and int(np.max(array, initial=0)) > 2**63 - 1:
        raise WorkloadError(f"{name} must hold integers below 2**63, got {np.max(array)}")
    return array.astype(np.int64, order="C")


def batch_shape(arrival: ArrayLike) -> tuple[int, int]:
    """Return (num_workloads, max_tasks) of a batch's arrivals.

    Raises:
        WorkloadError: if it is no batch, or an empty one.
    """
    shape = array_of("arrival", arrival).shape
    if len(shape) != 2 or 0 in shape:
        raise WorkloadError(f"arrival must hold at least one workload and task, got shape {shape}")
    return shape


def task_times(arrival: ArrayLike, isolated: ArrayLike) -> tuple[NDArray[np.int64], ...]:
    """Return arrival and isolated times, int64 (num_tasks,) each, once they are known to be sound.

    Args:
        arrival: Arrival of each task, integers (num_tasks,) [cycles, >= 0], in any order.
        isolated: Isolated time of each task, integers (num_tasks,) [cycles, >= 1].

    Raises:
        WorkloadError: if a shape, type or range is wrong, or no task is given.
    """
    shape = array_of("arrival", arrival).shape
    if len(shape) != 1 or shape[0] == 0:
        raise WorkloadError(f"arrival must have shape (num_tasks,) with a task, got {shape}")
    arrival_cycles = integer_array("arrival", arrival, shape)
    isolated_cycles = integer_array("isolated", isolated, shape)
    check_times(arrival_cycles, isolated_cycles)
    return arrival_cycles, isolated_cycles


def check_times(arrival: NDArray[np.int64], isolated: NDArray[np.int64]) -> None:
    """Raise WorkloadError unless 0 <= arrival, 1 <= isolated and all work ends by MAX_CYCLES.

    The last axis of both arrays runs over the tasks of one workload.
    """
    if arrival.min() < 0:
        raise WorkloadError(f"arrival must be >= 0 cycles, got {arrival.min()}")
    if isolated.min() < 1:
        raise WorkloadError(f"isolated must be >= 1 cycle, got {isolated.min()}")
    # In float64, which cannot wrap round.
    end = float(arrival.max()) + float(isolated.sum(axis=-1, dtype=np.float64).max())
    if end >= MAX_CYCLES:
        raise WorkloadError(f"the last task must end before 2**53 cycles, got {end:.3g}")


def weights(
    weight: ArrayLike | None, shape: tuple[int, ...], real: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return weights as float64 of ``shape``; None means 1 for every task.

    Where ``real`` is given and False there is no task; the weight is not looked at and becomes 1.

    Raises:
        WorkloadError: if the shape differs or a weight is negative or not finite.
    """
    if weight is None:
        return np.ones(shape)
    array = np.array(array_of("weight", weight), dtype=np.float64, order="C")
    if array.shape != shape:
        raise WorkloadError(f"weight must have shape {shape}, got {array.shape}")
    if real is not None:
        array[~real] = 1.0
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise WorkloadError("weight must be finite and >= 0 for every task")
    return array
