from __future__ import annotations

import math

import pytest

from prema_gym.views.numbers import interval, number, times


@pytest.mark.small
@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (0.01234, "0.0123"), (1.0, "1.00"), (99.95, "100.0"), (1234.5, "1234"),
     (-0.5, "-0.500"), (math.nan, "–"), (math.inf, "–")],
)  # fmt: skip
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.small
def test_an_interval_has_both_its_ends() -> None:
    assert interval(0.5, 12.345) == "[0.500, 12.3]"
    assert interval(0.01234, 1.0) == "[0.0123, 1.00]"
    assert interval(math.nan, math.nan) == ""


@pytest.mark.small
def test_ratios_have_a_sign() -> None:
    assert times(7.8) == "7.80×"
    assert times(math.nan) == times(math.inf) == "–"
