"""Does a policy stay better than PREMA where it was not trained? A table over changed conditions.

Each row changes one thing about the paper's scenario: load, number of tasks, mix of batch sizes,
arrival process, machine, or the truth of the estimates. Both policies play the same workloads, from
test seeds; cells say how many times better the policy is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prema_gym import baselines
from prema_gym.agents import seeds
from prema_gym.agents.training.evolution.course import stretched
from prema_gym.agents.training.objective import FIVE, Gains, gains, geometric_mean, measure
from prema_gym.agents.training.validation import MAX_DECISIONS
from prema_gym.baselines import PREMA
from prema_gym.errors import ConfigError
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.evaluation.policy import Decider
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.scenario_rules import NO_TRACE
from prema_gym.workloads.workload import WorkloadBatch

SEED = 650_000_000
"""First test seed; other than those of the shipped tables."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One row of the table.

    Attributes:
        title: What is changed.
        scenario: What is drawn, and the machine.
        estimate_error: Standard deviation of the logarithm of a factor on every estimate: 0.5
            makes a third of them wrong by more than 1.6 times.
        estimate: What both policies are shown as isolated times.
    """

    title: str
    scenario: Scenario
    estimate_error: float = 0.0
    estimate: str = "algorithm1"


def conditions(base: Scenario) -> tuple[Condition, ...]:
    """Every row, the unchanged scenario first."""
    npu = base.hardware
    slow = replace(npu, dram_bytes_per_s=npu.dram_bytes_per_s / 4)
    small = NPUConfig(array_rows=64, array_cols=64)
    # A window and an arrival process take the place of what a trace says of them.
    to_window: dict[str, object] = {"trace_speed": None}
    drawn: dict[str, object] = {**NO_TRACE}
    alike: dict[str, object] = {
        "networks": ("googlenet",),
        "network_shares": None,
        "batch_sizes": (1,),
        "batch_shares": None,
        "priorities": (1,),
        "priority_shares": None,
    }

    def row(title: str, **changes: object) -> Condition:
        return Condition(title=title, scenario=replace(base, **changes))  # type: ignore[arg-type]

    return (
        row("as trained"),
        Condition(title="half the load (window ×2)", scenario=stretched(base, 2.0)),
        Condition(title="twice the load (window ×½)", scenario=stretched(base, 0.5)),
        row("light (300 ms)", window_ms=300.0, **to_window),
        row("heavy (1 ms)", window_ms=1.0, **to_window),
        row("all at once", window_ms=0.0, arrival="uniform", **drawn),
        row("2 tasks", num_tasks=2),
        row("4 tasks", num_tasks=4),
        row("16 tasks", num_tasks=16),
        row("32 tasks", num_tasks=32),
        row("64 tasks", num_tasks=64),
        row("Poisson arrivals", arrival="poisson", **drawn),
        row("bursts of four", arrival="burst", **drawn),
        row("batch 1 only", batch_sizes=(1,), batch_shares=None),
        row("batch 16 only", batch_sizes=(16,), batch_shares=None),
        row("all tasks alike", **alike),
        row("a quarter of the bandwidth", hardware=slow),
        row("64 × 64 array", hardware=small),
        row("32 µs a switch", hardware=replace(npu, switch_latency_us=32.0)),
        row("0.5 ms a switch", hardware=replace(npu, switch_latency_us=500.0)),
        Condition(title="estimates off by e^±0.25", scenario=base, estimate_error=0.25),
        Condition(title="estimates off by e^±0.5", scenario=base, estimate_error=0.5),
        Condition(title="calibrated estimates", scenario=base, estimate="calibrated"),
        Condition(title="true times shown", scenario=base, estimate="oracle"),
    )


def compare(policy: Decider, condition: Condition, workloads: int) -> Gains:
    """Gains of a policy over PREMA under one condition, float64 (5,)."""
    catalog = compile_scenario(condition.scenario)
    seeds.check_test(SEED, workloads)
    batch = sample_batch(catalog, range(SEED, SEED + workloads))
    batch = distorted(batch, condition.estimate_error)

    play_settings = PlaySettings(
        slots=max(16, condition.scenario.num_tasks),
        max_decisions=MAX_DECISIONS,
        estimate=condition.estimate,
    )
    own, reference = (
        measure(play(decider, catalog, batch, play_settings))
        for decider in (policy, baselines.make(PREMA))
    )
    return gains(own, reference)


def distorted(batch: WorkloadBatch, error: float) -> WorkloadBatch:
    """The same workloads with every estimate multiplied by a log-normal factor."""
    if error == 0.0:
        return batch
    factor = np.exp(error * np.random.default_rng(SEED).standard_normal(batch.profile.shape))
    wrong = np.rint(batch.estimated_cycles * factor).astype(np.int64)
    present = batch.estimated_cycles > 0
    return replace(batch, estimated_cycles=np.where(present, np.maximum(wrong, 1), 0))


def table(policy: Decider, base: Scenario, workloads: int) -> str:
    """The table as Markdown."""
    titles = [metric.title for metric in FIVE]
    lines = [
        "| condition | " + " | ".join(titles) + " | geometric mean |",
        "|---" * (len(titles) + 2) + "|",
    ]
    for condition in conditions(base):
        try:
            five = compare(policy, condition, workloads)
        except ConfigError as error:  # a trace that is too short for more tasks, say
            if condition.scenario == base:  # then it is not the condition
                raise
            lines.append(f"| {condition.title} | {error} |" + " |" * len(titles))
            continue
        cells = [f"{ratio:.3f}" if ratio >= 1 else f"*{ratio:.3f}*" for ratio in np.exp(five)]
        mean = geometric_mean(five)
        lines.append(f"| {condition.title} | " + " | ".join(cells) + f" | {mean:.3f} |")
    return "\n".join(lines)
