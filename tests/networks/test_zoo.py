"""The zoo against published figures, and every layer's input against the layers it reads."""

from __future__ import annotations

import math
import pickle
import re
import subprocess
import sys

import pytest

from prema_gym.errors import UnknownNameError
from prema_gym.networks import Gemm, Layer, Network, Phase, check_wiring, get, names

RECURRENT = tuple(name for name in names() if get(name).is_recurrent)
FEEDFORWARD = tuple(name for name in names() if name not in RECURRENT)
LENGTHS = (1, 2, 7, 8, 50, 401)


def layers_of(network: Network, input_length: int = 1) -> list[Layer]:
    return [layer for phase in network.phases(input_length) for layer in phase.layers]


def phase_macs(phase: Phase) -> int:
    return sum(layer.macs for layer in phase.layers)


@pytest.mark.small
def test_names_are_the_registered_networks() -> None:
    assert [get(name).name for name in names()] == list(names())
    assert {"alexnet", "resnet-50"} <= set(FEEDFORWARD)
    assert {"rnn-sa", "rnn-mt1"} <= set(RECURRENT)


def test_an_unknown_name_gives_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown network 'vgg16'; did you mean 'vgg-16'"):
        get("vgg16")


@pytest.mark.small
@pytest.mark.parametrize(
    ("name", "macs", "weights"),
    [
        # Sze et al., Proc. IEEE 2017, Table II (two-group AlexNet); parameters of bvlc_alexnet
        ("alexnet", 724e6, 60_965_224),
        # parameters of bvlc_googlenet; MACs: Table 1 of the paper with its first row put right
        ("googlenet", 1502e6 - 34e6 + 118e6, 6_998_552),
        ("vgg-16", 15.47e9, 138_357_544),  # torchvision vgg16
        ("mobilenet-v1", 569e6, 4_231_976),  # Table 8 of the paper (569 M, 4.2 M)
        # torchvision's list of models: resnet18 … vit_b_16, each with its GMACs and parameters
        ("resnet-18", 1.814e9, 11_689_512),
        ("resnet-34", 3.664e9, 21_797_672),
        ("resnet-50", 4.09e9, 25_557_032),
        ("resnet-101", 7.801e9, 44_549_160),
        ("resnet-152", 11.514e9, 60_192_808),
        ("mobilenet-v2", 0.301e9, 3_504_872),
        ("mobilenet-v3-large", 0.217e9, 5_483_032),
        ("mobilenet-v3-small", 0.057e9, 2_542_856),
        ("efficientnet-b0", 0.386e9, 5_288_548),
        ("vit-b-16", 17.564e9, 86_567_656),
    ],
)
def test_vision_networks_match_published_figures(name: str, macs: float, weights: int) -> None:
    network = get(name)
    assert network.macs() == pytest.approx(macs, rel=0.01)
    assert network.weights == weights


def test_unet_by_hand() -> None:
    """Figure 1 of the paper: sizes of the maps as printed there, one convolution a line."""
    down = (
        570**2 * 64 * 9 + 568**2 * 64 * 64 * 9,
        282**2 * 128 * 64 * 9 + 280**2 * 128 * 128 * 9,
        138**2 * 256 * 128 * 9 + 136**2 * 256 * 256 * 9,
        66**2 * 512 * 256 * 9 + 64**2 * 512 * 512 * 9,
        30**2 * 1024 * 512 * 9 + 28**2 * 1024 * 1024 * 9,
    )
    up = (
        28**2 * 1024 * 512 * 4 + 54**2 * 512 * 1024 * 9 + 52**2 * 512 * 512 * 9,
        52**2 * 512 * 256 * 4 + 102**2 * 256 * 512 * 9 + 100**2 * 256 * 256 * 9,
        100**2 * 256 * 128 * 4 + 198**2 * 128 * 256 * 9 + 196**2 * 128 * 128 * 9,
        196**2 * 128 * 64 * 4 + 390**2 * 64 * 128 * 9 + 388**2 * 64 * 64 * 9,
    )
    network = get("unet")
    assert network.macs() == sum(down) + sum(up) + 388**2 * 64 * 2
    # 31 030 593 with one class, as re-implementations report; the second class has 64 + 1
    assert network.weights == 31_030_593 + 65


def test_dlrm_by_hand_and_published() -> None:
    """Naumov et al., Section 5.1: widths, and "approximately 540M parameters"."""
    network = get("dlrm")
    bottom = 13 * 512 + 512 * 256 + 256 * 64 + 64 * 16
    top = (16 + 351) * 512 + 512 * 256 + 256
    assert network.macs() == bottom + 27 * 27 * 16 + top  # the array multiplies all with all
    assert network.weights == pytest.approx(540e6, rel=0.01)


