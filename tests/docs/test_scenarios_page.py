"""docs/scenarios.md lists what the code takes; its examples, and those of one's own things, run."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from prema_gym.envs.sources import OVERRIDES
from prema_gym.files import read_toml
from prema_gym.hardware.config import NPUConfig
from prema_gym.networks import names
from prema_gym.workloads import LengthModel, TaskSpec, scenarios, storage
from prema_gym.workloads.arrivals import ARRIVALS
from prema_gym.workloads.lengths import default_lengths
from prema_gym.workloads.scenario import Scenario

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "scenarios.md").read_text(encoding="utf-8")
OWN = (DOCS / "bring-your-own.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT + OWN, re.DOTALL)


def section(heading: str) -> str:
    """What stands between a heading and the next one."""
    (text,) = re.findall(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", TEXT, re.M | re.S)
    return str(text)


def rows(heading: str, columns: int) -> list[list[str]]:
    """Cells of the rows with a key, of the section's tables that have so many columns."""
    lines = re.findall(r"^\| (`.*) \|$", section(heading), re.M)
    cells = [[cell.strip().strip("`") for cell in line.split("|")] for line in lines]
    return [row for row in cells if len(row) == columns]


def toml(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "page.toml"
    path.write_text(text, encoding="utf-8")
    return read_toml(path)


def described(kind: type[Any]) -> list[list[str]]:
    """Key, unit and meaning of a record's fields, as they are declared; see `rows`."""
    return [[f.name, f.metadata["unit"], f.metadata["help"].strip("`")] for f in fields(kind)]


def test_the_keys_of_a_scenario_are_its_fields(tmp_path: Path) -> None:
    table = rows("Keys", 4)
    assert [[key, unit, meaning] for key, unit, _, meaning in table] == described(Scenario)
    for key, unit, default, _ in table:
        # A key without a default is left out where it is not wanted: TOML has no None.
        given = toml(tmp_path, f"{key} = {default}") if default else {}
        assert getattr(Scenario.from_dict(given), key) == getattr(Scenario(), key), key
        assert (unit == "ms") == key.endswith("_ms"), key


def test_the_keys_of_the_machine_are_its_fields(tmp_path: Path) -> None:
    table = rows("`[hardware]`", 4)
    assert [row[0] for row in table] == [field.name for field in fields(NPUConfig)]
    for field, (key, unit, default, why) in zip(fields(NPUConfig), table, strict=True):
        given = toml(tmp_path, f"{key} = {default}") if default else {}
        assert given == ({} if field.default is None else {key: field.default})
        assert unit == field.metadata["unit"]
        assert why


def test_arrivals_are_those_there_are() -> None:
    assert rows("Arrivals", 2) == [list(row) for row in ARRIVALS.items()]


def test_the_keys_and_defaults_of_lengths() -> None:
    assert rows("`[[lengths]]`", 3) == described(LengthModel)
    found = {row[0]: row[1:] for row in rows("`[[lengths]]`", 4)}
    models = {name: model for name in names() if (model := default_lengths(name))}
    assert list(found) == list(models)
    for name, model in models.items():
        lengths = model.input_lengths
        assert found[name] == [
            f"{len(lengths)} from {lengths[0]} to {lengths[-1]}",
            "" if model.ratio_median is None else f"{model.ratio_median:g}",
            f"{model.ratio_sigma:g}" if model.ratio_sigma else "",
        ]


def test_registered_scenarios_are_listed() -> None:
    assert rows("Registered scenarios", 3) == [
        [
            name,
            "" if scenarios.get(name).is_stream else f"{scenarios.get(name).window_ms:g}",
            scenarios.summary(name),
        ]
        for name in scenarios.names()
    ]


def test_the_keys_of_a_task_are_its_fields() -> None:
    table = rows("A workload file", 4)
    assert [[key, unit, meaning] for key, unit, _, meaning in table] == described(TaskSpec)
    for field, (key, unit, default, _) in zip(fields(TaskSpec), table, strict=True):
        if field.default is MISSING:
            assert default == "needed"
        else:
            assert json.loads(default) == field.default
        assert (unit == "ms") == key.endswith("_ms")
    for key in (*storage.FILE_KEYS, *OVERRIDES):
        assert f"`{key}`" in TEXT or f'"{key}"' in TEXT, key


def test_the_example_file_is_a_scenario(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    office = Scenario.from_dict(toml(tmp_path, text))
    assert (office.name, office.num_tasks, office.sla_factor) == ("office", 12, 4.0)
    model = office.length_model("rnn-mt1")
    assert model is not None
    assert (model.input_lengths, model.ratio_median) == ((8, 16, 32), 1.06)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 7


@pytest.mark.usefixtures("own_networks")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs_as_written(
    number: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[number], f"example {number}", "exec"), {"__name__": "example"})  # ours
    printed = capsys.readouterr().out.splitlines()
    assert printed
    if "duel.json" in EXAMPLES[number]:  # one workload, played twice: to the last bits of a mean
        episode, alone = (float(line.split()[1]) for line in printed)
        assert episode == pytest.approx(alone)
        assert episode > 1
        saved, written = (json.loads(Path(f"duel{end}.json").read_text()) for end in ("-full", ""))
        assert len(saved["tasks"]) == len(written["tasks"]) == 3
