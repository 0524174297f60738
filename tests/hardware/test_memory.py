"""What a task keeps in memory, worked out by hand from a decoder's published sizes."""

from __future__ import annotations

from prema_gym.hardware import NPUConfig, machines
from prema_gym.hardware.memory import memory_need
from prema_gym.hardware.preemption import preemption_table
from prema_gym.networks import get

TOKEN = 128 * 2**10  # bytes a token of Llama 3.1 8B in 16 bits


def test_weights_and_cache_by_hand() -> None:
    decode = get("llama-8b-decode")
    need = memory_need(NPUConfig(), decode, batch=4, input_length=1000, output_length=24)
    assert need.cache_bytes == 4 * 1024 * TOKEN
    assert need.weights_bytes == 2 * 8_030_261_248
    assert not need.fits  # 8 GiB
    assert need.migration_bytes(7) == need.cache_bytes + 7
    small = memory_need(machines.get("tpu-v1"), get("llama-1b-decode"), input_length=1000)
    assert small.fits
    assert small.weights_bytes == 1_235_814_400  # 8 bits each


def test_a_checkpoint_does_not_hold_the_cache() -> None:
    """Contexts stay below the buffers, whatever the prompt; the cache grows with it."""
    decode = get("llama-1b-decode")
    contexts = []
    for prompt in (128, 2048):
        (row,) = preemption_table(NPUConfig(), decode, batches=(1,), input_length=prompt)
        contexts.append(row.context_bytes.max)
    need = memory_need(NPUConfig(), decode, input_length=2048)
    assert max(contexts) < 2**20 < need.cache_bytes
    assert memory_need(NPUConfig(), get("resnet-50")).cache_bytes == 0
