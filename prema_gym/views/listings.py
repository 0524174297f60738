"""What is there to choose from? Rows for the listing commands, as plain records.

Each function returns a list of flat records (column name → value) that the other
views print as a table, JSON or CSV. Times in milliseconds or microseconds, sizes in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Protocol

import numpy as np

from prema_gym import networks
from prema_gym.files import as_given
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.machines import MACHINES
from prema_gym.hardware.preemption import preemption_table
from prema_gym.hardware.timing import time_network
from prema_gym.networks.network import Network
from prema_gym.workloads import scenarios
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.estimates import estimate_network
from prema_gym.workloads.generate import NUM_UNIFORMS, sample_batch
from prema_gym.workloads.lengths import default_lengths
from prema_gym.workloads.output_lengths import learn_output_lengths
from prema_gym.workloads.scenario import Scenario
from prema_gym.workloads.source import Source, Traffic, traffic_of, write_tasks
from prema_gym.workloads.streams import Stream
from prema_gym.workloads.tables import CatalogArrays, task_probabilities
from prema_gym.workloads.workload import empty_arrays

BATCHES = (1, 4, 16)  # the paper's batch sizes (fidelity.md, R)

Rows = list[dict[str, object]]


class Described(Protocol):
    """What a policy tells of itself."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def rule(self) -> str:
        """What it does, in one sentence."""
        ...

    @property
    def source(self) -> str:
        """Where the rule comes from."""
        ...

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms it uses."""
        ...

    @property
    def parameters(self) -> dict[str, object]:
        """Value of each parameter."""
        ...


def typical_lengths(network: Network) -> tuple[int, int]:
    """Middle input length of a network's default model, and the output length expected for it."""
    model = default_lengths(network.name)
    if model is None:
        return 1, 1
    middle = model.input_lengths[(len(model.input_lengths) - 1) // 2]
    return middle, learn_output_lengths(model).predict(middle)


def _at_typical_lengths(
    names: Sequence[str],
) -> Iterator[tuple[str, Network, dict[str, int]]]:
    """Networks by name (all that have one, if none is named), with their typical lengths."""
    for name in names or networks.names():
        network = networks.get(name)
        input_length, output_length = typical_lengths(network)
        yield name, network, {"input_length": input_length, "output_length": output_length}


def network_rows(config: NPUConfig, names: Sequence[str] = ()) -> Rows:
    """One row a network: size, work, and isolated and estimated times.

    Recurrent networks are shown at their typical sequence lengths (in→out). The error is that of
    Algorithm 1 against the true time at the same lengths.

    Args:
        config: The machine.
        names: Networks or files; none means all that have a name.

    Raises:
        UnknownNameError: A name is neither a network's nor a file's.
        ConfigError: A file cannot be imported.
    """
    rows: Rows = []
    for name, network, lengths in _at_typical_lengths(names):
        row: dict[str, object] = {
            "network": name,
            "layers": sum(len(phase.layers) for phase in network.phases(lengths["input_length"])),
            "lengths": "→".join(map(str, lengths.values())) if network.is_recurrent else "",
            "GMACs": network.macs(**lengths) / 1e9,
            "Mweights": network.weights / 1e6,
        }
        for batch in BATCHES:
            true = time_network(config, network, batch=batch, **lengths).cycles
            guess = estimate_network(config, network, batch=batch, **lengths)
            row[f"ms b{batch}"] = config.milliseconds(true)
            row[f"est b{batch}"] = config.milliseconds(guess)
            row[f"err% b{batch}"] = 100.0 * (guess - true) / true
        row["source"] = network.source
        rows.append(row)
    return rows


def machine_rows() -> Rows:
    """One row a machine with a name: its sizes and rates, and where they are from."""
    rows: Rows = []
    for machine in MACHINES:
        config = machine.config
        rows.append(
            {
                "machine": machine.name,
                "array": f"{config.array_rows}×{config.array_cols}",
                "MHz": config.clock_hz / 1e6,
                "TOPS": machine.peak_tops,
                "bits": 8 * config.element_bytes,
                "UBUF MiB": config.ubuf_bytes / 2**20,
                "WBUF MiB": config.wbuf_bytes / 2**20,
                "GB/s": config.dram_bytes_per_s / 1e9,
                "GiB": config.dram_bytes / 2**30,
                "what": machine.title,
                "source": machine.source,
                "ours": machine.ours,
                **config.to_dict(),
            }
        )
    return rows


def scenario_rows(chosen: Iterable[tuple[Scenario, str]] | None = None) -> Rows:
    """One row a scenario: what is drawn, and how loaded the NPU is.

    Args:
        chosen: Scenarios, and what each is for; None: the registered ones.
    """
    if chosen is None:
        chosen = [(scenarios.get(name), scenarios.summary(name)) for name in scenarios.names()]
    rows: Rows = []
    for scenario, what_for in chosen:
        catalog = compile_scenario(scenario)
        traffic = traffic_of(catalog)
        tasks = scenario.num_requests if scenario.is_stream else scenario.num_tasks
        arrival = dict.fromkeys(stream.arrival for stream in traffic.streams)
        rows.append(
            {
                "scenario": scenario.name,
                "tasks": tasks,
                "arrival": tuple(arrival),
                "load": traffic.load if traffic.is_open else math.nan,
                "rate/s": traffic.rate_per_s if traffic.is_open else math.nan,
                "work_ms": tasks * _mean_cycles(traffic) * 1e3 / traffic.clock_hz,
                "batches": scenario.batch_sizes,
                "priorities": scenario.priorities,
                "networks": len(scenario.networks),
                "what for": what_for,
            }
        )
    return rows


def stream_rows(scenario: Scenario) -> Rows:
    """One row a stream of a scenario: how often its requests come, and what they ask for."""
    catalog = compile_scenario(scenario)
    traffic = traffic_of(catalog)
    ms = 1e3 / traffic.clock_hz
    return [
        {
            "stream": stream.name,
            "arrival": stream.arrival,
            "rate/s": math.nan if stream.is_closed else rate * traffic.clock_hz,
            "load": math.nan if stream.is_closed else rate * cycles,
            **_loop_cells(stream, bool(traffic.closed)),
            "mean_ms": cycles * ms,
            "deadline_ms": _mean_allowance_cycles(arrays) * ms,
            "networks": [as_given(one) for one in stream.networks or scenario.networks],
            "priorities": sorted({int(weight) for weight in arrays.priorities}),
        }
        for stream, arrays, rate, cycles in zip(
            traffic.streams, traffic.arrays, traffic.rates, traffic.mean_cycles, strict=True
        )
    ]


def _mean_cycles(traffic: Traffic) -> float:
    """Mean true isolated time of a request [cycles]; NaN where the policy decides how many come."""
    return math.nan if traffic.closed else traffic.load / sum(traffic.rates)


def _loop_cells(stream: Stream, are_closed: bool) -> dict[str, object]:
    """Clients and think time, where some stream has them."""
    if not are_closed:
        return {}
    clients = stream.clients if stream.is_closed else math.nan
    return {"clients": clients, "think_ms": stream.think_ms if stream.is_closed else math.nan}


def _mean_allowance_cycles(arrays: CatalogArrays) -> float:
    """Mean time from a request's arrival to its deadline [cycles]: the trace's own, else drawn."""
    count = len(arrays.trace_asked)
    if not count:
        return float(task_probabilities(arrays).sum(axis=1) @ arrays.allowance_cycles)
    uniforms = np.random.default_rng(0).random((count, NUM_UNIFORMS))
    at_once, played = np.zeros(count, np.int64), empty_arrays(1, count)
    write_tasks(arrays, uniforms, at_once, 0, np.arange(count), played)
    return float(played.deadline_cycles.mean())


def request_rows(scenario: Scenario, seed: int, count: int) -> Rows:
    """One row a task of the workload of a seed, or of the first requests of a long run."""
    catalog = compile_scenario(scenario)
    if scenario.is_stream:
        traffic = traffic_of(catalog)
        arrays, streams = Source(traffic, seed).next(count)
        names = [traffic.streams[i].name for i in streams]
    else:
        arrays = sample_batch(catalog, [seed]).arrays
        names = [scenario.name] * scenario.num_tasks
    ms = 1e3 / catalog.hardware.clock_hz
    return [
        {
            "arrival_ms": arrays.arrival_cycles[0, i] * ms,
            "stream": name,
            "network": as_given(scenario.networks[arrays.network[0, i]]),
            "batch": arrays.batch_size[0, i],
            "input_length": catalog.arrays.input_length[arrays.profile[0, i]],
            "output_length": arrays.output_length[0, i],
            "priority": arrays.priority[0, i],
            "isolated_ms": arrays.isolated_cycles[0, i] * ms,
            "estimated_ms": arrays.estimated_cycles[0, i] * ms,
            "deadline_ms": arrays.deadline_cycles[0, i] * ms,
        }
        for i, name in enumerate(names)
    ]


def policy_rows(described: Iterable[Described], as_text: Callable[[object], str]) -> Rows:
    """One row a policy: name, rule, source, parameters with their defaults.

    Args:
        described: The policies.
        as_text: A parameter's value as one types it.
    """
    return [
        {
            "policy": policy.name,
            "rule": policy.rule,
            "source": policy.source,
            "mechanisms": policy.mechanisms,
            "parameters": [f"{key}={as_text(value)}" for key, value in policy.parameters.items()],
        }
        for policy in described
    ]


def preemption_rows(
    config: NPUConfig, names: Sequence[str] = (), batches: Sequence[int] = BATCHES
) -> Rows:
    """What preempting costs over the course of each network, by batch size and mechanism.

    Args:
        config: The machine.
        names: Networks or files; none means all that have a name.
        batches: Batch sizes, a row each.

    Raises:
        UnknownNameError: A name is neither a network's nor a file's.
        ConfigError: A file cannot be imported, or a batch size is none.
    """
    rows: Rows = []
    for name, network, lengths in _at_typical_lengths(names):
        for found in preemption_table(
            config,
            network,
            batches=batches,
            **lengths,
        ):
            row: dict[str, object] = {"network": name, "batch": found.batch}
            for what, unit, spread in (
                ("context", "KiB", found.context_bytes.scaled(1 / 1024)),
                ("checkpoint", "us", found.checkpoint_latency_us),
                ("restore", "us", found.restore_us),
                ("kill", "us", found.kill_latency_us),
                ("lost", "us", found.killed_us),
                ("drain", "us", found.drain_latency_us),
            ):
                row |= {f"{what} {k} {unit}": v for k, v in asdict(spread).items()}
            rows.append(row)
    return rows
