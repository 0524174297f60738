"""How long does silicon take to take its machine away from a task, before any byte is moved?

One table of published figures. A machine's ``switch_latency_us`` takes a number or one of these
names; it is paid once for each CHECKPOINT and KILL, beside the bytes (docs/simulator.md,
"Mechanisms"). Unit of time: microseconds.
"""

from __future__ import annotations

from typing import NamedTuple

from prema_gym.checks import Constraint, number
from prema_gym.errors import UnknownNameError

MOST_US = 1e9


class SwitchLatency(NamedTuple):
    """What one machine takes.

    Attributes:
        latency_us: Time of a switch [µs].
        what: What is done in that time.
        source: Who measured it.
    """

    latency_us: float
    what: str
    source: str


SWITCH_LATENCIES: dict[str, SwitchLatency] = {
    "prema": SwitchLatency(0.0, "the next instruction belongs to another task", "PREMA, HPCA 2020"),
    "gpu-interrupt": SwitchLatency(
        32.0, "a running kernel of a GV100 is interrupted, P99", "XSched, OSDI 2025, level 3"
    ),
    "npu-command": SwitchLatency(
        100.0, "an NPU ends the command it has, a short one", "XSched, OSDI 2025, levels 1 and 2"
    ),
    "npu-command-long": SwitchLatency(
        700.0, "the same, a long one", "XSched, OSDI 2025, levels 1 and 2"
    ),
    "xdna2": SwitchLatency(
        124.0, "a context that is still loaded is established again", "hrx-system #807, XDNA2"
    ),
    "xdna2-reload": SwitchLatency(
        570.0, "the program of the array is loaded again", "hrx-system #807, XDNA2"
    ),
    "xdna2-context": SwitchLatency(
        2500.0, "the driver changes the hardware context", "Alveare change log, XDNA2"
    ),
}
"""Published switch latencies by name, the shortest of each kind of machine first."""


def _accept(given: object) -> float:
    if isinstance(given, str):
        if given not in SWITCH_LATENCIES:
            raise UnknownNameError("switch latency", given, SWITCH_LATENCIES)
        return SWITCH_LATENCIES[given].latency_us
    latency_us: float = number(0.0, MOST_US).accept(given)
    return latency_us


LATENCY = Constraint(f"a number of µs from 0 to {MOST_US:g}, or a name", _accept)
"""What a machine's ``switch_latency_us`` may be: names become their number."""
