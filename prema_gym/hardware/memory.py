"""What does a task keep in NPU memory, and what would have to move with it to another machine?

Weights lie there once, however many tasks use them. Keys and values of a decoder (its cache) belong
to the task: they lie in memory from step to step, so a checkpoint, which saves what is on the chip,
does not hold them; a migration moves them with the checkpoint. Unit: bytes. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from prema_gym.checks import whole
from prema_gym.hardware.config import NPUConfig
from prema_gym.networks.network import Network


@dataclass(frozen=True, kw_only=True)
class MemoryNeed:
    """What one task needs in NPU memory.

    Attributes:
        weights_bytes: The network's parameters, shared by its tasks.
        cache_bytes: The task's keys and values at its end, when they are largest.
        memory_bytes: What the machine has.
    """

    weights_bytes: int
    cache_bytes: int
    memory_bytes: int

    @property
    def total_bytes(self) -> int:
        """Both."""
        return self.weights_bytes + self.cache_bytes

    @property
    def fits(self) -> bool:
        """Whether the machine's memory holds both. Nothing stops a simulation where it does not."""
        return self.total_bytes <= self.memory_bytes

    def migration_bytes(self, context_bytes: int) -> int:
        """What moves with a task to a machine that has the weights: its cache and its checkpoint.

        Args:
            context_bytes: The checkpoint's size where the task stands.
        """
        return self.cache_bytes + context_bytes


def memory_need(
    config: NPUConfig,
    network: Network,
    *,
    batch: int = 1,
    input_length: int = 1,
    output_length: int = 1,
) -> MemoryNeed:
    """Weights and cache of a task.

    Args:
        config: The machine.
        network: The network.
        batch: Inputs processed together, at least 1.
        input_length: Input steps; ignored where the input has none.
        output_length: Output steps that have been taken.

    Raises:
        ConfigError: ``batch`` or a length is not a positive integer.
    """
    batch = whole().check("batch", batch)
    cached = network.cache_elements(input_length=input_length, output_length=output_length)
    return MemoryNeed(
        weights_bytes=network.weights * config.element_bytes,
        cache_bytes=batch * cached * config.element_bytes,
        memory_bytes=config.dram_bytes,
    )
