"""PyTorch modules against their ONNX files, their own parameters, and counts by hand."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from prema_gym.errors import ConfigError
from prema_gym.networks import from_torch, read_network


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.depthwise = nn.Conv2d(16, 16, 3, stride=2, padding=1, groups=16)
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.grouped = nn.Conv2d(16, 32, (1, 3), padding=(0, 2), dilation=2, groups=2)
        self.up = nn.ConvTranspose2d(32, 8, 2, stride=2, bias=False)
        self.fc = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.norm(self.conv(x)))
        x = self.up(self.grouped(self.pool(self.depthwise(x))))
        return self.fc(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1)).softmax(-1)  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """A block with four heads, its products written in four ways, and a table read twice."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 64)
        self.norm = nn.LayerNorm(64)
        self.qkv = nn.Linear(64, 192)
        self.out = nn.Linear(64, 64, bias=False)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).view(batch, length, 3, 4, 16).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        weights = (q @ k.transpose(-2, -1) * 0.25).softmax(-1)
        y = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(y)
        x = x + self.down(functional.gelu(self.up(x)))
        return torch.matmul(x, self.words.weight.t())


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(32, 48, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(96, 20, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(self.lstm(x)[0])[0]  # type: ignore[no-any-return]


IMAGE = torch.zeros(1, 3, 32, 32)
TOKENS = torch.zeros(1, 10, dtype=torch.long)
CASES = [(Convolutions, IMAGE), (Transformer, TOKENS), (Recurrent, torch.zeros(1, 7, 32))]


def written(module: nn.Module, example: torch.Tensor, path: Path) -> Path:
    """The module's ONNX file, as it is: nothing folded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (example,),
            path,
            dynamo=False,
            do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
        )
    return path


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_totals_are_those_of_the_onnx_file(
    kind: type[nn.Module], example: torch.Tensor, tmp_path: Path
) -> None:
    module = kind().eval()
    own = from_torch(module, (example,))
    file = read_network(written(module, example, tmp_path / "module.onnx"))
    assert own.network.macs() == file.network.macs() > 0
    assert own.network.weights == file.network.weights
    assert own.notes == ()


@pytest.mark.parametrize(("kind", "example"), CASES[:2])
def test_weights_are_the_modules_own(kind: type[nn.Module], example: torch.Tensor) -> None:
    module = kind()
    parameters = sum(one.numel() for one in module.parameters())
    assert from_torch(module, (example,)).network.weights == parameters


def test_recurrent_macs_by_hand() -> None:
    step = 2 * 4 * 48 * (32 + 48) + 2 * 4 * 48 * (96 + 48) + 3 * 20 * (96 + 20)
    assert from_torch(Recurrent(), (torch.zeros(1, 7, 32),)).network.macs() == 7 * step


def test_a_module_on_the_meta_device_needs_no_memory() -> None:
    with torch.device("meta"):
        module = nn.TransformerEncoderLayer(8192, 64, 32_768, batch_first=True)  # 3 GB
    found = from_torch(module, (torch.zeros(1, 16, 8192),), name="large")
    products = 4 * 8192**2 + 2 * 8192 * 32_768
    assert found.network.macs() == 16 * products + 2 * 16**2 * 8192
    assert found.network.weights == sum(one.numel() for one in module.parameters())
    assert found.network.name == "large"


def test_fused_attention_costs_what_written_out_attention_does() -> None:
    class Fused(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return functional.scaled_dot_product_attention(q, k, v)

    q, k = torch.zeros(1, 4, 10, 16), torch.zeros(1, 4, 12, 16)
    assert from_torch(Fused(), (q, k, k)).network.macs() == 2 * 4 * 10 * 12 * 16


def test_layers_have_the_names_of_their_modules() -> None:
    (phase,) = from_torch(Convolutions(), (IMAGE,)).network.phases()
    names = [layer.name for layer in phase.layers]
    assert names[:3] == ["conv", "depthwise", "pool"]
    assert "fc" in names


def test_a_module_is_left_as_it_was() -> None:
    module = Convolutions()
    module.norm.eval()
    from_torch(module, (IMAGE,))
    assert module.training
    assert module.conv.training
    assert not module.norm.training


class Lost(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.weight = nn.Parameter(torch.zeros(8, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cdist(self.fc(x), self.weight)


def test_lost_work_is_refused_and_said() -> None:
    with pytest.raises(ConfigError, match=r"module 'Lost': .*cdist.*lenient=True reads it"):
        from_torch(Lost(), (torch.zeros(4, 8),))
    found = from_torch(Lost(), (torch.zeros(4, 8),), lenient=True)
    assert found.network.macs() == 4 * 8 * 8
    assert "cdist" in found.notes[0]


@pytest.mark.parametrize("wrong", [(nn.Linear(3, 4), torch.zeros(3)), ("model.pt", ())])
def test_what_is_no_module_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="takes a module and a tuple"):
        from_torch(*wrong)


def test_a_module_that_cannot_be_traced_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^module 'Linear': torch.export cannot follow it: "):
        from_torch(nn.Linear(3, 4), (torch.zeros(1, 5),))


def test_networks_load_no_torch_until_then() -> None:
    code = "import sys, prema_gym.networks as n; n.get('alexnet'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
