"""Every way in which work was once lost: our count, one by hand, and one of what really ran."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from prema_gym.errors import ConfigError
from prema_gym.networks import read_network
from prema_gym.networks.importers.onnx_graph.layers import Experts
from prema_gym.networks.importers.onnx_graph.operators import NO_PRODUCTS, OPERATORS
from prema_gym.networks.importers.onnx_graph.spelling import is_spelled
from prema_gym.networks.work import Gemm
from tests.networks.executed import executed_macs, reference_run
from tests.networks.importer_files import layers, node, write_graph
from tests.networks.onnx_cases import CASES, Case, graph, ms

# Loops whose collected results ONNX's reference implementation stacks otherwise or that it does not
# leave without a step, groups that it does not transpose, and what only ONNX Runtime executes.
NOT_BY_REFERENCE = {
    "Loop in a loop, results stacked and multiplied",
    "Loop in a loop, of as many steps as its number",
    "ConvTranspose in groups",
}


def save(case: Case, folder: Path) -> Path:
    path = folder / "case.onnx"
    path.write_bytes(case.model().SerializeToString())
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_lost(case: Case, tmp_path: Path) -> None:
    imported = read_network(save(case, tmp_path), dims=case.dims)
    assert imported.network.macs() == case.macs
    assert not any("work lost" in note for note in imported.notes)


BY_REFERENCE = [
    case
    for case in CASES
    if case.name not in NOT_BY_REFERENCE and not any(one.domain for one in case.nodes)
]


@pytest.mark.parametrize("case", BY_REFERENCE, ids=lambda case: case.name)
def test_the_count_is_that_of_an_execution(case: Case) -> None:
    if case.macs < 10**8:  # the reference implementation is slow
        assert executed_macs(reference_run(case.model(), case.arrays())) == case.macs


def test_every_operator_of_onnx_is_known_or_known_to_be_no_product() -> None:
    """A new one appears here: it is a line of the table, or is named as skipped."""
    own = {one.name for one in onnx.defs.get_all_schemas() if one.domain == ""}
    entered = {"If", "Loop", "Scan"}
    # Work lost, and said: one holds operators, the others are new and priced by no layer of ours.
    refused = {"SequenceMap", "CausalConvWithState", "LinearAttention"}
    spelled = {name for name in own if is_spelled(name)}
    known = OPERATORS.keys() | NO_PRODUCTS | entered | spelled
    assert own - known - refused == set()
    assert not OPERATORS.keys() & NO_PRODUCTS


def loop(trips: str, keep: str, body: onnx.GraphProto) -> list[onnx.NodeProto]:
    return [node("MatMul", "x w", "a"), node("Loop", f"{trips} {keep} a", "y", body=body)]


STEP = [node("MatMul", "v w", "n")]
FOREVER = [*STEP, node("Identity", "c", "go")]
WHILE = [*STEP, node("ReduceSum", "n", "sum", keepdims=0), node("Greater", "sum zero", "go")]
STORED = [
    helper.make_tensor("zero", TensorProto.FLOAT, [], [0]),
    helper.make_tensor("three", TensorProto.INT64, [], [3]),
    helper.make_tensor("no", TensorProto.BOOL, [], [False]),
    helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
    helper.make_tensor("none", TensorProto.INT64, [], [0]),
]


@pytest.mark.parametrize(
    ("trips", "keep", "nodes", "steps", "note"),
    [
        ("three", "-", FOREVER, 3, None),
        ("three", "no", FOREVER, 0, None),
        ("none", "-", FOREVER, 0, None),
        ("three", "-", [*STEP, node("Identity", "yes", "go")], 3, None),
        ("three", "-", WHILE, 3, "Loop 'the y': 3 steps counted, it may end before"),
        (
            "m",
            "-",
            FOREVER,
            1,
            "an unknown number of MACs in 1 Loop 'the y' (open number of steps)",
        ),
        (
            "-",
            "b",
            FOREVER,
            1,
            "an unknown number of MACs in 1 Loop 'the y' (open number of steps)",
        ),
    ],
)
def test_loops(
    tmp_path: Path, trips: str, keep: str, nodes: list[onnx.NodeProto], steps: int, note: str | None
) -> None:
    body = graph(nodes, ["i", "c", "v"], ["go", "n"])
    path = tmp_path / "g.onnx"
    write_graph(path, loop(trips, keep, body), {"x": (1, 4, 16)}, {"w": (16, 16)}, stored=STORED)
    model = onnx.load(path, load_external_data=False)
    for name, kind in (("m", TensorProto.INT64), ("b", TensorProto.BOOL)):
        model.graph.input.append(helper.make_tensor_value_info(name, kind, []))
    path.write_bytes(model.SerializeToString())
    imported = read_network(path, lenient=True)
    assert imported.network.macs() == (1 + steps) * 4 * 16 * 16
    assert imported.network.weights == 16 * 16  # one matrix, however often it is read
    assert [line for line in imported.notes if "open" in line or "steps" in line] == (
        [] if note is None else [imported.notes[-1]]
    )
    assert note is None or note in imported.notes[-1]


def test_what_grows_from_step_to_step_is_written_out(tmp_path: Path) -> None:
    """Twice as many rows in each step; 30 000 operators would be too many."""
    body = graph(
        [
            node("MatMul", "v w", "n"),
            node("Concat", "v v", "more", axis=1),
            node("Identity", "c", "go"),
        ],
        ["i", "c", "v"],
        ["go", "more"],
    )
    path = tmp_path / "g.onnx"
    inputs, weights = {"x": (1, 4, 16)}, {"w": (16, 16)}
    write_graph(path, loop("three", "-", body), inputs, weights, stored=STORED)
    network = read_network(path).network
    assert network.macs() == (1 + 1 + 2 + 4) * 4 * 16 * 16
    assert network.weights == 16 * 16
    many = helper.make_tensor("many", TensorProto.INT64, [], [10_000])
    write_graph(path, loop("many", "-", body), inputs, weights, stored=[many])
    with pytest.raises(ConfigError, match="its sizes are known only when it runs"):
        read_network(path)


def test_which_branch_is_taken_is_said(tmp_path: Path) -> None:
    (case,) = [case for case in CASES if "unknown condition" in case.name]
    path = save(case, tmp_path)
    (note,) = read_network(path).notes
    assert note == (
        f"{path}: If 'the b': its condition is known only when it runs; taken as false, the "
        "dearer branch (786432 MACs)"
    )


@pytest.mark.parametrize("kind", ["Conv", "Gemm"])
def test_quantising_and_back_costs_no_more_than_the_quantised_form(
    tmp_path: Path, kind: str
) -> None:
    """Three layers and a residual sum, once in pairs and once as operators of integers."""
    shapes = {"x": (1, 8, 6, 6)} if kind == "Conv" else {"x": (6, 8)}
    sizes = (8, 8, 1, 1) if kind == "Conv" else (8, 8)
    scales = [
        helper.make_tensor("s", TensorProto.FLOAT, [], [1]),
        helper.make_tensor("z", TensorProto.UINT8, [], [0]),
        helper.make_tensor("q", TensorProto.UINT8, sizes, [1] * 64),
    ]

    def pair(name: str, result: str) -> list[onnx.NodeProto]:
        return [
            node("QuantizeLinear", f"{name} s z", f"{name}_q"),
            node("DequantizeLinear", f"{name}_q s z", result),
        ]

    weights = [node("DequantizeLinear", "q s z", "w")]
    pairs = [*weights, *pair("x", "x0")]
    for at in range(3):
        pairs += [node(kind, f"x{at} w", f"c{at}"), node("Relu", f"c{at}", f"r{at}")]
        pairs += pair(f"r{at}", f"x{at + 1}")
    pairs += [node("Add", "x2 x3", "sum"), *pair("sum", "y")]
    plain = [node("QuantizeLinear", "x s z", "x0")]
    quantised = "QLinearConv" if kind == "Conv" else "QGemm"
    for at in range(3):
        read = f"x{at} s z q s z {'' if kind == 'Conv' else '- '}s z"
        plain.append(node(quantised, read, f"x{at + 1}"))
        plain[-1].domain = "" if kind == "Conv" else "com.microsoft"
    plain += [
        node("QLinearAdd", "x2 s z x3 s z s z", "sum", domain="com.microsoft"),
        node("DequantizeLinear", "sum s z", "y"),
    ]
    found = []
    for nodes in (pairs, plain):
        path = write_graph(tmp_path / "g.onnx", nodes, shapes, stored=scales)
        network = read_network(path).network
        found.append([layer.work(1) for layer in layers(network)])
        assert network.macs() == 3 * 64 * (36 if kind == "Conv" else 6)
    in_pairs, in_integers = found
    assert len(in_pairs) <= len(in_integers)
    assert len(in_pairs) == 5  # the input's quantisation, three products, the sum


def test_shared_weights_count_once(tmp_path: Path) -> None:
    """A table of words that also gives the scores, and a layer that runs twice."""
    nodes = [
        node("Gather", "table ids", "e"),
        node("MatMul", "e w", "a"),
        node("MatMul", "a w", "b"),
        node("Transpose", "table", "t", perm=[1, 0]),
        node("MatMul", "b t", "y"),
    ]
    ids = helper.make_tensor("ids", TensorProto.INT64, [3], [0, 1, 2])
    weights = {"table": (10, 4), "w": (4, 4)}
    nodes[0] = node("Gather", "table x", "e")
    path = write_graph(tmp_path / "g.onnx", nodes, {"x": (3,)}, weights, stored=[ids])
    model = onnx.load(path, load_external_data=False)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    path.write_bytes(model.SerializeToString())
    network = read_network(path).network
    assert network.weights == 40 + 16
    assert network.macs() == 3 * (16 + 16 + 40)


def test_a_function_that_calls_itself_is_refused(tmp_path: Path) -> None:
    block = helper.make_node("Block", ["x"], ["y"], domain="mine")
    path = write_graph(tmp_path / "g.onnx", [block], {"x": (1, 4)})
    model = onnx.load(path, load_external_data=False)
    inner = [helper.make_node("Block", ["a"], ["b"], domain="mine")]
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    model.functions.append(helper.make_function("mine", "Block", ["a"], ["b"], inner, sets))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ConfigError, match="function 'Block' calls itself"):
        read_network(path)


@pytest.mark.parametrize(
    ("one", "stored"),
    [
        (node("MatMul", "w x", "y"), (7, 6)),
        (node("Gemm", "w x", "y"), (7, 6)),
        (node("MatMul", "x w", "y"), (3, 5, 4)),
        (node("Einsum", "e w", "y", equation="ebi,eio->ebo"), (4, 5, 9)),
    ],
    ids=["left operand", "left operand of Gemm", "a matrix for each item", "experts"],
)
def test_weights_count_wherever_they_stand(
    one: onnx.NodeProto, stored: tuple[int, ...], tmp_path: Path
) -> None:
    """And once, though a second operator reads them."""
    again = onnx.NodeProto()
    again.CopyFrom(one)
    again.output[0] = "z"
    inputs = {"x": (6, 5), "e": (4, 6, 5)}
    path = write_graph(tmp_path / "g.onnx", [one, again], inputs, {"w": stored})
    assert read_network(path).network.weights == math.prod(stored)


def test_a_loop_through_what_is_not_known_is_not_taken_to_keep_its_sizes(tmp_path: Path) -> None:
    step = [node("MatMul", "v w", "m"), node("Op", "m", "n", domain="mine")]
    body = graph([*step, node("Identity", "c", "go")], ["i", "c", "v"], ["go", "n"])
    path = tmp_path / "g.onnx"
    write_graph(path, loop("three", "-", body), {"x": (4, 16)}, {"w": (16, 16)}, stored=STORED)
    with pytest.raises(ConfigError, match="perhaps behind what is not known here: mine::Op"):
        read_network(path)
    notes = read_network(path, lenient=True).notes
    assert notes[-1].endswith("an unknown number of MACs in 2 MatMul (open shape)")


def _decoder(
    tmp_path: Path, total: int | None, present: int | None, *, width: int | None = None
) -> Path:
    """One step of a decoder with ten places for keys; how many are filled may be said."""
    past: dict[str, tuple[int | str, ...]] = {"pk": (1, 2, 10, 8), "pv": (1, 2, 10, 8)}
    inputs: dict[str, tuple[int | str, ...]] = {"q": (1, 1, 32), "k": (1, 1, 16), "v": (1, 1, 16)}
    inputs |= past
    nodes = [ms("GroupQueryAttention", "q k v pk pv l t", "y nk nv", num_heads=4, kv_num_heads=2)]
    stored = {"l": np.array([0], np.int32)}
    if width is not None:  # as exporters write it: the length of a mask
        inputs["mask"] = (1, width)
        nodes = [node("Shape", "mask", "s"), node("Gather", "s one", "t"), *nodes]
        stored["one"] = np.array(1)
    elif total is None:
        inputs["t"] = ()
    else:
        stored["t"] = np.array(total, np.int32)
    outputs: dict[str, tuple[int, ...] | None] = {"y": (1, 1, 32), "nk": None, "nv": None}
    if present is not None:
        outputs |= {"nk": (1, 2, present, 8), "nv": (1, 2, present, 8)}
    value = helper.make_tensor_value_info
    made = helper.make_graph(
        nodes,
        "decoder",
        [value(name, TensorProto.FLOAT, sizes) for name, sizes in inputs.items()],
        [value(name, TensorProto.FLOAT, sizes) for name, sizes in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "decoder.onnx"
    path.write_bytes(helper.make_model(made, opset_imports=sets).SerializeToString())
    return path


@pytest.mark.parametrize(
    ("total", "present", "keys"),
    [
        (5, 10, 5),  # past and present share the buffer, five of whose places are filled
        (11, 11, 11),  # none shared: ten before and a new one
        (11, None, 11),
        (None, 11, 11),
        (None, None, 11),
    ],
)
def test_keys_are_counted_not_places_for_them(
    tmp_path: Path, total: int | None, present: int | None, keys: int
) -> None:
    imported = read_network(_decoder(tmp_path, total, present))
    assert imported.network.macs() == 4 * keys * (8 + 8)
    assert not any("buffer" in note for note in imported.notes)


def test_the_length_of_a_mask_says_how_many_keys_there_are(tmp_path: Path) -> None:
    imported = read_network(_decoder(tmp_path, None, 10, width=7))
    assert imported.network.macs() == 4 * 7 * (8 + 8)


def test_a_buffer_filled_nobody_knows_how_far_is_full_and_that_is_said(tmp_path: Path) -> None:
    imported = read_network(_decoder(tmp_path, None, 10))
    assert imported.network.macs() == 4 * 10 * (8 + 8)
    assert sum("taken as full, 10" in note for note in imported.notes) == 1


@pytest.mark.parametrize("total", [0, 12])
def test_an_impossible_number_of_keys_is_refused(tmp_path: Path, total: int) -> None:
    with pytest.raises(ConfigError, match=rf"{total} keys cannot be 1 new ones and up to 10"):
        read_network(_decoder(tmp_path, total, None))


def test_experts_load_the_weights_of_those_that_are_chosen() -> None:
    few = Experts("few", tokens=3, chosen=2, experts=8, depth=4, columns=5)
    assert few.work(1) == (Gemm("few", 1, 4, 5, 6),)
    assert few.weights == 8 * 4 * 5
    all_of_them = few.work(5)  # 30 rows for 8 experts: six have four, two have three
    assert all_of_them == (Gemm("few", 4, 4, 5, 6), Gemm("few", 3, 4, 5, 2))
    with pytest.raises(ConfigError, match="9 of 8 experts"):
        replace(few, chosen=9)


def test_packed_experts_of_a_width_nobody_knows_are_lost_work(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name.startswith("QMoE"))
    (one,) = case.nodes
    odd = onnx.NodeProto()
    odd.CopyFrom(one)
    for setting in odd.attribute:
        if setting.name == "expert_weight_bits":
            setting.i = 3
    with pytest.raises(ConfigError, match=r"1 com\.microsoft::QMoE; work lost"):
        read_network(save(replace(case, nodes=[odd]), tmp_path))
