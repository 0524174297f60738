"""Files: strict JSON is read back equal or refused; several are written whole or not at all."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from prema_gym.errors import ConfigError
from prema_gym.files import read_json, to_strict_json, write_files, write_json


def test_infinity_is_written_as_text_and_read_back(tmp_path: Path) -> None:
    data = {"limit": math.inf, "rows": [1, -math.inf, {"deep": math.inf}], "name": "x", "no": None}
    path = tmp_path / "run.json"
    write_json(path, data)
    assert read_json(path, infinity=True) == data
    assert read_json(path)["limit"] == "inf"
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(path.read_text(), parse_constant=refuse)  # as strict readers do
    assert to_strict_json((True, 1, 1.5), indent=None) == "[true, 1, 1.5]"


def test_not_a_number_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "run.json", {"x": math.nan})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"x\.json' is not valid JSON: .*line 1"),
        ("[NaN]", "NaN is not a number"),
        ("[Infinity]", "Infinity is not a number"),
        ('{"a": 1, "a": 2}', "gives 'a' twice in one object"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_strict_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_json(path)


def test_older_files_hold_the_constant(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("[Infinity, -Infinity]")
    assert read_json(path, infinity=True) == [math.inf, -math.inf]
    path.write_text("[NaN]")
    with pytest.raises(ConfigError, match="NaN is not a number"):
        read_json(path, infinity=True)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.json"):
        read_json(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="cannot write"):
        write_json(tmp_path, {})
    (tmp_path / "x.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_json(tmp_path / "x.json")


def test_files_are_written_whole(tmp_path: Path) -> None:
    files = {name: f"{name} in full\n" for name in ("a.csv", "b.json", "c.csv")}
    paths = write_files(tmp_path / "new" / "folder", files)
    assert [path.name for path in paths] == list(files)
    for path in paths:
        assert path.read_text(encoding="utf-8") == files[path.name]
    assert len(list((tmp_path / "new" / "folder").iterdir())) == 3
    write_files(tmp_path / "new" / "folder", {"a.csv": "second\n"})
    assert (tmp_path / "new" / "folder" / "a.csv").read_text() == "second\n"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()  # a folder where a file should go: the rename fails
    with pytest.raises(ConfigError, match="cannot write to"):
        write_files(tmp_path, {"taken": "text"})
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="cannot write to"):
        write_files(tmp_path / "file" / "below", {"a": "text"})


def test_a_failure_on_the_way_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_files(tmp_path, {"good": "text", "bad": b"bytes"})  # type: ignore[dict-item]
    assert list(tmp_path.iterdir()) == []
