"""The package as a whole: quick import, what it pulls in, what ships, caching of compiled code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def python(code: str, **environment: str) -> str:
    """Standard output of ``code`` in a fresh interpreter."""
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=inherited | environment,
        cwd=environment.get("PWD", str(ROOT)),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy() -> None:
    heavy = (
        "torch",
        "numba",
        "scipy",
        "matplotlib",
        "stable_baselines3",
        "onnx",
        "rich",
        "typer",
        "ray",
    )
    code = f"import sys, prema_gym; print([m for m in {heavy!r} if m in sys.modules])"
    assert python(code).strip() == "[]"


def test_the_help_of_the_command_line_imports_nothing_heavy() -> None:
    heavy = ("torch", "numba", "scipy", "matplotlib", "stable_baselines3", "onnx", "ray")
    code = (
        "import sys\nfrom prema_gym.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    *text, loaded = python(code).splitlines()
    assert "evaluate" in "".join(text)
    assert loaded == "[]"


def test_evaluation_needs_no_optional_package() -> None:
    blocked = (
        "torch",
        "matplotlib",
        "stable_baselines3",
        "sb3_contrib",
        "onnx",
        "tensorboard",
        "ray",
    )
    code = (
        f"import sys\nfor name in {blocked!r}: sys.modules[name] = None\n"
        "from prema_gym.cli import main\n"
        "main(['evaluate', '--policies', 'np-fcfs,dynamic-prema', '--workloads', '2'])"
    )
    assert "dynamic-prema" in python(code)


def little_package(folder: Path) -> Path:
    """A package of our name in which functions are compiled as in ours."""
    package = folder / "prema_gym"
    (package / "compiled").mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in ("__init__", "jit", "cache", "sources"):
        shutil.copy(ROOT / f"prema_gym/compiled/{name}.py", package / f"compiled/{name}.py")
    return package


CONSTANT_TWICE = """
import pathlib, sys
sys.path.insert(0, {folder!r})
import prema_gym
assert prema_gym.__file__.startswith({folder!r}), prema_gym.__file__
from prema_gym.caller import answer
print(answer(1))
"""


@pytest.mark.heavy
def test_cache_is_never_stale(tmp_path: Path) -> None:
    """A helper and a constant in *other* files change: the caller gives the new result."""
    package, kernels = little_package(tmp_path), tmp_path / "kernels"
    (package / "constant.py").write_text("FACTOR = 2\n")
    helper = (
        "from prema_gym.compiled.jit import kernel\n@kernel\ndef helper(x):\n    return x + {}\n"
    )
    (package / "helper.py").write_text(helper.format(10))
    (package / "caller.py").write_text(
        "from prema_gym.compiled.jit import kernel\nfrom prema_gym.helper import helper\n"
        "from prema_gym.constant import FACTOR\n"
        "@kernel\ndef answer(x):\n    return helper(x) * FACTOR\n"
    )
    code = CONSTANT_TWICE.format(folder=str(tmp_path))
    assert python(code, PWD=str(tmp_path), NUMBA_CACHE_DIR=str(kernels)).strip() == "22"
    (package / "helper.py").write_text(helper.format(20))
    assert python(code, PWD=str(tmp_path), NUMBA_CACHE_DIR=str(kernels)).strip() == "42"
    (package / "constant.py").write_text("FACTOR = 3\n")
    assert python(code, PWD=str(tmp_path), NUMBA_CACHE_DIR=str(kernels)).strip() == "63"
    assert list(kernels.rglob("*.nbi")), "the kernels were cached at all"


@pytest.mark.heavy
def test_a_cache_of_a_version_whose_classes_lay_elsewhere_is_none(tmp_path: Path) -> None:
    """Numba reads the types of its index before it looks whether they are of this source."""
    package, kernels = little_package(tmp_path), tmp_path / "kernels"
    pair = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
    kernel = (
        "from prema_gym.compiled.jit import kernel\nfrom prema_gym.{} import Pair\n"
        "@kernel\ndef total(pair):\n    return pair.a + pair.b\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from prema_gym.caller import Pair, total; print(total(Pair(3, 4)))"
    )
    for home in ("first", "second"):
        for file in ("first.py", "second.py"):
            (package / file).write_text(pair if file == f"{home}.py" else "")
        (package / "caller.py").write_text(kernel.format(home))
        assert python(code, PWD=str(tmp_path), NUMBA_CACHE_DIR=str(kernels)).strip() == "7"
        assert list(kernels.rglob("*.nbi")), "the kernel was cached at all"


@pytest.mark.heavy
def test_machine_code_of_another_source_is_never_at_hand(tmp_path: Path) -> None:
    """Numba writes its index before the code: no two codes may share a file's name."""
    package, kernels = little_package(tmp_path), tmp_path / "kernels"
    kernel = (
        "from prema_gym.compiled.jit import kernel\n@kernel\ndef twice(x):\n    return {} * x\n"
        "def file():\n    return twice._cache._cache_file\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from prema_gym.kernel import file, twice\n"
        "print(CALL, file()._data_name(1) != file()._data_name(1), *file()._load_index().values())"
    )

    def run(call: str) -> list[str]:
        words = python(code.replace("CALL", call), PWD=str(tmp_path), NUMBA_CACHE_DIR=str(kernels))
        return words.split()

    def files() -> set[str]:
        return {path.name for path in kernels.rglob("*.nbc")}

    (package / "kernel.py").write_text(kernel.format("(1 + 1)"))
    answer, differ, name = run("twice(3)")
    assert (answer, differ, files()) == ("6", "True", {name})
    # A second signature, as another process may compile at the same time: a file of its own.
    *_, one, two = run("twice(0.5)")
    assert files() == {one, two}
    assert name in (one, two)
    # Another source sees nothing of the old one, and the old one finds its own again.
    (package / "kernel.py").write_text(kernel.format("(2 + 1)"))
    answer, _, new = run("twice(3)")
    assert answer == "9"
    assert new not in (one, two)
    (package / "kernel.py").write_text(kernel.format("(1 + 1)"))
    answer, _, *found = run("twice(3)")
    assert (answer, set(found)) == ("6", {one, two})
    assert files() == {one, two, new}


def test_read_only_install_without_home_still_runs(tmp_path: Path) -> None:
    """Nowhere to cache: kernels compile in memory, with one warning."""
    code = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    from prema_gym.compiled.jit import kernel\n"
        "    import prema_gym.hardware.profile, prema_gym.simulator.engine\n"
        "print(len([w for w in caught if 'cached' in str(w.message)]))\n"
    )
    assert python(code, NUMBA_CACHE_DIR="/dev/null/none").strip() == "1"


@pytest.mark.heavy
def test_second_process_compiles_nothing() -> None:
    code = (
        "from prema_gym.cli import main\n"
        "try: main(['evaluate', '--policies', 'np-fcfs', '--workloads', '1', '--format', 'csv'])\n"
        "except SystemExit: pass\n"
        "from prema_gym.evaluation.compiled import play_all\n"
        "from prema_gym.simulator.engine import start\n"
        "print([sum(k.stats.cache_misses.values()) for k in (play_all, start)],"
        " [sum(k.stats.cache_hits.values()) > 0 for k in (play_all, start)])"
    )
    python(code)
    assert python(code).splitlines()[-1] == "[0, 0] [True, True]"


def test_the_package_is_the_command() -> None:
    """``python -m prema_gym`` is for where the command is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "prema_gym", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("prema-gym ")
