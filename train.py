"""Train a scheduler: `python train.py --algo es --output runs/mine`, then evaluate it.

Everything is in the run's folder afterwards; `prema-gym evaluate --policies path:runs/mine`
compares it with PREMA. The work is done in `agents/`; this file reads the command line.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import NoReturn

try:
    from prema_gym.agents.training import run as training
    from prema_gym.agents.training.objective import FIVE, objective_names
    from prema_gym.agents.training.run_folder import RunFolder
    from prema_gym.agents.training.settings import ALGORITHMS, TEACHER, TrainSettings

    from prema_gym import agents, baselines
    from prema_gym.errors import ConfigError, PremaError
    from prema_gym.evaluation.compare import evaluate
    from prema_gym.simulator import DEFAULT_SLOTS
except KeyboardInterrupt:  # the imports take a moment
    print("stopped", file=sys.stderr)
    sys.exit(130)

# Timesteps and environments side by side where neither the command line nor a file gives them. The
# strategy's are decisions of all candidates, most of which only say that a candidate is worse.
DEFAULTS = {
    "es": {"timesteps": 400_000_000, "num_envs": 640},
    "maskable-ppo": {"timesteps": 2_000_000, "num_envs": 64},
    "ppo": {"timesteps": 2_000_000, "num_envs": 64},
    "a2c": {"timesteps": 2_000_000, "num_envs": 64},
    "dqn": {"timesteps": 500_000, "num_envs": 16},
}
VALIDATIONS = 20  # in a run, where --eval-every is not given
FINAL_WORKLOADS = 400


def complain(message: str) -> None:
    """Say in one line what is wrong."""
    print(f"train.py: error: {' '.join(message.split())}", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """A command line whose mistakes are told in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, without the options' list, and exit with 2."""
        complain(message)
        sys.exit(2)


def whole(text: str) -> int:
    """Read a whole number: 1000000, 1_000_000 or 1e6.

    Raises:
        ArgumentTypeError: It is none.
    """
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if float(text).is_integer():
            return int(float(text))
    raise argparse.ArgumentTypeError(
        f"a whole number is wanted, like 1000000, 1_000_000 or 1e6, given {text!r}"
    )


def parser() -> argparse.ArgumentParser:
    """The command line. Options not given keep the configuration file's value, or the default."""
    given = Parser(prog="train.py", description=(__doc__ or "").splitlines()[0])
    given.add_argument("--algo", choices=ALGORITHMS, help="how to train (default: es)")
    given.add_argument("--scenario", help="registered name or TOML file (default: paper)")
    given.add_argument("--objective", choices=objective_names(), help="(default: balanced)")
    given.add_argument(
        "--timesteps",
        type=whole,
        help="scheduling decisions to train for, in all (default: 400 million for es, half a "
        "million for dqn, else 2 million); es ends with the generation that reaches it",
    )
    given.add_argument("--num-envs", type=whole, help="environments side by side")
    given.add_argument("--seed", type=whole, help="(default: 0)")
    given.add_argument("--output", type=Path, help="folder of a new run")
    given.add_argument("--resume", type=Path, metavar="RUN", help="go on with this run's folder")
    given.add_argument("--init-from", choices=(TEACHER,), help="start as an imitation of it")
    given.add_argument("--eval-every", type=whole, help="timesteps between validations")
    given.add_argument("--eval-workloads", type=whole, help="workloads of a validation")
    given.add_argument("--device", help="where torch computes (default: cpu)")
    given.add_argument("--threads", type=whole, help="(default: 2)")
    given.add_argument("--policy", choices=("slots", "mlp"), help="network (default: slots, ours)")
    given.add_argument("--config", type=Path, metavar="FILE.toml", help="settings from a file")
    return given


