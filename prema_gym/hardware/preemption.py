"""What does a preemption cost: how long until the machine is free, and what is saved or lost?

:func:`preemption_cost` answers for one instant of one task, :func:`preemption_table` for the whole
course of networks. Unit of time: cycles inside, microseconds in the table. Source: fidelity.md,
"Preemption", and docs/simulator.md, "Mechanisms".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prema_gym.errors import located
from prema_gym.files import as_given
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.layout import SWITCH_CYCLES
from prema_gym.hardware.profile import Profile, build_profile
from prema_gym.hardware.spread import Spread, preemption_spread
from prema_gym.hardware.transfers import dram_cycles, host_cycles
from prema_gym.networks.network import Network


@dataclass(frozen=True, kw_only=True)
class PreemptionCost:
    """Cost of preempting one task at one instant, by every mechanism.

    The tile in flight completes first (``wait_cycles``), whatever the mechanism but DRAIN.
    """

    wait_cycles: int  # until the next boundary
    switch_cycles: int  # then, before anything is saved: the machine's own switch latency
    context_bytes: int  # saved by CHECKPOINT, 0 for the others
    reload_bytes: int  # weights and inputs loaded again on restore
    save_cycles: int  # CHECKPOINT to NPU memory
    restore_cycles: int  # from NPU memory, later
    host_save_cycles: int  # CHECKPOINT to the host, where NPU memory is full
    host_restore_cycles: int  # from the host, later
    killed_cycles: int  # work lost by KILL
    drain_cycles: int  # until the task ends: what DRAIN waits

    @property
    def checkpoint_latency_cycles(self) -> int:
        """From the request until the machine is free, by CHECKPOINT to NPU memory."""
        return self.wait_cycles + self.switch_cycles + self.save_cycles

    @property
    def kill_latency_cycles(self) -> int:
        """From the request until the machine is free, by KILL."""
        return self.wait_cycles + self.switch_cycles

    @property
    def drain_latency_cycles(self) -> int:
        """From the request until the machine is free, by DRAIN."""
        return self.drain_cycles


def preemption_cost(
    profile: Profile, progress_cycles: int, *, output_length: int = 1
) -> PreemptionCost:
    """Price a preemption of a running task.

    If the next boundary is the task's end it completes there: nothing is saved or lost.

    Args:
        profile: The running task's profile.
        progress_cycles: Useful cycles it has executed, from 0 to its isolated time.
        output_length: Its output steps.

    Raises:
        ConfigError: ``progress_cycles`` lies outside the task.
    """
    boundary, context, reload, refill = profile.preemption_point(
        progress_cycles, output_length=output_length
    )
    total = profile.total_cycles(output_length)
    machine = profile.table.machine
    return PreemptionCost(
        wait_cycles=boundary - progress_cycles,
        switch_cycles=int(machine[SWITCH_CYCLES]) if boundary < total else 0,
        context_bytes=context,
        reload_bytes=reload,
        save_cycles=int(dram_cycles(machine, context)),
        restore_cycles=int(dram_cycles(machine, context + reload)) + refill,
        host_save_cycles=int(host_cycles(machine, context)),
        host_restore_cycles=int(host_cycles(machine, context) + dram_cycles(machine, reload))
        + refill,
        killed_cycles=boundary if boundary < total else 0,
        drain_cycles=total - progress_cycles,
    )


@dataclass(frozen=True, kw_only=True)
class PreemptionRow:
    """One network at one batch size: what a preemption at a uniformly random instant meets.

    As :class:`~prema_gym.hardware.spread.PreemptionSpread`, times in microseconds.
    """

    network: str
    batch: int
    input_length: int
    output_length: int
    context_bytes: Spread  # saved by CHECKPOINT
    checkpoint_latency_us: Spread  # until the machine is free: the tile's end, switch, save
    restore_us: Spread  # after a CHECKPOINT, before the task goes on
    kill_latency_us: Spread  # until the machine is free: the tile's end, switch
    killed_us: Spread  # work lost by KILL
    drain_latency_us: Spread  # until the machine is free: the task's end


def preemption_table(
    config: NPUConfig,
    network: Network,
    *,
    batches: Sequence[int] = (1, 4, 16),
    input_length: int = 1,
    output_length: int = 1,
) -> list[PreemptionRow]:
    """Tabulate what preempting costs over the course of a network, by each mechanism.

    Exact, not sampled: every tile counts with its duration, and within a tile of d cycles the time
    to its end is uniform between 0 and d. A context goes to NPU memory, or to the host if even an
    empty NPU memory cannot hold it.

    Args:
        config: The machine.
        network: The network.
        batches: Batch sizes, one row each; the default is the paper's.
        input_length: Input steps of a recurrent network; others ignore it.
        output_length: Output steps, for a phase that repeats once for each; others ignore it.

    Raises:
        ConfigError: A batch size or length is not a positive integer, or the machine cuts the
            network into too many tiles to list.
    """
    us = config.microseconds(1)
    rows = []
    for batch in batches:
        profile = build_profile(config, network, batch=batch, input_length=input_length)
        with located(f"{as_given(network.name)} at batch {batch}"):
            found = preemption_spread(profile, output_length=output_length)
        rows.append(
            PreemptionRow(
                network=network.name,
                batch=batch,
                input_length=input_length,
                output_length=output_length,
                context_bytes=found.context_bytes,
                checkpoint_latency_us=found.checkpoint_latency_cycles.scaled(us),
                restore_us=found.restore_cycles.scaled(us),
                kill_latency_us=found.kill_latency_cycles.scaled(us),
                killed_us=found.killed_cycles.scaled(us),
                drain_latency_us=found.drain_latency_cycles.scaled(us),
            )
        )
    return rows
