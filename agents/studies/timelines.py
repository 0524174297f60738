"""What does a policy do differently from PREMA? Both on one workload, drawn as Gantt charts."""

from __future__ import annotations

from pathlib import Path

from prema_gym.agents import seeds
from prema_gym.evaluation.playing import play_on, simulator_for
from prema_gym.evaluation.policy import Decider
from prema_gym.files import write_atomically
from prema_gym.metrics import Outcomes
from prema_gym.views.episode import view
from prema_gym.views.gantt import draw_gantt, new_figure
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
