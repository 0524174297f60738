"""Which settings train best? A study of many short runs, by Optuna, that can be gone on with.

Every trial is a training run with the same seed, so all are trained and validated on the same
workloads, and what differs is the settings. A trial whose validations are worse than half of the
earlier ones' were by then is broken off. The study's journal is one file in its folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prema_gym.agents.studies.ranges import Range, with_values
from prema_gym.agents.training.run import TrainingProgress, train
from prema_gym.agents.training.run_folder import RunFolder
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.errors import ConfigError, MissingExtraError
from prema_gym.files import to_strict_json

STARTUP_TRIALS = 5
"""Trials drawn by chance, and never broken off, before there is something to learn from."""


def tune(
    folder: Path,
    settings: TrainSettings,
    ranges: Sequence[Range],
    *,
    trials: int,
    say: Callable[[str], None] = lambda line: None,
) -> TrainSettings:
    """Run trials until there are ``trials`` that came to an end, and return the best settings.

    Args:
        folder: Of the study; one that is there is gone on with.
        settings: What every trial shares.
        ranges: What differs.
        trials: Trials in all, those broken off for being worse included.
        say: Told of each trial.

    Raises:
        ConfigError: The folder holds a study of other settings or ranges, or a setting is not
            allowed.
        MissingExtraError: Optuna is not installed.
    """
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend
    except ModuleNotFoundError as error:
        raise MissingExtraError("tuning", error.name or "optuna", "tune") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(folder / "journal.log")))
    study = optuna.create_study(
        study_name="tune",
        storage=storage,
        direction="maximize",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS, n_warmup_steps=1),
    )
    _same_problem(study, folder, settings, ranges)
    for left in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):  # of a killed process
        study.tell(left.number, state=optuna.trial.TrialState.FAIL)
    while _ended(study) < trials:
        number = len(study.get_trials(deepcopy=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            # A sampler of its own for each: a study that was gone on with draws the same.
            study.sampler = optuna.samplers.TPESampler(
                seed=settings.seed * 65_536 + number, n_startup_trials=STARTUP_TRIALS
            )
        study.optimize(_Trial(folder, settings, ranges, optuna.TrialPruned), n_trials=1)
        last = study.get_trials(deepcopy=False)[-1]
        score = "broken off" if last.value is None else f"score {last.value:.4f}"
        said = ", ".join(f"{name}={value}" for name, value in last.params.items())
        say(f"trial {last.number}: {said}: {score}")
    best = _settings(settings, study.best_trial.params)
    best.to_toml(folder / "best.toml")
    return best


class _Trial:
    """What one trial does: train, tell how it goes, and say how good it became."""

    def __init__(
        self,
        folder: Path,
        settings: TrainSettings,
        ranges: Sequence[Range],
        pruned: type[Exception],
    ) -> None:
        self._folder, self._settings, self._ranges = folder, settings, ranges
        self._pruned = pruned

    def __call__(self, trial: Any) -> float:  # noqa: ANN401 - an Optuna trial
        chosen = _settings(self._settings, {one.name: one.draw(trial) for one in self._ranges})
        validations = 0
        worse = False

        def watch(progress: TrainingProgress) -> bool:
            nonlocal validations, worse
            if progress.event == "validation":
                trial.report(progress.metrics["score"], validations)
                validations += 1
                worse = bool(trial.should_prune())
            return not worse

        run = self._folder / f"trial_{trial.number:04d}"
        train(run, chosen, callback=watch)
        if worse:
            raise self._pruned
        return RunFolder(run).best_score()


def _settings(settings: TrainSettings, values: Mapping[str, object]) -> TrainSettings:
    return TrainSettings.from_dict(with_values(settings.to_dict(), values), where="the trial")


def _ended(study: Any) -> int:  # noqa: ANN401 - an Optuna study
    """Trials that came to an end, good or not; failed ones were interrupted."""
    return sum(
        trial.state.name in ("COMPLETE", "PRUNED") for trial in study.get_trials(deepcopy=False)
    )


def _same_problem(
    study: Any,  # noqa: ANN401 - an Optuna study
    folder: Path,
    settings: TrainSettings,
    ranges: Sequence[Range],
) -> None:
    """Note what a new study is about; hold an old one to it."""
    asked = {
        "settings": to_strict_json(settings.to_dict()),
        "ranges": to_strict_json([vars(one) | {"choices": list(one.choices)} for one in ranges]),
    }
    known = study.user_attrs
    for name, value in asked.items():
        if name not in known:
            study.set_user_attr(name, value)
        elif known[name] != value:
            raise ConfigError(
                f"{folder} holds a study with other {name}: give the same again, or another folder"
            )
