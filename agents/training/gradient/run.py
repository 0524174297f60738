"""How does a training run of a Stable-Baselines3 algorithm go? Build, learn, validate, keep."""

from __future__ import annotations

import torch
from stable_baselines3.common.logger import configure
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from prema_gym.agents.training.gradient.callbacks import Keeper
from prema_gym.agents.training.gradient.model import (
    check_device,
    make_env,
    new_model,
    pace,
    training_slots,
)
from prema_gym.agents.training.gradient.state import pack, restored_model, unpack
from prema_gym.agents.training.progress import Reporter
from prema_gym.agents.training.run import TrainingRun
from prema_gym.agents.training.selection import MORE, best_scored, choose_best
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.agents.training.validation import Validator, describe
from prema_gym.errors import located
from prema_gym.simulator import DEFAULT_SLOTS


def train_gradient(run: TrainingRun) -> None:
    """Carry a training run of an SB3 algorithm to its end."""
    folder, settings = run.folder, run.settings
    check_device(settings.device)
    torch.set_num_threads(settings.threads)
    with Reporter(settings.timesteps) as reporter:
        state = unpack(folder.load_state(), folder.state) if run.resumes else None
        done = 0 if state is None else int(state["timesteps"])
        env = make_env(settings)
        if state is None:
            with located(str(folder.path / "config.toml")):
                model = new_model(settings, env, reporter.say)
        else:
            model = restored_model(settings, env, state, folder.state)
            folder.resumed(done)
            reporter.say_if_done(done)
        pace(model, settings)
        model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        validator = _validator(settings, settings.eval_workloads)
        keeper = Keeper(run, validator, reporter, lambda: pack(model))
        try:
            if done < settings.timesteps:
                model.learn(
                    settings.timesteps - done,
                    callback=keeper,
                    # Between lines of the log: rollouts, or episodes where there are none.
                    log_interval=4 if isinstance(model, OffPolicyAlgorithm) else 1,
                    reset_num_timesteps=state is None,
                )
        finally:
            if isinstance(
                model, OffPolicyAlgorithm
            ):  # what it has learned since the last validation counts too
                keeper.between = pack(model)
            if keeper.between is not None:
                folder.save_state(keeper.between)
            env.close()
        if settings.gradient.policy == "slots":
            few = settings.eval_workloads
            validator = _validator(settings, MORE * few, few)
            choose_best(folder, best_scored(folder), validator, describe, reporter.say)


def _validator(settings: TrainSettings, workloads: int, first: int = 0) -> Validator:
    return Validator(
        [settings.resolved_scenario],
        workloads=workloads,
        first=first,
        objective=settings.objective,
        slots=training_slots(settings) if settings.gradient.policy == "mlp" else DEFAULT_SLOTS,
    )
