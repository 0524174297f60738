"""`prema-gym warmup`: compile before anybody waits for it."""

from __future__ import annotations

import sys


def warmup() -> None:
    """Compile the kernels now, so that the next command starts at once."""
    from prema_gym import baselines
    from prema_gym.evaluation.compare import evaluate as run
    from prema_gym.workloads import scenarios

    # The first is played in compiled code, the second asked at each decision.
    policies = {name: baselines.make(name) for name in ("np-fcfs", "static-stride")}
    run(scenarios.get("paper"), policies, workloads=1)
    print("kernels are compiled", file=sys.stderr)
