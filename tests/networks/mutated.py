"""Files with something wrong in them: networks and traces, changed at random from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import helper

from prema_gym.networks import read_network
from prema_gym.workloads import scenarios
from prema_gym.workloads.traces.log import TraceLog
from prema_gym.workloads.traces.replay import replay_of
from tests.networks.importer_files import DATA
from tests.networks.onnx_cases import CASES

_SMALL = ("swiglu_256_4096_14336", "alexnet", "resnet18", "ds_cnn")
_SIZES = (0, 1, -1, 2, 3, 7, 64, 1000, 2**31 - 1, 2**31, 2**62, -(2**63))
_WORDS = (
    "",
    "-1",
    "0",
    "1e9",
    "NaN",
    "1_0",
    "'",
    '"',
    "x" * 1000,
    ",,,",
    "9" * 40,
    "\0",
    "#dw",
    "timestamp",
    "\n",
)


TRACE = ".trace"
"""In front of the ending of a file that is no network."""

_CHAT = '"chat_id": {0}, "parent_chat_id": -1, "turn": 1, "input_length": 9, "hash_ids": [{0}]'
TRACES = [
    (".csv", "arrival_ms,model,priority\n0,a,1\n1.5,b,3\n1e3,c,9\n"),
    (".csv", "arrival_s,network,batch,deadline_s\n0,vgg-16,1,9\n2,alexnet,4,8.5\n"),
    (".csv", "arrival_ms,input_length,output_length,slo_us\n0,1,2,3\n1.5,4,5,6\n"),
    (".csv", "HashOwner,HashFunction,1,2,3\no,f,3,0,1\no,g,0,2,0\n"),
    (".csv", "0,0.5,1.3,Gamma,0.5,0.2\n600,0,0,,0,0\n1200,0.1,1.0,Weibull,0.7,0.3\n"),
    (".csv", "Timestamp,Model,Request tokens,Response tokens\n5,GPT-4,40,18\n6,ChatGPT,9,9\n"),
    (".csv", '"arrival_s","note"\n"0.25","x, y"\n"7","z"\n'),
    (".csv", "TIMESTAMP,ContextTokens\n2023-11-16 18:17:03.97996,4\n2023-11-16 18:17:04,5\n"),
    (".csv", "app,func,end_timestamp,duration\na,f,0.5,0.75\nb,f,2.25,1\n"),
    (".jsonl", '{"arrival_ms": 0}\n{"arrival_ms": 2.5, "model": "a"}\n'),
    (".jsonl", '{"timestamp": 0, "hash_ids": [1]}\n{"timestamp": 1500, "hash_ids": [2, 3]}\n'),
    (".jsonl", "".join(f'{{"timestamp": {t}, {_CHAT.format(t)}}}\n' for t in range(3))),
    (".csv", "HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,0,2,1\no,a,g,timer,1,0,3\n"),
    (".csv", "0.0,2.5,1.2,Gamma,0.7,0.6\n600.0,1.5,0.9,Weibull,1.1,0.7\n1200.0,0.0,,,,\n"),
]


def read_one(path: Path, seed: int) -> bool:
    """Read a mutated file, leniently for every other seed: whether anything came out."""
    if path.name.startswith(f"mutated{TRACE}."):
        log = TraceLog(file=str(path), unknown="skip", sort=bool(seed % 2))
        light = scenarios.get("light")
        return bool(len(replay_of(replace(light, arrival="trace", trace=log)).times))
    return read_network(path, lenient=bool(seed % 2)).network.macs() >= 0


def originals() -> list[tuple[str, bytes]]:
    """What is changed: ending and content."""
    found = [(".onnx", case.model().SerializeToString()) for case in CASES if case.macs < 10**8]
    found += [(".onnx", (DATA / "onnx" / f"{name}.onnx").read_bytes()) for name in _SMALL]
    tables = sorted((DATA / "scalesim").glob("*.csv"))
    found += [(path.suffix, path.read_bytes()) for path in tables]
    return found + [(TRACE + ending, text.encode()) for ending, text in TRACES] * 4


def mutated(seed: int, files: Sequence[tuple[str, bytes]]) -> tuple[str, bytes]:
    """One of the files with one to four changes: ending and content."""
    draw = random.Random(seed)
    ending, content = draw.choice(files)
    for _ in range(draw.randint(1, 4)):
        ways = [_flip, _cut, _twice, _number]
        if ending == ".onnx":
            ways += [_graph] * 6
        else:
            ways += [_word] * 3
        content = draw.choice(ways)(content, draw)
    return ending, content


def write(seed: int, files: Sequence[tuple[str, bytes]], folder: Path) -> Path:
    ending, content = mutated(seed, files)
    path = folder / f"mutated{ending}"
    path.write_bytes(content)
    return path


def _flip(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _cut(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] if draw.random() < 0.5 else content[at : at + draw.randrange(1, 4096)]


def _twice(content: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] + content[max(at - draw.randrange(64), 0) :]


def _number(content: bytes, draw: random.Random) -> bytes:
    """A byte that may be a length or a size in place of another."""
    at = draw.randrange(len(content) + 1)
    return content[:at] + bytes([draw.choice((0, 1, 127, 128, 255))]) + content[at + 1 :]


def _word(content: bytes, draw: random.Random) -> bytes:
    """Another field in a table."""
    fields = content.split(b",")
    fields[draw.randrange(len(fields))] = draw.choice(_WORDS).encode()
    return b",".join(fields)


def _graph(content: bytes, draw: random.Random) -> bytes:
    """A graph that can be parsed, but says something else."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        return _flip(content, draw)
    if model.graph.node:
        draw.choice(_GRAPHS)(model, draw)
    return bytes(model.SerializeToString())


