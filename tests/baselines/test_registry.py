from __future__ import annotations

from typing import Any

import pytest

from prema_gym import baselines
from prema_gym.baselines.preemption import Dynamic, Kill, NonPreemptive, Static
from prema_gym.baselines.registry import POLICIES
from prema_gym.errors import ConfigError, PremaError, UnknownNameError
from tests.baselines.twin import PUBLISHED, SEARCHED, split

WAYS = {"np": NonPreemptive, "static": Static, "dynamic": Dynamic, "kill": Kill}


def test_the_names_are_a_way_of_preempting_and_a_rule_or_a_published_scheduler() -> None:
    for name in set(POLICIES) - {"random"}:
        way, rule = split(name)
        assert name == (rule if name in PUBLISHED else f"{way}-{rule}")
        assert issubclass(POLICIES[name][0], WAYS[way])
    papers = ("hpf", "sjf", "token", "prema")
    assert {f"{way}-{rule}" for way in WAYS for rule in papers} <= set(POLICIES)


@pytest.mark.parametrize(
    "name", [*sorted(set(PUBLISHED) - set(SEARCHED)), "np-edf-admission", "static-edf-admission"]
)
def test_a_reduction_says_so(name: str) -> None:
    assert "one-NPU reduction of" in baselines.make(name).rule


def test_every_policy_is_described_by_one_sentence_and_a_source() -> None:
    described = baselines.describe()
    assert tuple(info.name for info in described) == baselines.names()
    for info in described:
        assert info.rule.endswith(".")
        assert info.rule.count(". ") == 0
        assert info.source
        assert info.mechanisms == (("kill",) if info.name.startswith("kill-") else ("checkpoint",))
    assert len({info.rule for info in described}) == len(described)


@pytest.mark.parametrize(
    ("given", "nearest"), [("dynamic-perma", "dynamic-prema"), ("np-fcsf", "np-fcfs")]
)
def test_an_unknown_name_is_answered_with_the_nearest(given: str, nearest: str) -> None:
    with pytest.raises(
        UnknownNameError, match=f"unknown policy '{given}'; did you mean '{nearest}'"
    ):
        baselines.make(given)


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="made from its name, given 3"):
        baselines.make(3)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"agents\.load makes learned ones"):
        baselines.make("learned")


@pytest.mark.parametrize("name", baselines.LEFT_OUT)
def test_what_is_left_out_says_why(name: str) -> None:
    assert name not in POLICIES
    with pytest.raises(ConfigError, match=f"there is no policy '{name}': "):
        baselines.make(name)


def test_parameters_come_with_the_name_or_as_values() -> None:
    by_name = baselines.make("static-prema:levels=1/3/9/27, strict=true,shortest_by=estimate")
    by_value = baselines.make(
        "static-prema", levels=[1, 3, 9, 27], strict=True, shortest_by="estimate"
    )
    mixed = baselines.make("static-prema:strict=true", levels="1/3/9/27", shortest_by="estimate")
    for policy in (by_name, by_value, mixed):
        assert policy.parameters == {
            "levels": (1, 3, 9, 27),
            "strict": True,
            "runner_is_candidate": True,
            "shortest_by": "estimate",
        }


def test_the_name_carries_what_differs_from_the_defaults_and_makes_the_same_again() -> None:
    assert baselines.make("np-token:strict=false,levels=1/3/9").name == "np-token"
    assert baselines.make("random", seed=3).name == "random:seed=3"
    policy = baselines.make("np-prema", strict=True, levels=(0.1, 1 / 3, 2e22))
    assert policy.name == "np-prema:levels=0.1/0.3333333333333333/2e+22,strict=true"
    assert baselines.make(policy.name).parameters == policy.parameters


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "np-prema:stict=true",
            "unknown parameter 'stict' in policy 'np-prema'; did you mean 'strict'",
        ),
        ("np-fcfs:seed=1", "policy 'np-fcfs' takes no parameters, given 'seed'"),
        ("np-prema:strict", "read key=value,key=value, got 'strict'"),
        ("np-prema:strict=", "read key=value,key=value, got 'strict='"),
        ("np-prema:=true", "read key=value,key=value, got '=true'"),
        (
            "np-prema:strict=true,strict=true",
            "parameter 'strict' of policy 'np-prema' is given twice",
        ),
        (
            "np-prema:strict=1",
            "parameter 'strict' of policy 'np-prema' must be true or false, got '1'",
        ),
        ("np-prema:levels=1/x", "must be numbers separated by /, got '1/x'"),
        ("random:seed=1.5", "must be an integer, got '1.5'"),
        ("np-prema:shortest_by=size", "unknown shortest_by 'size'"),
    ],
)
def test_a_bad_parameter_is_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(PremaError) as error:
        baselines.make(name)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [("random", "seed", True), ("random", "seed", 0.5), ("np-prema", "strict", 1)],
)
def test_a_value_of_another_type_is_refused(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"parameter '{parameter}' of policy '{name}' must be"):
        baselines.make(name, **{parameter: value})


def test_a_parameter_given_in_both_ways_is_refused() -> None:
    with pytest.raises(ConfigError, match="is given twice"):
        baselines.make("random:seed=1", seed=1)
