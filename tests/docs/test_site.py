"""The site is built, every page is in it, and code on the pages for newcomers runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prema_gym import cli

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"
FIRST = ("start.md", "seeing.md")
COMMANDS = sorted(
    {
        line
        for page in FIRST
        for line in (PAGES / page).read_text().splitlines()
        if line.startswith("prema-gym ") and " run/" not in line
    }
)


@pytest.mark.heavy
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_for_newcomers_runs(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [re.sub(r"^(50|200)$", "3", word) for word in shlex.split(command)[1:]]
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    assert stop.value.code == 0, capsys.readouterr().err


@pytest.mark.heavy
@pytest.mark.parametrize("page", FIRST)
def test_python_for_newcomers_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    if page == "seeing.md":
        pytest.importorskip("pandas")
    (code,) = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(), flags=re.S)
    exec(compile(code, page, "exec"), {})
    assert capsys.readouterr().out


def test_every_page_is_in_the_navigation_and_every_picture_is_shown() -> None:
    named = set(re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M))
    assert named == {page.name for page in PAGES.glob("*.md")}
    texts = "".join(page.read_text() for page in (*PAGES.glob("*.md"), ROOT / "README.md"))
    for picture in (PAGES / "pictures").iterdir():
        assert f"pictures/{picture.name}" in texts, picture.name
        assert picture.stat().st_size < 300_000, picture.name


def test_the_readme_is_short_and_begins_with_the_picture() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    assert text.index("![") < text.index("\n## ")
    assert text.index("![") < text.index("```")


@pytest.mark.heavy
def test_the_site_has_no_broken_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    for name in ("mkdocs.yml", "docs"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name)
        else:
            shutil.copy(source, tmp_path / name)
    installed = tmp_path / "build" / "as-installed"
    shutil.copytree(ROOT / "prema_gym", installed / "prema_gym")
    for name in ("agents", "baselines"):
        shutil.copytree(ROOT / name, installed / "prema_gym" / name)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    home = (tmp_path / "build" / "site" / "index.html").read_text()
    assert "episode.gif" in home
    assert "fonts.googleapis" not in home
