"""What tests of several rooms share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from prema_gym import files
from prema_gym.networks import registry
from prema_gym.workloads import catalog

# How long an example takes to draw says how busy the machine is, not what is wrong.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


@pytest.fixture
def own_networks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget afterwards what a test registers, and what was compiled from it."""
    with monkeypatch.context() as patch:
        patch.setattr(registry, "_NETWORKS", dict(registry._NETWORKS))
        patch.setattr(registry, "_NOTES", dict(registry._NOTES))
        patch.setattr(files, "_GIVEN", dict(files._GIVEN))
        yield
    catalog._compiled.cache_clear()
