"""What is there to choose from? Rows for the listing commands, as plain records.

Each function returns a list of flat records (column name → value) that the other
views print as a table, JSON or CSV. Times in milliseconds or microseconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Protocol

from prema_gym import networks
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.machines import MACHINES
from prema_gym.hardware.preemption import preemption_table
from prema_gym.hardware.timing import time_network
from prema_gym.networks.network import Network
from prema_gym.workloads import scenarios
from prema_gym.workloads.accuracy import mean_isolated_ms
from prema_gym.workloads.catalog import compile_scenario
from prema_gym.workloads.estimates import estimate_network
from prema_gym.workloads.lengths import default_lengths
from prema_gym.workloads.output_lengths import learn_output_lengths

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


def scenario_rows() -> Rows:
    """One row a registered scenario: what is drawn, and how loaded the NPU is."""
    rows: Rows = []
    for name in scenarios.names():
        scenario = scenarios.get(name)
        work_ms = scenario.num_tasks * mean_isolated_ms(compile_scenario(scenario))
        rows.append(
            {
                "scenario": name,
                "tasks": scenario.num_tasks,
                "arrival": scenario.arrival,
                "window_ms": scenario.window_ms,
                "work_ms": work_ms,
                "batches": scenario.batch_sizes,
                "priorities": scenario.priorities,
                "networks": len(scenario.networks),
                "what for": scenarios.summary(name),
            }
        )
    return rows


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


def preemption_rows(config: NPUConfig, names: Sequence[str] = ()) -> Rows:
    """Context size and preemption latency over the course of each network, by batch size.

    Args:
        config: The machine.
        names: Networks or files; none means all that have a name.

    Raises:
        UnknownNameError: A name is neither a network's nor a file's.
        ConfigError: A file cannot be imported.
    """
    rows: Rows = []
    for name, network, lengths in _at_typical_lengths(names):
        for found in preemption_table(
            config,
            network,
            batches=BATCHES,
            **lengths,
        ):
            row: dict[str, object] = {"network": name, "batch": found.batch}
            kib = {k: v / 1024 for k, v in asdict(found.context_bytes).items()}
            row |= {f"context {k} KiB": v for k, v in kib.items()}
            row |= {f"latency {k} us": v for k, v in asdict(found.latency_us).items()}
            rows.append(row)
    return rows
