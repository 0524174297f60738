from __future__ import annotations

import subprocess
import sys

import pytest

from prema_gym import workloads


def test_every_public_name_loads() -> None:
    assert set(workloads.__all__) <= set(dir(workloads))
    for name in workloads.__all__:
        assert getattr(workloads, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        workloads.nothing  # noqa: B018


def test_scenarios_load_without_compiled_code() -> None:
    code = (
        "import sys, prema_gym.workloads.scenarios as s; s.get('paper');"
        "print([m for m in ('numba', 'scipy', 'torch', 'matplotlib') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
