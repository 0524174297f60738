"""What is a shard, and what is its file? One policy on some workloads, kept whole or not at all.

A file's first line says what it holds and the digest of the rest: the arrays that the policy made
of its workloads. What the workloads themselves are is known to whoever asks.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from prema_gym.distribution.identity import batch_digest, catalog_digest, digest_of, version
from prema_gym.distribution.recipes import Recipe, policy_of
from prema_gym.errors import ConfigError, in_one_line
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.metrics import Outcomes
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.fields import TASK_FIELDS
from prema_gym.workloads.workload import WorkloadBatch

FORMAT = 1  # of the file
_DRAWN = (*TASK_FIELDS, "present", "high_priority", "cycles_per_ms")
_MADE = tuple(f.name for f in fields(Outcomes) if f.name not in _DRAWN)
"""What a policy makes of workloads: the arrays that a shard holds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shard:
    """One policy on some workloads, as it travels to whoever plays it.

    Attributes:
        recipe: How the policy is made.
        policy: What reports call the policy.
        policy_digest: Digest of the files that the policy is made from, if any.
        catalog: The compiled scenario; travels as the scenario.
        batch: The workloads.
        play: What every policy plays with.
        first: Number of the first workload.
        seed: Seed of the first workload; None: they were given.
    """

    recipe: Recipe
    policy: str
    policy_digest: str
    catalog: Catalog
    batch: WorkloadBatch
    play: PlaySettings
    first: int
    seed: int | None

    def about(self) -> dict[str, Any]:
        """What it is, for people: the file's first line."""
        rows = [self.first, self.first + len(self.batch)]
        scenario = self.catalog.scenario.name
        return {"scenario": scenario, "policy": self.policy, "workloads": rows}

    def key(self) -> str:
        """Digest of all that the result depends on, as it is on this machine."""
        return digest_of(
            FORMAT,
            version(),
            catalog_digest(self.catalog),
            asdict(self.play),
            self.recipe.maker,
            self.policy,
            self.policy_digest,
            batch_digest(self.batch),
        )


@dataclass(frozen=True)
class Errand:
    """A shard, and the key that it has where it was made."""

    shard: Shard
    key: str


def play_shard(errand: Errand) -> bytes:
    """Play a shard: what its file holds.

    Raises:
        ConfigError: This machine has another version, or the policy fails.
    """
    shard = errand.shard
    if shard.key() != errand.key:
        raise ConfigError(
            f"a worker would compute something else than was asked ({shard.policy} on "
            f"{shard.catalog.scenario.name}): its prema-gym, its packages or its files differ from "
            f"the driver's (the worker's: {json.dumps(version())})"
        )
    policy = policy_of(shard.recipe, shard.policy_digest)
    try:
        outcomes = play(policy, shard.catalog, shard.batch, shard.play)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(_failure(shard, error)) from error
    return pack(outcomes, errand.key, shard.about())


def _failure(shard: Shard, error: Exception) -> str:
    """What a policy raised, and on which workload: found by halves, each played anew."""
    rows = range(len(shard.batch))
    while len(rows) > 1:
        half = rows[: len(rows) // 2]
        rows = half if _fails(shard, half) else rows[len(half) :]
    number = shard.first + rows[0]
    which = (
        f"workload {number}"
        if shard.seed is None
        else f"the workload of seed {shard.seed + rows[0]}"
    )
    alone = "" if _fails(shard, rows) else " (not on that one alone: among the others before it)"
    raised = in_one_line(error, shard.recipe.files)
    return f"policy {shard.policy!r} fails on {which}{alone}: {raised}"


def _fails(shard: Shard, rows: range) -> bool:
    policy = shard.recipe.make(shard.recipe.argument)
    try:
        play(policy, shard.catalog, shard.batch.rows(rows), shard.play)
    except Exception:  # whatever a policy raises
        return True
    return False


def pack(outcomes: Outcomes, key: str, about: dict[str, Any]) -> bytes:
    """What became of a shard's workloads, as a file's content."""
    payload = io.BytesIO()
    np.savez(payload, **{name: getattr(outcomes, name) for name in _MADE})
    content = payload.getvalue()
    head = {
        "prema-gym shard": FORMAT,
        "key": key,
        "sha256": hashlib.sha256(content).hexdigest(),
        **about,
        "version": version(),
    }
    return json.dumps(head).encode() + b"\n" + content


def unpack(content: bytes, key: str) -> dict[str, Any] | None:
    """The arrays of a file's content; None where it is damaged, or another shard's."""
    line, _, payload = content.partition(b"\n")
    try:
        head = json.loads(line)
        if (head["key"], head["sha256"]) != (key, hashlib.sha256(payload).hexdigest()):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
        return dict(arrays)


def outcomes_from(arrays: dict[str, Any], shard: Shard) -> Outcomes:
    """A shard's outcomes, from what its file holds and the workloads."""
    batch, scenario = shard.batch, shard.catalog.scenario
    width = batch.arrival_cycles.shape[1]
    return Outcomes(
        **{name: getattr(batch, name) for name in TASK_FIELDS},
        **arrays,
        present=np.arange(width) < batch.num_tasks[:, np.newaxis],
        high_priority=max(scenario.priorities),
        cycles_per_ms=scenario.hardware.clock_hz / 1e3,
    )
