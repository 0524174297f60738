"""How does a run of the evolution strategy go? Breed, validate and keep, until time is up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch.utils.tensorboard import SummaryWriter

from prema_gym.agents.policies.files import policy_of
from prema_gym.agents.policies.weights_file import AnyWeights, save_weights
from prema_gym.agents.scorer.balancer_shape import BalancerShape
from prema_gym.agents.training.evolution.course import course_of
from prema_gym.agents.training.evolution.search import EvolutionStrategy, Generation, first_guess
from prema_gym.agents.training.progress import Reporter
from prema_gym.agents.training.provenance import describe_policy
from prema_gym.agents.training.run import TrainingRun
from prema_gym.agents.training.selection import MORE, add_average, choose_best, latest
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.agents.training.validation import Validation, Validator, describe


def evolve(run: TrainingRun) -> None:
    """Carry a training run of the evolution strategy to its end."""
    folder, settings = run.folder, run.settings
    config, scenario = settings.evolution, settings.resolved_scenario
    with Reporter(settings.timesteps) as reporter:
        initial = first_guess(config.shape, settings.seed)
        if settings.init_from and not run.resumes:
            initial = _imitation(settings, reporter.say)
        search = EvolutionStrategy(
            scenario,
            config,
            workloads=settings.num_envs,
            seed=settings.seed,
            objective=settings.objective,
            initial=initial,
            legs=course_of(scenario, config.course),
            threads=settings.threads,
            executor=run.executor,
        )
        if run.resumes:
            search.restore(folder.load_state(), folder.state)
            folder.resumed(search.decisions)
            reporter.say_if_done(search.decisions)
        _Loop(run, search, reporter).train()


def _imitation(settings: TrainSettings, say: Callable[[str], None]) -> AnyWeights:
    """Weights that do what the settings' teacher does."""
    config, scenario = settings.evolution, settings.resolved_scenario
    shape = config.shape
    if isinstance(shape, BalancerShape):
        from prema_gym.agents.training.distillation import distil

        return distil(settings.init_from, scenario, shape, settings.seed, say=say)
    from prema_gym.agents.training.imitation import imitate

    course = replace(scenario, quantum_ms=config.quantum_ms)
    return imitate(settings.init_from, course, shape, settings.seed, say=say)


class _Loop:
    """The loop of one training run, and what happens between generations."""

    def __init__(self, run: TrainingRun, search: EvolutionStrategy, reporter: Reporter) -> None:
        self._run, self._search, self._reporter = run, search, reporter
        self._folder, self._settings = run.folder, run.settings
        self._validator = self._validate_with(self._settings.eval_workloads)

    def _validate_with(self, workloads: int, first: int = 0) -> Validator:
        """Every leg of the course, each with the scenario's own quantum."""
        scenario = self._search.scenario
        legs = course_of(scenario, self._settings.evolution.course)
        return Validator(
            [leg.scenario(scenario, scenario.quantum_ms) for leg in legs],
            weights=[leg.weight for leg in legs],
            estimates=[leg.estimate for leg in legs],
            workloads=workloads,
            first=first,
            objective=self._settings.objective,
        )

    def train(self) -> None:
        settings, search = self._settings, self._search
        due = (search.decisions // settings.eval_every + 1) * settings.eval_every
        with SummaryWriter(
            str(self._folder.tensorboard), purge_step=search.decisions + 1
        ) as self._writer:
            between = search.state()
            self._folder.save_state(between)  # before there is anything to lose
            try:
                while search.decisions < settings.timesteps and not self._run.stopped:
                    self._log(search.step())
                    if search.decisions >= min(due, settings.timesteps):
                        due = (search.decisions // settings.eval_every + 1) * settings.eval_every
                        self._validate()
                    # Not sooner: a validation that is broken off is due again, and so is the
                    # generation before it.
                    between = search.state()
                if not self._folder.rows():
                    self._validate()
            finally:
                # Also on an interrupt: a half-bred generation is forgotten, and a resumed run
                # breeds it again, to the bit.
                self._folder.save_state(between)
        add_average(self._folder, self._about(None))
        few = settings.eval_workloads
        choose_best(
            self._folder,
            latest(self._folder),
            self._validate_with(MORE * few, few),
            describe,
            self._reporter.say,
        )

    def _log(self, generation: Generation) -> None:
        self._reporter.at(generation.decisions)
        # The names under which SB3's algorithms log what an episode paid and how long it was.
        for name, value in (
            ("rollout/ep_rew_mean", generation.fitness),
            ("rollout/ep_len_mean", generation.length),
            ("search/spread", generation.spread),
        ):
            self._writer.add_scalar(name, value, generation.decisions)
        metrics = {name: getattr(generation, name) for name in ("fitness", "spread", "length")}
        self._run.tell("generation", generation.decisions, metrics)

    def _validate(self) -> None:
        search, folder = self._search, self._folder
        policy = policy_of("candidate", search.weights, self._about(None))
        seen = self._validator(policy)
        row = seen.row()
        for name, value in row.items():
            self._writer.add_scalar(f"validation/{name}", value, search.decisions)
        about = self._about(seen)
        save_weights(folder.checkpoint(search.decisions, ".npz"), search.weights, about)
        best = seen.score > folder.best_score()
        if best:
            save_weights(folder.path / "best.npz", search.weights, about)
        folder.add_evaluation(search.decisions, row)
        folder.save_state(search.state())
        self._reporter.say(describe(search.decisions, seen, best))
        self._run.tell("validation", search.decisions, row)

    def _about(self, seen: Validation | None) -> dict[str, object]:
        row = None if seen is None else seen.row()
        return describe_policy(self._settings, self._search.decisions, row)
