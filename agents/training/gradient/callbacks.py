"""What happens while SB3 learns? Validation, checkpoints and the progress bar, at set timesteps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from prema_gym.agents.policies.learned import TRAINED_MECHANISMS, LearnedPolicy
from prema_gym.agents.policies.sb3_model import SB3Policy
from prema_gym.agents.policies.weights_file import save_weights
from prema_gym.agents.training.progress import Reporter
from prema_gym.agents.training.provenance import describe_policy
from prema_gym.agents.training.run import TrainingRun
from prema_gym.agents.training.validation import Validation, Validator, describe
from prema_gym.files import write_atomically


class Keeper(BaseCallback):
    """Validates and keeps the policy every ``eval_every`` timesteps, and at the end.

    The marks are multiples of ``eval_every`` whatever the number of environments: a validation
    follows the first update at or after its mark. Between updates weights stay as they are, and
    there is nothing new to see.

    Attributes:
        between: What a resumed run needs, as of the last rollout's start or the end of training.
    """

    between: bytes | None = None

    def __init__(
        self,
        run: TrainingRun,
        validator: Validator,
        reporter: Reporter,
        pack: Callable[[], bytes],
    ) -> None:
        """Take what is needed; see the modules of the types."""
        super().__init__()
        self._run, self._validator = run, validator
        self._folder, self._settings = run.folder, run.settings
        self._reporter, self._pack = reporter, pack
        self._unsaved = True
        self._due = 0
        self._updates_seen = 0

    def _on_training_start(self) -> None:
        self._updates_seen = self._updates()
        self._set_due()

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self._due and self._updates() > self._updates_seen:
            self._set_due()
            self._validate()
        # Between rollouts nothing is under way: a run resumed from here is the same as one that
        # was never interrupted. A replay memory is too large to be written at every one.
        on_policy = isinstance(self.model, OnPolicyAlgorithm)
        if on_policy or self._unsaved:
            self.between = self._pack()
        if self._unsaved:
            assert self.between is not None  # not on policy: packed when it was saved last
            self._folder.save_state(self.between)
            self._unsaved = False

    def _on_step(self) -> bool:
        self._reporter.at(self.num_timesteps)
        return not self._run.stopped

    def _on_training_end(self) -> None:
        if self._updates() > self._updates_seen or not self._folder.rows():
            self._validate()
        # Stopped in the middle of a rollout, it goes on from that one's start.
        if not (self._run.stopped and isinstance(self.model, OnPolicyAlgorithm)):
            self.between = self._pack()

    def _set_due(self) -> None:
        every = self._settings.eval_every
        self._due = (self.num_timesteps // every + 1) * every

    def _updates(self) -> int:
        """How often the weights have changed, as SB3 counts it."""
        return int(self.model._n_updates)

    def _validate(self) -> None:
        self._updates_seen = self._updates()
        folder, scorer = self._folder, getattr(self.model.policy, "scorer", None)
        policy = (
            SB3Policy("candidate", self.model.policy, {"mechanisms": TRAINED_MECHANISMS})
            if scorer is None
            else LearnedPolicy("candidate", scorer.weights, {"mechanisms": TRAINED_MECHANISMS})
        )
        seen = self._validator(policy)
        row = seen.row()
        # Not through the logger's memory, which holds what the update has noted for its own line.
        named = {f"validation/{name}": value for name, value in row.items()}
        for writer in self.logger.output_formats:
            writer.write(named, dict.fromkeys(named, ()), self.num_timesteps)
        best = seen.score > folder.best_score()
        if isinstance(policy, LearnedPolicy):
            about = self._about(seen)
            save_weights(folder.checkpoint(self.num_timesteps, ".npz"), policy.weights, about)
            if best:
                save_weights(folder.path / "best.npz", policy.weights, about)
        else:
            write_atomically(folder.checkpoint(self.num_timesteps, ".zip"), self._write_zip)
            if best:
                write_atomically(folder.path / "best.zip", self._write_zip)
        folder.add_evaluation(self.num_timesteps, row)
        self._unsaved = True
        self._reporter.say(describe(self.num_timesteps, seen, best))
        self._run.tell("validation", self.num_timesteps, row)

    def _write_zip(self, path: Path) -> None:
        self.model.save(path)

    def _about(self, seen: Validation) -> dict[str, object]:
        return describe_policy(self._settings, self.num_timesteps, seen.row())
