"""How does the network score tasks, and how fast can that be done for a whole batch of tables?

One small network serves every learned scheduler here. Each present task's features are encoded by a
shared layer; the encodings' mean and maximum over the table, and the number of tasks, are the
*context*; a second shared layer reads a task's encoding beside the context; its output and a
straight line through the features add up to one score per task and mechanism. The task and
mechanism with the highest score are chosen. Nothing depends on which slot a task is in or on how
many slots there are, so a policy trained with 8 slots runs with 64.

This module holds the sizes, the weights as plain arrays, and the compiled forward pass, which needs
no torch: evolution strategies and shipped policies run on it. ``torch_scorer.py`` is the same
network in torch, with the same names and shapes; a test holds the two equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from prema_gym.agents.scorer.features import NUM_FEATURES, write_features

from prema_gym.compiled.jit import inlined, kernel
from prema_gym.errors import ConfigError
from prema_gym.simulator.observation import PRESENT, RUNNING

NEVER = -np.inf
"""Score of an action that is not legal."""


class Weights(NamedTuple):
    """The network's parameters (F features, H hidden, U readers, M mechanisms), float32."""

    line: NDArray[np.float32]  # (F, M) straight line from features to scores
    encode: NDArray[np.float32]  # (F, H)
    encode_bias: NDArray[np.float32]  # (H,)
    read: NDArray[np.float32]  # (3 H + 1, U): own encoding, mean, maximum, log of the count
    read_bias: NDArray[np.float32]  # (U,)
    score: NDArray[np.float32]  # (U, M)


@dataclass(frozen=True, kw_only=True)
class ScorerShape:
    """Sizes of the network.

    Attributes:
        hidden: Width of a task's encoding. Small by default, since evolution strategies slow down
            with every parameter.
        readers: Width of the layer that reads a task in its context.
        mechanisms: Mechanisms it scores, as many as the simulation offers.
    """

    hidden: int = 4
    readers: int = 4
    mechanisms: int = 1

    def __post_init__(self) -> None:
        for name in ("hidden", "readers", "mechanisms"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 4096:
                raise ConfigError(f"{name} must be a whole number from 1 to 4096, given {value!r}")

    @property
    def shapes(self) -> Weights:
        """Shape of each array of :class:`Weights`, under its name."""
        f, h, u, m = NUM_FEATURES, self.hidden, self.readers, self.mechanisms
        shapes = ((f, m), (f, h), (h,), (3 * h + 1, u), (u,), (u, m))
        return Weights(*shapes)  # type: ignore[arg-type]  # tuples in the same order as the arrays

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(math.prod(shape) for shape in self.shapes)

    def split(self, vector: NDArray[np.floating]) -> Weights:
        """Cut a vector (size,) into arrays.

        Raises:
            ConfigError: It has another length.
        """
        if vector.shape != (self.size,):
            raise ConfigError(f"this network has {self.size} parameters, given {vector.shape}")
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])[:-1]
        parts = np.split(vector.astype(np.float32), ends)
        return Weights(
            *(
                np.ascontiguousarray(part.reshape(shape))
                for part, shape in zip(parts, self.shapes, strict=True)
            )
        )

    def join(self, weights: Weights) -> NDArray[np.float64]:
        """The vector that :meth:`split` takes apart."""
        return np.concatenate([array.reshape(-1) for array in weights]).astype(np.float64)

    def initial(self, rng: np.random.Generator) -> Weights:
        """Random encoders of outputs of order one, and scores of zero: it prefers nobody."""
        arrays = []
        for name, shape in zip(Weights._fields, self.shapes, strict=True):
            spread = 1.0 / math.sqrt(shape[0]) if name in ("encode", "read") else 0.0
            arrays.append((spread * rng.standard_normal(shape)).astype(np.float32))
        return Weights(*arrays)


def shape_of(weights: Weights) -> ScorerShape:
    """Sizes of a network from its arrays.

    Raises:
        ConfigError: The arrays do not fit together.
    """
    try:
        shape = ScorerShape(
            hidden=weights.encode.shape[1],
            readers=weights.read.shape[1],
            mechanisms=weights.line.shape[1],
        )
    except IndexError:
        raise ConfigError("weights must be matrices and vectors of a scorer network") from None
    for name, array, expected in zip(Weights._fields, weights, shape.shapes, strict=True):
        if array.shape != expected:
            raise ConfigError(f"weights {name!r} have the shape {array.shape}, expected {expected}")
        if not np.isfinite(array).all():
            raise ConfigError(f"weights {name!r} hold a value that is not finite")
    return shape


