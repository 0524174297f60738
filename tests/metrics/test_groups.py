"""Rows by network and priority beside the metrics of all tasks."""

from __future__ import annotations

import numpy as np
import pytest

from prema_gym import baselines
from prema_gym.evaluation.playing import PlaySettings, play
from prema_gym.metrics.groups import groups_of
from prema_gym.workloads import compile_scenario, sample_batch, scenarios


def test_missed_deadlines_of_groups_are_those_of_all_also_when_a_run_is_cut_off() -> None:
    scenario = scenarios.get("light")
    catalog = compile_scenario(scenario)
    batch = sample_batch(catalog, range(4))
    settings = PlaySettings(max_decisions=2)
    outcomes = play(baselines.make("static-sjf"), catalog, batch, settings)
    assert outcomes.unfinished.sum() > 0
    arrived = outcomes.arrived.sum(axis=1)
    late = (outcomes.missed * arrived).sum()
    for kind, rows in groups_of(outcomes, scenario.networks, scenario.priorities).items():
        of = np.asarray(getattr(outcomes, kind))
        names = scenario.networks if kind == "network" else scenario.priorities
        found = 0.0
        for name, row in rows.items():
            code = list(map(str, names)).index(name) if kind == "network" else int(name)
            here = outcomes.arrived & (of == code)
            if here.any():
                found += row["deadline_miss"] * here.sum()
        assert found == pytest.approx(late)
