"""Search settings of a training run with Optuna, and stop early what does badly.

Run: python examples/optuna_pruning.py --trials 20 --timesteps 200000 --output runs/search

A trial is a training run in a folder of its own. The run tells its callback of every validation; a
callback that returns False ends the run, and what it had until then is kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import optuna

from prema_gym import agents
from prema_gym.agents.training.gradient.config import GradientConfig
from prema_gym.agents.training.run import TrainingProgress


def main() -> None:
    """Search, and print the best settings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--timesteps", type=int, default=200_000, help="of each trial")
    parser.add_argument("--validations", type=int, default=5, help="of each trial")
    parser.add_argument("--workloads", type=int, default=100, help="of a validation")
    parser.add_argument("--output", type=Path, required=True, help="a new folder for the runs")
    options = parser.parse_args()

    def run(trial: optuna.Trial) -> float:
        settings = agents.TrainSettings(
            algo="maskable-ppo",
            timesteps=options.timesteps,
            eval_every=max(1, options.timesteps // options.validations),
            eval_workloads=options.workloads,
            seed=trial.number,
            gradient=GradientConfig(
                gamma=trial.suggest_float("gamma", 0.98, 1.0),
                learning_rate=trial.suggest_float("learning_rate", 1e-4, 3e-3, log=True),
            ),
        )
        best = float("-inf")

        def report(progress: TrainingProgress) -> bool:
            nonlocal best
            if progress.event == "validation":
                best = max(best, progress.metrics["score"])
                trial.report(progress.metrics["score"], progress.timesteps)
            return not trial.should_prune()

        agents.train(options.output / f"trial-{trial.number}", settings, callback=report)
        if trial.should_prune():
            raise optuna.TrialPruned
        return best

    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=2),
    )
    study.optimize(run, n_trials=options.trials)
    pruned = study.get_trials(states=(optuna.trial.TrialState.PRUNED,))
    print(f"{len(pruned)} of {len(study.trials)} trials were stopped early")
    print(f"best score {study.best_value:.3f}: {study.best_params}")


if __name__ == "__main__":
    main()
