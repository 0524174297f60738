"""Which policy a name means."""

from __future__ import annotations

import pytest

from prema_gym.cli import naming
from prema_gym.errors import ConfigError


def test_parameters_stay_with_their_policy() -> None:
    assert naming.split_names("static-prema:strict=true,levels=1/3/9, np-fcfs") == [
        "static-prema:strict=true,levels=1/3/9",
        "np-fcfs",
    ]


def test_a_list_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="no policy named in ' , '"):
        naming.split_names(" , ")
