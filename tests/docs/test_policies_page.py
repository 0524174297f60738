"""docs/policies.md says what the code does: its tables name everybody."""

from __future__ import annotations

import re
import sys

import pytest

from docs.generate import sections, tournament
from prema_gym import baselines
from prema_gym.evaluation import clairvoyant

PAGE = tournament.PAGE.read_text()


def test_every_policy_stands_in_every_table_of_the_tournament() -> None:
    tables = sections.section(PAGE, "tournament").split("### ")[1:]
    assert [table.splitlines()[0] for table in tables] == [row[2] for row in tournament.TABLES]
    everybody = {*baselines.names(), *clairvoyant.names()}
    for table in tables:
        named = re.findall(r"^\| `(\S+)` \|", table, flags=re.M)
        assert sorted(named) == sorted(everybody), "run: python -m docs.generate.tournament --write"
        assert table.count("| *optimum* |") == 1


def test_the_text_names_only_what_exists() -> None:
    for written in re.findall(r"`((?:[a-z-]+):[a-z_]+=[^`]+)`", PAGE):
        assert baselines.make(written).name == written


def test_a_small_tournament(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["", "--workloads", "3", "--seed", "7", "--policies", "np-fcfs,static-spt"]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(tournament, "TABLES", tournament.TABLES[1:2])
    tournament.main()
    out = capsys.readouterr().out
    assert "3 workloads of seeds 7 to 9" in out
    rows = {line.split(" | ")[0].strip("| `*"): line.split(" | ") for line in out.splitlines()}
    assert {"optimum", "np-fcfs", "static-spt", *clairvoyant.names()} <= set(rows)
    header = rows["policy"]
    regret = header.index("regret ANTT")
    assert rows["optimum"][regret] == "0.00 %"
    shares = [float(rows[name][regret].split()[0]) for name in ("np-fcfs", "static-spt")]
    assert shares[0] > shares[1] > 0  # first come first served is far off, SPT close
    best = [float(rows[name][regret].split()[0]) for name in clairvoyant.names()]
    assert min(best) == best[0] < shares[1]
