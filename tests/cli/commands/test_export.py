"""`prema-gym export`: a program in a file, in the format that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import run


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_export_writes_a_program_and_says_how_quick_it_decides(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "learned.pt"
    arguments = ("export", "learned", "--format", "torchscript", "--output", str(path))
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert path.stat().st_size > 0
    assert "one decision of learned" in out
    assert "one decision of dynamic-prema" in out
    status, _, err = run(capsys, "export", "learned", "--format", "pickle")
    assert status == 2
    assert "torchscript" in err
    status, _, err = run(capsys, "export", "nobody")
    assert status == 2
    assert "learned" in err


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (("--output", "net.txt"), "does not say its format"),
        (("--output", "net.pt", "--format", "onnx"), "disagree"),
        (("--format", "tflite"), "unknown format 'tflite'"),
    ],
)
def test_a_file_to_export_to_says_its_format(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], needle: str
) -> None:
    status, _, err = run(capsys, "export", "learned", *arguments)
    assert status == 2
    assert needle in err
