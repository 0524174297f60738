"""Model cards: current, whole, and in the form that Hugging Face reads."""

from __future__ import annotations

from typing import Any

import pytest

from docs.generate import CARDS
from prema_gym import agents
from prema_gym.agents.studies.model_card import card
from prema_gym.files import read_json


def head_of(text: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    _, head, _ = text.split("---\n", 2)
    return dict(yaml.safe_load(head))


@pytest.mark.parametrize("name", agents.names())
def test_a_card_is_what_its_files_say(name: str) -> None:
    path = agents.PRETRAINED / f"{name}.md"
    assert path.read_text() == card(name), "run: python -m docs.generate"
    assert path in CARDS


@pytest.mark.parametrize("name", agents.names())
def test_its_metadata_holds_the_measured_values(name: str) -> None:
    head = head_of(card(name))
    assert (head["license"], head["library_name"]) == ("mit", "prema-gym")
    assert head["pipeline_tag"] == "reinforcement-learning"
    (model,) = head["model-index"]
    (result,) = model["results"]
    assert model["name"] == name
    table = read_json(agents.PRETRAINED / f"{name}.json")
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    expected = {key: value["mean"] for key, value in table["all"]["metrics"].items()}
    assert values == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", agents.names())
def test_it_says_where_the_policy_loses(name: str) -> None:
    text = card(name)
    conditions = read_json(agents.PRETRAINED / f"{name}.json")["conditions"]["ratios"]
    for title, five in conditions.items():
        assert (f"- {title}: " in text) == (min(five) < 1), title
