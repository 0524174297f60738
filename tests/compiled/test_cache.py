"""Machine code is kept by the content of its source, and compiled by one process at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prema_gym.compiled import cache
from prema_gym.compiled.sources import PACKAGE, place_in_package, source_digest
from tests.test_package import little_package

KERNEL = "from prema_gym.compiled.jit import kernel\n@kernel\ndef twice(x):\n    return 2 * x\n"
COUNT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from prema_gym.own import twice
assert twice(3) == 6
print(json.dumps([sum(twice.stats.cache_misses.values()), sum(twice.stats.cache_hits.values())]))
"""


def started(folder: Path, kernels: Path) -> subprocess.Popen[str]:
    """A process that calls the kernel of a folder, and prints (compiled, loaded)."""
    return subprocess.Popen(
        [sys.executable, "-c", COUNT, str(folder)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(kernels), "PYTHONPATH": str(folder)},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )


def compiled_and_loaded(process: subprocess.Popen[str]) -> list[int]:
    """What a started process printed."""
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    found: list[int] = json.loads(out)
    return found


@pytest.mark.heavy
def test_the_same_source_elsewhere_compiles_nothing(tmp_path: Path) -> None:
    found = []
    for place in ("session-1", "session-2/deeper"):
        (little_package(tmp_path / place) / "own.py").write_text(KERNEL)
        found.append(compiled_and_loaded(started(tmp_path / place, tmp_path / "kernels")))
    assert found == [[1, 0], [0, 1]]


@pytest.mark.heavy
def test_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    (little_package(tmp_path) / "own.py").write_text(KERNEL)
    processes = [started(tmp_path, tmp_path / "kernels") for _ in range(3)]
    found = sorted(compiled_and_loaded(process) for process in processes)
    assert found == [[0, 1], [0, 1], [1, 0]]


HOLD = "import fcntl, sys, time; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); "


def test_a_lock_ends_with_the_process_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "one.lock"
    code = HOLD + "print('held', flush=True); time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with monkeypatch.context() as patch:
            patch.setattr(cache, "LONGEST_WAIT_S", 0.1)
            assert cache._locked(path) is None  # nobody waits for ever
        holder.kill()
        mine = cache._locked(path)
    assert mine is not None
    mine.close()


def test_a_place_that_takes_no_lock_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert cache._locked(tmp_path / "file" / "one.lock") is None


@pytest.fixture
def twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Make the kernel of a file anew, as another process would, kept in a folder of its own."""
    numba = pytest.importorskip("numba")
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(cache._config, "CACHE_DIR", str(tmp_path / "kernels"))
    cache._root.cache_clear()
    file = tmp_path / "mine" / "own.py"
    file.parent.mkdir()
    file.write_text(KERNEL)

    def make() -> Any:
        names: dict[str, Any] = {"__name__": "own_kernel"}
        exec(compile(file.read_text(), str(file), "exec"), names)
        return names["twice"]

    return make


def test_a_full_disk_costs_the_cache_and_nothing_else(
    twice: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache._Files, "_save_data", full)
    cache._warn_no_cache.cache_clear()
    with pytest.warns(RuntimeWarning, match="cannot be cached"):
        assert twice()(3) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert twice()(3) == 6  # said once
    cache._warn_no_cache.cache_clear()


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_made_anew(twice: Callable[[], Any], tmp_path: Path, ending: str) -> None:
    assert twice()(3) == 6
    (file,) = tmp_path.rglob(f"*.{ending}")
    file.write_bytes(file.read_bytes()[:40])
    again = twice()
    assert again(3) == 6
    assert sum(again.stats.cache_misses.values()) == 1
    last = twice()
    assert last(3) == 6
    assert sum(last.stats.cache_hits.values()) == 1


def test_the_latest_used_sources_are_kept(tmp_path: Path) -> None:
    folders = [tmp_path / f"a.b-{i:020d}" for i in range(cache.KEPT + 3)]
    for age, folder in enumerate([*folders, tmp_path / "a.bc-0", tmp_path / "a.b"]):
        folder.mkdir()
        os.utime(folder, (1000 - age, 1000 - age))
    cache._forget_old(folders[-1])  # the one in use, however old
    left = {path.name for path in tmp_path.iterdir()}
    kept = {folder.name for folder in [*folders[: cache.KEPT - 1], folders[-1]]}
    assert left == kept | {"a.bc-0", "a.b"}


def test_what_steers_the_compiler_is_in_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    file = PACKAGE / "simulator" / "engine.py"

    def name() -> str:
        return cache._folder_name(name, file)

    plain = name()
    assert plain.startswith("simulator.engine-")
    assert name() == plain
    monkeypatch.setattr(cache._config, "BOUNDSCHECK", 1)
    assert name() != plain
    monkeypatch.undo()
    monkeypatch.setattr("numba.__version__", "0.0")
    assert name() != plain


def test_a_digest_is_of_the_content(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        for file, text in {"a.py": "A = 1\n", "b.py": "B = 2\n"}.items():
            (tmp_path / place / file).write_text(text)
    one, two = (source_digest(tmp_path / place / "a.py") for place in ("one", "two"))
    assert one == two
    source_digest.cache_clear()
    (tmp_path / "two" / "b.py").write_text("B = 3\n")
    assert source_digest(tmp_path / "two" / "a.py") != one


def test_agents_and_baselines_lie_in_the_package_wherever_they_are() -> None:
    assert place_in_package(PACKAGE / "baselines" / "prema.py") == "baselines/prema.py"
    assert place_in_package(PACKAGE.parent / "baselines" / "prema.py") == "baselines/prema.py"
    assert place_in_package(PACKAGE.parent / "tests" / "reference.py") is None
