"""The README and the documents say what is true: every command and example runs as written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from prema_gym import agents, baselines, cli
from prema_gym.cli.commands.evaluate import DEFAULT_POLICIES
from prema_gym.cli.naming import split_names
from prema_gym.simulator.observation import column_names
from prema_gym.workloads.scenario import Scenario

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str, text: str = README) -> list[str]:
    """Fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


COMMANDS = sorted(
    {
        line.partition("#")[0].strip()
        for block in blocks("")
        for line in block.splitlines()
        # Some need a run first, some a folder of files: tests/docs/test_traffic.py runs those.
        if line.startswith("prema-gym ") and not re.search(r"runs/|serving\.toml", line)
    }
)


@pytest.mark.heavy
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs_as_written(
    command: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.main(shlex.split(command)[1:])
    assert stop.value.code == 0
    assert capsys.readouterr().out


def test_there_are_commands_to_test() -> None:
    assert len(COMMANDS) >= 6


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


@pytest.mark.heavy
@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_examples_run(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(blocks("python")[number], f"README example {number}", "exec"), {})
    assert capsys.readouterr().out


def test_toml_example_is_a_scenario(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    path = tmp_path / "mine.toml"
    path.write_text(text)
    scenario = Scenario.from_toml(path)
    assert scenario.name == "mine"
    assert scenario.hardware.clock_hz == 1_000_000_000


def test_default_policies_exist_and_their_number_is_as_written() -> None:
    names = split_names(DEFAULT_POLICIES)
    assert set(names) <= {*baselines.names(), *agents.names()}
    assert f"{len(names)} policies" in README


def test_documented_columns_are_the_columns() -> None:
    text = (ROOT / "docs" / "simulator.md").read_text()
    table = text[text.index("## The table") : text.index("## Records")]
    named = re.findall(r"^\| ([a-z_, ]+) \|", table, flags=re.M)
    listed = [name.strip() for cell in named if cell != "column" for name in cell.split(",")]
    assert listed == list(column_names())


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