@pytest.mark.small
def test_exact_macs_of_independent_counts() -> None:
    """AlexNet layer by layer from its definition; three from exported graphs' nodes."""
    convolutions = (
        55 * 55 * 96 * 363,
        27 * 27 * 256 * 48 * 25,
        13 * 13 * 384 * 256 * 9,
        13 * 13 * 384 * 192 * 9,
        13 * 13 * 256 * 192 * 9,
    )
    linear = (9216 * 4096, 4096 * 4096, 4096 * 1000)
    found = [layer.macs for layer in layers_of(get("alexnet")) if layer.macs]
    assert found == [*convolutions, *linear]
    assert get("resnet-50").macs() == 4_089_184_256
    assert get("resnet-18").macs() == 1_814_073_344
    assert get("mobilenet-v2").macs() == 300_774_272


@pytest.mark.parametrize(
    ("block", "million_macs"),
    [
        ("conv2", 360),
        ("inception-3a", 128),
        ("inception-3b", 304),
        ("inception-4a", 73),
        ("inception-4b", 88),
        ("inception-4c", 100),
        ("inception-4d", 119),
        ("inception-4e", 170),
        ("inception-5b", 71),
        ("classifier", 1),
    ],
)
def test_googlenet_matches_each_row_of_its_table(block: str, million_macs: int) -> None:
    """Szegedy et al., Table 1, column "ops"; it cuts or rounds to whole millions.

    Two rows do not follow from their own widths and are left out: the first convolution (34 M for
    what takes 118 M) and inception 5a (54 M for what takes 51 M).
    """
    macs = sum(layer.macs for layer in layers_of(get("googlenet")) if layer.name.startswith(block))
    assert abs(macs / 1e6 - million_macs) < 1


def test_mobilenet_shares_match_its_table() -> None:
    """Howard et al., Table 2: 94.86 % of the MACs in 1 × 1, 3.06 % in depthwise convolutions."""
    network = get("mobilenet-v1")
    shares = {
        kind: sum(layer.macs for layer in layers_of(network) if kind in layer.name) / network.macs()
        for kind in ("pointwise", "depthwise")
    }
    assert shares["pointwise"] == pytest.approx(0.9486, abs=5e-5)
    assert shares["depthwise"] == pytest.approx(0.0306, abs=5e-5)


def test_depthwise_convolutions_never_reach_the_array() -> None:
    for layer in layers_of(get("mobilenet-v1")):
        if "depthwise" in layer.name:
            assert not any(isinstance(work, Gemm) for work in layer.work(4))


@pytest.mark.parametrize("name", FEEDFORWARD)
def test_feedforward_networks_run_once_whatever_the_lengths(name: str) -> None:
    network = get(name)
    assert not network.has_output_steps
    assert network.phases(1) == network.phases(99)
    assert [phase.repeat for phase in network.phases()] == [1]
    assert network.macs(input_length=9, output_length=9) == network.macs()


@pytest.mark.small
def test_rnn_sa_by_hand() -> None:
    reader, classifier = get("rnn-sa").phases(230)
    assert (reader.repeat, classifier.repeat) == (230, 1)
    assert phase_macs(reader) == (512 + 1024) * 4 * 1024
    assert phase_macs(classifier) == 1024 * 512 + 512 * 2
    assert not get("rnn-sa").has_output_steps


@pytest.mark.small
def test_rnn_mt1_by_hand() -> None:
    length = 20
    encoder, bridge, decoder = get("rnn-mt1").phases(length)
    assert (encoder.repeat, bridge.repeat, decoder.repeat) == (length, 1, "output")
    assert phase_macs(encoder) == 2 * (620 + 1000) * 3000  # two directions
    assert phase_macs(bridge) == length * 2000 * 1000 + 1000 * 1000  # keys, first state
    query_and_cell = 1000 * 1000 + (620 + 2000 + 1000) * 3000
    attention = length * 1000 + length * 2000  # scores, context
    words = (1000 + 620 + 2000) * 1000 + 500 * 30_000
    assert phase_macs(decoder) == query_and_cell + attention + words


@pytest.mark.small
def test_rnn_mt2_by_hand_and_published() -> None:
    length = 20
    first, upper, bridge, decoder = get("rnn-mt2").phases(length)
    assert [first.repeat, upper.repeat, bridge.repeat, decoder.repeat] == [20, 20, 1, "output"]
    narrow = 2048 * 4096  # 1 024 inputs and 1 024 units
    wide = 3072 * 4096  # 2 048 inputs and 1 024 units
    assert phase_macs(first) == 2 * narrow
    assert phase_macs(upper) == wide + 2 * narrow
    assert phase_macs(bridge) == length * 1024 * 1024
    attention = 1024 * 1024 + length * (1024 + 1024)
    assert phase_macs(decoder) == 4 * wide + attention + 1024 * 36_548
    # Reddi et al., ISCA 2020, Table I
    assert get("rnn-mt2").weights == pytest.approx(210e6, rel=0.01)


