"""What does a training run leave behind? A folder from which it can be understood and resumed.

config.toml          every setting, resolved
run.json             the scenario, with digests of its files; versions, git state, seed ranges;
                     every start: when, and from which timesteps
evaluations.csv      one line a validation; wall_s: seconds spent so far, over all starts
checkpoints/         the policy at every validation, named by its timesteps
best.npz|zip         the checkpoint that validated best
last.state           what a resumed run needs (written whole or not at all)
tensorboard/         curves
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import subprocess
import time
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from prema_gym.agents import seeds
from prema_gym.agents.training.settings import TrainSettings

from prema_gym.checks import damaged
from prema_gym.errors import ConfigError
from prema_gym.files import write_atomically, write_text_atomically
from prema_gym.networks.importers import is_file

PACKAGES = (
    "prema-gym",
    "numpy",
    "numba",
    "gymnasium",
    "torch",
    "stable-baselines3",
    "sb3-contrib",
    "cma",
)


MECHANISMS = ("checkpoint",)
"""How policies trained here preempt."""

_CLOCK = b"wall_s "
"""How a state's file begins: the seconds spent follow, then a line's end and the state."""


class RunFolder:
    """One run's folder, and the clock of the run."""

    def __init__(self, path: Path) -> None:
        """Name the folder; nothing is touched. The clock starts."""
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"
        self.evaluations = path / "evaluations.csv"
        self.state = path / "last.state"
        self._start = time.perf_counter()
        self._spent_before = 0.0  # by earlier starts [s]

    @classmethod
    def create(cls, path: Path, settings: TrainSettings) -> RunFolder:
        """Start a new run.

        Raises:
            ConfigError: The folder already holds a run that was saved once, or cannot be made.
        """
        folder = cls(path)
        if folder.was_saved:
            raise ConfigError(f"{path} already holds a run: resume it with --resume {path}")
        if path.is_dir() and any(path.iterdir()) and not (path / "config.toml").exists():
            raise ConfigError(f"{path} holds other files: give a folder that is new or empty")
        try:
            path.mkdir(parents=True, exist_ok=True)
            # First: a folder without it is taken for somebody else's, should the run stop here.
            settings.to_toml(path / "config.toml")
            folder.checkpoints.mkdir(exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot make {error.filename}: {error.strerror}") from None
        folder.note_problem(settings)
        folder.note_start(0)
        return folder

    @classmethod
    def open(cls, path: Path) -> tuple[RunFolder, TrainSettings]:
        """Find a run that is to be resumed.

        Raises:
            ConfigError: The folder holds no run.
        """
        folder = cls(path)
        if not (path / "config.toml").is_file():
            raise ConfigError(f"{path} holds no run (there is no config.toml)")
        if not (path / "config.toml").read_bytes().strip():
            raise ConfigError(f"{path / 'config.toml'} is damaged: it is empty")
        return folder, TrainSettings.from_toml(path / "config.toml")

    @property
    def was_saved(self) -> bool:
        """Whether there is a state to resume from; otherwise nothing was done yet.

        Raises:
            ConfigError: There are evaluations, but no state.
        """
        if self.state.exists():
            return True
        if self.evaluations.exists():  # states are saved first
            raise ConfigError(
                f"{self.path} is damaged: it holds evaluations and no {self.state.name}"
            )
        return False

    @property
    def spent_s(self) -> float:
        """Seconds that the run has taken, this start and those before it."""
        return self._spent_before + time.perf_counter() - self._start

    def note_problem(self, settings: TrainSettings) -> None:
        """Write into ``run.json`` what is learned on."""
        self._write_known(self._known() | _problem(settings))

    def check_problem(self, settings: TrainSettings) -> None:
        """Hold the scenario and its files against what the run began with.

        Raises:
            ConfigError: They have changed: what was learned would be of another problem.
        """
        known, problem = self._known(), _problem(settings)
        if "scenario" not in known:  # a run of a version that did not keep it
            self.note_problem(settings)
            return
        try:
            before, now = _by_content(known), _by_content(problem)
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(self.path / "run.json", error) from None
        changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        if changed:
            raise ConfigError(
                f"{self.path} cannot be resumed: {', '.join(changed)} of scenario "
                f"{settings.scenario!r} changed since it began; put it back as in "
                f"{self.path / 'run.json'}, or train anew in another folder"
            )

    def note_start(self, timesteps: int) -> None:
        """Add a start to ``run.json``: when, after how many timesteps, with what source."""
        known = self._known()
        known["seed_ranges"] = {
            name: [span.start, span.stop - 1]
            for name, span in (
                ("training", seeds.TRAINING),
                ("validation", seeds.VALIDATION),
                ("test", seeds.TEST),
            )
        }
        known["starts"].append(
            {
                "time": time.strftime("%Y-%m-%d %H:%M:%S %z"),
                "timesteps": timesteps,
                "versions": versions(),
                "git": git_state(),
            }
        )
        self._write_known(known)

    def _write_known(self, known: dict[str, Any]) -> None:
        write_text_atomically(self.path / "run.json", json.dumps(known, indent=2) + "\n")

    def _known(self) -> dict[str, Any]:
        path = self.path / "run.json"
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            known["starts"] = list(known["starts"])
        except FileNotFoundError:
            return {"starts": []}
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(path, error) from None
        return dict(known)

    def save_state(self, state: bytes) -> None:
        """Keep what a resumed run needs, and beside it, in one file, the time spent."""

        def write(beside: Path) -> None:
            with beside.open("wb") as file:  # not joined first: a replay memory is large
                file.write(_CLOCK + b"%.3f\n" % self.spent_s)
                file.write(state)

        write_atomically(self.state, write)

    def load_state(self) -> bytes:
        """What :meth:`save_state` kept; the clock goes on from there.

        Raises:
            ConfigError: Nothing was kept, or it is damaged.
        """
        try:
            content = self.state.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be resumed: {self.state.name}: {error.strerror}"
            ) from None
        if not content.startswith(_CLOCK):  # of a version that kept no time
            return content
        line, _, state = content.partition(b"\n")
        try:
            self._spent_before = float(line.removeprefix(_CLOCK))
        except ValueError as error:
            raise damaged(self.state, error) from None
        return state

    def resumed(self, timesteps: int) -> None:
        """Note a resumption, and drop evaluations later than where it starts.

        Their time was spent all the same: a killed run knows of it from them alone.
        """
        self.note_start(timesteps)
        rows = self.rows()
        latest = max((float(row["wall_s"]) for row in rows), default=0.0)
        self._spent_before = max(self._spent_before, latest)
        kept = [row for row in rows if int(row["timesteps"]) <= timesteps]
        if kept:
            self._write_rows(kept)
        elif rows:
            self.evaluations.unlink()

    def rows(self) -> list[dict[str, str]]:
        """The evaluations so far."""
        if not self.evaluations.exists():
            return []
        try:
            text = self.evaluations.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise damaged(self.evaluations, error) from None
        if not text.endswith("\n"):
            raise ConfigError(f"{self.evaluations} is damaged: its last line has no end")
        reader = csv.DictReader(io.StringIO(text))
        rows = list(reader)
        if not rows or not {"timesteps", "wall_s", "score"} <= set(reader.fieldnames or ()):
            raise ConfigError(f"{self.evaluations} is damaged: it holds no evaluation")
        for line, row in enumerate(rows, start=2):
            try:
                int(row["timesteps"]), [float(value) for value in row.values()]
            except (KeyError, TypeError, ValueError):
                raise ConfigError(f"{self.evaluations} is damaged in line {line}") from None
        return rows

    def add_evaluation(self, timesteps: int, row: dict[str, float]) -> None:
        """Append one line."""
        new = {"timesteps": str(timesteps), "wall_s": f"{self.spent_s:.1f}"}
        new |= {name: f"{value:.6g}" for name, value in row.items()}
        self._write_rows([*self.rows(), new])

    def _write_rows(self, rows: list[dict[str, str]]) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[-1]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text_atomically(self.evaluations, text.getvalue())

    def best_score(self) -> float:
        """The best validation so far; −∞ before the first."""
        return max((float(row["score"]) for row in self.rows()), default=float("-inf"))

    def checkpoint(self, timesteps: int, suffix: str) -> Path:
        """Where the policy at some point is kept; names sort by time."""
        return self.checkpoints / f"step_{timesteps:012d}{suffix}"


