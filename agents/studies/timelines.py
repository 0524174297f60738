"""What does a policy do differently from PREMA? Both on one workload, drawn as Gantt charts.

python -m prema_gym.agents.studies.timelines learned docs --seed 500000003
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from prema_gym.agents import seeds
from prema_gym.agents.training.validation import REFERENCE

from prema_gym import agents, baselines
from prema_gym.errors import PremaError
from prema_gym.evaluation.playing import play_on, simulator_for
from prema_gym.evaluation.policy import Decider
from prema_gym.files import write_atomically
from prema_gym.metrics import Outcomes
from prema_gym.simulator import Mechanism
from prema_gym.views.episode import view
from prema_gym.views.gantt import draw_gantt, new_figure
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.generate import sample_batch
from prema_gym.workloads.scenario import Scenario


def draw(policy: Decider, scenario: Scenario, seed: int, picture: Path) -> Outcomes:
    """Play one workload and draw who ran when.

    Args:
        policy: Decides.
        scenario: What is drawn, and the machine.
        seed: The workload, a test seed.
        picture: The file to write; its ending says the format.

    Returns:
        What became of the workload.

    Raises:
        ConfigError: The seed is no test seed.
        MissingExtraError: Matplotlib is not installed.
    """
    seeds.check_test(seed, 1)
    catalog = compile_scenario(scenario)
    batch = sample_batch(catalog, [seed])
    simulator = simulator_for(policy, catalog, batch, record_timeline=True)
    outcomes = play_on(simulator, policy, batch)
    figure = new_figure(scenario.num_tasks)
    draw_gantt(view(simulator, 0), figure)
    write_atomically(picture, figure.savefig)
    return outcomes


def main() -> None:
    """Read the command line, draw both, and print each task's NTT."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("policy", help="a shipped policy, a run folder or a file")
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--scenario", default="paper")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    try:
        scenario = scenarios.get(options.scenario)
        policy = agents.load(options.policy)
        options.folder.mkdir(parents=True, exist_ok=True)
        for name, decider in ((policy.name, policy), (REFERENCE, baselines.make(REFERENCE))):
            path = options.folder / f"timeline-{name}.png"
            outcomes = draw(decider, scenario, options.seed, path)
            ntt = " ".join(
                f"{value:.2f}(π{weight})"
                for value, weight in zip(outcomes.ntt[0], outcomes.priority[0], strict=True)
            )
            checkpoints = int(np.sum(outcomes.preemptions[:, Mechanism.CHECKPOINT]))
            print(f"{path}: {checkpoints} checkpoints; NTT (priority) {ntt}")
    except PremaError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: cannot write to {options.folder}: {error.strerror}")


if __name__ == "__main__":
    main()
