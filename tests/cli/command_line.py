"""The command line as tests run it: in this process, its output captured."""

from __future__ import annotations

import pytest

from prema_gym import cli

FAST = ["evaluate", "--policies", "np-fcfs,dynamic-prema", "--workloads", "3"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of ``prema-gym ARGUMENTS``."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err
