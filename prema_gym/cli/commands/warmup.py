"""`prema-gym warmup`: compile before anybody waits for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prema_gym.evaluation.policy import Decider


def warmup() -> None:
    """Compile the kernels now: of evaluation, long runs, learned policies, environments' steps."""
    from prema_gym import agents, baselines
    from prema_gym.evaluation.compare import evaluate as run
    from prema_gym.workloads import scenarios

    learned = {name: agents.load(name) for name in agents.names()}  # of different networks
    # The first is played in compiled code, the second asked at each decision.
    rules = {name: baselines.make(name) for name in ("np-fcfs", "static-stride")}
    run(scenarios.get("paper"), {**rules, **learned}, workloads=1, relative_to="np-fcfs")
    _play_a_stream({**rules, **learned})
    _step_everything()
    print("kernels are compiled", file=sys.stderr)


def _play_a_stream(policies: Mapping[str, Decider]) -> None:
    """Play a few requests, so that a long run, also of a trace, compiles nothing any more."""
    import numpy as np

    from prema_gym.evaluation.streams import StreamSettings, evaluate_streams
    from prema_gym.workloads import compile_scenario, scenarios
    from prema_gym.workloads.changes import changed
    from prema_gym.workloads.rates import mean_isolated_cycles
    from prema_gym.workloads.tables import NOT_ASKED, NUM_ASKED

    few = changed(scenarios.get("poisson-70"), {"requests": 40, "warmup": 4})
    evaluate_streams(few, policies, StreamSettings(runs=1), threads=1)
    asked = np.full((1, NUM_ASKED), NOT_ASKED, dtype=np.int64)
    mean_isolated_cycles(compile_scenario(few).arrays._replace(trace_asked=asked))


def _step_everything() -> None:
    """Play environments of every kind past an end, so that resets and metrics are compiled too."""
    from prema_gym.envs import PremaNPUEnv, PremaNPUVectorEnv

    env = PremaNPUEnv(max_decisions=2)
    env.reset(seed=0)
    for _ in range(2):
        env.step(int(env.action_masks().argmax()))
    for threads in (1, 2):
        envs = PremaNPUVectorEnv(128, threads=threads, max_decisions=2, strict=True)
        envs.reset(seed=0)
        for _ in range(4):
            envs.step(envs.action_masks().argmax(axis=1))
        envs.close()
