"""A scenario with a trace works wherever a scenario does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from prema_gym import baselines, cli
from prema_gym.envs import PremaNPUEnv
from prema_gym.errors import ConfigError
from prema_gym.evaluation import evaluate, evaluate_settings, play
from prema_gym.metrics.formulas import UNFINISHED
from prema_gym.workloads import Scenario, compile_scenario, sample_batch

AZURE = Path(__file__).parents[1] / "workloads" / "data" / "azure_llm_code_400.csv"
NETWORKS = ("alexnet", "mobilenet-v1")
REPLAYED = Scenario(
    name="replayed",
    networks=NETWORKS,
    batch_sizes=(1,),
    num_tasks=5,
    arrival="trace",
    trace=str(AZURE),
    window_ms=4.0,
)
TOML = """
name = "replayed"
networks = ["alexnet", "mobilenet-v1"]
batch_sizes = [1]
num_tasks = 5
arrival = "trace"
trace = "requests.csv"
window_ms = 4.0
"""


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    """A scenario file beside its trace."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "requests.csv").write_bytes(AZURE.read_bytes())
    path = folder / "replayed.toml"
    path.write_text(TOML)
    return path


def arrivals_of(env: PremaNPUEnv, **reset: Any) -> list[int]:
    """Arrivals [cycles] of an episode in which the first choice is always taken."""
    _, info = env.reset(**reset)
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
        over = terminated or truncated
    tasks = info["tasks"]
    present = tasks["isolated_cycles"] > 0  # the rest is padding
    return list(tasks["arrival_cycles"][present].tolist())


@pytest.mark.parametrize("speed", [None, 50.0])
def test_every_request_of_a_trace_is_completed(speed: float | None) -> None:
    rows = 400
    scenario = Scenario(
        networks=("mobilenet-v1",),
        batch_sizes=(1,),
        num_tasks=rows,
        arrival="trace",
        trace=str(AZURE),
        trace_speed=speed,
        window_ms=400.0,
    )
    policies = {name: baselines.make(name) for name in ("np-fcfs", "dynamic-prema")}
    result = evaluate(scenario, policies, workloads=2)
    for found in result.policies.values():
        assert (found.tasks, found.unfinished) == (2 * rows, 0)
    catalog = compile_scenario(scenario)
    batch = sample_batch(catalog, [0])
    outcomes = play(policies["np-fcfs"], catalog, batch)
    assert (outcomes.completion_cycles != UNFINISHED).sum() == rows
    assert (outcomes.completion_cycles >= batch.arrival_cycles + batch.isolated_cycles).all()


def test_the_command_line_finds_a_trace_beside_its_scenario(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, toml: Path
) -> None:
    monkeypatch.chdir(toml.parent.parent)
    arguments = ["evaluate", "--policies", "np-fcfs", "--workloads", "4", "--format", "json"]
    with pytest.raises(SystemExit) as stop:
        cli.main([*arguments, "--scenario", "mine/replayed.toml"])
    assert not stop.value.code
    report = json.loads(capsys.readouterr().out)
    here = evaluate(REPLAYED, {"np-fcfs": baselines.make("np-fcfs")}, workloads=4)
    assert report["workload_digest"] == here.workload_digest
    again = evaluate_settings(report["settings"], baselines.make)
    assert again.workload_digest == here.workload_digest


def test_the_command_line_names_the_line_that_is_wrong(
    capsys: pytest.CaptureFixture[str], toml: Path
) -> None:
    trace = toml.parent / "requests.csv"
    trace.write_text("arrival_ms\n1\nNaN\n")
    with pytest.raises(SystemExit) as stop:
        cli.main(["evaluate", "--scenario", str(toml)])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert f"{str(trace.resolve())!r}, line 3: arrival_ms: 'NaN'" in err


def test_an_environment_draws_what_sample_draws(toml: Path) -> None:
    catalog = compile_scenario(REPLAYED)
    expected = sample_batch(catalog, range(3)).arrival_cycles
    for form in (REPLAYED, str(toml), json.loads(json.dumps(REPLAYED.to_dict()))):
        env = gymnasium.make("PremaNPU-v0", scenario=form)
        for seed in range(3):
            assert arrivals_of(env.unwrapped, seed=seed) == expected[seed].tolist()  # type: ignore[arg-type]
    assert env.spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert arrivals_of(again.unwrapped, seed=1) == expected[1].tolist()  # type: ignore[arg-type]


def test_one_episode_may_have_other_arrivals() -> None:
    env = PremaNPUEnv(scenario=REPLAYED)
    replayed = arrivals_of(env, seed=0)
    periodic = arrivals_of(env, seed=0, options={"arrival": "periodic"})
    assert periodic == [i * 560_000 for i in range(5)]
    assert arrivals_of(env, seed=0) == replayed
    assert arrivals_of(env, seed=0, options={"arrival": "trace"}) == replayed
    twice = arrivals_of(env, seed=0, options={"window_ms": 8.0})
    assert np.abs(np.array(twice) - 2 * np.array(replayed)).max() <= 3
    real = arrivals_of(env, seed=0, options={"trace_speed": 1000})
    assert real != replayed
    assert len(arrivals_of(env, seed=0, options={"num_tasks": 7})) == 7
    with pytest.raises(ConfigError, match=r"has 400 requests, but num_tasks .* is 401"):
        env.reset(options={"num_tasks": 401})
    assert arrivals_of(env, seed=0) == replayed


def test_an_environment_without_a_trace_may_replay_one() -> None:
    env = PremaNPUEnv(scenario=Scenario(networks=NETWORKS, batch_sizes=(1,), num_tasks=5))
    options = {"arrival": "trace", "trace": str(AZURE), "window_ms": 4.0}
    assert arrivals_of(env, seed=2, options=options) == arrivals_of(
        PremaNPUEnv(scenario=REPLAYED), seed=2
    )
    with pytest.raises(ConfigError, match="needs the name of a file as trace"):
        env.reset(options={"arrival": "trace"})
    with pytest.raises(ConfigError, match=r"trace is for arrival 'trace' only"):
        env.reset(options={"trace": str(AZURE)})


def test_workers_started_anew_replay_the_same(toml: Path) -> None:
    def observations(mode: str, **arguments: Any) -> np.ndarray:
        envs = gymnasium.make_vec(
            "prema_gym:PremaNPU-v0",
            num_envs=2,
            vectorization_mode=mode,
            scenario=str(toml),
            **arguments,
        )
        try:
            found = [envs.reset(seed=7)[0]]
            found += [envs.step(np.zeros(2, dtype=np.int64))[0] for _ in range(20)]
        finally:
            envs.close()
        return np.stack(found)

    native = observations("vector_entry_point")
    workers = observations("async", vector_kwargs={"context": "spawn"})
    assert np.array_equal(native, workers)
