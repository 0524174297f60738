from __future__ import annotations

from pathlib import Path

import pytest

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
