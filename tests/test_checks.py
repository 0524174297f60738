from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pytest

from prema_gym.checks import (
    Constraint,
    check_fields,
    declared,
    infinite,
    list_of,
    number,
    one_of,
    optional,
    plain,
    positive,
    read_record,
    stated,
    table_of,
    text,
    truth,
    whole,
)
from prema_gym.errors import ConfigError, UnknownNameError, located

NAN = math.nan


@pytest.mark.parametrize(
    ("constraint", "given", "kept"),
    [
        (whole(), 3, 3),
        (whole(), np.int32(3), 3),
        (whole(0, 4), 0, 0),
        (whole(from_float=True), 358e9, 358_000_000_000),
        (number(0.0, 1.0), 1, 1.0),
        (number(), np.float32(0.5), 0.5),
        (positive(), 1e-9, 1e-9),
        (truth(), np.True_, True),
        (text(empty=True), "", ""),
        (one_of("fruit", lambda: ["apple"]), "apple", "apple"),
        (optional(whole()), None, None),
        (infinite(whole()), math.inf, math.inf),
        (list_of(whole()), [2, 1], (2, 1)),
        (list_of(whole(), empty=True), (), ()),
        (table_of(number()), {"a": 1}, {"a": 1.0}),
    ],
)
def test_what_is_allowed_is_kept_in_one_form(
    constraint: Constraint, given: object, kept: object
) -> None:
    found = constraint.check("x", given)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("constraint", "given", "allowed"),
    [
        (whole(), 0, "a whole number of at least 1"),
        (whole(1, 4), 5, "a whole number from 1 to 4"),
        (whole(), True, "a whole number of at least 1"),
        (whole(), 2.0, "a whole number of at least 1"),
        (whole(from_float=True), 2.5, "a whole number of at least 1"),
        (whole(from_float=True), math.inf, "a whole number of at least 1"),
        (whole(), "3", "a whole number of at least 1"),
        (whole(1, 4, unit="PEs"), None, "a whole number of PEs from 1 to 4"),
        (number(0.0, 1.0), 1.5, "a number from 0 to 1"),
        (number(0.0), NAN, "a finite number of at least 0"),
        (number(), math.inf, "a finite number"),
        (number(), "1.0", "a finite number"),
        (number(), True, "a finite number"),
        (positive(), 0, "a finite number above 0"),
        (positive(1e9, unit="ms"), 2e9, "a number of ms above 0 and at most 1e+09"),
        (truth(), 1, "true or false"),
        (text(), "", "a non-empty text"),
        (optional(whole()), 0, "a whole number of at least 1, or None"),
        (infinite(whole()), -math.inf, "a whole number of at least 1, or inf"),
        (list_of(whole()), [], "a non-empty list without repeats, each a whole number"),
        (list_of(whole()), [1, 1], "a non-empty list without repeats"),
        (list_of(whole()), [1, 0], "a non-empty list without repeats"),
        (list_of(whole()), "12", "a non-empty list without repeats"),
        (table_of(number()), {"a": "b"}, "a table, each value a finite number"),
        (table_of(number()), {1: 2}, "a table"),
    ],
)
def test_what_is_not_allowed_is_told_with_name_rule_and_value(
    constraint: Constraint, given: object, allowed: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        constraint.check("size", given)
    message = str(caught.value)
    assert message.startswith(f"size must be {allowed}")
    assert message.endswith(f"got {given!r}")


def test_a_name_that_is_not_known_brings_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="unknown fruit 'aple'; did you mean 'apple'"):
        one_of("fruit", ("apple", "pear")).check("fruit", "aple")


@dataclass(frozen=True, kw_only=True)
class Basket:
    apples: int = declared(1, whole(), unit="apples", help="how many apples")
    rest: Any = None

    def __post_init__(self) -> None:
        check_fields(self)


Size = Annotated[int, whole()]


@dataclass(frozen=True)
class Crate:
    rows: Size  # no default, so no `declared`
    columns: Size = 1
    label: str = declared("none", text())
    note: Annotated[str, "for readers"] = ""

    def __post_init__(self) -> None:
        check_fields(self)


def test_a_type_carries_its_constraint_and_the_field_may_have_no_default() -> None:
    assert Crate(np.int64(3)) == Crate(3, 1)  # type: ignore[arg-type]
    assert type(Crate(np.int64(3)).rows) is int  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^rows must be a whole number of at least 1, got 0$"):
        Crate(0)
    with pytest.raises(ConfigError, match=r"^columns must be a whole number of at least 1, got 0$"):
        Crate(1, 0)
    with pytest.raises(ConfigError, match=r"^label must be a non-empty text, got ''$"):
        Crate(1, label="")
    with pytest.raises(TypeError, match="rows"):
        Crate()  # type: ignore[call-arg]


def test_a_type_that_cannot_be_looked_up_does_not_lose_the_parents_constraints() -> None:
    class Content:
        pass

    @dataclass(frozen=True)
    class Full(Crate):
        content: Content | None = None

    with pytest.raises(ConfigError, match="rows must be"):
        Full(0)


def test_a_record_is_read_with_the_place_of_each_mistake() -> None:
    assert read_record(Basket, {"apples": np.int64(3)}, "a.toml") == Basket(apples=3)
    with pytest.raises(ConfigError, match=r"^a\.toml: apples must be a whole number of at least 1"):
        read_record(Basket, {"apples": 0}, "a.toml")
    with pytest.raises(UnknownNameError, match=r"unknown field 'aples' in a\.toml; did you mean"):
        read_record(Basket, {"aples": 1}, "a.toml")
    with pytest.raises(ConfigError, match=r"a\.toml must be a table of values by name, got \[\]"):
        read_record(Basket, [], "a.toml")


def test_places_lie_in_each_other_and_the_kind_of_error_stays() -> None:
    with pytest.raises(UnknownNameError) as caught, located("file"), located("section"):
        raise UnknownNameError("key", "x", ())
    assert str(caught.value).startswith("file: section: unknown key 'x'")


@dataclass(frozen=True, kw_only=True)
class Leg:
    to: str = field(metadata=stated(text(), help="where it ends"))
    km: float = declared(1.0, positive(), unit="km")
    stops: tuple[int, ...] | None = declared(None, optional(list_of(whole())))

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class Trip:
    legs: tuple[Leg, ...] = ()


def test_a_field_without_a_default_must_be_given() -> None:
    with pytest.raises(ConfigError, match=r"^way\.toml must have to$"):
        read_record(Leg, {"km": 2}, "way.toml")
    assert Leg.__dataclass_fields__["to"].metadata["help"] == "where it ends"


def test_a_record_becomes_plain_data_and_back() -> None:
    leg = Leg(to="there", stops=(1, 2))
    assert plain(leg) == {"to": "there", "km": 1.0, "stops": [1, 2]}
    assert read_record(Leg, plain(leg), "it") == leg
    assert plain(Trip(legs=(leg, Leg(to="back")))) == {
        "legs": [plain(leg), {"to": "back", "km": 1.0}]
    }
