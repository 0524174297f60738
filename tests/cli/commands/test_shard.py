"""`prema-gym shard`, and the options that say who plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import FAST, run


def test_parts_and_their_merge(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plain = run(capsys, *FAST, "--format", "json")
    command = [*FAST, "--format", "json", "--resume", str(tmp_path)]
    for k in (1, 2):
        status, out, err = run(capsys, "shard", f"{k}/2", "--", *command)
        assert (status, out) == (0, "")
        assert f"part {k}/2: played 1 of the part's 1 shards, of 2 in all" in err
    assert run(capsys, *command) == plain
    status, _, err = run(capsys, "shard", "1/2", "--", *command)
    assert (status, err) == (0, "part 1/2: played 0 of the part's 1 shards, of 2 in all\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shard", "3/2", "--", *FAST], "a part reads K/N, from 1/N to N/N, got '3/2'"),
        (["shard", "0/2", "--", *FAST], "a part reads K/N, from 1/N to N/N, got '0/2'"),
        (["shard", "half", "--", *FAST], "a part reads K/N"),
        (["shard", "1/2", "--", "policies"], "shard is for evaluate"),
        (["shard", "1/2", "--", *FAST], "add --resume DIR"),
        ([*FAST, "--workers", "1", "--threads", "1"], "--workers and --threads are the same"),
        ([*FAST, "--workers", "0"], "must be a whole number of at least 1, got 0"),
        ([*FAST, "--backend", "process"], "unknown backend 'process'"),
        ([*FAST, "--resume", "/dev/null"], "cannot write to /dev/null: it is not a folder"),
    ],
)
def test_what_is_not_allowed(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_threads_with_a_folder_print_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for format in ("table", "csv", "json"):
        plain = run(capsys, *FAST, "--format", format, "--bounds")
        again = run(capsys, *FAST, "--format", format, "--bounds", "--resume", str(tmp_path))
        assert again == plain
    assert len(list(tmp_path.glob("*.shard"))) == 2
