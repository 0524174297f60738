from __future__ import annotations

import dataclasses
import json
import math
import pickle
from pathlib import Path

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.hardware.config import NPUConfig
from prema_gym.workloads import scenarios
from prema_gym.workloads.arrivals import ARRIVALS
from prema_gym.workloads.lengths import LengthModel, default_lengths
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.traces.log import TraceLog

CHANGED = Scenario(
    name="changed",
    networks=("resnet-50", "rnn-mt1"),
    batch_sizes=(2,),
    num_tasks=3,
    arrival="burst",
    window_ms=2.5,
    burst_size=3,
    priorities=(1, 2),
    priority_shares=(5, 2),
    lengths=(LengthModel(network="rnn-mt1", input_lengths=(5, 6), ratio_median=1.5),),
    sla_factor=4.0,
    quantum_ms=0.5,
    hardware=NPUConfig(array_rows=64, dram_bytes_per_s=math.inf),
)

REPLAYED = Scenario(arrival="trace", trace="requests.csv", trace_speed=2)


def test_defaults_are_the_papers_workload() -> None:
    paper = scenarios.get("paper")
    assert len(paper.networks) == 8
    assert (paper.batch_sizes, paper.priorities) == ((1, 4, 16), (1, 3, 9))
    assert (paper.num_tasks, paper.arrival, paper.window_ms) == (8, "uniform", 10.0)
    assert paper.hardware == NPUConfig()


def test_quantum_and_window_in_cycles() -> None:
    # 0.25 ms = 175 000 cycles at 700 MHz, 250 000 at 1 GHz; 10 ms = 7 000 000 at 700 MHz.
    assert Scenario().quantum_cycles == 175_000
    assert Scenario(hardware=NPUConfig(clock_hz=1_000_000_000)).quantum_cycles == 250_000
    assert Scenario().window_cycles == 7_000_000


