"""Scenarios that name files of networks."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.simulator import Simulator
from prema_gym.views.episode import view
from prema_gym.workloads import Scenario, compile_scenario, load_workload, scenarios
from prema_gym.workloads.generate import sample_batch
from tests.networks.importer_files import onnx_file, scalesim

pytestmark = pytest.mark.usefixtures("own_networks")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario beside a folder of models."""
    (tmp_path / "models").mkdir()
    shutil.copy(onnx_file("ds_cnn"), tmp_path / "models" / "words.onnx")
    shutil.copy(scalesim("GEMM_mnk_vit_s"), tmp_path / "vit.csv")
    (tmp_path / "mine.toml").write_text(
        'networks = ["alexnet", "models/words.onnx", "vit.csv"]\nbatch_sizes = [1, 4]\n'
    )
    return tmp_path


def test_a_path_is_taken_from_the_folder_of_the_scenario(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = scenarios.get(folder / "mine.toml")
    assert scenario.networks == (
        "alexnet",
        str(folder / "models" / "words.onnx"),
        str(folder / "vit.csv"),
    )
    catalog = compile_scenario(scenario)
    assert [network.macs() for network in catalog.networks[1:]] == [2_656_768, 275_165_184]
    monkeypatch.chdir(folder)
    assert scenarios.get("mine.toml") == scenario
    monkeypatch.chdir(folder / "models")
    assert scenarios.get("../mine.toml") == scenario


def test_so_it_is_in_a_workload(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = compile_scenario(scenarios.get(folder / "mine.toml"))
    names = ["vit.csv", "models/words.onnx", "alexnet", str(folder / "vit.csv")]
    text = json.dumps({"tasks": [{"network": name} for name in names]})
    (folder / "mine.json").write_text(text)
    monkeypatch.chdir(folder / "models")
    for path in (folder / "mine.json", "../mine.json"):
        assert load_workload(path, catalog).network.tolist() == [2, 1, 0, 2]
    (folder / "models" / "mine.json").write_text(text)
    with pytest.raises(UnknownNameError, match=r"mine\.json: task 0: unknown network"):
        load_workload("mine.json", catalog)


def test_from_python_a_path_is_taken_from_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    scenario = Scenario(networks=("vit.csv",))
    assert scenario.networks == (str(folder.resolve() / "vit.csv"),)
    assert compile_scenario(scenario).find_profile("vit.csv", 4) == 1
    with pytest.raises(ConfigError, match="without repeats"):
        Scenario(networks=("vit.csv", "models/../vit.csv"))
    # The same text in another folder is another network.
    (folder / "other").mkdir()
    shutil.copy(scalesim("GEMM_mnk_gpt2"), folder / "other" / "vit.csv")
    monkeypatch.chdir(folder / "other")
    other = Scenario(networks=("vit.csv",))
    assert other != scenario
    assert compile_scenario(other).networks[0].macs() == 20_686_307_328
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match=r"cannot read 'words\.onnx'"):
        Scenario(networks=("words.onnx",))


@pytest.mark.parametrize("target", ["back.toml", "models/back.toml", "../back.toml"])
def test_a_written_scenario_reads_back_equal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(folder)
    scenario = Scenario(networks=("models/words.onnx", "alexnet", str(folder / "vit.csv")))
    scenario.to_toml(target)
    assert Scenario.from_toml(target) == scenario
    scenario.to_toml(folder / "absolute.toml")
    assert Scenario.from_toml("absolute.toml") == scenario


def test_a_bad_file_is_named_with_the_scenario(folder: Path) -> None:
    (folder / "vit.csv").write_text("Layer,M,N,K\na,4,B,6\n")
    with pytest.raises(ConfigError, match=r"mine\.toml: .*vit\.csv, line 2: N must be") as caught:
        Scenario.from_toml(folder / "mine.toml")
    assert "\n" not in str(caught.value)


def test_a_file_has_no_lengths(folder: Path) -> None:
    with (folder / "mine.toml").open("a") as file:
        file.write('[[lengths]]\nnetwork = "vit.csv"\ninput_lengths = [3]\n')
    with pytest.raises(ConfigError, match=r"mine\.toml: .*vit\.csv"):
        Scenario.from_toml(folder / "mine.toml")


def cycles(pickled: bytes) -> list[int]:
    """What another process works out for a scenario."""
    arrays = compile_scenario(pickle.loads(pickled)).arrays
    return [int(number) for number in arrays.fixed_cycles]


def test_a_spawned_worker_reads_the_file_itself(folder: Path) -> None:
    scenario = Scenario.from_toml(folder / "mine.toml")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(cycles, (pickle.dumps(scenario),))
    assert there == compile_scenario(scenario).arrays.fixed_cycles.tolist()


def test_people_are_shown_the_words_they_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_networks: None
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "models" / "net.csv").write_text("Layer, M, N, K,\nfc, 4, 8, 16,\n")
    (tmp_path / "calls.csv").write_text("arrival_ms\n0\n1\n")
    (tmp_path / "own.toml").write_text(
        'name = "own"\nnetworks = ["models/net.csv"]\nnum_tasks = 3\n'
        'arrival = "trace"\ntrace = "calls.csv"\n'
    )
    (tmp_path / "tasks.json").write_text('{"tasks": [{"network": "models/other.csv"}]}')
    monkeypatch.chdir(tmp_path / "run")
    scenario = Scenario.from_toml("../own.toml")
    with pytest.raises(ConfigError) as few:
        compile_scenario(scenario)
    untraced = replace(scenario, arrival="uniform", trace=None)
    with pytest.raises(UnknownNameError) as unknown:
        load_workload("../tasks.json", compile_scenario(untraced))
    assert "'../calls.csv' has 2 requests" in str(few.value)
    assert "unknown network '../models/other.csv'" in str(unknown.value)
    assert "(known: ../models/net.csv)" in str(unknown.value)
    assert str(tmp_path) not in f"{few.value} {unknown.value}"
    simulator = Simulator(compile_scenario(untraced), record_timeline=True)
    simulator.load(sample_batch(simulator.catalog, [0]))
    assert {task.network for task in view(simulator, 0).tasks} == {"../models/net.csv"}
