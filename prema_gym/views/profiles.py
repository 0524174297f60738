"""Where does a network's time go, and what would it cost to stop there? Rows a network or a layer.

Flat records, as those of :mod:`prema_gym.views.listings`. Times in milliseconds or microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from prema_gym.files import as_given
from prema_gym.hardware.bottleneck import shares_of
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.memory import memory_need
from prema_gym.hardware.overlap import executed_phases
from prema_gym.hardware.preemption import PreemptionRow, preemption_table
from prema_gym.hardware.timing import LayerTiming, NetworkTiming, time_network
from prema_gym.networks.network import FixedPhases, Network, Phase

Row = dict[str, object]


def profile_rows(
    config: NPUConfig,
    network: Network,
    *,
    batches: Sequence[int],
    input_length: int,
    output_length: int,
) -> list[Row]:
    """One row a batch size: work, time, what it is spent on, memory, and costs of a switch.

    Args:
        config: The machine.
        network: The network.
        batches: Inputs processed together, at least 1 each.
        input_length: Input steps; ignored where the input has none.
        output_length: Output steps, for a phase that runs once for each.

    Raises:
        ConfigError: A batch size or length is not a positive integer.
    """
    lengths = {"input_length": input_length, "output_length": output_length}
    rows = []
    for batch in batches:
        timing = time_network(config, network, batch=batch, **lengths)
        (stop,) = preemption_table(config, network, batches=(batch,), **lengths)
        need = memory_need(config, network, batch=batch, **lengths)
        rows.append(
            {
                "network": as_given(network.name),
                "batch": batch,
                "lengths": "→".join(map(str, lengths.values())) if network.is_recurrent else "",
                **_time(timing),
                **_stop(stop),
                "weights MiB": need.weights_bytes / 2**20,
                "cache MiB": need.cache_bytes / 2**20,
                "migration MiB": need.migration_bytes(int(stop.context_bytes.max)) / 2**20,
                "fits memory": need.fits,
            }
        )
    return rows


def layer_rows(
    config: NPUConfig, network: Network, *, batch: int, input_length: int, output_length: int
) -> list[Row]:
    """One row a layer: the same for it alone, over all its executions, and its share of the time.

    Raises:
        ConfigError: The batch size or a length is not a positive integer.
    """
    lengths = {"input_length": input_length, "output_length": output_length}
    timing = time_network(config, network, batch=batch, **lengths)
    layers = [
        layer for phase in executed_phases(config, network, input_length) for layer in phase.layers
    ]
    rows = []
    for layer, own in zip(layers, timing.layers, strict=True):
        alone = replace(network, build=FixedPhases((Phase((layer,)),)))
        (stop,) = preemption_table(config, alone, batches=(batch,))
        rows.append(
            {
                "layer": layer.name,
                "kind": type(layer).__name__,
                "times": own.repeat,
                **_time(own),
                "% of time": 100 * own.cycles / timing.cycles,
                **_stop(stop),
            }
        )
    return rows


def _time(timing: NetworkTiming | LayerTiming) -> Row:
    """Work, time, and what it is spent on."""
    shares = shares_of(timing)
    return {
        "GMACs": timing.macs / 1e9,
        "cycles": timing.cycles,
        "ms": timing.milliseconds,
        "util%": 100 * timing.utilisation,
        "binds": shares.binding,
        **{f"{name}%": 100 * share for name, share in asdict(shares).items()},
    }


def _stop(row: PreemptionRow) -> Row:
    """What a CHECKPOINT at a random instant meets."""
    return {
        "context KiB": row.context_bytes.mean / 1024,
        "max context KiB": row.context_bytes.max / 1024,
        "stop us": row.checkpoint_latency_us.mean,
        "max stop us": row.checkpoint_latency_us.max,
    }
