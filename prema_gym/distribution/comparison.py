"""How is a comparison played in shards? What is missing is played, and all is merged in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prema_gym.distribution.executors import Executor
from prema_gym.distribution.folder import Shards
from prema_gym.distribution.recipes import Recipe
from prema_gym.distribution.shards import Errand, Shard, outcomes_from, play_shard
from prema_gym.evaluation.concurrent import Progress
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.evaluation.policy import Decider
from prema_gym.metrics import Outcomes
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.workload import WorkloadBatch


@dataclass(frozen=True)
class Part:
    """The k-th of n equal parts of all shards, counted from 1."""

    k: int
    n: int


class PartPlayed(Exception):  # noqa: N818 - nothing went wrong
    """A part was played: there is nothing to report yet.

    Attributes:
        played: Shards that were played now.
        part: Shards of the part.
        total: All shards.
    """

    def __init__(self, played: int, part: int, total: int) -> None:
        super().__init__(f"played {played} of the part's {part} shards, of {total} in all")
        self.played, self.part, self.total = played, part, total


@dataclass(kw_only=True)
class ShardedPlayer:
    """Plays policies on workloads in shards; called like `evaluation.concurrent.play_all`.

    Attributes:
        executor: Who plays.
        recipe: How each policy is made, from its name.
        seed: Seed of the first workload; None: they were given.
        folder: Where shards stay; None: in memory.
        part: Play this part only, and raise `PartPlayed`.
        say: Told what a person should know.
    """

    executor: Executor
    recipe: Callable[[str], Recipe]
    seed: int | None
    folder: Path | None = None
    part: Part | None = None
    say: Callable[[str], None] = field(default=lambda line: None)

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
        """Play what is missing, and merge; see `evaluation.concurrent.play_all`.

        Raises:
            PartPlayed: Only a part was asked for, and it is there now.
            ConfigError: A policy fails, or a shard cannot be written.
        """
        del threads  # the executor knows its workers
        shards = self._cut(policies, catalog, batches, settings)
        kept = Shards(self.folder)
        keys = [shard.key() for shard in shards]
        mine = self._mine(len(shards))
        missing = [i for i in mine if kept.get(keys[i]) is None]
        for note in kept.notes(keys):
            self.say(note)
        done = sum(len(shards[i].batch) for i in mine) - sum(len(shards[i].batch) for i in missing)
        todo = sum(len(shards[i].batch) for i in mine)
        errands = (Errand(shards[i], keys[i]) for i in missing)
        for number, content in self.executor.run(play_shard, errands):
            i = missing[number]
            kept.add(keys[i], content)
            done += len(shards[i].batch)
            if progress is not None:
                progress(done, todo)
        if self.part is not None:
            raise PartPlayed(len(missing), len(mine), len(shards))
        return _merged(policies, shards, keys, kept)

    def _cut(
        self,
        policies: Mapping[str, Decider],
        catalog: Catalog,
        batches: Sequence[WorkloadBatch],
        settings: PlaySettings,
    ) -> list[Shard]:
        """Every shard: batch by batch, so that workers meet the same workloads in a row."""
        recipes = {name: self.recipe(name) for name in policies}
        digests = {name: recipe.digest() for name, recipe in recipes.items()}
        shards, first = [], 0
        for batch in batches:
            shards += [
                Shard(
                    recipe=recipe,
                    policy=name,
                    policy_digest=digests[name],
                    catalog=catalog,
                    batch=batch,
                    play=settings,
                    first=first,
                    seed=None if self.seed is None else self.seed + first,
                )
                for name, recipe in recipes.items()
            ]
            first += len(batch)
        return shards

    def _mine(self, total: int) -> list[int]:
        part = Part(1, 1) if self.part is None else self.part
        return list(range(part.k - 1, total, part.n))


def _merged(
    policies: Mapping[str, Decider], shards: Sequence[Shard], keys: Sequence[str], kept: Shards
) -> dict[str, Outcomes]:
    """All outcomes, by policy, in the order of the workloads: whoever played them, and when."""
    parts: dict[str, list[Outcomes]] = {name: [] for name in policies}
    for shard, key in zip(shards, keys, strict=True):
        arrays = kept.get(key)
        assert arrays is not None, f"shard {key} is gone"
        parts[shard.policy].append(outcomes_from(arrays, shard))
    return {name: Outcomes.concatenate(found) for name, found in parts.items()}
