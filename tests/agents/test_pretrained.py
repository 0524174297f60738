from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prema_gym.agents import seeds
from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.studies import generalisation, shipping
from prema_gym.agents.studies.curves import draw
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import TrainSettings

from prema_gym import agents
from prema_gym.errors import ConfigError
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.generate import sample_batch
from tests.agents.conftest import TINY, random_policy

# Another machine's logarithms may differ in the last digit and tip a rare decision.
SAME = 0.01
FIVE = ["antt", "stp", "fairness", "sla_violation", "p95_ntt_high"]


def table_of(name: str) -> dict:
    return json.loads((agents.PRETRAINED / f"{name}.json").read_text())


@pytest.mark.parametrize("name", agents.names())
def test_a_shipped_policy_does_what_its_table_says(name: str) -> None:
    table = table_of(name)
    policy = agents.load(name)
    assert isinstance(policy, LearnedPolicy)
    assert policy.about["digest"] == table["digest"]
    settings = TrainSettings.from_toml(agents.PRETRAINED / f"{name}.toml")
    first = table["first"]
    again = shipping.compare(
        policy,
        scenarios.get(settings.scenario),
        workloads=first["workloads"],
        seed=first["seed"],
    )
    for metric in FIVE:
        expected, found = first["metrics"][metric], again["metrics"][metric]
        assert found["dynamic-prema"] == pytest.approx(expected["dynamic-prema"], rel=1e-9)
        assert found["mean"] == pytest.approx(expected["mean"], rel=SAME)


@pytest.mark.parametrize("name", agents.names())
def test_tables_are_about_seeds_that_no_training_has_seen(name: str) -> None:
    for part in ("first", "all"):
        report = table_of(name)[part]
        seeds.check_test(report["seed"], report["workloads"])


def test_the_flagship_beats_prema_on_all_five_beyond_chance() -> None:
    report = table_of("learned")["all"]
    assert report["workloads"] >= 2000
    assert list(report["metrics"]) == FIVE
    for metric, value in report["metrics"].items():
        assert value["ratio_ci95"][0] > 1, metric
    assert report["geometric_mean_ratio"] >= 1.10


def test_the_masked_ppo_agent_beats_prema_on_four_of_five() -> None:
    report = table_of("learned-ppo")["all"]
    assert sum(value["ratio"] > 1 for value in report["metrics"].values()) >= 4
    assert report["geometric_mean_ratio"] >= 1.05


def test_loading_a_shipped_policy_needs_neither_torch_nor_the_network() -> None:
    code = (
        "import sys, socket\n"
        "socket.socket = None\n"
        "import numpy\nfrom prema_gym import agents\n"
        "for name in agents.names():\n"
        "    agents.load(name).predict(numpy.zeros((8, 19), numpy.float32))\n"
        "print([m for m in ('torch', 'stable_baselines3', 'cma') if m in sys.modules])\n"
    )
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_wrong_estimates_change_estimates_only(tiny: Catalog) -> None:
    batch = sample_batch(tiny, range(200))
    wrong = generalisation.distorted(batch, 0.5)
    assert generalisation.distorted(batch, 0.0) is batch
    assert np.array_equal(wrong.isolated_cycles, batch.isolated_cycles)
    factor = np.log(wrong.estimated_cycles / batch.estimated_cycles)
    assert abs(factor.mean()) < 0.1
    assert 0.4 < factor.std() < 0.6


def test_the_table_has_a_row_for_every_condition() -> None:
    text = generalisation.table(random_policy(), TINY, workloads=4)
    lines = text.splitlines()
    rows = generalisation.conditions(TINY)
    assert len(lines) == len(rows) + 2
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == [row.title for row in rows]
    assert len({line.count("|") for line in lines}) == 1


def test_the_table_of_a_trace_is_whole_but_for_what_it_is_too_short_for(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s\n" + "".join(f"{k / 100}\n" for k in range(20)))
    base = replace(TINY, arrival="trace", trace=str(trace), trace_speed=2.0)
    lines = generalisation.table(random_policy(), base, workloads=4).splitlines()
    refused = [line for line in lines if "has 20 requests" in line]
    assert ["32 tasks" in line for line in refused] == [True]
    loads = {row.title: row.scenario for row in generalisation.conditions(base)}
    assert loads["half the load (window ×2)"].trace_speed == 1.0
    assert loads["light (300 ms)"].trace_speed is None
    assert loads["Poisson arrivals"].trace is None
    with pytest.raises(ConfigError, match="cannot read"):  # what no row can be without
        generalisation.table(random_policy(), replace(base, trace="gone.csv"), workloads=4)
    assert len({line.count("|") for line in lines}) == 1


def test_curves_are_drawn_from_the_evaluations(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = RunFolder(tmp_path)
    with pytest.raises(ConfigError, match="no evaluations"):
        draw(tmp_path, tmp_path / "curve.png")
    for step in (10, 20):
        row = {f"{name}_ratio": 1.0 + step / 100 for name in FIVE}
        folder.add_evaluation(step, row | {"geometric_mean_ratio": 1.1, "score": 0.1})
    draw(tmp_path, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("worst", [0.04, 0.9])
def test_a_curve_has_plain_numbers_and_its_legend_beside_it(
    worst: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    folder, drawn = RunFolder(tmp_path), []
    for step in (10, 20):
        row = dict.fromkeys((f"{name}_ratio" for name in FIVE), 1.2)
        row |= {"fairness_ratio": worst, "geometric_mean_ratio": 1.1, "score": 0.1}
        folder.add_evaluation(step, row)
    savefig = figure_module.Figure.savefig

    def keep(figure: Any, path: Path) -> None:
        drawn.append(figure)
        savefig(figure, path)

    monkeypatch.setattr(figure_module.Figure, "savefig", keep)
    draw(tmp_path, tmp_path / "curve.png")
    (figure,) = drawn
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_yticklabels(which="both")]
    assert "1" in labels
    assert all(float(label) > 0 for label in labels if label)
    (legend,) = figure.legends
    assert legend.get_window_extent().y1 < axes.get_window_extent().y0


def test_pictures_are_made_into_a_new_folder_and_mistakes_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from prema_gym.agents.studies import curves, timelines

    scenario = tmp_path / "tiny.toml"
    TINY.to_toml(scenario)
    folder = tmp_path / "new" / "pictures"
    arguments = ["timelines", "learned", str(folder), "--scenario", str(scenario)]
    monkeypatch.setattr(sys, "argv", arguments)
    timelines.main()
    assert len(list(folder.glob("timeline-*.png"))) == 2
    for main, problem, command in (
        (curves.main, "no evaluations to draw", [str(tmp_path), str(tmp_path / "curve.png")]),
        (timelines.main, "unknown learned policy", ["lerned", str(tmp_path / "other")]),
        (shipping.main, "cannot read", [str(tmp_path), "mine", "--command", "train.py"]),
    ):
        monkeypatch.setattr(sys, "argv", ["x", *command])
        with pytest.raises(SystemExit, match=f"^error: .*{problem}"):
            main()
    assert not (tmp_path / "other").exists()


def test_a_timeline_is_drawn_for_a_test_seed_only(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from prema_gym.agents.studies.timelines import draw as draw_timeline

    outcomes = draw_timeline(random_policy(), TINY, 7, tmp_path / "run.png")
    assert outcomes.unfinished.tolist() == [0]
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ConfigError, match="test seeds"):
        draw_timeline(random_policy(), TINY, seeds.TRAINING.start, tmp_path / "other.png")
