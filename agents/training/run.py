"""How is a training run started or resumed, whatever the algorithm, and how does one watch it?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.distribution.executors import Executor
from prema_gym.errors import ConfigError, MissingExtraError


@dataclass(frozen=True, kw_only=True)
class TrainingProgress:
    """Where a training run stands, as its callback is told.

    Attributes:
        event: "validation", or "generation" (of an evolution strategy).
        timesteps: Scheduling decisions taken so far.
        total_timesteps: Those that were asked for.
        metrics: After a validation the columns of ``evaluations.csv``: the five metrics, their
            ratios to PREMA's, the score. After a generation its best candidate's ``fitness``, the
            search's ``spread`` and the ``length`` of a workload in decisions.
        best_score: Best score of a validation so far; −∞ before the first.
    """

    event: str
    timesteps: int
    total_timesteps: int
    metrics: Mapping[str, float]
    best_score: float


Callback = Callable[[TrainingProgress], object]
"""Called in the training's own process, which waits for it; returns False to end the run."""


@dataclass
class TrainingRun:
    """What an algorithm is given to carry out.

    Attributes:
        folder: Where everything is kept.
        settings: What to do.
        resumes: Go on from the folder's state.
        callback: Told of every validation, and of every generation where there are some.
        executor: Who plays candidates ("es"); None: threads of this process.
        stopped: Whether the callback has ended the run.
    """

    folder: RunFolder
    settings: TrainSettings
    resumes: bool
    callback: Callback | None = None
    executor: Executor | None = None
    stopped: bool = field(default=False, init=False)

    def tell(self, event: str, timesteps: int, metrics: Mapping[str, float]) -> None:
        """Tell the callback, and note whether it wants the run to end."""
        if self.callback is None:
            return
        progress = TrainingProgress(
            event=event,
            timesteps=timesteps,
            total_timesteps=self.settings.timesteps,
            metrics=dict(metrics),
            best_score=self.folder.best_score(),
        )
        if self.callback(progress) is False:
            self.stopped = True


def train(
    output: str | os.PathLike[str],
    settings: TrainSettings,
    *,
    callback: Callback | None = None,
    executor: Executor | None = None,
) -> None:
    """Start a training run and carry it to its end; ``agents.load(output)`` is its best policy.

    Args:
        output: Folder of the new run.
        settings: What to do.
        callback: Told how it goes (:class:`TrainingProgress`) after every validation, and for
            "es" after every generation. Where it returns False the run ends there, as if its
            timesteps had been reached; :func:`resume` goes on.
        executor: Who plays candidates ("es"); None: threads of this process. Equal results.

    Raises:
        ConfigError: The folder already holds a run, or settings do not fit together.
        KeyboardInterrupt: After an interrupt, with the run saved.
    """
    _check_callback(callback)
    folder = RunFolder.create(Path(output), settings)
    _carry(TrainingRun(folder, settings, False, callback, executor))


def resume(
    folder: str | os.PathLike[str],
    timesteps: int | None = None,
    *,
    callback: Callback | None = None,
    executor: Executor | None = None,
) -> None:
    """Carry a training run that was broken off to its end.

    Args:
        folder: The run's folder.
        timesteps: A new end; default: the one it was started with.
        callback: As for :func:`train`.
        executor: As for :func:`train`.

    Raises:
        ConfigError: There is nothing to resume, or it is damaged.
        KeyboardInterrupt: After an interrupt, with the run saved.
    """
    _check_callback(callback)
    found, settings = RunFolder.open(Path(folder))
    if timesteps is not None:
        settings = replace(settings, timesteps=timesteps)
    saved = found.was_saved
    if saved:
        found.check_problem(settings)
    else:  # stopped before it was saved for the first time: it starts over
        found.note_problem(settings)
        found.note_start(0)
    _carry(TrainingRun(found, settings, saved, callback, executor))


def _check_callback(callback: object) -> None:
    """Refuse what cannot be called before a folder is made."""
    if callback is not None and not callable(callback):
        raise ConfigError(f"callback must be a function of a TrainingProgress, got {callback!r}")


def _carry(run: TrainingRun) -> None:
    algorithm = run.settings.algorithm
    if run.executor is not None and algorithm.name != "es":
        raise ConfigError(
            f"--backend and --workers are for --algo es, whose candidates are independent, got "
            f"{algorithm.name!r}"
        )
    try:
        algorithm.load("train")(run)
    except ModuleNotFoundError as error:
        raise MissingExtraError("training", error.name or "torch", algorithm.extra) from None
