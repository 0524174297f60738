"""Claims: measured by the shared code, marked when off, each with the command that repeats it."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from prema_gym.baselines.registry import make
from prema_gym.errors import UnknownNameError
from prema_gym.evaluation.claims import (
    ORDERINGS,
    SUSTAINED_TASKS,
    Reproduction,
    reproduce,
)
from prema_gym.evaluation.compare import evaluate
from prema_gym.evaluation.paper import claim_names
from prema_gym.views.records import reproduction_records, to_csv, to_json
from prema_gym.views.tables import reproduction_notes, reproduction_tables
from prema_gym.workloads.accuracy import mean_isolated_ms
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.scenario import Scenario

SMALL = Scenario(
    name="small", networks=("alexnet", "mobilenet-v1"), batch_sizes=(1,), num_tasks=4, window_ms=2.0
)


@pytest.fixture(scope="module")
def everything() -> Reproduction:
    return reproduce(make, scenario=SMALL, workloads=12, seed=2)


def test_every_claim_has_both_figures_and_a_command(everything: Reproduction) -> None:
    assert tuple(row.name for row in everything.claims) == claim_names()
    for row in everything.claims:
        assert row.ratio == pytest.approx(row.ours / row.paper)
        assert row.off == (not 0.75 <= row.ratio <= 1.25)
        assert row.command == (
            f"prema-gym reproduce --only {row.name} --scenario small --workloads 12 --seed 2"
        )
    paper = {row.name: row.paper for row in everything.claims}
    assert [paper[name] for name in ("antt", "stp", "fairness", "sla")] == [7.8, 1.4, 19.6, 4.8]


def test_figures_are_those_of_evaluate(everything: Reproduction) -> None:
    rows = {row.name: row for row in everything.claims}
    policies = {name: make(name) for name in ("np-fcfs", "dynamic-prema")}
    found = evaluate(SMALL, policies, workloads=12, seed=2).policies["dynamic-prema"].metrics
    assert rows["antt"].ours == found["antt"].ratio
    assert rows["antt"].ci95 == found["antt"].ratio_ci95
    assert rows["sla"].ours == found["sla_violation"].ratio
    assert rows["energy"].ours == found["energy_mj"].ratio
    policies = {name: make(name) for name in ("kill-prema", "static-prema")}
    mechanisms = evaluate(SMALL, policies, workloads=12, seed=2, relative_to="kill-prema")
    stp = mechanisms.policies["static-prema"].metrics["stp"]
    assert rows["checkpoint-stp"].ours == pytest.approx((stp.ratio - 1) * 100)
    assert rows["checkpoint-stp"].ci95[0] == pytest.approx((stp.ratio_ci95[0] - 1) * 100)


def test_conditions_of_checkpoint_over_kill(everything: Reproduction) -> None:
    assert len(everything.conditions) == len(ORDERINGS) * (1 + len(SUSTAINED_TASKS))
    first = everything.conditions[0]
    assert (first.scenario, first.tasks, first.ordering) == ("small", 4, "prema")
    antt = next(row for row in everything.claims if row.name == "checkpoint-antt")
    assert first.antt.value == antt.ours
    last = everything.conditions[-1]
    assert last.tasks == 32
    # Load 1: as much work as time, on average.
    work_ms = 32 * mean_isolated_ms(compile_scenario(SMALL))
    assert last.window_ms == pytest.approx(work_ms)


def test_one_claim_alone_is_the_same_figure(everything: Reproduction) -> None:
    alone = reproduce(make, scenario=SMALL, workloads=12, seed=2, only=["fairness"])
    (row,) = alone.claims
    assert row == next(claim for claim in everything.claims if claim.name == "fairness")
    assert alone.conditions == ()
    with pytest.raises(UnknownNameError, match="did you mean 'fairness'"):
        reproduce(make, scenario=SMALL, only=["fairnes"])


@pytest.mark.small
def test_what_is_off_is_marked() -> None:
    found = reproduce(make, workloads=1, only=["estimate", "context-table"])
    estimate, table = found.claims
    assert 90 < estimate.ours <= 100
    assert not estimate.off
    assert math.isnan(estimate.ci95[0])  # exact over all tasks, nothing is sampled
    assert table.paper == 0.01
    assert table.off == (not 0.0075 <= table.ours <= 0.0125)
    assert estimate.command == "prema-gym reproduce --only estimate --workloads 1 --seed 0"
    text = _shown(found)
    assert text.count(" !\n") == int(table.off)


def test_reports_hold_every_claim(everything: Reproduction) -> None:
    data = json.loads(to_json(everything.to_dict()))
    assert [row["name"] for row in data["claims"]] == list(claim_names())
    assert data["conditions"][0]["antt"]["ci95"][0] is not None
    rows = reproduction_records(everything)
    assert len(rows) == len(claim_names()) + 3 * len(everything.conditions)
    assert rows[-1]["ours"] == everything.conditions[-1].fairness.value
    assert str(rows[-1]["statement"]).startswith("CHECKPOINT over KILL, sjf: fairness; sustained-")
    assert len(to_csv(rows).splitlines()) == len(rows) + 1
    text = _shown(everything)
    for row in everything.claims:
        assert row.statement in text
        assert row.command in text
    assert "sustained-32" in text
    notes = reproduction_notes(everything)
    assert any(note.startswith("checkpoint-antt, checkpoint-stp, checkpoint-f") for note in notes)


def _shown(found: Reproduction) -> str:
    console = Console(width=120, file=io.StringIO(), record=True)
    for table in reproduction_tables(found):
        console.print(table)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines()) + "\n"


@pytest.mark.heavy
def test_the_paper_s_orderings_hold() -> None:
    found = reproduce(
        make, workloads=20, only=["antt", "stp", "fairness", "sla", "checkpoint-antt"]
    )
    *headline, mechanism = found.claims
    for row in headline:
        assert row.ci95[0] > 1.0, row.name  # PREMA beats NP-FCFS beyond chance
    assert mechanism.ci95[0] > 0.0
    # Keeping work pays more when a long task has more occasions to be killed.
    by_scenario = {row.scenario: row for row in found.conditions if row.ordering == "prema"}
    assert by_scenario["sustained-32"].antt.value > by_scenario["paper"].antt.ci95[1]
