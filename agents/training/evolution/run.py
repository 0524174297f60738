"""How does a run of the evolution strategy go? Breed, validate and keep, until time is up."""

from __future__ import annotations

from dataclasses import replace

from prema_gym.agents.policies.learned import LearnedPolicy
from prema_gym.agents.policies.weights_file import save_weights
from prema_gym.agents.training.evolution.course import COURSE
from prema_gym.agents.training.evolution.search import EvolutionStrategy, Generation, first_guess
from prema_gym.agents.training.progress import Reporter
from prema_gym.agents.training.run_folder import RunFolder, describe_policy
from prema_gym.agents.training.selection import MORE, add_average, choose_best, latest
from prema_gym.agents.training.settings import TrainSettings
from prema_gym.agents.training.validation import Validation, Validator
from torch.utils.tensorboard import SummaryWriter


def evolve(folder: RunFolder, settings: TrainSettings, *, resume: bool) -> None:
    """Run the evolution strategy of a run folder to its end.

    Args:
        folder: Where everything is kept.
        settings: What to do.
        resume: Go on from the folder's state.
    """
    config = replace(settings.evolution, workloads=settings.num_envs)
    scenario = settings.resolved_scenario
    with Reporter(settings.timesteps) as reporter:
        initial = first_guess(config.shape, settings.seed)
        if settings.init_from and not resume:
            from prema_gym.agents.training.imitation import imitate

            course = replace(scenario, quantum_ms=config.quantum_ms)
            initial = imitate(
                settings.init_from, course, config.shape, settings.seed, say=reporter.say
            )
        search = EvolutionStrategy(
            scenario,
            config,
            seed=settings.seed,
            objective=settings.objective,
            initial=initial,
            threads=settings.threads,
        )
        if resume:
            search.restore(folder.load_state(), folder.state)
            folder.resumed(search.decisions)
            reporter.say_if_done(search.decisions)
        _Loop(folder, settings, search, reporter).run()


class _Loop:
    """The loop of one run, and what happens between generations."""

    def __init__(
        self,
        folder: RunFolder,
        settings: TrainSettings,
        search: EvolutionStrategy,
        reporter: Reporter,
    ) -> None:
        self._folder, self._settings, self._search = folder, settings, search
        self._reporter = reporter
        self._validator = self._validate_with(settings.eval_workloads)

    def _validate_with(self, workloads: int, first: int = 0) -> Validator:
        """Every leg of the course, each with the scenario's own quantum."""
        scenario = self._search.scenario
        return Validator(
            [leg.scenario(scenario, scenario.quantum_ms) for leg in COURSE],
            weights=[leg.weight for leg in COURSE],
            workloads=workloads,
            first=first,
            objective=self._settings.objective,
        )

    def run(self) -> None:
        settings, search = self._settings, self._search
        due = (search.decisions // settings.eval_every + 1) * settings.eval_every
        with SummaryWriter(
            str(self._folder.tensorboard), purge_step=search.decisions + 1
        ) as self._writer:
            between = search.state()
            self._folder.save_state(between)  # before there is anything to lose
            try:
                while search.decisions < settings.timesteps:
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
        self._writer.add_scalar("rollout/ep_rew_mean", generation.fitness, generation.decisions)
        self._writer.add_scalar("rollout/ep_len_mean", generation.length, generation.decisions)
        self._writer.add_scalar("search/spread", generation.spread, generation.decisions)

    def _validate(self) -> None:
        search, folder = self._search, self._folder
        policy = LearnedPolicy("candidate", search.weights, self._about(None))
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

    def _about(self, seen: Validation | None) -> dict[str, object]:
        row = None if seen is None else seen.row()
        return describe_policy(self._settings, self._search.decisions, row)


def describe(timesteps: int, seen: Validation, best: bool) -> str:
    """One line about a validation: how many times better than the reference on each metric."""
    row = seen.row()
    names = ("antt", "stp", "fairness", "sla_violation", "p95_ntt_high", "geometric_mean")
    short = ("ANTT", "STP", "fairness", "SLA", "p95 high", "mean")
    ratios = ", ".join(
        f"{label} {row[f'{name}_ratio']:.3f}×" for label, name in zip(short, names, strict=True)
    )
    mark = " (best so far)" if best else ""
    return (
        f"{timesteps:>12,} steps: {ratios}; least anywhere {row['least_ratio_anywhere']:.3f}×{mark}"
    )
