"""Policies in a user's own file: made by name, and one clear line where they cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prema_gym import baselines
from prema_gym.cli.naming import make_policies, make_policy
from prema_gym.cli.own import own_policy
from prema_gym.errors import ConfigError
from tests.cli.command_line import run

FILE = """
import numpy as np
from beside import LATEST
from prema_gym import baselines


class Oldest:
    mechanisms = ("checkpoint", "kill")

    def predict(self, observation, state=None, action_masks=None, **rest):
        age = np.where(observation[..., 0] > 0, observation[..., 4], -1.0)
        return (age * (-1.0 if LATEST else 1.0)).argmax(axis=-1), state


class Failing:
    def __init__(self):
        raise RuntimeError("not today,\\nsorry")


def make():
    return Oldest()


def nothing():
    return None


ready = baselines.make("static-sjf")
number = 3
_hidden = Oldest
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside.py").write_text("LATEST = False\n")
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path / "mine.py"


@pytest.mark.parametrize("name", ["Oldest", "make", "ready"])
def test_a_class_a_function_or_an_object_is_a_policy(file: Path, name: str) -> None:
    policy = own_policy(file, name)
    assert callable(policy.predict)
    if name == "ready":
        assert isinstance(policy, baselines.Policy)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", r"say which policy of .*mine.py: FILE.py:NAME \(there: Oldest, Failing, make, "),
        ("Oldset", r"unknown policy 'Oldset' in .*mine.py; did you mean 'Oldest'\?"),
        ("Failing", r"mine.py:Failing\(\) fails: RuntimeError: not today,\s+sorry \(line 17\)"),
        ("nothing", r"mine.py:nothing: a policy must be an object with a method predict"),
        ("number", r"mine.py:number is 3, which has no predict"),
    ],
)
def test_what_is_no_policy_is_refused(file: Path, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        own_policy(file, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef broken(:\n", r"cannot be run: SyntaxError: .*line 2"),
        ("x = 1\nimport no_such_thing\n", r"ModuleNotFoundError: .*no_such_thing' \(line 2\)"),
        ("import sys\nsys.exit(3)\n", r"cannot be run: SystemExit: 3 \(line 2\)"),
    ],
)
def test_a_file_that_does_not_run_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(ConfigError, match=message):
        own_policy(tmp_path / "bad.py", "Policy")
    with pytest.raises(ConfigError, match=r"nowhere.py is no file: give a policy of your own"):
        own_policy(tmp_path / "nowhere.py", "Policy")


def test_an_ordinary_module_runs_once_as_one(tmp_path: Path) -> None:
    """Dataclasses look their module up, and two policies of a file share it."""
    path = tmp_path / "data.py"
    path.write_text(
        "from __future__ import annotations\nimport dataclasses\n"
        "@dataclasses.dataclass\nclass Own:\n    strength: int = 3\n"
        "    def predict(self, observation, **rest): ...\n"
        "@dataclasses.dataclass\nclass Odd(Own):\n    mechanisms: int = 3\n"
    )
    own = own_policy(path, "Own")
    assert type(own) is type(own_policy(path, "Own"))
    with pytest.raises(
        ConfigError,
        match=r"data.py:Odd: mechanisms must be one or more of .*, each once, got 3",
    ):
        own_policy(path, "Odd")


def test_evaluate_plays_it(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    own = f"{file}:Oldest"
    policies = f"{own},static-prema:strict=true,levels=1/3/9,{file}:make"
    status, out, _ = run(
        capsys, "evaluate", "--policies", policies, "--workloads", "3", "--format", "csv"
    )
    assert status == 0
    rows = [line.split(",")[:3] for line in out.splitlines()]
    found = {row[0]: row[2] for row in rows if row[1] == "antt"}
    # Oldest first is first come first served where nobody is ever displaced by a later arrival.
    assert found[own] == found[f"{file}:make"] == found["np-fcfs"]


def test_a_mistake_gets_one_line(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    status, out, err = run(capsys, "evaluate", "--policies", f"{file}:Failing")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "not today, sorry" in err


def test_parameters_reach_a_policy_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "class Smith:\n"
        "    def __init__(self, alpha=1, mode='slow', strict=False):\n"
        "        self.given = alpha, mode, strict\n"
        "    def predict(self, observation, action_masks=None, **_):\n"
        "        return action_masks.argmax(axis=1), None\n"
        "ready = Smith()\n"
    )
    made = make_policies(f"{file}:Smith:alpha=2.5,mode=fast,strict=true,np-fcfs", "np-fcfs")
    smith = made[f"{file}:Smith:alpha=2.5,mode=fast,strict=true"]
    assert smith.given == (2.5, "fast", True)  # type: ignore[attr-defined]
    for name, message in (
        (
            ":Smith:beta=2",
            "Smith\\(beta=2\\) fails: TypeError: .*unexpected keyword argument 'beta'",
        ),
        (":Smith:alpha", "read key=value,key=value, got 'alpha'"),
        (":Smith:alpha=1,alpha=2", "parameter 'alpha' of .* is given twice"),
        (":ready:alpha=2", "is made already: it takes no parameters, given 'alpha=2'"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_policy(f"{file}{name}")


@pytest.mark.parametrize("scenario", ["paper", "mlperf-server"])
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (line 7)"),
        ("open('absent')", "FileNotFoundError: [Errno 2] No such file or directory: 'absent'"),
    ],
)
def test_what_a_policy_raises_is_told_with_its_own_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scenario: str, line: str, told: str
) -> None:
    file = tmp_path / "boom.py"
    file.write_text(
        "class P:\n    mechanisms = ('checkpoint',)\n\n    def predict(self, seen, **rest):\n"
        f"        return self.choose()\n    def choose(self):\n        {line}\n"
    )
    arguments = ("--policies", f"{file}:P", "--scenario", scenario, "--workloads", "1")
    status, out, err = run(capsys, "evaluate", *arguments)
    assert (status, out) == (1, "")
    *frames, last = err.splitlines()
    assert last.startswith(f"prema-gym: the policy {file}:P raised {told}")
    assert [text.split(", ")[1:] for text in frames if text.startswith("  File")] == [
        ["line 5", "in predict"],
        ["line 7", "in choose"],
    ]
