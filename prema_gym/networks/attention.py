"""What does it cost to look back over a whole sequence?

:class:`Attention` is the part that depends on the sequence's length: scores, softmax, weighted sum.
Keys, values and queries come from other layers, so keys that an encoder's states give once are
computed once. :class:`GroupedAttention` does it for many queries and heads, and may have a cache.
:class:`SelfAttention` is the transformer's block with its four projections. In all of them keys and
values are the stationary operand and differ for each item of the batch, and a mask saves nothing.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, get_args

from prema_gym.checks import one_of
from prema_gym.errors import ConfigError
from prema_gym.networks.layers import Layer
from prema_gym.networks.pointwise import SOFTMAX_OPS
from prema_gym.networks.sizes import Size, SizeOrZero
from prema_gym.networks.tensor import Shape, Tensor
from prema_gym.networks.work import Gemm, VectorWork, Work

AttentionKind = Literal["dot", "additive"]


def _dot_work(
    name: str, batch: int, heads: int, queries: int, length: int, key_width: int, value_width: int
) -> tuple[Work, ...]:
    """Scores, softmax and weighted sum of dot-product attention, per item and head.

    The scaling by 1/√width is folded into the query's projection.
    """
    scores = batch * heads * queries * length
    return (
        Gemm(f"{name}/scores", queries, key_width, length, batch * heads),
        VectorWork(f"{name}/softmax", scores, SOFTMAX_OPS, scores),
        Gemm(f"{name}/context", queries, length, value_width, batch * heads),
    )


@dataclass(frozen=True)
class Attention(Layer):
    """One query against a sequence of keys: (width,) → (value features,).

    ``dot``: score = query · key, a (1 × width)·(width × length) product per item. ``additive``:
    score = v · tanh(query + key): the sum and the tanh are two vector ops for each of length ·
    width elements, the product with v a GEMM of M = batch · length and N = 1. Then softmax and
    the weighted sum of the values, a (1 × length)·(length × features) product per item.

    Attributes:
        query: Shape (width,), already projected.
        keys: Shape (length, width), already projected.
        values: Shape (length, features).
        kind: ``dot`` or ``additive``.

    Raises:
        UnknownNameError: The kind is not known.
        ConfigError: Shapes do not fit together.

    Source:
        Additive: Bahdanau et al., ICLR 2015. Dot: Luong et al., EMNLP 2015; Chan et al. 2016.
    """

    query: Tensor
    keys: Tensor
    values: Tensor
    _: KW_ONLY
    kind: Annotated[AttentionKind, one_of("kind", get_args(AttentionKind))]

    def _check(self) -> None:
        ranks = tuple(len(tensor.shape) for tensor in self.inputs)
        if ranks != (1, 2, 2) or (
            self.query.shape[-1:] != self.keys.shape[-1:]
            or self.keys.shape[:1] != self.values.shape[:1]
        ):
            raise ConfigError(
                "inputs must be query (width,), keys (length, width) and values "
                f"(length, features), got {self.query.shape}, {self.keys.shape}, "
                f"{self.values.shape}"
            )

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Query, keys, values."""
        return (self.query, self.keys, self.values)

    @property
    def output_shape(self) -> Shape:
        """The context: (value features,)."""
        return (self.values.features,)

    @property
    def weights(self) -> int:
        """The vector v of ``additive``."""
        return self.query.features if self.kind == "additive" else 0

    def work(self, batch: int) -> tuple[Work, ...]:
        """Scores, softmax, context."""
        batch = self._checked_batch(batch)
        length, width = self.keys.shape
        if self.kind == "dot":
            return _dot_work(self.name, batch, 1, 1, length, width, self.values.features)
        places = batch * length
        read = places * width + batch * width
        return (
            VectorWork(f"{self.name}/energies", places * width, 2, read),
            Gemm(f"{self.name}/scores", places, width, 1),
            VectorWork(f"{self.name}/softmax", places, SOFTMAX_OPS, places),
            Gemm(f"{self.name}/context", 1, length, self.values.features, batch),
        )


