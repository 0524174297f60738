from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prema_gym import agents
from prema_gym.agents.policies.weights_file import load_weights, save_weights
from prema_gym.agents.scorer.shape import Weights
from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.files import write_atomically
from tests.agents.conftest import random_policy

ABOUT = {"mechanisms": ["checkpoint"], "timesteps": 12}


def test_a_saved_network_comes_back(tmp_path: Path) -> None:
    policy = random_policy()
    save_weights(tmp_path / "net.npz", policy.weights, ABOUT)
    weights, about = load_weights(tmp_path / "net.npz")
    for name, before, after in zip(Weights._fields, policy.weights, weights, strict=True):
        assert np.array_equal(before, after), name
    assert about["timesteps"] == 12
    assert len(about["digest"]) == 12
    assert [path.name for path in tmp_path.iterdir()] == ["net.npz"]
    again = agents.load(tmp_path / "net.npz")
    assert (again.name, again.mechanisms) == ("net", ("checkpoint",))


@pytest.mark.parametrize("kept", [0, 10, 400, -1])
def test_a_damaged_file_gives_one_line(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "net.npz"
    save_weights(path, random_policy().weights, ABOUT)
    content = path.read_bytes()
    path.write_bytes(content[:kept])
    with pytest.raises(ConfigError, match="damaged or not a trained scheduler") as caught:
        agents.load(path)
    assert "\n" not in str(caught.value)


def test_a_file_whose_bytes_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    weights = random_policy().weights
    save_weights(path, weights, ABOUT)
    content = bytearray(path.read_bytes())
    content[content.index(weights.encode.tobytes())] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ConfigError, match="Bad CRC-32"):
        agents.load(path)


@pytest.mark.parametrize("content", ["garbage", "pickle", "array", "objects"])
def test_what_is_no_policy_is_told_without_numpy_s_advice(tmp_path: Path, content: str) -> None:
    path = tmp_path / "net.npz"
    if content == "objects":
        np.savez(path, about=np.array([{}], dtype=object))
    elif content == "array":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    else:
        path.write_bytes(b"nothing at all" if content == "garbage" else pickle.dumps([1]))
    with pytest.raises(ConfigError, match=r"net\.npz is damaged or not a trained sch") as caught:
        agents.load(path)
    said = str(caught.value)
    assert "\n" not in said
    assert "an .npz that prema-gym train wrote" in said
    assert "pickle" not in said
    assert "context manager" not in said


@pytest.mark.parametrize("given", [3, None, 2.5, b"learned", ["learned"], ""])
def test_what_is_no_name_or_path_is_one_line(given: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"a shipped name \(learned, .*\) or a path, got"
    ) as error:
        agents.load(given)
    assert repr(given) in str(error.value)


def test_missing_and_unknown_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*gone\.npz: No such file"):
        agents.load(tmp_path / "gone.npz")
    with pytest.raises(UnknownNameError, match="unknown learned policy 'lerned'"):
        agents.load("lerned")
    (tmp_path / "text.txt").write_text("no weights")
    with pytest.raises(ConfigError, match="neither an"):
        agents.load(tmp_path / "text.txt")
    with pytest.raises(ConfigError, match="holds no trained policy"):
        agents.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "has the layout 99, this version reads 1"),
        ({"features": ["other"]}, "trained on other features"),
        ({"columns": ["other"]}, "trained on other columns"),
        ({"mechanisms": ["pause"]}, "names no known mechanisms"),
        ({"mechanisms": [["checkpoint"]]}, "names no known mechanisms"),
        ({"mechanisms": ["checkpoint", "kill"]}, "scores 1 mechanisms and names 2"),
    ],
)
def test_a_mismatched_file_says_what_differs(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "net.npz"
    save_weights(path, random_policy().weights, ABOUT | change)
    with pytest.raises(ConfigError, match=message):
        agents.load(path)


def test_weights_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    weights = random_policy().weights
    save_weights(tmp_path / "net.npz", weights._replace(score=weights.score[1:]), ABOUT)
    with pytest.raises(ConfigError, match="weights 'score' have the shape"):
        agents.load(tmp_path / "net.npz")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text("old")

    def fail(beside: Path) -> None:
        beside.write_text("half of the n")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_atomically(path, lambda beside: beside.write_text(json.dumps("new")))
    assert path.read_text() == '"new"'
