"""Profiles agree with the timing they show, layer by layer and in all."""

from __future__ import annotations

from typing import Any

import pytest

from prema_gym.hardware import NPUConfig, preemption_table, time_network
from prema_gym.networks import get
from prema_gym.views.profiles import layer_rows, profile_rows


@pytest.mark.parametrize(("name", "lengths"), [("alexnet", (1, 1)), ("rnn-mt1", (20, 9))])
def test_layers_add_up_to_the_network(name: str, lengths: tuple[int, int]) -> None:
    config, network = NPUConfig(), get(name)
    asked = {"input_length": lengths[0], "output_length": lengths[1]}
    rows: list[dict[str, Any]] = layer_rows(config, network, batch=4, **asked)
    (whole,) = profile_rows(config, network, batches=(4,), **asked)
    timing = time_network(config, network, batch=4, **asked)
    assert sum(row["cycles"] for row in rows) == whole["cycles"] == timing.cycles
    assert sum(row["GMACs"] for row in rows) == pytest.approx(timing.macs / 1e9)
    assert sum(row["% of time"] for row in rows) == pytest.approx(100)
    (stop,) = preemption_table(config, network, batches=(4,), **asked)
    assert max(row["max stop us"] for row in rows) == pytest.approx(stop.checkpoint_latency_us.max)
    assert max(row["max context KiB"] for row in rows) * 1024 == stop.context_bytes.max
    # The mean over the network is that over its layers, each as long as it takes.
    mean = sum(row["stop us"] * row["% of time"] for row in rows) / 100
    assert mean == pytest.approx(whole["stop us"])


def test_a_profile_says_what_is_kept_in_memory() -> None:
    network = get("llama-1b-decode")
    (row,) = profile_rows(NPUConfig(), network, batches=(2,), input_length=1000, output_length=24)
    assert row["cache MiB"] == 2 * 1024 * 32 / 1024
    assert row["fits memory"] is True
    assert row["lengths"] == "1000→24"
