from __future__ import annotations

import bisect

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.hardware import NPUConfig, build_profile
from prema_gym.hardware.layout import AT_END
from prema_gym.hardware.locate import locate
from prema_gym.networks import Network, get
from tests.hardware.brute_force import all_tiles, boundaries, machines, networks


@given(machines(), networks(), st.integers(1, 3))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_locate_agrees_with_a_walk_over_every_tile(
    config: NPUConfig, net: Network, output_length: int
) -> None:
    profile = build_profile(config, net, batch=1)
    walked = boundaries(config, all_tiles(config, net, output_length))
    starts = [boundary for boundary, *_ in walked]
    total = profile.total_cycles(output_length)
    assert starts[-1] == total
    around = {value + shift for value in starts for shift in (-1, 0, 1)}
    even = np.linspace(0, total, 50).astype(int).tolist()
    for progress in sorted(around | set(even)):
        if 0 <= progress <= total:
            expected = walked[bisect.bisect_left(starts, progress)]
            found = locate(profile.table, 0, output_length, progress)
            assert found[:4] == expected, progress
            assert (found[4] == AT_END) == (expected[0] == total)


@given(machines(), networks())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_boundaries_are_monotone_and_their_own(config: NPUConfig, net: Network) -> None:
    profile = build_profile(config, net, batch=1)
    before = 0
    for progress in np.linspace(0, profile.total_cycles(2), 100).astype(int).tolist():
        point = profile.preemption_point(progress, output_length=2)
        assert point.boundary_cycles >= max(before, progress)
        again = profile.preemption_point(point.boundary_cycles, output_length=2)
        assert again == point
        assert 0 <= point.context_bytes <= config.context_limit_bytes
        before = point.boundary_cycles


def test_every_boundary_of_a_real_network() -> None:
    config = NPUConfig()
    net = get("googlenet")
    profile = build_profile(config, net, batch=1)
    for point in boundaries(config, all_tiles(config, net, 1)):
        assert profile.preemption_point(point[0]) == point
