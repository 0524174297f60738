"""What binds a layer or a network: the array at work, filling it, the vector unit, or memory?

Every cycle of a timing is put down to one of the four. Unit of time: cycles. Source: ours.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from prema_gym.hardware.timing import Timing


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of the elapsed time, from 0 to 1; they add up to 1 where time passes.

    Attributes:
        compute: What the array would need for its MACs with every PE at work.
        fill: The rest of the array's time: filling and draining it, and PEs without work at the
            edges of a product.
        vector: The vector unit at work.
        memory: Nothing computes: loads that nothing hides, and tiles that wait for their data.
    """

    compute: float
    fill: float
    vector: float
    memory: float

    @property
    def binding(self) -> str:
        """Name of the largest share, the first of equal ones."""
        shares = asdict(self)
        return max(shares, key=lambda name: shares[name])


def shares_of(timing: Timing) -> Shares:
    """Put every cycle down to what it is spent on."""
    cycles = max(timing.cycles, 1)
    compute = timing.array_macs / timing.array_pes
    array = timing.compute_cycles - timing.vector_cycles
    return Shares(
        compute=compute / cycles,
        fill=(array - compute) / cycles,
        vector=timing.vector_cycles / cycles,
        memory=timing.stall_cycles / cycles,
    )
