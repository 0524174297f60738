from __future__ import annotations

import math

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.networks import get, names
from prema_gym.workloads.lengths import LengthModel, default_lengths, quantile_grid
from prema_gym.workloads.output_lengths import output_length, ratio_table


def test_quantile_grid_is_whole_increasing_and_centred() -> None:
    # Quartile midpoints 1/8, 3/8, 5/8, 7/8: z = ∓1.1503, ∓0.3186.
    assert quantile_grid(median=100, sigma=0.5, points=4) == (56, 85, 117, 178)
    # 0.27, 0.70, 1.4, … : small ones merge into 1 and none is below.
    assert quantile_grid(median=1, sigma=1.0, points=5) == (1, 2, 4)
    # Cut at the median, the lower half is left: z of 1/8 and 3/8 again.
    assert quantile_grid(median=100, sigma=0.5, longest=100, points=2) == (56, 85)


@pytest.mark.parametrize("name", [name for name in names() if get(name).is_recurrent])
def test_defaults_are_short_lists_of_lengths_that_the_network_is_meant_for(name: str) -> None:
    model, network = default_lengths(name), get(name)
    assert model is not None
    assert len(model.input_lengths) <= 20
    assert network.input_lengths is not None
    assert network.input_lengths[0] <= model.input_lengths[0]
    assert model.input_lengths[-1] <= network.input_lengths[1]
    assert (model.ratio_median is not None) == network.has_output_steps
    assert LengthModel.from_dict(model.to_dict()) == model


def test_a_partial_entry_takes_the_rest_from_the_default() -> None:
    base = default_lengths("rnn-mt1")
    assert base is not None
    changed = LengthModel.from_dict({"network": "rnn-mt1", "input_lengths": [7]})
    assert changed.input_lengths == (7,)
    assert changed.ratio_median == base.ratio_median
    assert default_lengths("alexnet") is None


def test_gpt2_never_runs_out_of_places() -> None:
    model = default_lengths("gpt2-decode")
    assert model is not None
    longest = max(model.input_lengths)
    assert longest + output_length(longest, max(ratio_table(model))) <= 1024


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"input_lengths": ()}, "^input_lengths must be a non-empty list"),
        ({"input_lengths": 5}, "must be a non-empty list"),
        ({"input_lengths": (0, 1)}, "each a whole number from 1 to 1000000, got"),
        ({"input_lengths": (1.5,)}, r"each a whole number .* got \(1.5,\)"),
        ({"input_lengths": (True,)}, r"each a whole number .* got \(True,\)"),
        ({"input_lengths": (3, 3)}, "strictly increasing"),
        (
            {"ratio_median": 0.0},
            "ratio_median must be a number above 0 and at most 1000",
        ),
        (
            {"ratio_median": math.nan},
            "ratio_median must be a number above 0 and at most 1000",
        ),
        (
            {"ratio_median": "1"},
            "ratio_median must be a number above 0 and at most 1000",
        ),
        ({"ratio_sigma": -0.1}, "ratio_sigma must be a number from 0 to 3, got"),
        ({"ratio_sigma": math.inf}, "ratio_sigma must be a number from 0 to 3, got"),
    ],
)
def test_values_out_of_range_are_refused(changes: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"network": "x", "input_lengths": (1, 2), "ratio_median": 1.0}
    with pytest.raises(ConfigError, match=message):
        LengthModel(**(good | changes))  # type: ignore[arg-type]


def test_entries_with_unknown_or_missing_keys_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ratio_sigma'"):
        LengthModel.from_dict({"network": "rnn-mt1", "ratio_sigmas": 1})
    with pytest.raises(ConfigError, match="lengths must have network"):
        LengthModel.from_dict({"input_lengths": [1]})
    with pytest.raises(ConfigError, match="lengths of 'mine' must have input_lengths"):
        LengthModel.from_dict({"network": "mine"})
