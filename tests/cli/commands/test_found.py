"""A command is a file: adding one touches no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from prema_gym.cli import commands
from tests.cli.command_line import run

FOLDER = Path(commands.__file__).parent


def test_every_file_is_a_command_with_help(capsys: pytest.CaptureFixture[str]) -> None:
    _, overview, _ = run(capsys)
    for name in (file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__"):
        assert f"\n  {name} " in overview
        status, out, _ = run(capsys, name, "--help")
        assert status == 0
        assert f"Usage: prema-gym {name}" in out


def test_a_new_file_is_a_new_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "salute.py").write_text(
        'def salute(name: str = "you") -> None:\n'
        '    """Be polite."""\n'
        '    print("good day", name)\n'
    )
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    assert run(capsys, "salute", "--name", "all") == (0, "good day all\n", "")
    assert "Be polite." in run(capsys)[1]