@inlined
def _squash(x: float) -> float:
    """Softsign: bounded like tanh and many times cheaper."""
    return x / (1.0 + abs(x))


@inlined
def _score_table(
    table: NDArray[np.float32],
    env: int,
    weights: Weights,
    features: NDArray[np.float32],
    encoding: NDArray[np.float32],
    context: NDArray[np.float32],
    reader: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> None:
    """Score every action of one table; the four arrays in the middle are working space."""
    hidden = encoding.shape[1]
    readers = context.shape[0]
    num_slots = table.shape[1]
    num_mechanisms = weights.line.shape[1]
    pooled = encoding[num_slots]  # one row more than slots: the sums
    highest = encoding[num_slots + 1]  # and another: the maxima
    pooled[:] = 0.0
    highest[:] = -1.0  # below every value of softsign
    count = 0
    busy = False
    for slot in range(num_slots):
        if table[env, slot, PRESENT] == 0.0:
            continue
        count += 1
        busy |= table[env, slot, RUNNING] != 0.0
        write_features(table, env, slot, features[slot])
        for h in range(hidden):
            encoding[slot, h] = weights.encode_bias[h]
        for f in range(NUM_FEATURES):
            for h in range(hidden):
                encoding[slot, h] += features[slot, f] * weights.encode[f, h]
        for h in range(hidden):
            value = _squash(encoding[slot, h])
            encoding[slot, h] = value
            pooled[h] += value
            highest[h] = max(highest[h], value)
    if count == 0:  # nothing is asked, and action 0 is the one that does nothing
        scores[:] = NEVER
        scores[0] = 0.0
        return
    for u in range(readers):
        context[u] = weights.read_bias[u] + math.log(count) * weights.read[3 * hidden, u]
    for h in range(hidden):
        for u in range(readers):
            context[u] += pooled[h] / count * weights.read[hidden + h, u]
            context[u] += highest[h] * weights.read[2 * hidden + h, u]
    for slot in range(num_slots):
        present = table[env, slot, PRESENT] != 0.0
        running = table[env, slot, RUNNING] != 0.0
        if present:
            for u in range(readers):
                reader[u] = context[u]
            for h in range(hidden):
                for u in range(readers):
                    reader[u] += encoding[slot, h] * weights.read[h, u]
            for u in range(readers):
                reader[u] = _squash(reader[u])
        for m in range(num_mechanisms):
            action = m * num_slots + slot
            # The rule of the simulator's mask (docs/simulator.md, "Actions").
            if not present or (m > 0 and (running or not busy)):
                scores[action] = NEVER
                continue
            total = 0.0
            for f in range(NUM_FEATURES):
                total += features[slot, f] * weights.line[f, m]
            for u in range(readers):
                total += reader[u] * weights.score[u, m]
            scores[action] = total


@kernel
def score(table: NDArray[np.float32], weights: Weights, scores: NDArray[np.float32]) -> None:
    """Score every action of every table.

    Args:
        table: Observation tables float32 (B, S, C); only read.
        weights: The network.
        scores: float32 (B, M · S), written: −∞ where an action is not legal.
    """
    num_slots = table.shape[1]
    features = np.empty((num_slots, NUM_FEATURES), np.float32)
    encoding = np.empty((num_slots + 2, weights.encode.shape[1]), np.float32)
    context = np.empty(weights.read.shape[1], np.float32)
    reader = np.empty(weights.read.shape[1], np.float32)
    for env in range(table.shape[0]):
        _score_table(table, env, weights, features, encoding, context, reader, scores[env])


@kernel
def choose(
    table: NDArray[np.float32],
    weights: Weights,
    asked: NDArray[np.bool_],
    actions: NDArray[np.int64],
) -> None:
    """Choose the action of highest score in every table that asks; ties go to the lower action.

    Args:
        table: Observation tables float32 (B, S, C); only read.
        weights: The network.
        asked: bool (B,), where an action is wanted.
        actions: int64 (B,), written where asked: 0 where a table is empty.
    """
    num_slots = table.shape[1]
    features = np.empty((num_slots, NUM_FEATURES), np.float32)
    encoding = np.empty((num_slots + 2, weights.encode.shape[1]), np.float32)
    context = np.empty(weights.read.shape[1], np.float32)
    reader = np.empty(weights.read.shape[1], np.float32)
    scores = np.empty(num_slots * weights.line.shape[1], np.float32)
    for env in range(table.shape[0]):
        if not asked[env]:
            continue
        _score_table(table, env, weights, features, encoding, context, reader, scores)
        best = 0
        for action in range(1, scores.shape[0]):
            if scores[action] > scores[best]:
                best = action
        actions[env] = best
