from __future__ import annotations

from itertools import pairwise

import numpy as np

from prema_gym.views.lanes import lanes


def test_lanes_are_as_few_as_tasks_overlap_and_hold_one_at_a_time() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        start = rng.integers(0, 30, 20)
        spans = [(int(a), int(a + b)) for a, b in zip(start, rng.integers(1, 9, 20), strict=True)]
        found = lanes(spans)
        for lane in set(found):
            own = sorted(span for span, at in zip(spans, found, strict=True) if at == lane)
            assert all(a[1] <= b[0] for a, b in pairwise(own))
        most = max(sum(a <= t < b for a, b in spans) for t in range(40))
        assert max(found) + 1 == most


def test_nothing_needs_no_lane() -> None:
    assert lanes([]) == []
