"""What is known of policies after a comparison? Plain records, and their layout as JSON.

:mod:`prema_gym.evaluation.compare` makes them, :mod:`prema_gym.views.tables` shows them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from prema_gym.errors import ConfigError, MissingExtraError, located
from prema_gym.files import as_given
from prema_gym.metrics import METRICS, FloatArray, Outcomes
from prema_gym.metrics.groups import GROUP_COLUMNS, Groups

if TYPE_CHECKING:
    import pandas

Mark = Literal["", "few workloads", "few tasks", "unfinished"]
"""Nothing; or there are too few workloads for an interval, too few tasks to read a percentile from,
or unfinished tasks, so that a value stands for the survivors and is compared with nothing."""


@dataclass(frozen=True, kw_only=True)
class MetricValue:
    """One metric of one policy.

    Attributes:
        mean: Mean over workloads; for a pooled metric, its percentile over all tasks.
        ci95: Ends of its 95 % interval (`prema_gym.evaluation.intervals`); NaN where a mark says
            why there is none.
        ratio: How many times better than the policy compared with: above 1 is better, whatever the
            metric's direction. NaN for 0/0, for metrics without a direction, and where either
            policy left tasks unfinished.
        ratio_ci95: Ends of its interval, from the same resamples for both policies.
        mark: What a reader must know: see `Mark`.
    """

    mean: float
    ci95: tuple[float, float]
    ratio: float
    ratio_ci95: tuple[float, float]
    mark: Mark = ""


@dataclass(frozen=True, kw_only=True)
class PolicyResult:
    """One policy's row.

    Attributes:
        metrics: By name, in the order of ``METRICS``.
        sla_curve: Share of tasks with NTT > n, by target n.
        mechanisms: What its action space offered.
        tasks: Tasks in all workloads.
        unfinished: Tasks that never finished; means over NTT leave them out, nothing is compared.
        truncated: Workloads cut off by the decision limit.
        per_workload: Each workload's value by metric, float64 (workloads,); empty unless asked for.
        regret: By metric, (value − optimum)/optimum with means over workloads, 0 at best; empty
            unless asked for.
        outcomes: What became of every task; None unless asked for. Not part of the JSON report.
        groups: A row for each network and each priority, all workloads together.
    """

    metrics: dict[str, MetricValue]
    sla_curve: dict[int, MetricValue]
    mechanisms: tuple[str, ...]
    tasks: int
    unfinished: int
    truncated: int
    per_workload: dict[str, FloatArray] = field(default_factory=dict)
    regret: dict[str, float] = field(default_factory=dict)
    outcomes: Outcomes | None = None
    groups: Groups = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The outcome of a comparison, with all it takes to repeat it.

    Attributes:
        scenario: The scenario's name.
        seed: Workload i was drawn from seed + i; None: they were given.
        workloads: Number of workloads.
        most_tasks: Tasks of the longest.
        relative_to: The policy ratios compare with.
        versions: What it was computed with.
        workload_digest: SHA-256 of the workloads' arrays: equal digests, equal workloads.
        settings: Plain data for :func:`prema_gym.evaluation.compare.evaluate_settings`.
        policies: Results by policy, in the order given.
        optimum: Mean of the best value any schedule of each workload can have with free switches
            and true times, by metric; empty unless asked for.
        per_workload_optimum: That best value of each workload, float64 (workloads,), by metric;
            empty unless both are asked for.
    """

    scenario: str
    seed: int | None
    workloads: int
    most_tasks: int
    relative_to: str
    versions: dict[str, str]
    workload_digest: str
    settings: dict[str, Any]
    policies: dict[str, PolicyResult]
    optimum: dict[str, float] = field(default_factory=dict)
    per_workload_optimum: dict[str, FloatArray] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain nested data, the layout of the JSON report; may hold NaN."""
        data = {
            name: getattr(self, name)
            for name in ("scenario", "seed", "workloads", "most_tasks", "relative_to", "versions")
        }
        data["workload_digest"] = self.workload_digest
        data["settings"] = self.settings
        data["metrics"] = {
            m.name: {"unit": m.unit, "better": m.better, "formula": m.formula, "source": m.source}
            for m in METRICS
        }
        data["group_columns"] = {
            c.name: {"unit": c.unit, "better": c.better, "formula": c.formula}
            for c in GROUP_COLUMNS
        }
        data["policies"] = {name: _plain(result) for name, result in self.policies.items()}
        if self.optimum:
            data["optimum"] = self.optimum
        if self.per_workload_optimum:
            data["per_workload_optimum"] = {
                name: values.tolist() for name, values in self.per_workload_optimum.items()
            }
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "report") -> Evaluation:
        """Read what :meth:`to_dict` gave, also after strict JSON, where null stands for NaN.

        Args:
            data: A JSON report.
            where: Where it is from, for messages.

        Raises:
            ConfigError: It is no report of a comparison.
        """
        with located(where):
            try:
                own = ("scenario", "seed", "workloads", "most_tasks", "relative_to", "versions")
                return cls(
                    **{name: data[name] for name in own},
                    workload_digest=data["workload_digest"],
                    settings=dict(data["settings"]),
                    policies={name: _read(found) for name, found in data["policies"].items()},
                    optimum={name: _number(v) for name, v in data.get("optimum", {}).items()},
                    per_workload_optimum=_read_arrays(data.get("per_workload_optimum", {})),
                )
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise ConfigError(
                    "this is no report of `prema-gym evaluate --format json` (or the "
                    f"evaluation.json of its --output): {type(error).__name__}: {error}"
                ) from error

    def drawn_by(self, words: Sequence[str]) -> Evaluation:
        """The same, with the options of `prema-gym evaluate` that name its scenario."""
        return replace(self, settings={**self.settings, "drawn_by": list(words)})

    def to_frame(self, per: Literal["workload", "task"] = "workload") -> pandas.DataFrame:
        """Give the values as a DataFrame: a row a policy and workload, or policy and task.

        Args:
            per: "workload" (every metric) or "task" (see :meth:`task_columns`).

        Raises:
            ConfigError: The values were not kept, or ``per`` is neither.
            MissingExtraError: pandas is not installed.
        """
        if per not in ("workload", "task"):
            raise ConfigError(f"per must be 'workload' or 'task', got {per!r}")
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_frame", "pandas", "frames") from None
        rows_of = self._workload_columns if per == "workload" else self.task_columns
        frames = [pandas.DataFrame(rows_of(name)) for name in self.policies]
        return pandas.concat(frames, ignore_index=True)

    def _workload_columns(self, name: str) -> dict[str, Any]:
        values = self.policies[name].per_workload
        if not values:
            raise ConfigError("values per workload were not kept: evaluate(…, per_workload=True)")
        return {"policy": name, **self._counted(np.arange(self.workloads)), **values}

    def task_columns(self, name: str) -> dict[str, Any]:
        """Every task under one policy: columns by name, one entry a task, or one for all.

        ``seed`` (``workload`` where they were given), ``task``, ``network``, ``batch_size``,
        ``priority``, ``arrival_ms``, ``isolated_ms``, ``first_run_ms``, ``completion_ms``,
        ``deadline_ms`` (all but the isolated time since the workload began), ``latency_ms``,
        ``ntt``, ``late``, ``checkpoints``, ``kills``. NaN: it never ran, finished or arrived.

        Raises:
            ConfigError: They were not kept.
        """
        outcomes = self.policies[name].outcomes
        if outcomes is None:
            raise ConfigError("values per task were not kept: evaluate(…, per_task=True)")
        workload, task = np.nonzero(outcomes.present)
        networks = np.array([as_given(name) for name in self.settings["scenario"]["networks"]])

        def ms(cycles: Any) -> FloatArray:  # noqa: ANN401 - an array of cycles
            found = cycles[workload, task]
            return np.where(found < 0, np.nan, found / outcomes.cycles_per_ms)

        latency = outcomes.latency_ms[workload, task]
        allowance = outcomes.deadline_cycles - outcomes.arrival_cycles
        return {
            "policy": name,
            **self._counted(workload),
            "task": task,
            "network": networks[outcomes.network[workload, task]],
            "batch_size": outcomes.batch_size[workload, task],
            "priority": outcomes.priority[workload, task],
            "arrival_ms": ms(outcomes.arrival_cycles),
            "isolated_ms": ms(outcomes.isolated_cycles),
            "first_run_ms": ms(outcomes.first_run_cycles),
            "completion_ms": ms(outcomes.completion_cycles),
            "deadline_ms": ms(outcomes.deadline_cycles),
            "latency_ms": latency,
            "ntt": outcomes.ntt[workload, task],
            "late": latency > allowance[workload, task] / outcomes.cycles_per_ms,
            "checkpoints": outcomes.checkpoints[workload, task],
            "kills": outcomes.kills[workload, task],
        }

    def _counted(self, workload: Any) -> dict[str, Any]:  # noqa: ANN401 - an array of numbers
        """Which workload it is, by its seed where it was drawn."""
        return {"workload": workload} if self.seed is None else {"seed": self.seed + workload}


def _plain(result: PolicyResult) -> dict[str, Any]:
    data: dict[str, Any] = {name: asdict(value) for name, value in result.metrics.items()}
    data["sla_curve"] = {str(n): asdict(value) for n, value in result.sla_curve.items()}
    data["mechanisms"] = list(result.mechanisms)
    for name in ("tasks", "unfinished", "truncated"):
        data[f"num_{name}"] = getattr(result, name)
    if result.per_workload:
        data["per_workload"] = {name: v.tolist() for name, v in result.per_workload.items()}
    if result.regret:
        data["regret"] = result.regret
    data["by"] = result.groups
    return data


def _read(data: Mapping[str, Any]) -> PolicyResult:
    """Undo :func:`_plain`."""
    return PolicyResult(
        metrics={m.name: _read_value(data[m.name]) for m in METRICS if m.name in data},
        sla_curve={int(n): _read_value(value) for n, value in data["sla_curve"].items()},
        mechanisms=tuple(data["mechanisms"]),
        tasks=data["num_tasks"],
        unfinished=data["num_unfinished"],
        truncated=data["num_truncated"],
        per_workload=_read_arrays(data.get("per_workload", {})),
        regret={name: _number(v) for name, v in data.get("regret", {}).items()},
        groups=data.get("by", {}),
    )


def _read_value(data: Mapping[str, Any]) -> MetricValue:
    low, high = data["ci95"]
    ratio_low, ratio_high = data["ratio_ci95"]
    return MetricValue(
        mean=_number(data["mean"]),
        ci95=(_number(low), _number(high)),
        ratio=_number(data["ratio"]),
        ratio_ci95=(_number(ratio_low), _number(ratio_high)),
        mark=data.get("mark", ""),
    )


def _read_arrays(data: Mapping[str, Any]) -> dict[str, FloatArray]:
    return {
        name: np.array([_number(value) for value in values], np.float64)
        for name, values in data.items()
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
