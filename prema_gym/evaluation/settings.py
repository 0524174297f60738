"""What does it take to repeat a comparison? `EvaluationSettings`, also as a report's plain data.

Every field is declared here once: what it may be, and what it means in a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from prema_gym.checks import (
    anything,
    check_fields,
    check_keys,
    declared,
    instance,
    optional,
    read_record,
    text,
    truth,
    whole,
)
from prema_gym.errors import ConfigError, UnknownNameError, located
from prema_gym.evaluation.bootstrap import RESAMPLES
from prema_gym.evaluation.playing import PlaySettings
from prema_gym.files import infinity_as_text, infinity_from_text
from prema_gym.simulator import DEFAULT_ESTIMATE, SchedulerOptions, one_estimate
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.workload import WorkloadBatch

DEFAULT_WORKLOADS = 200
"""Workloads in a comparison: enough for intervals of a few percent; the paper takes 25."""

MAX_WORKLOADS = 100_000
"""Workloads in a comparison at most: intervals are then a twentieth as wide as at the default, and
the records of one policy still fit in a few hundred megabytes."""

BASELINE = "np-fcfs"
"""The policy that others are compared with: what the machine does without a scheduler."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """A comparison, but for the policies themselves, which are known by name.

    Attributes:
        scenario: What is drawn, and the machine.
        drawn_by: Options of `prema-gym evaluate` that name the scenario, file and changes as given;
            none: it was built in Python.
        policies: Names of the policies, as the report uses them.
        mechanisms: What each policy's action space offers, by its name.
        workloads: Number of workloads; None: as many as are given, else ``DEFAULT_WORKLOADS``.
        seed: Workload i is drawn from seed + i; the intervals' resamples from ``seed`` too.
        workload: Play these; nothing is drawn then.
        relative_to: Name in ``policies`` that ratios compare with.
        play: What every policy plays with.
        resamples: Bootstrap resamples.
        per_workload: Keep each workload's values.
        bounds: Find the clairvoyant optimum of each workload (at most 20 tasks), and regrets.
    """

    scenario: Scenario = declared(
        None, instance(Scenario, "a Scenario, a name, a file or a dict"), help="what is drawn"
    )
    drawn_by: tuple[str, ...] = declared(
        (), anything(), help="options of `prema-gym evaluate` that name the scenario"
    )
    policies: tuple[str, ...] = declared((), anything(), help="names of the policies")
    mechanisms: Mapping[str, tuple[str, ...]] = declared(
        factory=dict, constraint=anything(), help="what each action space offers"
    )
    workloads: int | None = declared(
        None, optional(whole(1, MAX_WORKLOADS)), unit="workloads", help="workloads to play"
    )
    seed: int = declared(0, whole(0), help="workload i is drawn from seed + i")
    workload: WorkloadBatch | None = declared(
        None, anything(), help="play these workloads in place of drawn ones"
    )
    relative_to: str = declared(BASELINE, text(), help="policy that ratios compare with")
    play: PlaySettings = declared(
        factory=PlaySettings,
        constraint=instance(PlaySettings, "PlaySettings"),
        help="what every policy plays with",
    )
    resamples: int = declared(RESAMPLES, whole(1), help="bootstrap resamples")
    per_workload: bool = declared(False, truth(), help="keep each workload's values")
    bounds: bool = declared(False, truth(), help="find the clairvoyant optimum, and regrets")

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.policies:
            raise ConfigError("policies must be at least one policy by name, got none")
        if self.relative_to not in self.policies:
            raise UnknownNameError("policy", self.relative_to, self.policies, "relative_to")
        given = None if self.workload is None else len(self.workload)
        if given is not None and self.workloads not in (None, given):
            raise ConfigError(f"workloads is {self.workloads}, but {given} are given: leave it out")
        if self.play.options.sticky_drain and not any(
            "drain" in m for m in self.mechanisms.values()
        ):
            raise ConfigError(
                "sticky_drain changes nothing: no policy was made with 'drain' among its mechanisms"
            )

    @property
    def num_workloads(self) -> int:
        """Workloads that will be played."""
        if self.workload is not None:
            return len(self.workload)
        return DEFAULT_WORKLOADS if self.workloads is None else self.workloads

    def to_dict(self) -> dict[str, Any]:
        """Plain data that strict JSON can hold; :meth:`from_dict` reads it back."""
        return {
            "scenario": _scenario_to_dict(self.scenario),
            "drawn_by": list(self.drawn_by),
            "policies": list(self.policies),
            "mechanisms": {name: list(offered) for name, offered in self.mechanisms.items()},
            "workloads": self.num_workloads,
            "seed": self.seed,
            "workload": None if self.workload is None else self.workload.to_dict(),
            "relative_to": self.relative_to,
            **asdict(self.play),
            "resamples": self.resamples,
            "per_workload": self.per_workload,
            "bounds": self.bounds,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str = "settings") -> EvaluationSettings:
        """Read what :meth:`to_dict` gave, also after JSON.

        Args:
            data: The settings of a report.
            where: Where they are from, for messages.

        Raises:
            ConfigError: A value is not allowed, or a key is not known.
        """
        data = dict(data)
        if "oracle" in data:  # in reports of older versions
            data["estimate"] = one_estimate(DEFAULT_ESTIMATE, data.pop("oracle"))
        of_play = [one.name for one in fields(PlaySettings)]
        own = [one.name for one in fields(cls) if one.name != "play"]
        check_keys(data, [*own, *of_play], where)
        values = {key: value for key, value in data.items() if key in own}
        play = {key: value for key, value in data.items() if key in of_play}
        with located(where):
            values["scenario"] = _scenario_from_dict(data["scenario"])
            values["drawn_by"] = tuple(data.get("drawn_by", ()))  # absent in older reports
            values["policies"] = tuple(data["policies"])
            values["mechanisms"] = {name: tuple(m) for name, m in data["mechanisms"].items()}
            if values.get("workload") is not None:
                values["workload"] = WorkloadBatch.from_dict(values["workload"])
            if "options" in play:
                play["options"] = read_record(SchedulerOptions, play["options"], "options")
            return cls(play=PlaySettings(**play), **values)

    def limited_to(self, max_decisions: int) -> EvaluationSettings:
        """The same with a limit on decisions."""
        return replace(self, play=replace(self.play, max_decisions=max_decisions))


def _scenario_to_dict(scenario: Scenario) -> dict[str, Any]:
    data = scenario.to_dict()
    # Only a machine has infinities (bandwidths), and only there is "inf" no name.
    return data | {"hardware": infinity_as_text(data["hardware"])}


def _scenario_from_dict(data: Mapping[str, Any]) -> Scenario:
    return Scenario.from_dict({**data, "hardware": infinity_from_text(data["hardware"])})
