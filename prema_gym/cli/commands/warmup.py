"""`prema-gym warmup`: compile before anybody waits for it."""

from __future__ import annotations

import sys


def warmup() -> None:
    """Compile the kernels now: of evaluation, learned policies, single and native vector steps."""
    from prema_gym import agents, baselines
    from prema_gym.evaluation.compare import evaluate as run
    from prema_gym.workloads import scenarios

    learned = {name: agents.load(name) for name in agents.names()[:1]}
    # The first is played in compiled code, the second asked at each decision.
    rules = {name: baselines.make(name) for name in ("np-fcfs", "static-stride")}
    run(scenarios.get("paper"), {**rules, **learned}, workloads=1, relative_to="np-fcfs")
    _step_everything()
    print("kernels are compiled", file=sys.stderr)


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
