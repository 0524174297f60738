from __future__ import annotations

import pytest

from prema_gym.views.labels import shortened
from tests.views.episodes import WILD


@pytest.mark.parametrize(
    ("label", "room", "short"),
    [
        ("3 resnet-50 ×16 π=9", 19, "3 resnet-50 ×16 π=9"),
        ("3 resnet-50 ×16 π=9", 15, "3 re…50 ×16 π=9"),
        (f"12 {WILD} ×4 π=1", 16, "12 a<b…d] ×4 π=1"),
        ("3 resnet-50 ×16 π=9", 4, "3 … ×16 π=9"),
        ("π=9", 2, "π…"),
    ],
)
def test_number_batch_and_priority_stay(label: str, room: int, short: str) -> None:
    assert shortened(label, lambda text: len(text) <= room) == short
