"""Ray, where it is installed: two machines of a cluster on this one's loopback, one of them killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prema_gym.distribution.executors import LIVES, Ray, executor
from prema_gym.errors import ConfigError, MissingExtraError
from tests.distribution.test_comparison import NAMES, assert_equal, played, player, whole
from tests.distribution.test_executors import die, die_once, refuse, square

pytestmark = pytest.mark.heavy
WITH_RAY = pytest.mark.skipif(
    not os.environ.get("PREMA_GYM_RAY_MISSING")
    and __import__("importlib").util.find_spec("ray") is None,
    reason="Ray is not installed: pip install 'prema-gym[ray]'",
)
