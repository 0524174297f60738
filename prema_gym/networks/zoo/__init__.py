"""The networks that come with the package: one module per family."""

from __future__ import annotations

from prema_gym.networks.network import Network
from prema_gym.networks.zoo.alexnet import ALEXNET
from prema_gym.networks.zoo.bert import BERT_BASE
from prema_gym.networks.zoo.decoder import (
    GPT2_DECODE,
    GPT2_PREFILL,
    LLAMA_1B_DECODE,
    LLAMA_1B_PREFILL,
    LLAMA_8B_DECODE,
    LLAMA_8B_PREFILL,
)
from prema_gym.networks.zoo.dlrm import DLRM
from prema_gym.networks.zoo.efficientnet import EFFICIENTNET_B0
from prema_gym.networks.zoo.gnmt import RNN_MT2
from prema_gym.networks.zoo.googlenet import GOOGLENET
from prema_gym.networks.zoo.las import RNN_ASR
from prema_gym.networks.zoo.mobilenet import (
    MOBILENET_V1,
    MOBILENET_V2,
    MOBILENET_V3_LARGE,
    MOBILENET_V3_SMALL,
)
from prema_gym.networks.zoo.resnet import RESNET_18, RESNET_34, RESNET_50, RESNET_101, RESNET_152
from prema_gym.networks.zoo.rnnsearch import RNN_MT1
from prema_gym.networks.zoo.sentiment import RNN_SA
from prema_gym.networks.zoo.unet import UNET
from prema_gym.networks.zoo.vgg import VGG_16
from prema_gym.networks.zoo.vit import VIT_B_16
from prema_gym.networks.zoo.whisper import WHISPER_TINY

__all__ = ["ZOO"]

ZOO: tuple[Network, ...] = (
    # The paper's eight, and the one that its successors add
    ALEXNET,
    GOOGLENET,
    VGG_16,
    MOBILENET_V1,
    RESNET_50,
    RNN_SA,
    RNN_MT1,
    RNN_MT2,
    RNN_ASR,
    # Vision
    RESNET_18,
    RESNET_34,
    RESNET_101,
    RESNET_152,
    MOBILENET_V2,
    MOBILENET_V3_LARGE,
    MOBILENET_V3_SMALL,
    EFFICIENTNET_B0,
    VIT_B_16,
    UNET,
    # Text, speech, recommendation
    BERT_BASE,
    WHISPER_TINY,
    DLRM,
    GPT2_PREFILL,
    GPT2_DECODE,
    LLAMA_1B_PREFILL,
    LLAMA_1B_DECODE,
    LLAMA_8B_PREFILL,
    LLAMA_8B_DECODE,
)
"""In the order of a listing."""
