from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prema_gym.agents.studies import generalisation
from prema_gym.errors import ConfigError
from prema_gym.workloads.catalog import Catalog
from prema_gym.workloads.generate import sample_batch
from tests.agents.conftest import TINY, random_policy


def test_wrong_estimates_change_estimates_only(tiny: Catalog) -> None:
    batch = sample_batch(tiny, range(200))
    wrong = generalisation.distorted(batch, 0.5)
    assert generalisation.distorted(batch, 0.0) is batch
    assert np.array_equal(wrong.isolated_cycles, batch.isolated_cycles)
    factor = np.log(wrong.estimated_cycles / batch.estimated_cycles)
    assert abs(factor.mean()) < 0.1
    assert 0.4 < factor.std() < 0.6


def test_the_table_has_a_row_for_every_condition() -> None:
    text = generalisation.table(random_policy(), TINY, workloads=4)
    lines = text.splitlines()
    rows = generalisation.conditions(TINY)
    assert len(lines) == len(rows) + 2
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == [row.title for row in rows]
    assert len({line.count("|") for line in lines}) == 1


def test_the_table_of_a_trace_is_whole_but_for_what_it_is_too_short_for(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s\n" + "".join(f"{k / 100}\n" for k in range(20)))
    base = replace(TINY, arrival="trace", trace=str(trace), trace_speed=2.0)
    lines = generalisation.table(random_policy(), base, workloads=4).splitlines()
    refused = [line for line in lines if "has 20 requests" in line]
    assert [line.split(" | ")[0][2:] for line in refused] == ["32 tasks", "64 tasks"]
    loads = {row.title: row.scenario for row in generalisation.conditions(base)}
    assert loads["half the load (window ×2)"].trace_speed == 1.0
    assert loads["light (300 ms)"].trace_speed is None
    assert loads["Poisson arrivals"].trace is None
    with pytest.raises(ConfigError, match="cannot read"):  # what no row can be without
        generalisation.table(random_policy(), replace(base, trace="gone.csv"), workloads=4)
    assert len({line.count("|") for line in lines}) == 1
