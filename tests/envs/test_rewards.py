from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from prema_gym import baselines, metrics
from prema_gym.envs import reward_names
from prema_gym.envs.rewards.reward import BALANCED
from prema_gym.envs.rewards.terms import TERMS, AtEnd, Compiled
from prema_gym.errors import ConfigError
from prema_gym.simulator import MECHANISMS
from prema_gym.simulator.simulator import Simulator
from prema_gym.workloads import TaskSpec
from tests.envs.helpers import (
    chooser,
    go_on,
    play,
    random_legal,
    single,
    tasks,
    vector,
)

WEIGHTS: dict[str, Mapping[str, float]] = {name: {name: 1.0} for name in TERMS}
WEIGHTS["balanced"] = BALANCED
DENSE_COMPILED = tuple(name for name, term in TERMS.items() if isinstance(term.how, Compiled))


def expected(weights: Mapping[str, float], values: Mapping[str, float]) -> float:
    """What the rewards of a finished episode add up to, from its reported metrics."""
    total = 0.0
    for name, weight in weights.items():
        value = values[TERMS[name].metric]
        total += weight * TERMS[name].sign * (0.0 if math.isnan(value) else value)
    return total


def first_episodes(num_envs: int, **arguments: Any) -> list[dict[str, Any]]:
    """Random play; of each one's first episode: rewards, terms, metrics and whether it ended."""
    envs = vector(num_envs, **arguments)
    rng = np.random.default_rng(1)
    _, infos = envs.reset(seed=100)
    found: list[dict[str, Any]] = [{"rewards": [], "terms": []} for _ in range(num_envs)]
    while not all("metrics" in own for own in found):
        action = random_legal(infos["action_mask"], rng)
        _, rewards, terminated, truncated, infos = envs.step(action)
        for i, own in enumerate(found):
            if "metrics" in own:
                continue
            own["rewards"].append(rewards[i])
            own["terms"].append(
                {n: v[i] for n, v in infos["reward_terms"].items() if not n.startswith("_")}
            )
            if terminated[i] or truncated[i]:
                own["metrics"] = {n: v[i] for n, v in infos["episode_metrics"].items()}
                own["tasks"] = {n: v[i] for n, v in infos["tasks"].items()}
                own["terminated"], own["now_ms"] = terminated[i], infos["now_ms"][i]
    return found


@pytest.mark.parametrize("name", reward_names())
def test_rewards_add_up_to_the_metric(name: str) -> None:
    mixed = {"mechanisms": MECHANISMS, "sticky_drain": False}
    episodes = first_episodes(20, reward=name, **mixed)
    finished = [own for own in episodes if own["terminated"]]
    assert len(finished) >= 15
    for own in finished:
        assert sum(own["rewards"]) == pytest.approx(
            expected(WEIGHTS[name], own["metrics"]), abs=1e-6
        )
        terms = {n: sum(step[n] for step in own["terms"]) for n in WEIGHTS[name]}
        assert sum(own["rewards"]) == pytest.approx(
            sum(weight * terms[n] for n, weight in WEIGHTS[name].items()), abs=1e-9
        )
        assert set(own["terms"][0]) == set(WEIGHTS[name])
    # A reward that is the same whatever happens teaches nothing.
    assert len({round(sum(own["rewards"]), 9) for own in finished}) >= 5


