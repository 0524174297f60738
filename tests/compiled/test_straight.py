from __future__ import annotations

import numpy as np
import pytest

from prema_gym.compiled.jit import in_place
from prema_gym.compiled.straight import straight_line
from prema_gym.workloads.fields import IntArray

RECORD = np.dtype([("a", np.int64), ("b", np.int64), ("c", np.int64)])
set_some = straight_line("set_some", "record, value", "record['{field}'] = value", ("a", "c"))


@in_place
def fill(records: np.ndarray, values: IntArray) -> None:
    for i in range(values.shape[0]):
        set_some(records[i], values[i])


@pytest.mark.small
def test_one_statement_is_made_for_each_field() -> None:
    records = np.zeros(2, RECORD)
    fill(records, np.array([3, 4]))
    assert records.tolist() == [(3, 0, 3), (4, 0, 4)]
