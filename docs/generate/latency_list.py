"""Which switch latencies have a name? The table of docs/switch-costs.md."""

from __future__ import annotations

from docs.generate.sections import table
from prema_gym.hardware.switching import SWITCH_LATENCIES


def latencies() -> str:
    """A line for each name."""
    rows = [
        [f"`{name}`", f"{row.latency_us:g}", row.what, row.source]
        for name, row in SWITCH_LATENCIES.items()
    ]
    return table(["`switch_latency_us`", "µs", "what takes so long", "source"], rows)


PARTS = {"latencies": latencies}
