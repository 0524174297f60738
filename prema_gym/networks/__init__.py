"""Networks as lists of layers, and the work (matrix products, vector work) they ask of a machine.

``get(name)`` gives a network of the zoo; ``Network.from_layers`` makes one from layers, which
scenarios can name once it is registered::

    image = Tensor((3, 32, 32))
    conv = Conv2d("conv", image, out_channels=16, kernel=3, padding=1)
    network = Network.from_layers(
        "tiny", [conv, Linear("fc", conv.output.flatten(), out_features=10)], source="an example"
    )
    register(network)

A file is a network too: ``get("models/resnet18.onnx")``, or `read_network` for what lies behind it;
so is a PyTorch module: `from_torch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prema_gym.files import as_given
from prema_gym.lazy import on_first_use
from prema_gym.networks.attention import Attention, GroupedAttention, SelfAttention
from prema_gym.networks.convolution import Conv2d, Pool2d, UpConv2d
from prema_gym.networks.importers import Imported, is_file, read_network
from prema_gym.networks.interaction import PairwiseDot
from prema_gym.networks.layers import Embedding, Layer, Linear
from prema_gym.networks.network import LayerList, Network, Phase, check_wiring
from prema_gym.networks.pointwise import (
    ChannelScale,
    Elementwise,
    Maxout,
    Normalization,
    Rotary,
    Softmax,
)
from prema_gym.networks.recurrent import GRUCell, LSTMCell
from prema_gym.networks.registry import full_name, get, names, notes, register
from prema_gym.networks.tensor import Shape, Tensor, concat
from prema_gym.networks.work import Gemm, VectorWork, Work

if TYPE_CHECKING:
    from prema_gym.networks.importers.torch_graph import from_torch

__all__ = [
    "Attention",
    "ChannelScale",
    "Conv2d",
    "Elementwise",
    "Embedding",
    "GRUCell",
    "Gemm",
    "GroupedAttention",
    "Imported",
    "LSTMCell",
    "Layer",
    "LayerList",
    "Linear",
    "Maxout",
    "Network",
    "Normalization",
    "PairwiseDot",
    "Phase",
    "Pool2d",
    "Rotary",
    "SelfAttention",
    "Shape",
    "Softmax",
    "Tensor",
    "UpConv2d",
    "VectorWork",
    "Work",
    "as_given",
    "check_wiring",
    "concat",
    "from_torch",
    "full_name",
    "get",
    "is_file",
    "names",
    "notes",
    "read_network",
    "register",
]

__getattr__, __dir__ = on_first_use(__name__, {"importers.torch_graph": ("from_torch",)})
