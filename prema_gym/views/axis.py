"""Where does a value lie on an axis, and which round values stand beside it?"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A range of values on a line of pixels.

    Attributes:
        label: What it measures.
        low: Least value shown.
        high: Largest.
        log: Whether equal ratios are equally long.
    """

    label: str
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies, 0 at the low end and 1 at the high one."""
        low, high, value = (
            (math.log(x) for x in (self.low, self.high, max(value, self.low)))
            if self.log
            else (self.low, self.high, value)
        )
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self) -> list[float]:
        """Round values to write beside it."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if self.high / self.low < 200 else (1,)
            found = [step * 10.0**power for power in decades for step in steps]
        else:
            least = (self.high - self.low) / 6 or 1.0
            power = 10.0 ** math.floor(math.log10(least))
            step = next(n * power for n in (1, 2, 5, 10) if n * power >= least)
            first = math.ceil(self.low / step)
            found = [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [tick for tick in found if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]
