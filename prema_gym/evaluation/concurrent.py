"""How are several policies played on the same workloads? Each on every batch, in threads.

Only those that say so (`Decider`) are called side by side. All others take turns, in the order
given: two may share a model, and one that remembers sees the same batches in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Protocol

from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.evaluation.policy import Decider
from prema_gym.metrics import Outcomes
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadBatch

Progress = Callable[[int, int], None]
"""Called with (workloads played so far, workloads to play), summed over policies."""


class Player(Protocol):
    """Plays policies on workloads as :func:`play_all` does, here or elsewhere."""

    def __call__(
        self,
        policies: Mapping[str, Decider],
        catalog: Catalog,
        batches: Sequence[WorkloadBatch],
        settings: PlaySettings,
        *,
        threads: int,
        progress: Progress | None = None,
    ) -> dict[str, Outcomes]:
        """What became of all workloads, by policy; see :func:`play_all`."""
        ...


def play_all(
    policies: Mapping[str, Decider],
    catalog: Catalog,
    batches: Sequence[WorkloadBatch],
    settings: PlaySettings,
    *,
    threads: int,
    progress: Progress | None = None,
) -> dict[str, Outcomes]:
    """Play every policy on every batch, in threads: compiled code releases the GIL.

    Args:
        policies: Deciders by name.
        catalog: The compiled scenario.
        batches: The workloads; each batch is one piece of work.
        settings: What every policy plays with.
        threads: How many batches are played at once, where policies allow it.
        progress: Told how far it is, from the calling thread.

    Returns:
        What became of all workloads, by policy, in the order given.
    """
    todo = len(policies) * sum(len(batch) for batch in batches)
    played = 0
    parts: dict[str, list[Outcomes]] = {}
    turns = [name for name, one in policies.items() if not getattr(one, "concurrent", False)]
    together = len(turns) < len(policies)
    # One worker takes jobs in their order; it is one of the threads, if there are several.
    with (
        ThreadPoolExecutor(1) as one_by_one,
        ThreadPoolExecutor(max(1, threads - bool(turns and together))) as pool,
    ):
        alone = {name: one_by_one if name in turns and threads > 1 else pool for name in policies}
        jobs: dict[Future[Outcomes], tuple[str, int]] = {
            alone[name].submit(play, policy, catalog, batch, settings): (name, i)
            for name, policy in policies.items()
            for i, batch in enumerate(batches)
        }
        try:
            for job in as_completed(jobs):
                job.result()
                played += len(batches[jobs[job][1]])
                if progress is not None:
                    progress(played, todo)
        except BaseException:  # also an interrupt: do not play the rest first
            for one in (pool, one_by_one):
                one.shutdown(wait=False, cancel_futures=True)
            raise
        for job, (name, _) in jobs.items():
            parts.setdefault(name, []).append(job.result())
    return {name: Outcomes.concatenate(chunks) for name, chunks in parts.items()}
