from __future__ import annotations

import platform

import numpy as np
import pytest

from prema_gym.evaluation.versions import versions

pytestmark = pytest.mark.small


def test_versions_of_what_is_installed_and_what_is_not() -> None:
    found = versions()
    assert list(found) == ["python", "prema-gym", "numpy", "numba"]
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert versions(["no-such-package"])["no-such-package"] == "not installed"
