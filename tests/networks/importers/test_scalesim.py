"""Tables of layers: what each row means, and that nothing is read as what it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prema_gym.errors import ConfigError
from prema_gym.hardware.config import NPUConfig
from prema_gym.hardware.timing import time_network
from prema_gym.networks import Conv2d, Gemm, Imported, Linear, Tensor, VectorWork, read_network
from tests.networks.importer_files import layers, scalesim

CONV = (
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,"
)
GEMM = "Layer,M,N,K,"

# Multiply-accumulates counted by a script of its own from the files of the same commit: output
# sizes rounded down, batch 1, dense. Sentimental_seqLSTM.csv has a malformed row, see below.
TOTALS = {
    "conv_nets_Resnet18": (21, 1_438_384_832),
    "conv_nets_Resnet50": (54, 3_409_810_112),
    "conv_nets_Googlenet": (58, 1_350_305_600),
    "conv_nets_alexnet": (5, 801_320_064),
    "conv_nets_mobilenet": (27, 565_077_408),
    "conv_nets_mobilnet_paper": (28, 551_345_116),
    "conv_nets_yolo_tiny": (9, 1_753_649_072),
    "conv_nets_UNet_2d": (19, 2_608_061_360_384),
    "GEMM_mnk_gpt2": (6, 20_686_307_328),
    "GEMM_mnk_vit_s": (5, 275_165_184),
    "GEMM_mnk_test_mnk_input": (1, 8_388_608),
    "GEMM_mnk_unet2d": (19, 2_608_061_360_384),
    "ispass25_models_vit_h": (5, 3_601_858_560),
    "sparsity_conv": (1, 972),
    "sparsity_gemm": (2, 320),
    "translation_gpt2": (6, 20_686_307_328),
    "mlperf_AlphaGoZero": (8, 352_869_108),
    "mlperf_Sentimental_seqLSTM_short": (8, 12_138_500),
    "mlperf_NCF_recommendation_short": (6, 5_522_704),
    "llama_llama3b": (51, 431_424_096_174_080),
    "dlrm_dlrm_fwd": (8, 204_324_864),
    "rnn_eval_google_translate_dec": (8, 32_768),
}

# What a reader of the numbers is told, where there is anything.
ROUNDED = "whose output is rounded down, as SCALE-Sim does not"
NOTES = {
    "conv_nets_Resnet18": [f"7 rows (line 2, 7, 9, 12, 14, …) {ROUNDED}"],
    "conv_nets_Resnet50": [
        "columns ignored: Eh, Ew, e2",
        f"7 rows (line 3, 14, 17, 27, 30, …) {ROUNDED}",
    ],
    "conv_nets_Googlenet": [f"1 row (line 3) {ROUNDED}"],
    "conv_nets_alexnet": [f"1 row (line 2) {ROUNDED}"],
    "conv_nets_mobilenet": [
        f"5 rows (line 2, 5, 9, 13, 25) {ROUNDED}",
        "13 rows (line 3, 5, 7, 9, 11, …) with 1 filter over several channels taken as written: "
        "put _dw into the name of a depthwise layer",
    ],
    "conv_nets_mobilnet_paper": [
        "13 rows (line 4, 6, 8, 10, 12, …) taken as depthwise",
        f"5 rows (line 3, 6, 10, 14, 26) {ROUNDED}",
        "13 rows (line 4, 6, 8, 10, 12, …) marked depthwise with Channels 1 taken as written: "
        "write the number of channels for a whole depthwise layer",
    ],
    "sparsity_conv": ["Sparsity ignored: 1 layer taken as dense"],
    "sparsity_gemm": ["Sparsity ignored: 2 layers taken as dense"],
}


def table(folder: Path, *lines: str, end: str = "\n") -> Path:
    path = folder / "table.csv"
    path.write_bytes(end.join(lines).encode())
    return path


def read(folder: Path, *lines: str, end: str = "\n") -> Imported:
    return read_network(table(folder, *lines, end=end))


def failure(folder: Path, *lines: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, *lines)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(str(folder / "table.csv"))


@pytest.mark.parametrize("name", TOTALS)
def test_a_real_file_gives_its_layers_and_macs(name: str) -> None:
    imported = read_network(scalesim(name))
    assert (len(layers(imported.network)), imported.network.macs()) == TOTALS[name]
    assert imported.notes == tuple(f"{scalesim(name)}: {note}" for note in NOTES.get(name, ()))


def test_the_two_forms_of_one_network_agree() -> None:
    for product, convolution in (("GEMM_mnk_unet2d", "conv_nets_UNet_2d"),):
        one, other = (read_network(scalesim(n)).network for n in (product, convolution))
        assert [layer.macs for layer in layers(one)] == [layer.macs for layer in layers(other)]


@pytest.mark.parametrize("row", ["a,4,5,6", "a,4,5,6,", "a, 4 ,5\t, 6 , "])
@pytest.mark.parametrize(
    "header", ["Layer,M,N,K", "Layer,M,N,K,", "\ufeffLayer Name,\u00a0m,N, K, "]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\n,,,,\n"])
def test_commas_blanks_and_line_ends_do_not_matter(
    tmp_path: Path, header: str, row: str, end: str
) -> None:
    network = read(tmp_path, header, row, "", end=end).network
    assert layers(network) == [Linear("a", Tensor((4, 6)), out_features=5, bias=False)]
    assert network.macs() == 120
    assert [work for layer in layers(network) for work in layer.work(3)] == [Gemm("a", 12, 6, 5)]


def test_a_convolution_by_hand(tmp_path: Path) -> None:
    network = read(tmp_path, CONV, "c, 8, 9, 3, 2, 4, 5, 2,").network
    assert layers(network) == [
        Conv2d("c", Tensor((4, 8, 9)), out_channels=5, kernel=(3, 2), stride=2, bias=False)
    ]
    # (8 − 3)/2 + 1 = 3 and (9 − 2)/2 + 1 = 4 places, rounded down.
    assert network.macs() == 3 * 4 * 5 * 4 * 3 * 2
    assert network.weights == 5 * 4 * 3 * 2


def test_tabs_may_stand_for_commas(tmp_path: Path) -> None:
    assert read(tmp_path, "Layer\tM\tN\tK", "a\t4\t5\t6").network.macs() == 120


def test_the_network_says_where_it_comes_from(tmp_path: Path) -> None:
    path = table(tmp_path, GEMM, "a,4,5,6,")
    network = read_network(path).network
    assert (network.name, network.title) == ("table", "table.csv")
    assert network.source == f"SCALE-Sim table {path}"
    assert read_network(path, name="mine").network.name == "mine"


def test_repeated_names_become_unique(tmp_path: Path) -> None:
    network = read(tmp_path, GEMM, "FC,1,2,3", "FC#2,1,2,3", "FC,1,2,3", "FC,1,2,3").network
    assert [layer.name for layer in layers(network)] == ["FC", "FC#2", "FC#3", "FC#4"]


def test_a_title_is_skipped_and_said(tmp_path: Path) -> None:
    imported = read(tmp_path, GEMM, "Encoder,", "a,4,5,6,", "Decoder", "b,1,1,1,")
    assert [layer.name for layer in layers(imported.network)] == ["a", "b"]
    assert imported.notes[0].endswith("table.csv: 2 rows with a name only skipped (line 2, 4)")


@pytest.mark.parametrize(
    ("row", "groups", "out_channels"),
    [
        ("x_dw,112,112,3,3,32,1,1,", 32, 32),
        ("x,112,112,3,3,32,1,1,#dw", 32, 32),
        ("x_DW_1,112,112,3,3,32,32,1", 32, 32),
        ("x_dw,112,112,3,3,32,64,1", 32, 64),
        ("xDP,112,112,3,3,32,1,1,", 32, 32),
        ("xDP,112,112,3,3,32,2,1,", 32, 64),  # filters of each channel, as in SCALE-Sim
        ("x_dw,112,112,3,3,1,1,1,", 1, 1),
        ("x,112,112,3,3,32,1,1,", 1, 1),
    ],
)
def test_depthwise_rows(tmp_path: Path, row: str, groups: int, out_channels: int) -> None:
    (layer,) = layers(read(tmp_path, CONV, row).network)
    assert isinstance(layer, Conv2d)
    assert (layer.groups, layer.out_channels) == (groups, out_channels)
    channels = int(row.split(",")[5])
    assert layer.macs == 110 * 110 * 9 * out_channels * channels // groups
    assert isinstance(layer.work(1)[0], VectorWork if groups > 1 else Gemm)


def test_a_depthwise_row_uses_less_of_the_array(tmp_path: Path) -> None:
    """MACs per cycle: what a depthwise convolution is known for."""
    config, rates = NPUConfig(), []
    for row in ("c_dw,114,114,3,3,32,1,1", "c,114,114,3,3,32,32,1"):
        network = read(tmp_path, CONV, row).network
        rates.append(network.macs() / time_network(config, network, batch=1).cycles)
    assert rates[0] < rates[1] / 4


@pytest.mark.parametrize(
    ("name", "is_depthwise"),
    [
        *[(name, True) for name in ("xDP", "conv_DP_1", "DP 2", "x_dw", "dw3", "Conv-DW")],
        *[(name, False) for name in ("ADPool", "APool", "UDP", "DPool", "x_dwell", "shadw")],
    ],
)
def test_a_mark_is_a_word_of_its_own(tmp_path: Path, name: str, is_depthwise: bool) -> None:
    imported = read(tmp_path, CONV, f"{name}, 14, 14, 1, 1, 512, 512, 1")
    (layer,) = layers(imported.network)
    assert isinstance(layer, Conv2d)
    assert (layer.groups == 512) == is_depthwise
    said = [note for note in imported.notes if "1 row (line 2) taken as depthwise" in note]
    assert bool(said) == is_depthwise


@pytest.mark.parametrize(
    ("more", "values", "macs"),
    [
        # 17 pixels, 3 taps, 4 channels, 8 filters: (15 / 2 + 1) · (15 / 1) places, see the issue.
        (("Stride height", "Stride width"), "2,1", 8 * 15 * 8 * 4 * 9),
        (("Stride width", "Stride height"), "2,1", 15 * 8 * 8 * 4 * 9),
        (("Strides", "Stride W"), "2,1", 8 * 15 * 8 * 4 * 9),
        (("Strides", "Groups"), "1,2", 15 * 15 * 8 * 2 * 9),
        (("Strides", "Dilation"), "1,2", 13 * 13 * 8 * 4 * 9),
        (("Strides", "Dilation H", "Dilation W"), "1,2,1", 13 * 15 * 8 * 4 * 9),
        (("Strides", "Padding"), "1,1", 17 * 17 * 8 * 4 * 9),
        (("Strides", "Padding"), "1,0", 15 * 15 * 8 * 4 * 9),
        (("Strides", "Padding"), "1,", 15 * 15 * 8 * 4 * 9),
        (("Strides", "Repeat"), "1,3", 3 * 15 * 15 * 8 * 4 * 9),
        (("Strides", "Count"), "1,3", 3 * 15 * 15 * 8 * 4 * 9),
    ],
)
def test_columns_that_change_the_work_are_read(
    tmp_path: Path, more: tuple[str, ...], values: str, macs: int
) -> None:
    header = ",".join([*CONV.rstrip(",").split(",")[:-1], *more])
    network = read(tmp_path, header, f"c,17,17,3,3,4,8,{values}").network
    assert network.macs() == macs


def test_a_repeated_row_is_the_row_written_again(tmp_path: Path) -> None:
    once = read(tmp_path, GEMM + "Repeat", "a,4,5,6,2", "b,1,1,1").network
    assert once == read(tmp_path, GEMM, "a,4,5,6", "a,4,5,6", "b,1,1,1").network


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (CONV + "Transposed", "c,8,8,3,3,4,5,1,1", "line 1: column 'Transposed' changes the work"),
        (GEMM + "Groups", "c,8,8,3,1", "line 1: column 'Groups' changes the work"),
        (CONV + "Stride H,Stride W", "c,8,8,3,3,4,5,1,1,1", "two columns hold the stride height"),
        (CONV + "Groups,Groups", "c,8,8,3,3,4,5,1,1,1", "two columns hold the groups"),
        (CONV + "Padding", "c,8,8,3,3,4,5,1,same", "line 2: padding must be a whole number from 0"),
        (CONV + "Groups", "c,8,8,3,3,4,5,1,3", "groups must divide the 4 input"),
        (CONV + "Groups", "c_dw,8,8,3,3,4,4,1,2", "marked depthwise, but in 2 groups of 4"),
        (GEMM + "Repeat", "c,8,8,3,10001", "repeat must be a whole number from 1 to 10000"),
    ],
)
def test_columns_that_cannot_be_read_are_refused(
    tmp_path: Path, header: str, row: str, message: str
) -> None:
    assert message in failure(tmp_path, header, row)


def test_wrong_rows_are_skipped_and_listed_if_lenient(tmp_path: Path) -> None:
    path = table(tmp_path, GEMM, "a,4,5,6", "b,4,B,6", "c,4,5", "d,1,1,1")
    imported = read_network(path, lenient=True)
    assert [layer.name for layer in layers(imported.network)] == ["a", "d"]
    (note,) = imported.notes
    assert note.startswith(f"{path}: 2 rows skipped: line 3: N must be a whole number from 1 to ")
    assert "; line 4: K must be a whole" in note
    with pytest.raises(ConfigError, match=r"no layer below it that can be read \(line 2: N must"):
        read_network(table(tmp_path, GEMM, "b,4,B,6"), lenient=True)


def test_quoted_names_lose_their_quotes(tmp_path: Path) -> None:
    network = read(tmp_path, '"Layer","M","N","K"', '"a, first" , 4, "5",6', '"b",1,1,1').network
    assert [layer.name for layer in layers(network)] == ["a, first", "b"]
    assert network.macs() == 121
    assert ", line 2: a quote is not closed in '" in failure(tmp_path, GEMM, '"a,4,5,6')


def test_a_batch_column_may_only_say_one(tmp_path: Path) -> None:
    header = CONV + " Batch Size,"
    row = "c,8,8,3,3,4,5,1,"
    assert read(tmp_path, header, row + "1,", row).notes == ()
    assert failure(tmp_path, header, row + "4,") == (
        ", line 2: Batch Size must be 1 or empty, got '4': "
        "a scenario's batch_sizes say how many inputs a task has"
    )


def test_sparsity_is_checked_but_dense_layers_are_timed(tmp_path: Path) -> None:
    header = GEMM + "Sparsity,"
    imported = read(tmp_path, header, "a,4,5,6,2:4", "b,4,5,6,4:4", "c,4,5,6")
    assert imported.network.macs() == 360
    assert imported.notes[0].endswith("Sparsity ignored: 1 layer taken as dense")
    assert "line 2: Sparsity must be N:M, such as 2:4, got 'half'" in failure(
        tmp_path, header, "a,4,5,6,half"
    )


def test_the_malformed_row_of_a_real_file_is_named(tmp_path: Path) -> None:
    path = scalesim("mlperf_Sentimental_seqLSTM")
    with pytest.raises(ConfigError, match=r"line 29: Filter Width must be a whole number from 1"):
        read_network(path)
    lines = path.read_text().splitlines()
    imported = read(tmp_path, *lines[:28])
    assert (len(layers(imported.network)), imported.network.macs()) == (25, 26_822_656)
    assert imported.notes[0].endswith("1 row with a name only skipped (line 3)")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("",), ": is empty; the first line must be 'Layer, M, N, K' or 'Layer name, IFMAP Heig"),
        ((GEMM,), ": has a header but no layer below it"),
        ((GEMM, "a,"), ": has a header but no layer below it"),
        (("a,4,5,6", "b,4,5,6"), ", line 1: the first line must be 'Layer, M, N, K' or "),
        (("Layer,M,K,N", "b,4,5,6"), ", line 1: the first line must be 'Layer, M, N, K' or "),
        (("Layer,IFMAP Height,IFMAP Width", "b,4,5"), ", line 1: the first line must be"),
        # One kind of table under the header of the other.
        (
            (GEMM, "c,224,224,3,3,3,64,2,"),
            ", line 2: '3' stands beyond the 4 columns that the header names: is it the header of "
            "another kind of table?",
        ),
        ((CONV, "a,4,5,6,"), ", line 2: Filter Width must be a whole number from 1 to 999999999, "),
        (
            (GEMM, "a,4,B,6"),
            ", line 2: N must be a whole number from 1 to 999999999, got 'B' in 'a",
        ),
        ((GEMM, "", "a,4,5"), ", line 3: K must be a whole number from 1 to 999999999, got ''"),
        ((GEMM, "a,4,5,1 2"), "got '1 2'"),
        ((GEMM, "a,4,5,0"), "got '0'"),
        ((GEMM, "a,4,5,-6"), "got '-6'"),
        ((GEMM, "a,4,5,6.0"), "got '6.0'"),
        ((GEMM, "a,4,5,٦"), "got '٦'"),
        ((GEMM, "a,4,5," + "9" * 5000), "got '999"),
        ((GEMM, ",4,5,6"), ", line 2: the layer has no name, got ', 4, 5, 6'"),
        ((CONV, "c,3,8,5,3,1,1,1"), ", line 2: Conv2d 'c': a window of 5 does not fit into 3"),
        ((CONV, "c_dw,8,8,3,3,4,6,1"), ", line 2: Conv2d 'c_dw': groups must divide the 4 input"),
    ],
)
def test_bad_tables_are_one_line_that_says_where(
    tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    assert message in failure(tmp_path, *lines)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read '.*absent\.csv': No such file"):
        read_network(tmp_path / "absent.csv")
    (tmp_path / "latin.csv").write_bytes("Größe".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.csv' is not UTF-8 text"):
        read_network(tmp_path / "latin.csv")


SIZE = st.integers(1, 64)


@st.composite
def convolution_rows(draw: st.DrawFn) -> tuple[int, ...]:
    kernel_h, kernel_w = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    height, width = kernel_h + draw(SIZE), kernel_w + draw(SIZE)
    return height, width, kernel_h, kernel_w, draw(SIZE), draw(SIZE), draw(st.integers(1, 4))


def row_text(sizes: tuple[int, ...], comma: bool) -> str:
    return "layer," + ", ".join(map(str, sizes)) + ("," if comma else "")


@given(rows=st.lists(st.tuples(convolution_rows(), st.booleans()), min_size=1, max_size=6))
def test_macs_of_random_convolutions(
    rows: list[tuple[tuple[int, ...], bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table")
    network = read(folder, CONV, *(row_text(*row) for row in rows)).network
    assert len(layers(network)) == len(rows)
    assert network.macs() == sum(
        ((h - kh) // s + 1) * ((w - kw) // s + 1) * kh * kw * c * f
        for (h, w, kh, kw, c, f, s), _ in rows
    )


@given(rows=st.lists(st.tuples(st.tuples(SIZE, SIZE, SIZE), st.booleans()), min_size=1, max_size=6))
def test_macs_of_random_products(
    rows: list[tuple[tuple[int, ...], bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table")
    network = read(folder, GEMM, *(row_text(*row) for row in rows)).network
    assert len(layers(network)) == len(rows)
    assert network.macs() == sum(m * n * k for (m, n, k), _ in rows)


@given(text=st.text(alphabet="Layer,MNK123\n \tdw:#", max_size=60))
def test_any_text_is_read_or_refused_in_one_line(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = table(tmp_path_factory.mktemp("table"), GEMM, text)
    message = ""
    try:
        assert read_network(path).network.macs() > 0
    except ConfigError as error:
        message = str(error)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("heading", "value"),
    [
        ("Heads", "4"),
        ("Times", "3"),
        ("Density", "0.5"),
        ("Type", "depthwise"),
        ("Kind", "max pool"),
        ("", "3"),
    ],
)
def test_columns_that_may_change_the_work_are_passed_over_by_a_lenient_reader_only(
    tmp_path: Path, heading: str, value: str
) -> None:
    path = table(tmp_path, CONV + f"{heading},Note", f"c,8,8,3,3,4,5,1,{value},x")
    with pytest.raises(ConfigError, match=r"line 2: column .* may change the work of a layer, got"):
        read_network(path)
    assert read_network(path, lenient=True).network.macs() == 6 * 6 * 5 * 4 * 9


@pytest.mark.parametrize("heading", ["OFMAP Height", "Eh", "MACs", "Note", "Cycles"])
def test_columns_that_follow_from_the_sizes_are_named(tmp_path: Path, heading: str) -> None:
    path = table(tmp_path, CONV + f"{heading},Type", "c,8,8,3,3,4,5,1,6,conv", "d,8,8,3,3,4,5,1,,")
    assert read_network(path).notes == (f"{path}: columns ignored: {heading}, Type",)


def test_a_direction_without_a_value_is_refused(tmp_path: Path) -> None:
    header = CONV.replace("Strides", "Stride H,Stride W")
    assert "stride must be given for both directions" in failure(
        tmp_path, header, "c,8,8,3,3,4,5,2,"
    )


def test_a_quote_that_is_not_closed_costs_a_lenient_reader_one_row(tmp_path: Path) -> None:
    path = table(tmp_path, GEMM, "a,4,5,6", '"b,4,5,6', "'c',1,1,1")
    with pytest.raises(ConfigError, match="line 3: a quote is not closed"):
        read_network(path)
    imported = read_network(path, lenient=True)
    assert [layer.name for layer in layers(imported.network)] == ["a", "c"]
    assert "1 row skipped: line 3: a quote is not closed" in imported.notes[0]


def test_a_table_of_too_many_layers_is_refused_soon(tmp_path: Path) -> None:
    rows = ["a,1,1,1,10000"] * 11
    assert "line 12: a table may hold 100000 layers at most" in failure(
        tmp_path, GEMM + "Repeat", *rows
    )