@pytest.mark.small
@pytest.mark.parametrize(
    ("frames", "steps"),
    [(400, [400, 200, 100, 50]), (401, [401, 201, 101, 51]), (1, [1, 1, 1, 1])],
)
def test_rnn_asr_by_hand(frames: int, steps: list[int]) -> None:
    *listener, bridge, speller = get("rnn-asr").phases(frames)
    assert [phase.repeat for phase in listener] == steps
    assert phase_macs(listener[0]) == 2 * (40 + 256) * 1024
    for pyramid in listener[1:]:
        assert phase_macs(pyramid) == 2 * (2 * 512 + 256) * 1024
    assert phase_macs(bridge) == steps[-1] * 512 * 512
    assert speller.repeat == "output"
    cells = (43 + 512 + 512) * 2048 + (512 + 512) * 2048
    attention = 512 * 512 + 2 * steps[-1] * 512
    assert phase_macs(speller) == cells + attention + 1024 * 43


def test_the_two_translators_differ_in_size() -> None:
    translators = (get(name) for name in ("rnn-mt1", "rnn-mt2"))
    small, large = (one.macs(input_length=20, output_length=20) for one in translators)
    assert large > 2 * small


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_networks_grow_with_their_lengths(name: str) -> None:
    network = get(name)
    shortest, longest = network.input_lengths or (0, 0)
    assert 1 <= shortest <= longest
    macs = [network.macs(input_length=length) for length in range(1, 40, 6)]
    assert macs == sorted(macs)
    assert (macs[-1] > macs[0]) == (longest > shortest)
    more = network.macs(input_length=8, output_length=2) - network.macs(input_length=8)
    assert (more > 0) == network.has_output_steps


@pytest.mark.parametrize("name", names())
def test_weights_do_not_depend_on_the_length(name: str) -> None:
    network = get(name)
    assert {sum(x.weights for x in layers_of(network, n)) for n in LENGTHS} == {network.weights}


@pytest.mark.parametrize("name", names())
def test_every_input_follows_from_the_layers_it_reads(name: str) -> None:
    """Recomputed here from names and output shapes alone, for several input lengths."""
    network = get(name)
    # The last character, joined to the context
    outside = {("rnn-asr", "speller-1"): 43}
    for input_length in LENGTHS:
        layers = layers_of(network, input_length)
        outputs = {layer.name: layer.output_shape for layer in layers}
        assert len(outputs) == len(layers)
        for layer in layers:
            for tensor in layer.inputs:
                shapes = [outputs[producer.layer] for producer in tensor.producers]
                if not shapes:
                    continue
                if len(tensor.shape) == 3:  # maps: sizes agree or are cut out, channels add up
                    _, *own = tensor.shape
                    assert name == "unet" or {shape[1:] for shape in shapes} == {tuple(own)}
                    assert all(
                        a >= b for shape in shapes for a, b in zip(shape[1:], own, strict=True)
                    )
                    assert sum(shape[0] for shape in shapes) == tensor.shape[0]
                elif len(tensor.shape) == 2 and len(shapes[0]) == 1:  # states over time
                    assert sum(shape[0] for shape in shapes) == tensor.shape[1]
                elif tensor.shape[0] == 1 < shapes[0][0] and len(shapes[0]) == 2:  # one place
                    assert [shape[1] for shape in shapes] == [tensor.shape[1]]
                else:  # vectors joined or maps flattened, or a sequence handed on
                    found = sum(math.prod(shape) for shape in shapes)
                    assert found + outside.get((name, layer.name), 0) == tensor.elements


@pytest.mark.parametrize("name", names())
def test_wiring_is_accepted_and_nothing_is_left_dangling(name: str) -> None:
    phases = get(name).phases(9)
    check_wiring(phases)
    layers = [layer for phase in phases for layer in phase.layers]
    read = {s.layer for layer in layers for tensor in layer.inputs for s in tensor.producers}
    unread = [layer.name for layer in layers if layer.name not in read]
    # Results, and the decoder's first state, which is no layer's input but the cell's own.
    others = {"rnn-mt1": ["first-state", "prob"], "bert-base": ["pooler"], "dlrm": ["top3"]}
    assert unread == others.get(name, ["prob"])


@pytest.mark.parametrize("name", names())
def test_work_matches_macs_and_scales_with_the_batch(name: str) -> None:
    for layer in layers_of(get(name), 9):
        for batch in (1, 4, 16):
            works = layer.work(batch)
            assert works
            gemms = sum(work.macs for work in works if isinstance(work, Gemm))
            if "depthwise" in layer.name:
                assert gemms == 0
            else:
                assert gemms == batch * layer.macs


@pytest.mark.parametrize("name", names())
def test_networks_pickle_and_hash(name: str) -> None:
    network = get(name)
    assert pickle.loads(pickle.dumps(network)) == network
    assert network in {network}
    assert pickle.loads(pickle.dumps(network.phases(9))) == network.phases(9)


def test_every_network_states_its_source() -> None:
    for name in names():
        network = get(name)
        assert re.search(r"(19|20)\d\d|arXiv", network.source)
        assert network.domain in {"vision", "text", "translation", "speech", "recommendation"}


def test_importing_networks_compiles_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, prema_gym.networks; "
        "print(sorted({'numba', 'torch', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
