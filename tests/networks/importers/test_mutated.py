"""Files with something wrong in them end in an error of ours, and soon."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from prema_gym.errors import PremaError
from tests.networks.mutated import originals, read_one, write


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_mutated_files_are_read_or_refused_in_one_line(tmp_path: Path, first: int) -> None:
    """As ``python -m benchmarks.mutated_imports`` does for 10 000."""
    files = originals()
    read, messages = 0, []
    for seed in range(first, first + 100):
        path = write(seed, files, tmp_path)
        start = time.perf_counter()
        try:
            read += read_one(path, seed)
        except PremaError as error:
            messages.append(str(error))
        assert time.perf_counter() - start < 10, seed
    assert 0 < read < 100
    assert not any("\n" in message for message in messages)