def refuse_with_resume(options: argparse.Namespace) -> None:
    """Refuse what a resumed run cannot take: it goes on as it was started.

    Raises:
        ConfigError: Another option than ``--timesteps`` was given with ``--resume``.
    """
    given = [
        f"--{name.replace('_', '-')}"
        for name, value in vars(options).items()
        if value is not None and name not in ("resume", "timesteps")
    ]
    if given:
        raise ConfigError(
            f"a resumed run goes on as {options.resume}/config.toml says; only --timesteps may be "
            f"given with --resume, not {', '.join(given)}"
        )


def settings_from(options: argparse.Namespace) -> TrainSettings:
    """Join defaults, the configuration file and the command line, in this order."""
    base = TrainSettings() if options.config is None else TrainSettings.from_toml(options.config)
    names = [field.name for field in fields(TrainSettings) if hasattr(options, field.name)]
    changes = {name: getattr(options, name) for name in names}
    changes = {name: value for name, value in changes.items() if value is not None}
    if options.config is None:
        changes = DEFAULTS[changes.get("algo", base.algo)] | changes
        changes.setdefault("eval_every", max(1, changes["timesteps"] // VALIDATIONS))
    if options.policy is not None:
        changes["gradient"] = replace(base.gradient, policy=options.policy)
    return replace(base, **changes)


def report(folder: Path) -> None:
    """Compare the trained policy with PREMA on workloads that no training or selection has seen."""
    settings = TrainSettings.from_toml(folder / "config.toml")
    policy = agents.load(folder)
    slots = getattr(policy, "slots", DEFAULT_SLOTS)
    print(f"{policy.name}: {policy.source}; file {policy.about.get('digest', 'in a zip')}")
    result = evaluate(
        settings.resolved_scenario,
        {policy.name: policy, TEACHER: baselines.make(TEACHER)},
        workloads=FINAL_WORKLOADS,
        relative_to=TEACHER,
        slots=slots,
    )
    print(
        f"{FINAL_WORKLOADS} unseen workloads of {settings.scenario}, times better than {TEACHER}:"
    )
    if settings.resolved_scenario.trace is not None:
        print(
            "(unseen in networks, batches and priorities; arrivals are stretches of the one trace "
            "that was trained on: another part of it, in a file of its own, would be new)"
        )
    for metric in FIVE:
        estimate = result.policies[policy.name].metrics[metric.name]
        low, high = estimate.ratio_ci95
        print(
            f"  {metric.title:10} {estimate.mean:8.4g}   {estimate.ratio:6.3f}× "
            f"[{low:.3f}, {high:.3f}]"
        )
    also = f" --slots {slots}" if slots != DEFAULT_SLOTS else ""
    print(
        f"more: prema-gym evaluate --policies path:{folder},{TEACHER} --relative-to {TEACHER} "
        f"--scenario {settings.scenario}{also}"
    )


def farewell(folder: Path) -> str:
    """What to say at an interrupt: what there is, and how to go on."""
    try:
        saved = RunFolder(folder).was_saved
    except ConfigError as error:
        return f"stopped; {error}"
    if saved:
        return f"stopped and saved; go on with: python train.py --resume {folder}"
    return "stopped before anything was saved; the same command starts over"


def main(arguments: Sequence[str] | None = None) -> int:
    """Train or resume, then report; the exit status."""
    options = parser().parse_args(arguments)
    folder = options.resume or options.output
    try:
        if (options.resume is None) == (options.output is None):
            raise ConfigError("give either --output for a new run or --resume for an old one")
        if options.resume is not None:
            refuse_with_resume(options)
            training.resume(options.resume, options.timesteps)
        else:
            training.train(options.output, settings_from(options))
        report(folder)
    except PremaError as error:
        complain(str(error))
        return 2
    except OSError as error:  # a full disk, say
        complain(f"{error.filename or folder}: {error.strerror or error}")
        return 2
    except KeyboardInterrupt:
        print("\n" + farewell(folder), file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    # A scheduler's SIGTERM saves like Ctrl-C, which a shell's background job would not even hear.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.default_int_handler)
    sys.exit(main())
