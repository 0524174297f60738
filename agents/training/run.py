"""How is a run started or resumed, whatever the algorithm?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import TrainSettings

from prema_gym.errors import MissingExtraError


def train(output: Path, settings: TrainSettings) -> None:
    """Start a run and carry it to its end.

    Raises:
        ConfigError: The folder already holds a run, or settings do not fit together.
        KeyboardInterrupt: After an interrupt, with the run saved.
    """
    _run(RunFolder.create(output, settings), settings, resume=False)


def resume(folder: Path, timesteps: int | None = None) -> None:
    """Carry an interrupted run to its end.

    Args:
        folder: The run's folder.
        timesteps: A new end; default: the one it was started with.

    Raises:
        ConfigError: There is nothing to resume, or it is damaged.
        KeyboardInterrupt: After an interrupt, with the run saved.
    """
    run, settings = RunFolder.open(folder)
    if timesteps is not None:
        settings = replace(settings, timesteps=timesteps)
    saved = run.was_saved
    if saved:
        run.check_problem(settings)
    else:  # stopped before it was saved for the first time: it starts over
        run.note_problem(settings)
        run.note_start(0)
    _run(run, settings, resume=saved)


def _run(folder: RunFolder, settings: TrainSettings, *, resume: bool) -> None:
    try:
        if settings.algo == "es":
            from prema_gym.agents.training.evolution.run import evolve

            evolve(folder, settings, resume=resume)
        else:
            from prema_gym.agents.training.gradient.run import train_gradient

            train_gradient(folder, settings, resume=resume)
    except ModuleNotFoundError as error:
        raise MissingExtraError("training", error.name or "torch", "train") from None