def so_far(name: str, tasks: Mapping[str, Any], now: int, high: int) -> float:
    """What a term has paid by ``now``, task by task in plain Python."""
    arrival, completion = tasks["arrival_cycles"], tasks["completion_cycles"]
    isolated, priority = tasks["isolated_cycles"], tasks["priority"]
    count = len(arrival)
    here = [i for i in range(count) if arrival[i] <= now]
    end = [int(completion[i]) if completion[i] >= 0 else now for i in range(count)]
    slow = {i: (end[i] - int(arrival[i])) / int(isolated[i]) for i in here}
    if name == "antt":
        return -sum(slow.values()) / count
    if name == "priority_antt":
        return -sum(int(priority[i]) * slow[i] for i in here) / int(priority.sum())
    if name == "stp":
        return sum(1 / slow[i] for i in here if completion[i] >= 0)
    if name == "sla":
        return -sum(bool(end[i] > tasks["deadline_cycles"][i]) for i in here) / count
    if name == "sla_curve":
        shares = [sum(slow[i] > n for n in range(2, 21)) / 19 for i in here]
        return -sum(shares) / count
    if name == "fairness":
        return 0.0  # only asked where some task is unfinished
    assert name == "tail"
    of_high = [slow[i] for i in here if priority[i] == high]
    return -float(np.percentile(of_high, 95)) if of_high else 0.0


@pytest.mark.parametrize("name", [*DENSE_COMPILED, "fairness", "tail", "energy"])
def test_what_unfinished_tasks_count_at_truncation(name: str) -> None:
    episodes = first_episodes(20, reward=name, max_decisions=12)
    cut = [own for own in episodes if not own["terminated"]]
    assert len(cut) >= 10
    for own in cut:
        assert own["metrics"]["unfinished"] > 0
        total = sum(own["rewards"])
        if name == "energy":
            assert total == pytest.approx(-own["metrics"]["energy_mj"], abs=1e-6)
            continue
        now = round(own["now_ms"] * 700_000)
        assert total == pytest.approx(so_far(name, own["tasks"], now, high=9), abs=1e-6)
        if name == "stp":
            assert total == pytest.approx(own["metrics"]["stp"], abs=1e-6)


@pytest.mark.small
@pytest.mark.parametrize("name", DENSE_COMPILED)
def test_a_dense_total_is_right_after_every_step(name: str) -> None:
    """Lines that are kept over arrivals, completions or passed limits would show here."""
    env = single(reward=name, mechanisms=MECHANISMS, max_decisions=400)
    simulator = env.simulator
    for seed in range(3):
        choose = chooser(seed)
        observation, info = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            step = env.step(choose(observation, info["action_mask"]))
            observation, reward, terminated, truncated, info = step
            total += reward
            over = terminated or truncated
            now = int(simulator.env["now_cycles"][0])
            records = {n: simulator.tasks[n][0] for n in simulator.tasks.dtype.names or ()}
            assert total == pytest.approx(so_far(name, records, now, high=9), abs=1e-9)