def _size(model: onnx.ModelProto, draw: random.Random) -> None:
    """Another size of an input, a stored tensor or an inner one."""
    graph = model.graph
    values = [v.type.tensor_type.shape.dim for v in (*graph.input, *graph.value_info)]
    values = [dims for dims in values if len(dims)]
    if values and draw.random() < 0.6:
        draw.choice(draw.choice(values)).dim_value = draw.choice(_SIZES)
    elif graph.initializer:
        tensor = draw.choice(graph.initializer)
        if tensor.dims:
            tensor.dims[draw.randrange(len(tensor.dims))] = draw.choice(_SIZES)
        else:
            tensor.dims.append(draw.choice(_SIZES))


def _setting(model: onnx.ModelProto, draw: random.Random) -> None:
    """Another value of a setting, or one that is not there."""
    node = draw.choice(model.graph.node)
    if node.attribute and draw.random() < 0.7:
        one = draw.choice(node.attribute)
        if one.ints:
            one.ints[draw.randrange(len(one.ints))] = draw.choice(_SIZES)
        elif draw.random() < 0.5:
            one.i = draw.choice(_SIZES)
        else:
            node.attribute.remove(one)
    else:
        name = draw.choice(("group", "pads", "axis", "num_heads", "kernel_shape", "strides"))
        value: int | list[int] = draw.choice(_SIZES)
        if draw.random() < 0.5:
            value = [draw.choice(_SIZES) for _ in range(draw.randint(1, 5))]
        node.attribute.append(helper.make_attribute(name, value))


def _kind(model: onnx.ModelProto, draw: random.Random) -> None:
    """Another operator, with the same operands."""
    other = draw.choice(onnx.defs.get_all_schemas())
    node = draw.choice(model.graph.node)
    node.op_type, node.domain = other.name, draw.choice(("", other.domain, "com.microsoft"))


def _wire(model: onnx.ModelProto, draw: random.Random) -> None:
    """Another operand, or one more, or one less."""
    names = [name for node in model.graph.node for name in (*node.input, *node.output)] or [""]
    node = draw.choice(model.graph.node)
    places = node.input if draw.random() < 0.8 else node.output
    if places and draw.random() < 0.7:
        places[draw.randrange(len(places))] = draw.choice([*names, "", "nowhere"])
    elif places and draw.random() < 0.5:
        del places[-1]
    else:
        places.append(draw.choice(names))


def _order(model: onnx.ModelProto, draw: random.Random) -> None:
    """An operator less, twice, or elsewhere; or another operator set."""
    nodes = list(model.graph.node)
    draw.choice(
        (lambda: nodes.pop(), lambda: nodes.append(nodes[0]), lambda: draw.shuffle(nodes))
    )()
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    if draw.random() < 0.3 and model.opset_import:
        model.opset_import[0].version = draw.choice((1, 6, 9, 11, 13, 17, 21, 99, -1))
    if draw.random() < 0.2:
        model.ir_version = draw.choice((0, 1, 3, 4, 10, 99))


_GRAPHS: tuple[Callable[[onnx.ModelProto, random.Random], None], ...] = (
    _size,
    _size,
    _setting,
    _setting,
    _kind,
    _wire,
    _order,
)
