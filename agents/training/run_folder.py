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

import json
import time
from pathlib import Path
from typing import Any

from prema_gym.agents import seeds
from prema_gym.agents.training.evaluations import read_rows, write_rows
from prema_gym.agents.training.provenance import by_content, git_state, problem, versions_of_run
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.checks import damaged
from prema_gym.errors import ConfigError
from prema_gym.files import read_json, to_strict_json, write_atomically, write_json

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
        self._write_known(self._known() | problem(settings))

    def check_problem(self, settings: TrainSettings) -> None:
        """Hold the scenario and its files against what the run began with.

        Raises:
            ConfigError: They have changed: what was learned would be of another problem.
        """
        known = self._known()
        if "scenario" not in known:  # a run of a version that did not keep it
            self.note_problem(settings)
            return
        try:
            before, now = by_content(_plain(known)), by_content(_plain(problem(settings)))
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
                "versions": versions_of_run(),
                "git": git_state(),
            }
        )
        self._write_known(known)

    def _write_known(self, known: dict[str, Any]) -> None:
        write_json(self.path / "run.json", known)

    def _known(self) -> dict[str, Any]:
        path = self.path / "run.json"
        if not path.exists():
            return {"starts": []}
        known = read_json(path, infinity=True)
        try:
            return {**known, "starts": list(known["starts"])}
        except (KeyError, TypeError) as error:
            raise damaged(path, error) from None

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
            write_rows(self.evaluations, kept)
        elif rows:
            self.evaluations.unlink()

    def rows(self) -> list[dict[str, str]]:
        """The evaluations so far."""
        return read_rows(self.evaluations)

    def add_evaluation(self, timesteps: int, row: dict[str, float]) -> None:
        """Append one line."""
        new = {"timesteps": str(timesteps), "wall_s": f"{self.spent_s:.1f}"}
        new |= {name: f"{value:.6g}" for name, value in row.items()}
        write_rows(self.evaluations, [*self.rows(), new])

    def best_score(self) -> float:
        """The best validation so far; −∞ before the first."""
        return max((float(row["score"]) for row in self.rows()), default=float("-inf"))

    def checkpoint(self, timesteps: int, suffix: str) -> Path:
        """Where the policy at some point is kept; names sort by time."""
        return self.checkpoints / f"step_{timesteps:012d}{suffix}"


def _plain(known: dict[str, Any]) -> dict[str, Any]:
    """As a reader of the file sees it: lists for tuples, and "inf" for infinity."""
    return dict(json.loads(to_strict_json(known)))


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
