"""What does a layer ask of the machine? Matrix products and vector work, nothing else.

All sizes are counts of elements; how many bytes an element has, and how long the work takes, is
decided by :mod:`prema_gym.hardware`. Source: GEMM_OP/CONV_OP and VECTOR_OP are the two kinds of
compute instruction of PREMA's machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from prema_gym.checks import check_fields, optional, whole
from prema_gym.errors import located
from prema_gym.networks.sizes import Name, Size, SizeOrZero


@dataclass(frozen=True)
class Gemm:
    """``count`` independent matrix products (m × k)·(k × n), run by the systolic array.

    The (k × n) operand is the stationary one: it is loaded into the array, and the (m × k)
    operand streams through.

    Attributes:
        name: Name of the work, unique within its layer.
        m: Rows of the streaming operand and of the result, >= 1.
        k: Inner size, >= 1.
        n: Columns of the stationary operand and of the result, >= 1.
        count: How many products of this size, each with its own operands, >= 1 (a grouped
            convolution has one per group, attention one per item of the batch and head).
        input_elements: Different elements of one product's streaming operand, from 1 to m · k;
            None: all. A convolution's are its map: im2col repeats them on chip.
        tail_ops: Vector ops on each result as it leaves the array, >= 0; the results are stored
            after them.
        tail_inputs: Other elements that these read for each result, >= 0.

    Raises:
        ConfigError: A size is not a positive integer, or ``input_elements`` exceeds m · k.
    """

    name: Name
    m: Size
    k: Size
    n: Size
    count: Size = 1
    input_elements: Annotated[int | None, optional(whole())] = None
    tail_ops: SizeOrZero = 0
    tail_inputs: SizeOrZero = 0

    def __post_init__(self) -> None:
        with located(f"gemm {self.name!r}"):
            check_fields(self)
            if self.input_elements is not None:
                whole(1, self.m * self.k).check("input_elements", self.input_elements)

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations of all ``count`` products."""
        return self.count * self.m * self.k * self.n

    @property
    def streamed_elements(self) -> int:
        """Different elements of one product's streaming operand."""
        return self.m * self.k if self.input_elements is None else self.input_elements

    @property
    def weight_elements(self) -> int:
        """Elements of the stationary operands; in attention these are keys or values."""
        return self.count * self.k * self.n

    @property
    def output_elements(self) -> int:
        """Elements of the results."""
        return self.count * self.m * self.n


@dataclass(frozen=True)
class VectorWork:
    """``count`` runs of element-wise work on the vector unit, where a lane does one op per cycle.

    An *op* is one multiply-add, addition, comparison or table lookup (exp, tanh, power). Memory
    traffic of one run is ``input_elements + elements``.

    Attributes:
        name: Name of the work, unique within its layer.
        elements: Elements written by one run, >= 1.
        ops_per_element: Ops for each element written, >= 1.
        input_elements: Elements read by one run, >= 0.
        count: How many such runs, >= 1.

    Raises:
        ConfigError: A size is not an integer in its range.
    """

    name: Name
    elements: Size
    ops_per_element: Size
    input_elements: SizeOrZero
    count: Size = 1

    def __post_init__(self) -> None:
        with located(f"vector work {self.name!r}"):
            check_fields(self)

    @property
    def ops(self) -> int:
        """Vector operations of all ``count`` runs."""
        return self.count * self.elements * self.ops_per_element


Work = Gemm | VectorWork
"""One piece of work: what :meth:`prema_gym.networks.Layer.work` returns a tuple of."""