def test_which_terms_are_dense() -> None:
    for name in TERMS:
        rewards, _ = play(single(reward=name), go_on, seed=4)
        assert len(rewards) > 8
        paid_early = any(reward != 0 for reward in rewards[: len(rewards) // 2])
        if isinstance(TERMS[name].how, AtEnd):
            assert TERMS[name].paid == "end"
            assert all(reward == 0 for reward in rewards[:-1])
        elif name in ("antt", "priority_antt", "energy"):
            assert TERMS[name].paid == "dense"
            assert all(reward < 0 for reward in rewards)
        else:
            assert TERMS[name].paid == "dense"
            assert paid_early or name == "sla"


@pytest.mark.small
def test_two_equal_tasks_by_hand() -> None:
    """First come, first served: the first has NTT 1, the second waits for it and has 2."""
    pair = tasks(TaskSpec(network="alexnet"), TaskSpec(network="alexnet"))
    alone = 2 * int(pair.isolated_cycles[0])
    by_hand = {
        "antt": -1.5,
        "priority_antt": -1.5,
        "stp": 1.5,
        "sla": 0.0,  # deadlines at 8 × the estimate
        "sla_curve": 0.0,  # 2 is not above 2
        "fairness": 0.5,
        "tail": 0.0,  # no task of priority 9
        "balanced": -1.5 / 8 + 1.5 / 8 + 0.5,
    }
    for name, value in by_hand.items():
        rewards, info = play(single(reward=name, workload=pair), go_on)
        assert sum(rewards) == pytest.approx(value, abs=1e-9), name
        assert info["tasks"]["completion_cycles"].tolist() == [alone // 2, alone, 0]
    high = tasks(*[TaskSpec(network="alexnet", priority=9)] * 2)
    rewards, _ = play(single(reward="tail", workload=high), go_on)
    assert sum(rewards) == pytest.approx(-(1 + 0.95), abs=1e-9)


def test_weights_add_terms_up() -> None:
    mixed, _ = play(single(reward={"antt": 1, "fairness": 2.5}), chooser(3), seed=3)
    antt, _ = play(single(reward="antt"), chooser(3), seed=3)
    fair, _ = play(single(reward="fairness"), chooser(3), seed=3)
    np.testing.assert_allclose(mixed, np.array(antt) + 2.5 * np.array(fair), atol=1e-12)


@pytest.mark.parametrize("paid", ["antt", "tail", "energy"])
def test_terms_of_weight_0_are_shown_and_not_paid(paid: str) -> None:
    alone, last = play(single(reward=paid), chooser(3), seed=3)
    weights = {name: float(name == paid) for name in TERMS}
    rewards, info = play(single(reward=weights), chooser(3), seed=3)
    np.testing.assert_allclose(rewards, alone, rtol=0, atol=1e-9)
    assert set(info["reward_terms"]) == set(TERMS)
    # Fairness is due in the step in which the episode ends, as a whole.
    assert info["reward_terms"]["fairness"] == pytest.approx(info["episode_metrics"]["fairness"])
    shown = last["reward_terms"][paid]
    assert info["reward_terms"][paid] == pytest.approx(shown, abs=1e-9)


def minus_the_makespan(simulator: Simulator) -> metrics.FloatArray:
    return -simulator.env["now_cycles"] / 700_000


def test_a_function_gives_the_total() -> None:
    rewards, info = play(single(reward=minus_the_makespan), chooser(0), seed=0)
    assert sum(rewards) == pytest.approx(-info["episode_metrics"]["makespan_ms"])
    assert set(info["reward_terms"]) == {"custom"}
    own = first_episodes(5, reward=minus_the_makespan)[2]
    assert sum(own["rewards"]) == pytest.approx(-own["metrics"]["makespan_ms"])


@pytest.mark.parametrize("total", [0.0, [1.0, 2.0], [math.nan], "none"])
def test_a_function_that_returns_something_else_is_an_error(total: Any) -> None:
    env = single(reward=lambda simulator: total)
    env.reset(seed=0)
    with pytest.raises((ConfigError, ValueError), match=r"one finite total|could not convert"):
        env.step(0)


@pytest.mark.parametrize("name", ["antt", "stp", "priority_antt"])
def test_a_better_policy_earns_more(name: str) -> None:
    """Returns order policies as the metric does, over the same workloads."""
    returns, values = [], []
    for policy in (baselines.make("static-sjf"), baselines.make("np-fcfs")):
        envs = vector(40, reward=name)
        observations, infos = envs.reset(seed=0)
        total, value = np.zeros(40), np.full(40, np.nan)
        while np.isnan(value).any():
            actions, _ = policy.predict(observations, action_masks=infos["action_mask"])
            observations, rewards, terminated, _, infos = envs.step(actions)
            total += np.where(np.isnan(value), rewards, 0.0)
            if terminated.any():
                ended = infos["episode_metrics"][TERMS[name].metric]
                value = np.where(np.isnan(value) & terminated, ended, value)
        returns.append(total.mean())
        values.append(TERMS[name].sign * value.mean())
    assert returns[0] > returns[1] + 0.1
    np.testing.assert_allclose(returns, values, atol=1e-6)


@pytest.mark.small
def test_the_terms_name_metrics_and_the_paper_weighs() -> None:
    known = {metric.name: metric for metric in metrics.METRICS}
    for term in TERMS.values():
        assert (known[term.metric].better == "higher") == (term.sign > 0)
        assert (known[term.metric].unit or "1") == term.unit
    assert set(BALANCED) == {"antt", "stp", "fairness", "sla_curve"}
