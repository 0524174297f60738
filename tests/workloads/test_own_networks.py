"""Registered networks in scenarios, files and other processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from prema_gym.errors import ConfigError, UnknownNameError
from prema_gym.hardware.profile import build_profile
from prema_gym.networks import Linear, LSTMCell, Network, Phase, Tensor, register
from prema_gym.workloads import (
    LengthModel,
    Scenario,
    compile_scenario,
    load_workload,
    sample_batch,
    save_workload,
)

pytestmark = pytest.mark.usefixtures("own_networks")


def layered(features: int) -> Network:
    layer = Linear("fc", Tensor((256,)), out_features=features)
    return Network.from_layers("mine", [layer], source="a test")


def build(input_length: int) -> tuple[Phase, ...]:
    read = LSTMCell("read", Tensor((128,)), hidden=128)
    write = LSTMCell("write", read.output, hidden=128)
    return Phase((read,), input_length), Phase((write,), "output")


RECURRENT = Network(
    name="tagger",
    title="tagger",
    source="a test",
    domain="text",
    build=build,
    input_unit="word",
    input_lengths=(1, 50),
)
LENGTHS = LengthModel(network="tagger", input_lengths=(4, 8), ratio_median=1.5)


def test_a_registered_network_is_drawn_and_costs_what_it_costs() -> None:
    with pytest.raises(UnknownNameError, match=r"scenario 'custom': unknown network 'mine'"):
        Scenario(networks=("mine", "alexnet"))
    network = layered(1000)
    register(network)
    scenario = Scenario(networks=("mine", "alexnet"), batch_sizes=(4,), num_tasks=20)
    catalog = compile_scenario(scenario)
    profile = build_profile(scenario.hardware, network, batch=4, input_length=1)
    assert catalog.isolated_cycles(catalog.find_profile("mine", 4), 1) == profile.total_cycles(1)
    assert set(sample_batch(catalog, [0]).network[0].tolist()) == {0, 1}


def test_a_compiled_scenario_cannot_go_stale() -> None:
    register(layered(1000))
    scenario = Scenario(networks=("mine",), batch_sizes=(1,))
    before = compile_scenario(scenario)
    with pytest.raises(ConfigError, match="the name is taken"):
        register(layered(2000))
    register(layered(1000))
    assert compile_scenario(scenario) is before
    assert before.networks == (layered(1000),)


def test_a_recurrent_network_takes_its_lengths_from_the_scenario(tmp_path: Path) -> None:
    register(RECURRENT)
    with pytest.raises(ConfigError, match="'tagger' has word inputs: give its lengths"):
        Scenario(networks=("tagger",))
    model = LengthModel(network="tagger", input_lengths=(4,))
    with pytest.raises(ConfigError, match="'tagger' needs a ratio_median"):
        Scenario(networks=("tagger",), lengths=(model,))
    scenario = Scenario(networks=("tagger",), batch_sizes=(1,), lengths=(LENGTHS,))
    catalog = compile_scenario(scenario)
    workload = sample_batch(catalog, [0]).row(0)
    lengths = catalog.arrays.input_length[workload.profile].tolist()
    assert set(lengths) == {4, 8}
    # A fixed ratio of 1.5: 6 output steps for 4 words, 12 for 8.
    assert workload.output_length.tolist() == [{4: 6, 8: 12}[length] for length in lengths]
    save_workload(tmp_path / "w.json", workload, catalog)
    assert load_workload(tmp_path / "w.json", catalog) == workload
    scenario.to_toml(tmp_path / "s.toml")
    assert Scenario.from_toml(tmp_path / "s.toml") == scenario


def test_a_file_must_give_the_lengths_of_an_own_network(tmp_path: Path) -> None:
    register(RECURRENT)
    path = tmp_path / "s.toml"
    path.write_text('networks = ["tagger"]\n[[lengths]]\nnetwork = "tagger"\nratio_median = 1\n')
    with pytest.raises(ConfigError, match=r"s\.toml.*lengths of 'tagger' must have input_lengths"):
        Scenario.from_toml(path)


def test_another_process_must_register_too() -> None:
    network = layered(1000)
    register(network)
    scenario = Scenario(networks=("mine",), batch_sizes=(1,))
    sent = pickle.dumps((scenario, pickle.dumps(network)))
    code = """
import pickle, sys
from prema_gym.errors import UnknownNameError
from prema_gym.networks import register
from prema_gym.workloads import compile_scenario
scenario, network = pickle.load(sys.stdin.buffer)
try:
    compile_scenario(scenario)
except UnknownNameError as error:
    print(error)
register(pickle.loads(network))
print(compile_scenario(scenario).arrays.fixed_cycles.tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input=sent, stdout=subprocess.PIPE, check=True
    )
    error, cycles = done.stdout.decode().splitlines()
    assert error.startswith("scenario 'custom': unknown network 'mine'")
    assert error.endswith("prema_gym.networks.register(network), in every process")
    assert cycles == str(compile_scenario(scenario).arrays.fixed_cycles.tolist())
