from __future__ import annotations

import pytest

from prema_gym.errors import ConfigError
from prema_gym.hardware import context_table_area


@pytest.mark.small
def test_the_papers_area_lies_between_the_two_kinds_of_storage() -> None:
    area = context_table_area()
    assert area.bits == 16 * 8 * 64
    assert area.sram_mm2 == pytest.approx(8192 / 4.2e6)
    assert area.flip_flop_mm2 == pytest.approx(8192 * 2.287e-6, rel=1e-3)
    assert area.sram_mm2 < area.paper_mm2 < area.flip_flop_mm2


@pytest.mark.small
def test_area_grows_with_the_tasks() -> None:
    assert context_table_area(32).bits == 2 * context_table_area(16).bits
    with pytest.raises(ConfigError, match="tasks must be a whole number of at least 1, got 0"):
        context_table_area(0)