@pytest.mark.parametrize("scenario", [Scenario(), CHANGED, REPLAYED])
def test_a_scenario_survives_every_form(scenario: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    scenario.to_toml(path)
    assert Scenario.from_toml(path) == scenario
    assert [p.name for p in tmp_path.iterdir()] == ["s.toml"]
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert hash(Scenario.from_toml(path)) == hash(scenario)
    assert Scenario.from_dict(dataclasses.asdict(scenario)) == scenario
    through_json = json.loads(json.dumps(scenario.to_dict()))
    assert Scenario.from_dict(through_json) == scenario


def test_lists_are_accepted_and_stored_as_tuples() -> None:
    given = Scenario(networks=["alexnet"], batch_sizes=[1], priorities=[1])  # type: ignore[arg-type]
    assert given.networks == ("alexnet",)
    shared = Scenario(batch_shares=[2, 2, 1])  # type: ignore[arg-type]
    assert shared.batch_shares == (2, 2, 1)
    assert hash(given) != hash(shared)


def test_tables_are_accepted_for_records() -> None:
    given = Scenario(
        hardware={"array_rows": 64},  # type: ignore[arg-type]
        lengths=[{"network": "rnn-mt1", "input_lengths": [7]}],  # type: ignore[arg-type]
    )
    assert given.hardware == NPUConfig(array_rows=64)
    assert (given.lengths[0].input_lengths, given.lengths[0].ratio_median) == ((7,), 1.06)


def test_own_lengths_replace_the_default() -> None:
    assert CHANGED.length_model("rnn-mt1") == CHANGED.lengths[0]
    assert Scenario().length_model("rnn-mt1") == default_lengths("rnn-mt1")
    assert Scenario().length_model("alexnet") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "^scenario '': name must be a non-empty text, got ''"),
        ({"networks": ()}, "^scenario 'custom': networks must be a non-empty list"),
        ({"networks": "alexnet"}, "must be a non-empty list"),
        ({"networks": ("alexnet", "alexnet")}, "a non-empty list without repeats"),
        ({"batch_sizes": (1, 0)}, "each a whole number from 1 to 65536, got .1, 0."),
        ({"batch_sizes": (1.5,)}, "each a whole number from 1 to 65536, got .1.5,."),
        ({"priorities": (1, -3)}, "each a whole number from 1 to 1000000, got .1, -3."),
        (
            {"batch_shares": (1, 2)},
            "batch_shares must be 3 whole numbers, one for each of",
        ),
        (
            {"priority_shares": (1, 2, 0)},
            "priority_shares must be .* from 1 to 10000, or None",
        ),
        ({"network_shares": 3}, "network_shares must be a non-empty list, .* got 3"),
        ({"num_tasks": 0}, "num_tasks must be a whole number from 1 to 1000000, got 0"),
        ({"num_tasks": True}, "num_tasks must be a whole number .* got True"),
        ({"burst_size": 0}, "burst_size"),
        ({"window_ms": -1.0}, "window_ms must be a number from 0 to .* got -1.0"),
        ({"window_ms": math.nan}, "window_ms"),
        (
            {"window_ms": 1e9},
            "window_ms must be at most .* .700000000000000 cycles.",
        ),
        ({"window_ms": "10"}, "window_ms must be a number from 0"),
        ({"window_ms": True}, "must be a number"),
        ({"sla_factor": 0.0}, "sla_factor must be a number above 0 .* got 0.0"),
        ({"sla_factor": math.inf}, "sla_factor"),
        ({"quantum_ms": 0.0}, "quantum_ms must be a number above 0"),
        ({"quantum_ms": 1e-7}, "quantum_ms must be at least one cycle"),
        ({"trace": "a.csv"}, "trace is for arrival 'trace' only"),
        ({"trace_speed": 2.0}, "trace_speed is for arrival 'trace' only"),
        ({"arrival": "trace"}, "arrival 'trace' needs .* as trace, got None"),
        (
            {"arrival": "trace", "trace": ""},
            "trace must be the name of a file or a table .*, or None, got ''",
        ),
        ({"arrival": "trace", "trace": "a\0.csv"}, "must be the name of a file"),
        (
            {"arrival": "trace", "trace": 3},
            "trace must be the name of a file or a table .*, or None, got 3",
        ),
        (
            {"arrival": "trace", "trace": "a.csv", "trace_speed": 0},
            "above 0 .* got 0",
        ),
        (
            {"arrival": "trace", "trace": "a.csv", "trace_speed": -1},
            "above 0 .* got -1",
        ),
        ({"arrival": "trace", "trace": "a.csv", "trace_speed": math.nan}, "trace_speed"),
        ({"arrival": "trace", "trace": "a.csv", "trace_speed": "2"}, "must be a number above 0"),
        (
            {"hardware": 3},
            "hardware must be a machine's name, a table of fields or an NPUConfig, got 3",
        ),
        ({"lengths": ("rnn-mt1",)}, "lengths must be .* each a LengthModel or a table"),
    ],
)
def test_values_not_allowed_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Scenario(**changes)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_names_that_are_unknown_get_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'vgg-16'"):
        Scenario(networks=("vgg16",))
    with pytest.raises(UnknownNameError, match="did you mean 'poisson'"):
        Scenario(arrival="poison")
    with pytest.raises(UnknownNameError, match=r"unknown field 'windowms' in scenario.*window_ms"):
        Scenario.from_dict({"windowms": 1})
    with pytest.raises(UnknownNameError, match=r"hardware.*did you mean 'array_rows'"):
        Scenario.from_dict({"hardware": {"array_row": 1}})
    with pytest.raises(UnknownNameError, match=r"lengths.*did you mean 'input_lengths'"):
        Scenario.from_dict({"lengths": [{"network": "rnn-mt1", "input_length": [1]}]})


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ((LengthModel(network="alexnet", input_lengths=(1,)),), "no lengths may be given"),
        ((LengthModel(network="rnn-sa", input_lengths=(1,)),), "unknown network 'rnn-sa'"),
        (
            (LengthModel(network="rnn-mt1", input_lengths=(1,)),),
            "'rnn-mt1' needs a ratio_median",
        ),
        (
            (LengthModel(network="rnn-mt1", input_lengths=(1,), ratio_median=1.0),) * 2,
            "without repeats",
        ),
        (
            (
                LengthModel(network="rnn-mt1", input_lengths=(1,), ratio_median=1.0),
                LengthModel(network="rnn-mt1", input_lengths=(2,), ratio_median=1.0),
            ),
            "lengths gives one network twice",
        ),
    ],
)
def test_lengths_fit_their_networks(lengths: tuple[LengthModel, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Scenario(networks=("alexnet", "rnn-mt1"), lengths=lengths)


def test_a_classifier_takes_no_output_ratio() -> None:
    model = LengthModel(network="rnn-sa", input_lengths=(1,), ratio_median=1.0)
    with pytest.raises(ConfigError, match="'rnn-sa' has no output steps, so no ratio_median"):
        Scenario(networks=("rnn-sa",), lengths=(model,))


def test_file_errors_are_one_line_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    with pytest.raises(ConfigError, match=r"cannot read .*s\.toml"):
        scenarios.get(path)
    for text, message in [
        ("num_tasks = = 3", r"s\.toml.*not valid TOML.*line 1"),
        ("num_tasks = 0", r"s\.toml: scenario .custom.: num_tasks"),
        (
            'networks = ["alexnett"]',
            r"s\.toml: .*unknown network.*mean 'alexnet'",
        ),
        ("tasks = 1", r"unknown field 'tasks' in .*s\.toml"),
        ("[hardware]\narray_rows = 0", r"s\.toml: scenario .custom.: hardware: array_rows"),
        ("hardware = 3", r"s\.toml: scenario .custom.: hardware must be"),
        (
            '[[lengths]]\nnetwork = "rnn-mt1"\ninput_lengths = [0]',
            r"s\.toml: .* lengths of 'rnn-mt1': input_lengths must be .* got \[0\]",
        ),
        ("lengths = 3", r"s\.toml: scenario .custom.: lengths must be a list .* got 3"),
    ]:
        path.write_text(text)
        with pytest.raises(ConfigError, match=message) as caught:
            scenarios.get(path)
        assert "\n" not in str(caught.value)


def test_a_file_needs_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nwindow_ms = 5\n[hardware]\nclock_hz = 1_000_000_000\n'
        '[[lengths]]\nnetwork = "rnn-mt1"\ninput_lengths = [10, 20]\n'
    )
    mine = scenarios.get(str(path))
    assert (mine.name, mine.window_cycles, mine.num_tasks) == ("mine", 5_000_000, 8)
    model = mine.length_model("rnn-mt1")
    assert model is not None
    assert (model.input_lengths, model.ratio_sigma) == ((10, 20), 0.21)


def test_registered_batches_differ_only_in_load() -> None:
    batches = ("paper", "light", "heavy")
    assert scenarios.names()[:3] == batches
    windows = {name: scenarios.get(name).window_ms for name in batches}
    assert windows["heavy"] < windows["paper"] < windows["light"]
    plain = {name: scenarios.get(name).to_dict() | {"name": "", "window_ms": 0} for name in windows}
    assert plain["paper"] == plain["light"] == plain["heavy"]
    for name in scenarios.names():
        assert scenarios.get(name).name == name
        assert "\n" not in scenarios.summary(name)
    with pytest.raises(UnknownNameError, match="did you mean 'paper'"):
        scenarios.get("papers")
    with pytest.raises(UnknownNameError, match="scenario"):
        scenarios.summary("nothing")


def test_a_file_with_another_ending_is_told_the_right_one(tmp_path: Path) -> None:
    for given in (tmp_path, tmp_path / "README.md", "mine"):
        with pytest.raises(UnknownNameError, match=r"scenario file must end in \.toml") as caught:
            scenarios.get(given)
        assert "\n" not in str(caught.value)


def test_arrival_codes_follow_the_names() -> None:
    from prema_gym.workloads import arrivals

    names = ["uniform", "poisson", "periodic", "burst", "trace"]
    codes = [getattr(arrivals, name.upper()) for name in names]
    assert [list(ARRIVALS)[code] for code in codes] == names == list(ARRIVALS)


def test_a_trace_is_found_from_the_current_folder_or_from_the_file_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path.resolve() / "r.csv")
    for given in ("r.csv", Path("r.csv"), "there/../r.csv", here):
        assert Scenario(arrival="trace", trace=given).trace == TraceLog(file=here)
    assert Scenario.from_dict({"arrival": "trace", "trace": "r.csv"}).trace == TraceLog(file=here)
    for given in ("../r.csv", here):
        (tmp_path / "there" / "s.toml").write_text(f'arrival = "trace"\ntrace = "{given}"\n')
        assert scenarios.get("there/s.toml").trace == TraceLog(file=here)
    monkeypatch.chdir(tmp_path / "there")
    assert scenarios.get("s.toml").trace == TraceLog(file=here)
    assert scenarios.get(Path("s.toml")).trace == TraceLog(file=here)
    # The scenario itself stays where it was made.
    moved = Scenario(arrival="trace", trace=here)
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(moved)) == moved == scenarios.get("there/s.toml")


def test_without_a_trace_its_keys_are_not_written() -> None:
    assert not {"trace", "trace_speed"} & set(Scenario().to_dict())
    assert {"trace", "trace_speed"} <= set(REPLAYED.to_dict())