@dataclass(frozen=True)
class GroupedAttention(Layer):
    """Multi-head attention whose keys and values are given: (places, width) → (places, width).

    Scores, softmax and weighted sum for each item and head of the keys. Several heads of the
    queries may share one (grouped queries): their rows stream through the same keys together.

    With a cache (``keeps``) the keys and values of the steps before are read as well, from memory,
    where they grow by those of this step. A step's cost depends on how long the cache is; a phase
    whose steps are all alike takes it ``ahead`` places longer than it is at the first of them.

    Attributes:
        query: Shape (places, heads · width), already projected.
        keys: Shape (length, key heads · width), those that are computed now.
        values: Of the keys' shape.
        heads: Heads of the queries, >= 1, divides their features.
        key_heads: Heads of keys and values, >= 1, divides ``heads``.
        keeps: Whether keys and values stay in memory for the next step.
        past: Places in the cache when the first step begins, >= 0; 0 without a cache.
        ahead: Places of this phase's own steps that are read with them, >= 0; 0 without a cache.

    Raises:
        ConfigError: Shapes or heads do not fit together, or there is a past without a cache.

    Source:
        Vaswani et al., NeurIPS 2017; grouped queries: Ainslie et al., EMNLP 2023.
    """

    query: Tensor
    keys: Tensor
    values: Tensor
    _: KW_ONLY
    heads: Size
    key_heads: Size
    keeps: bool = False
    past: SizeOrZero = 0
    ahead: SizeOrZero = 0

    def _check(self) -> None:
        if any(len(tensor.shape) != 2 for tensor in self.inputs) or (
            self.keys.shape != self.values.shape
        ):
            raise ConfigError(
                "inputs must be query (places, features) and keys and values (length, features), "
                f"got {self.query.shape}, {self.keys.shape}, {self.values.shape}"
            )
        if self.heads % self.key_heads or self.query.features % self.heads:
            raise ConfigError(
                f"key_heads must divide heads, and heads the {self.query.features} features, got "
                f"{self.key_heads} and {self.heads}"
            )
        if self.keys.features != self.key_heads * self._width:
            raise ConfigError(
                f"keys must have {self.key_heads * self._width} features, {self._width} for each "
                f"of {self.key_heads} heads, got {self.keys.features}"
            )
        if not self.keeps and (self.past or self.ahead):
            raise ConfigError("past and ahead need keeps=True: there is no cache without it")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Query, keys, values; what is cached comes from memory."""
        return (self.query, self.keys, self.values)

    @property
    def output_shape(self) -> Shape:
        """The query's shape."""
        return self.query.shape

    @property
    def length(self) -> int:
        """Places that each query looks back over."""
        return self.past + self.ahead + self.keys.shape[0]

    @property
    def _width(self) -> int:
        return self.query.features // self.heads

    def work(self, batch: int) -> tuple[Work, ...]:
        """Scores, softmax, context."""
        batch = self._checked_batch(batch)
        rows = self.query.shape[0] * (self.heads // self.key_heads)
        width = self._width
        return _dot_work(self.name, batch, self.key_heads, rows, self.length, width, width)

    def cache_elements(self, steps: int) -> int:
        """Keys and values of the past and of ``steps`` executions."""
        if not self.keeps:
            return 0
        places = self.past + steps * self.keys.shape[0]
        return places * (self.keys.features + self.values.features)


@dataclass(frozen=True)
class SelfAttention(Layer):
    """Multi-head self attention of a whole sequence: (length, features) → (length, features).

    One GEMM projects to queries, keys and values (N = 3 · features); then dot-product attention
    per item and head, each head features/heads wide; then the output projection.

    Attributes:
        input: Shape (length, features).
        heads: Heads, >= 1, divides the features.
        bias: Whether the projections have biases.

    Raises:
        ConfigError: The input is not a sequence or the heads do not divide its features.

    Source:
        Vaswani et al., NeurIPS 2017.
    """

    input: Tensor
    _: KW_ONLY
    heads: Size
    bias: bool = True

    def _check(self) -> None:
        if len(self.input.shape) != 2:
            raise ConfigError(f"input must be (length, features), got {self.input.shape}")
        if self.input.features % self.heads:
            raise ConfigError(
                f"heads must divide the {self.input.features} features, got {self.heads}"
            )

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The one sequence read."""
        return (self.input,)

    @property
    def output_shape(self) -> Shape:
        """The input's shape."""
        return self.input.shape

    @property
    def weights(self) -> int:
        """Four square projections."""
        return 4 * self.input.features * (self.input.features + int(self.bias))

    def work(self, batch: int) -> tuple[Work, ...]:
        """Projection, scores, softmax, context, output projection."""
        length, features = self.input.shape
        batch = self._checked_batch(batch)
        places = batch * length
        width = features // self.heads
        return (
            Gemm(f"{self.name}/qkv", places, features, 3 * features),
            *_dot_work(self.name, batch, self.heads, length, length, width, width),
            Gemm(f"{self.name}/output", places, features, features),
        )
