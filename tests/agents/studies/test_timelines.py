from __future__ import annotations

from pathlib import Path

import pytest

from prema_gym.agents import seeds
from prema_gym.errors import ConfigError
from tests.agents.conftest import TINY, random_policy

pytest.importorskip("matplotlib")

from prema_gym.agents.studies.timelines import draw as draw_timeline


def test_a_timeline_is_drawn_for_a_test_seed_only(tmp_path: Path) -> None:
    outcomes = draw_timeline(random_policy(), TINY, 7, tmp_path / "run.png")
    assert outcomes.unfinished.tolist() == [0]
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ConfigError, match="test seeds"):
        draw_timeline(random_policy(), TINY, seeds.TRAINING.start, tmp_path / "other.png")
