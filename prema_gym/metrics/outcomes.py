"""What became of a batch of workloads? The arrays that every metric is computed from."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from prema_gym.metrics.formulas import (
    UNFINISHED,
    BoolArray,
    FloatArray,
    IntArray,
    missed_deadlines,
    ntt,
)
from prema_gym.workloads.fields import TaskColumns


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes(TaskColumns):
    """What became of W workloads of at most N tasks under one policy, beside the tasks themselves.

    Attributes:
        completion_cycles: int64 (W, N), :data:`UNFINISHED` where the task never finished.
        first_run_cycles: int64 (W, N), start of its first run, :data:`UNFINISHED` if it never ran.
        checkpoints: int64 (W, N), times the task was checkpointed.
        kills: int64 (W, N), times it was killed.
        present: bool (W, N), False on padding.
        busy_cycles: int64 (W,), time spent running tasks, work later killed included.
        killed_cycles: int64 (W,), work thrown away by KILL.
        switching_cycles: int64 (W,), time spent saving and restoring contexts.
        idle_cycles: int64 (W,), time with no task in the system, also before the first arrival.
        preemptions: int64 (W, mechanisms), how often each :class:`Mechanism` was used, by its code.
        host_moves: int64 (W,), contexts that had to be saved in host memory.
        decisions: int64 (W,), times the policy was asked.
        illegal_actions: int64 (W,), answers that were not allowed.
        truncated: bool (W,), the run was cut off by its decision limit.
        energy_mj: float64 (W,), energy of the run [mJ].
        high_priority: The highest priority weight the scenario knows.
        cycles_per_ms: Clock cycles in a millisecond.
    """

    completion_cycles: IntArray
    first_run_cycles: IntArray
    checkpoints: IntArray
    kills: IntArray
    present: BoolArray
    busy_cycles: IntArray
    killed_cycles: IntArray
    switching_cycles: IntArray
    idle_cycles: IntArray
    preemptions: IntArray
    host_moves: IntArray
    decisions: IntArray
    illegal_actions: IntArray
    truncated: BoolArray
    energy_mj: FloatArray
    high_priority: int
    cycles_per_ms: float

    @cached_property
    def ntt(self) -> FloatArray:
        """Normalised turnaround times of tasks that arrived, float64 (W, N); see :func:`ntt`."""
        return ntt(self.arrival_cycles, self.completion_cycles, self.isolated_cycles, self.arrived)

    @cached_property
    def arrived(self) -> BoolArray:
        """Tasks that had arrived when the run ended: bool (W, N). Others are in no metric."""
        arrived = self.arrival_cycles <= self.elapsed_cycles[:, np.newaxis]
        return np.asarray(self.present & arrived, dtype=np.bool_)

    @property
    def _pending(self) -> BoolArray:
        return np.asarray(self.arrived & (self.completion_cycles == UNFINISHED), dtype=np.bool_)

    @cached_property
    def ntt_so_far(self) -> FloatArray:
        """As :attr:`ntt`, an unfinished task with its slowdown when the run was cut off."""
        return ntt(self.arrival_cycles, self.end_cycles, self.isolated_cycles, self.arrived)

    @cached_property
    def latency_ms(self) -> FloatArray:
        """Turnaround times [ms], ∞ if unfinished, NaN if it never arrived: float64 (W, N)."""
        turnaround = (self.completion_cycles - self.arrival_cycles) / self.cycles_per_ms
        turnaround = np.where(self.completion_cycles == UNFINISHED, np.inf, turnaround)
        return np.where(self.arrived, turnaround, np.nan)

    @property
    def ntt_high(self) -> FloatArray:
        """NTT of the tasks of the highest priority, NaN elsewhere: float64 (W, N)."""
        return np.where(self.priority == self.high_priority, self.ntt, np.nan)

    @property
    def num_tasks(self) -> IntArray:
        """Tasks in each workload, int64 (W,)."""
        return np.asarray(self.present.sum(axis=-1), dtype=np.int64)

    @property
    def end_cycles(self) -> IntArray:
        """When each task completed; of those that never did, the end of the run: int64 (W, N)."""
        pending, end = self._pending, self.elapsed_cycles[:, np.newaxis]
        return np.asarray(np.where(pending, end, self.completion_cycles), dtype=np.int64)

    @property
    def missed(self) -> FloatArray:
        """Share of the tasks that arrived whose deadline passed before they finished, float64 (W,).

        NaN where none arrived. A deadline that is still ahead when a run is cut off is not missed.
        """
        late = missed_deadlines(self.end_cycles, self.deadline_cycles, self.arrived)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(late / self.arrived.sum(axis=-1), dtype=np.float64)

    @property
    def unfinished(self) -> IntArray:
        """Tasks that never finished, int64 (W,)."""
        missing = self.present & (self.completion_cycles == UNFINISHED)
        return np.asarray(missing.sum(axis=-1), dtype=np.int64)

    @property
    def elapsed_cycles(self) -> IntArray:
        """Busy + switching + idle, int64 (W,): the makespan of a run that finished."""
        return self.busy_cycles + self.switching_cycles + self.idle_cycles

    def share(self, cycles: IntArray) -> FloatArray:
        """``cycles`` as a share of the elapsed time, float64 (W,); NaN where no time passed."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(cycles / self.elapsed_cycles, dtype=np.float64)

    def take(self, rows: IntArray) -> Outcomes:
        """The outcomes of some of the workloads, int64 (K,)."""
        found = {f.name: getattr(self, f.name) for f in fields(Outcomes)}
        arrays: dict[str, Any] = {
            name: array[rows] for name, array in found.items() if isinstance(array, np.ndarray)
        }
        return replace(self, **arrays)

    @staticmethod
    def concatenate(parts: list[Outcomes]) -> Outcomes:
        """Join outcomes of the same scenario along the workload axis."""
        first = parts[0]
        joined = {
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(Outcomes)
            if isinstance(getattr(first, f.name), np.ndarray)
        }
        return Outcomes(
            **joined, high_priority=first.high_priority, cycles_per_ms=first.cycles_per_ms
        )
