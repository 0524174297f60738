"""Which policy a name means."""

from __future__ import annotations

import pytest

from prema_gym import baselines
from prema_gym.cli import naming
from prema_gym.cli.naming import make_policy
from prema_gym.errors import ConfigError, UnknownNameError


def test_parameters_stay_with_their_policy() -> None:
    assert naming.split_names("static-prema:strict=true,levels=1/3/9, np-fcfs") == [
        "static-prema:strict=true,levels=1/3/9",
        "np-fcfs",
    ]


def test_a_list_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="no policy named in ' , '"):
        naming.split_names(" , ")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("prema", "dynamic-prema"),
        ("PREMA", "dynamic-prema"),
        ("sjf", "dynamic-sjf"),
        ("rrb", "static-rrb"),
        ("SRPT", "static-srpt"),
        ("fcfs", "np-fcfs"),
        ("Static_SJF", "static-sjf"),
    ],
)
def test_a_short_name_leads_to_the_preemptive_form(typed: str, meant: str) -> None:
    for make in (make_policy, baselines.make):
        with pytest.raises(UnknownNameError, match=f"did you mean '{meant}'") as error:
            make(typed)
        assert len(str(error.value)) < 150


def test_nobody_is_shown_all_names() -> None:
    for make in (make_policy, baselines.make):
        with pytest.raises(UnknownNameError) as error:
            make("qqqqq")
        assert len(str(error.value)) < 200