def _problem(settings: TrainSettings) -> dict[str, dict[str, Any]]:
    """What is learned on, as ``run.json`` holds it."""
    scenario = settings.resolved_scenario
    files = [name for name in scenario.networks if is_file(name)]
    files += [] if scenario.trace is None else [scenario.trace]
    plain = json.loads(json.dumps(scenario.to_dict()))  # with lists for tuples, as it is read back
    digests = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files}
    return {"scenario": plain, "files": digests}


def _by_content(problem: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario with its files' digests in place of their paths: files may move."""
    scenario, files = dict(problem["scenario"]), dict(problem["files"])
    scenario["networks"] = [files.get(name, name) for name in scenario["networks"]]
    scenario["trace"] = files.get(scenario.get("trace"))
    scenario["lengths"] = [
        {**entry, "network": files.get(entry["network"], entry["network"])}
        for entry in scenario["lengths"]
    ]
    return scenario


def describe_policy(
    settings: TrainSettings, timesteps: int, validation: dict[str, float] | None
) -> dict[str, Any]:
    """What a policy's file says of where it comes from.

    Args:
        settings: The run.
        timesteps: Scheduling decisions it was trained for.
        validation: How it did, by column; None before that is known.
    """
    return {
        "mechanisms": list(MECHANISMS),
        "algo": settings.algo,
        "scenario": settings.scenario,
        "objective": settings.objective,
        "seed": settings.seed,
        "timesteps": timesteps,
        "git": git_state(),
        "source": f"train.py --algo {settings.algo}, {timesteps} decisions",
        "validation": validation,
    }


def find_policy(path: Path) -> Path:
    """The file of a run folder that holds its policy: the best, else the latest checkpoint.

    Raises:
        ConfigError: There is none.
    """
    for name in ("best.npz", "best.zip"):
        if (path / name).is_file():
            return path / name
    kept = sorted((path / "checkpoints").glob("step_*"))
    if not kept:
        raise ConfigError(f"{path} holds no trained policy (neither best.* nor checkpoints/)")
    return kept[-1]


def versions() -> dict[str, str]:
    """Versions that a run depends on."""
    found = {"python": platform.python_version(), "machine": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


@lru_cache(maxsize=1)
def git_state() -> str:
    """Commit of the source, "+ changes" where it differs from it; "unknown" outside git.

    As of the first call: that is the source that was loaded.
    """

    def git(*arguments: str) -> str:
        return subprocess.run(
            ("git", *arguments),
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + (" + changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
