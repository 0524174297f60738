"""What is a network? Phases of layers, each run a known number of times.

A convolutional network is one phase run once. A recurrent one has phases that run once per input
step (or per group of steps), and possibly a decoder that runs once per output step, whose number
is known only when the task ends: exactly what PREMA has to estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from prema_gym.checks import Constraint, check_fields, optional, whole
from prema_gym.errors import ConfigError, located
from prema_gym.files import as_given
from prema_gym.networks.layers import Layer
from prema_gym.networks.sizes import Name
from prema_gym.networks.tensor import Shape, Tensor

Repeat = int | Literal["output"]
"""How often a phase runs: a number, or once per output step."""

_LENGTH = whole()


def _repeat() -> Constraint:
    return Constraint(
        f"{_LENGTH.allowed}, or 'output'",
        lambda value: value if value == "output" else _LENGTH.accept(value),
    )


def _lengths() -> Constraint:
    def accept(value: object) -> tuple[int, int]:
        shortest, longest = map(_LENGTH.accept, value)  # type: ignore[call-overload]
        if shortest > longest:
            raise ValueError
        return shortest, longest

    return Constraint(f"(shortest, longest), each {_LENGTH.allowed}", accept)


@dataclass(frozen=True)
class Phase:
    """Layers that run one after the other, ``repeat`` times over.

    Attributes:
        layers: At least one layer, in order of execution.
        repeat: >= 1, or ``"output"``: once per output step of the task.

    Raises:
        ConfigError: No layer, or ``repeat`` is neither a positive integer nor ``"output"``.
    """

    layers: tuple[Layer, ...]
    repeat: Annotated[Repeat, _repeat()] = 1

    def __post_init__(self) -> None:
        with located("phase"):
            check_fields(self)
            if not self.layers:
                raise ConfigError("layers must be at least one, got none")

    def steps(self, output_length: int) -> int:
        """How often the phase runs for a task with ``output_length`` output steps."""
        return output_length if self.repeat == "output" else self.repeat


class LayerList:
    """Collects a phase's layers in order, so that a network reads top to bottom."""

    def __init__(self) -> None:
        self._layers: list[Layer] = []

    def add(self, layer: Layer) -> Tensor:
        """Append ``layer`` and return its output, for the next layer to read."""
        self._layers.append(layer)
        return layer.output

    def phase(self, repeat: Repeat = 1) -> Phase:
        """The layers so far as one phase."""
        return Phase(tuple(self._layers), repeat)


Build = Callable[[int], tuple[Phase, ...]]
"""Input length → phases; a module-level function or picklable object, so networks pickle."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A named network whose phases may depend on the length of its input.

    Attributes:
        name: Short name, as in the registry.
        title: What it is, for a listing.
        source: Paper and named variant.
        domain: ``vision``, ``text``, ``translation``, ``speech`` or ``recommendation``; free for
            users' networks.
        build: Input length → phases. Ignores the length if the input has none.
        input_unit: What one input step is.
        input_lengths: (shortest, longest) input the network is meant for, in steps; None for
            networks with an input of fixed size. Advice for workloads, not a limit.

    Raises:
        ConfigError: A field is empty, or the lengths are not 1 <= shortest <= longest.
    """

    name: Name
    title: Name
    source: Name
    domain: Name
    build: Build
    input_unit: Name = "image"
    input_lengths: Annotated[tuple[int, int] | None, optional(_lengths())] = None

    def __post_init__(self) -> None:
        with located(self.where):
            check_fields(self)

    @property
    def where(self) -> str:
        """How error messages call this network."""
        return f"network {as_given(self.name)!r}"

    @classmethod
    def from_layers(
        cls,
        name: str,
        layers: Iterable[Layer],
        *,
        source: str,
        title: str = "",
        domain: str = "custom",
    ) -> Network:
        """A network that runs ``layers`` once, in order.

        What a layer reads from another one is checked; a bare ``Tensor(shape)`` comes from outside
        the network and is taken as it is, so tables of layer sizes can be imported too.

        Args:
            name: Its short name.
            layers: At least one layer, with unique names.
            source: Where its shapes come from.
            title: For a listing; the name if empty.
            domain: What it is for.

        Raises:
            ConfigError: No layers, a repeated name, or inputs that do not follow.
        """
        phases = (Phase(tuple(layers)),)
        check_wiring(phases)
        return cls(
            name=name, title=title or name, source=source, domain=domain, build=FixedPhases(phases)
        )

    @property
    def is_recurrent(self) -> bool:
        """Whether the work depends on the length of the input."""
        return self.input_lengths is not None

    @property
    def has_output_steps(self) -> bool:
        """Whether a decoder runs once per output step, so that the length of a task is unknown."""
        return any(phase.repeat == "output" for phase in self.phases(1))

    def phases(self, input_length: int = 1) -> tuple[Phase, ...]:
        """The phases for an input of ``input_length`` steps (ignored if the input has none).

        Raises:
            ConfigError: The length is not a positive integer.
        """
        with located(self.where):
            length = _LENGTH.check("input_length", input_length)
        return self.build(length)

    def macs(self, *, input_length: int = 1, output_length: int = 1) -> int:
        """Multiply-accumulates of one inference at batch 1.

        Args:
            input_length: Input steps, >= 1.
            output_length: Output steps, >= 1.

        Raises:
            ConfigError: A length is not a positive integer.
        """
        with located(self.where):
            steps = int(_LENGTH.check("output_length", output_length))
        return sum(
            phase.steps(steps) * layer.macs
            for phase in self.phases(input_length)
            for layer in phase.layers
        )

    def cache_elements(self, *, input_length: int = 1, output_length: int = 1) -> int:
        """Keys and values in memory when one inference ends; 0 for a network without a cache.

        Args:
            input_length: Input steps, >= 1.
            output_length: Output steps, >= 1.

        Raises:
            ConfigError: A length is not a positive integer.
        """
        with located(self.where):
            steps = int(_LENGTH.check("output_length", output_length))
        return sum(
            layer.cache_elements(phase.steps(steps))
            for phase in self.phases(input_length)
            for layer in phase.layers
        )

    @property
    def weights(self) -> int:
        """Number of trained parameters; running a layer again adds none."""
        layers = {layer.name: layer for phase in self.phases(1) for layer in phase.layers}
        return sum(layer.weights for layer in layers.values())


@dataclass(frozen=True)
class FixedPhases:
    """A ``build`` that gives the same phases for every input length; picklable and comparable."""

    phases: tuple[Phase, ...]

    def __call__(self, input_length: int) -> tuple[Phase, ...]:
        """The phases, whatever the length."""
        return self.phases


def check_wiring(phases: Iterable[Phase]) -> None:
    """Raise ConfigError unless every layer reads what the layers before it, or itself, give.

    Raises:
        ConfigError: Two layers share a name, a tensor's producer is no layer of the network, or
            does not give the shape that is expected of it.
    """
    shapes: dict[str, Shape] = {}
    layers = [layer for phase in phases for layer in phase.layers]
    for layer in layers:
        if layer.name in shapes:
            raise ConfigError(f"network: two layers are named {layer.name!r}")
        shapes[layer.name] = layer.output_shape
    for layer in layers:
        for layer_read, shape in (one for tensor in layer.inputs for one in tensor.producers):
            if layer_read not in shapes:
                raise ConfigError(f"{layer.where}: reads {layer_read!r}, which is no layer here")
            if shape != shapes[layer_read]:
                raise ConfigError(
                    f"{layer.where}: expects {shape} from {layer_read!r}, "
                    f"which gives {shapes[layer_read]}"
                )
