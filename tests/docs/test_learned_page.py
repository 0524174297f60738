"""What docs/learned.md shows is made by scripts of docs/generate, which end in one line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from docs.generate import learned_curve, shipped_policy
from docs.generate.learned_curve import draw
from docs.generate.scripts import run
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.errors import ConfigError

FIVE = ["antt", "stp", "fairness", "sla_violation", "p95_ntt_high"]


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


def test_mistakes_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    for main, problem, command in (
        (
            learned_curve.main,
            "no evaluations to draw",
            [str(tmp_path), str(tmp_path / "curve.png")],
        ),
        (shipped_policy.main, "cannot read", [str(tmp_path), "mine", "--command", "train.py"]),
    ):
        monkeypatch.setattr(sys, "argv", ["x", *command])
        with pytest.raises(SystemExit, match=f"^error: .*{problem}"):
            run(main)
