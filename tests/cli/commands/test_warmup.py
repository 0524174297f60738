"""`prema-gym warmup` compiles, and says so."""

from __future__ import annotations

import pytest

from tests.cli.command_line import run


def test_warmup_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "warmup")
    assert (status, out) == (0, "")
    assert "compiled" in err
