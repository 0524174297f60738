from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from prema_gym.files import read_json
from tests.cli.command_line import FAST, run


def test_a_report_of_a_run_and_of_a_scenario_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, *FAST, "--per-workload", "--bounds", "--output", str(tmp_path / "run"))
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    status, out, _ = run(
        capsys, "report", str(tmp_path / "run" / "evaluation.json"), "--output", str(one)
    )
    assert (status, out) == (0, f"wrote {one}\n")
    policies = ("--policies", "np-fcfs,dynamic-prema", "--workloads", "3")
    assert run(capsys, "report", *policies, "--output", str(two))[0] == 0
    assert one.read_text() == two.read_text()
    assert "dynamic-prema · paper, seed 0" in one.read_text()


def test_the_command_on_the_page_repeats_a_scenario_from_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Played by `evaluate` with changes, and by `report` itself; the numbers come out the same."""
    odd = tmp_path / "odd.toml"
    odd.write_text('name = "an odd one"\nnetworks = ["alexnet"]\nnum_tasks = 3\n')
    folder, page = tmp_path / "run", tmp_path / "one.html"
    given = ("--scenario", str(odd), "--set", "window_ms=3", "--hardware", "edge-32")
    played = ("--slots", "2", "--token-wait", "total", "--max-decisions", "500")
    run(capsys, *FAST, *given, *played, "--output", str(folder))
    assert run(capsys, "report", str(folder / "evaluation.json"), "--output", str(page))[0] == 0
    found = re.search(r"<pre>prema-gym (evaluate .*?)</pre>", page.read_text())
    assert found is not None
    status, out, _ = run(capsys, *shlex.split(html.unescape(found[1])), "--format", "json")
    assert status == 0
    assert json.loads(out)["policies"] == read_json(folder / "evaluation.json")["policies"]
    assert "dynamic-prema · an odd one, seed 0" in page.read_text()

    own = ("--scenario", str(odd), "--policies", "np-fcfs,np-sjf", "--workloads", "2")
    assert run(capsys, "report", *own, "--output", str(page))[0] == 0
    assert f"--scenario {odd} --relative-to" in html.unescape(page.read_text())
    chart = tmp_path / "t.html"
    run(capsys, "timeline", "--policies", "np-sjf", "--scenario", str(odd), "--output", str(chart))
    assert "np-sjf · an odd one, seed 0" in page.read_text()
    assert "np-sjf · an odd one, seed 0" in chart.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.json",), "cannot read 'nowhere.json'"),
        (("x.json", "--seed", "3"), "x.json says what was played: leave out --seed"),
        (("--output", "nowhere/r.html"), "there is no folder nowhere"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, "report", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_another_file_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text('{"tasks": []}')
    status, _, err = run(capsys, "report", str(tmp_path / "x.json"))
    assert status == 2
    assert "x.json: this is no report of `prema-gym evaluate" in err
