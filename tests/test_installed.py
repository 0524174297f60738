"""Installed from a wheel, beside packages that own the short names: everything works, theirs stays.

The wheel is built here as pip does it, from a copy of the tree in which an old build has left
modules; nothing is fetched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OTHERS = ("agents", "baselines")
"""Names at the top of the tree that belong to other packages too."""
FOLDERS = {"prema_gym": "prema_gym", **{name: f"prema_gym/{name}" for name in OTHERS}}
"""Where each folder of the tree is installed."""
STARTER = "prema_gym_command.py"
"""Where the command starts: beside the package, so that an interrupt of its import is one word."""
BUILD = """
import sys
from setuptools import build_meta
out = sys.argv[1]  # building changes sys.argv
print(build_meta.build_sdist(out), build_meta.build_wheel(out))
"""


def python(code: str, *arguments: str, cwd: Path, path: Path | None = None) -> str:
    """Standard output of ``code`` in a fresh interpreter that finds ``path`` first."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | ({} if path is None else {"PYTHONPATH": str(path)}),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shipped() -> set[str]:
    """The files of the tree that belong into a wheel, as they are named there."""
    return {
        str(Path(target) / file.relative_to(ROOT / folder))
        for folder, target in FOLDERS.items()
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    } | {STARTER}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A wheel of the tree, and one of the source archive, by "tree" and "archive"."""
    folder = tmp_path_factory.mktemp("build")
    tree, out = folder / "tree", folder / "out"
    ignore = shutil.ignore_patterns("__pycache__")
    for name in (*FOLDERS, "tests", "docs", "benchmarks", "examples"):
        shutil.copytree(ROOT / name, tree / name, ignore=ignore)
    for name in (
        "setup.py",
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "train.py",
        STARTER,
    ):
        shutil.copy(ROOT / name, tree / name)
    # What an old build and `make check` leave behind.
    for left in ("build/lib/prema_gym/moved.py", "build/as-installed/prema_gym/copied.py"):
        (tree / left).parent.mkdir(parents=True)
        (tree / left).touch()
    archive, wheel = python(BUILD, str(out), cwd=tree).splitlines()[-1].split()
    shutil.unpack_archive(out / archive, folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    python(BUILD, str(folder / "again"), cwd=unpacked)
    return {"tree": out / wheel, "archive": folder / "again" / wheel}


@pytest.fixture(scope="module")
def site(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: two that own the short names, then ours."""
    folder = tmp_path_factory.mktemp("site")
    for name in OTHERS:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("OWNER = 'somebody else'\n")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--no-deps", "--no-index", "--target", str(folder), str(built["tree"])]
    subprocess.run(install, check=True, capture_output=True)
    return folder


@pytest.mark.heavy
@pytest.mark.parametrize("source", ["tree", "archive"])
def test_a_wheel_holds_every_file_of_the_tree_and_no_other(
    built: dict[str, Path], source: str
) -> None:
    with zipfile.ZipFile(built[source]) as wheel:
        found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == shipped()
    assert "prema_gym/agents/pretrained/learned.npz" in found


@pytest.mark.heavy
def test_the_short_names_stay_with_their_owners(site: Path, tmp_path: Path) -> None:
    code = "import agents, baselines; print(agents.OWNER, '/', baselines.OWNER)"
    assert python(code, cwd=tmp_path, path=site) == "somebody else / somebody else\n"
    found = {path.name for path in site.iterdir() if path.suffix != ".dist-info"}
    assert found - {"__pycache__"} == {*OTHERS, "prema_gym", "bin", STARTER}


@pytest.mark.heavy
def test_environment_policies_and_weights_are_the_installed_ones(
    site: Path, tmp_path: Path
) -> None:
    code = """
import gymnasium
env = gymnasium.make("prema_gym:PremaNPU-v0", disable_env_checker=True)
from prema_gym import agents, baselines
import prema_gym, sys
assert all(m.__file__.startswith(sys.argv[1]) for m in (prema_gym, agents, baselines))
observation, info = env.reset(seed=3)
for policy in (baselines.make("np-fcfs"), agents.load("learned")):
    action, _ = policy.predict(observation, action_masks=info["action_mask"])
    observation, *_, info = env.step(action)
print(observation.shape)
"""
    assert python(code, str(site), cwd=tmp_path, path=site).startswith("(")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evaluate", "--policies", "np-fcfs,learned", "--workloads", "2"), "learned"),
        (("train", "--help"), "--timesteps"),
    ],
)
def test_a_command_runs(site: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [sys.executable, site / "bin" / "prema-gym", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site)},
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize("name", OTHERS)
def test_the_short_name_in_a_checkout_says_in_one_line_what_to_write(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: write `from prema_gym import {name}`")


def test_no_file_imports_a_short_name() -> None:
    wrong = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(OTHERS)})\b", re.M)
    sources = [
        *ROOT.glob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"),
        *(file for name in (*FOLDERS, "tests", "docs", "benchmarks", "examples")
          for file in (ROOT / name).rglob("*.py")),
    ]  # fmt: skip
    assert [str(file) for file in sources if wrong.search(file.read_text())] == []
