"""What flows between layers: a shape, and the layers whose results it is made of.

Shapes leave the batch out: ``(channels, height, width)`` for a map, ``(features,)`` for a vector,
``(length, features)`` for a sequence, ``()`` for one token. A layer takes its input's shape from
the tensor it is given, so a network built from tensors fits together by construction, and the
recorded producers let :func:`prema_gym.networks.network.check_wiring` prove it afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from prema_gym.checks import Constraint, check_fields, whole
from prema_gym.errors import ConfigError, located

Shape = tuple[int, ...]
"""Sizes of one item, without the batch axis."""


class Producer(NamedTuple):
    """A layer that a tensor's elements come from, and the output shape it is expected to have."""

    layer: str
    shape: Shape


def _shape() -> Constraint:
    size = whole()

    def accept(value: object) -> Shape:
        if not isinstance(value, tuple):
            raise TypeError
        return tuple(map(size.accept, value))

    return Constraint(f"a tuple, each {size.allowed}", accept)


@dataclass(frozen=True)
class Tensor:
    """The activations that a layer reads or writes, for one item of the batch.

    ``Tensor(shape)`` comes from outside the network; ``layer.output`` and :meth:`before` give the
    result of a layer; :func:`concat`, :meth:`flatten`, :meth:`sequence`, :meth:`crop`,
    :meth:`place` and :meth:`over_time` derive others.

    Attributes:
        shape: Sizes without the batch axis; ``()`` is one token.
        producers: The layers whose results it is made of, in the order they are joined. A layer
            that is read twice is there twice; elements from outside the network are not listed.

    Raises:
        ConfigError: The shape is not a tuple of positive integers.
    """

    shape: Annotated[Shape, _shape()]
    producers: tuple[Producer, ...] = ()

    def __post_init__(self) -> None:
        with located("tensor"):
            check_fields(self)

    @classmethod
    def before(cls, layer: str, shape: Shape) -> Tensor:
        """The result that ``layer``, further down the network, gave in the step before.

        Its shape is a promise, kept when the wiring is checked.
        """
        return cls(shape, (Producer(layer, shape),))

    @property
    def elements(self) -> int:
        """Number of elements of one item."""
        return math.prod(self.shape)

    @property
    def features(self) -> int:
        """Size of the last axis: what a linear, recurrent or attention layer works on.

        Raises:
            ConfigError: The tensor is a single token.
        """
        if not self.shape:
            raise ConfigError("tensor: a single token has no features; embed it first")
        return self.shape[-1]

    def flatten(self) -> Tensor:
        """The same elements as one vector; costs nothing."""
        return Tensor((self.elements,), self.producers)

    def sequence(self) -> Tensor:
        """A map as a sequence of its pixels: (channels, h, w) → (h · w, channels); costs nothing.

        Raises:
            ConfigError: It is not a map.
        """
        if len(self.shape) != 3:
            raise ConfigError(f"tensor: only a map is a sequence of pixels, got shape {self.shape}")
        channels, height, width = self.shape
        return Tensor((height * width, channels), self.producers)

    def crop(self, height: int, width: int) -> Tensor:
        """The middle of a map, ``height`` × ``width`` pixels; costs nothing: the rest is not read.

        Raises:
            ConfigError: It is not a map, or not as large.
        """
        if len(self.shape) != 3 or not (height <= self.shape[1] and width <= self.shape[2]):
            raise ConfigError(f"tensor: {height} × {width} pixels of {self.shape} do not exist")
        return Tensor((self.shape[0], height, width), self.producers)

    def place(self) -> Tensor:
        """One place of a sequence, the first or last: (length, features) → (1, features).

        Costs nothing: what is not needed is not read.

        Raises:
            ConfigError: It is not a sequence.
        """
        if len(self.shape) != 2:
            raise ConfigError(f"tensor: only a sequence has places, got shape {self.shape}")
        return Tensor((1, self.shape[1]), self.producers)

    def over_time(self, length: int) -> Tensor:
        """A vector of one time step, collected over ``length`` steps; costs nothing.

        Raises:
            ConfigError: It is not a vector, or the length is not a positive integer.
        """
        if len(self.shape) != 1:
            raise ConfigError(f"tensor: only a vector repeats over time, got shape {self.shape}")
        return Tensor((length, *self.shape), self.producers)


def concat(*tensors: Tensor) -> Tensor:
    """Join tensors along their first axis (channels or features); costs nothing.

    Writing each producer's result at its own offset is all that a concatenation needs.

    Raises:
        ConfigError: No tensor given, or the other axes differ.
    """
    if not tensors:
        raise ConfigError("concat: at least one tensor is needed")
    rest = tensors[0].shape[1:]
    if any(not tensor.shape or tensor.shape[1:] != rest for tensor in tensors):
        shapes = ", ".join(str(tensor.shape) for tensor in tensors)
        raise ConfigError(f"concat: shapes may differ only in the first axis, got {shapes}")
    producers = tuple(producer for tensor in tensors for producer in tensor.producers)
    return Tensor((sum(tensor.shape[0] for tensor in tensors), *rest), producers)
