"""What is each operator of PyTorch in the words of ONNX? A table, and the few that need more.

An operator is a call: its name without overload and without the ``_`` of those that write in place,
its arguments, and the shapes of what it reads and gives. Source: PyTorch's native_functions.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prema_gym.networks.importers.onnx_graph.model import Operator, Shape


@dataclass
class Found:
    """What has been found so far, in the words of ONNX.

    Attributes:
        operators: In order.
        shapes: Of every tensor.
        weights: Names of the stored tensors.
    """

    operators: list[Operator] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    weights: set[str] = field(default_factory=set)

    def add(
        self,
        kind: str,
        name: str,
        inputs: Sequence[str],
        output: str,
        shape: Shape | None = None,
        **attributes: Any,  # noqa: ANN401 - plain values
    ) -> str:
        """Append one operator; gives its result's name."""
        if shape is not None:
            self.shapes[output] = shape
        self.operators.append(Operator(kind, name, tuple(inputs), (output,), attributes))
        return output

    def stored(self, name: str, shape: Shape) -> str:
        """A stored tensor that PyTorch keeps in another form."""
        self.weights.add(name)
        self.shapes[name] = shape
        return name


@dataclass(frozen=True)
class Call:
    """One call of an operator.

    Attributes:
        kind: ``conv2d``, ``add``, …
        name: What to call its layer.
        output: Its result's name.
        given: Its arguments by name; tensors are their names, lists of tensors lists of names.
        is_pointwise: Whether it works element by element.
    """

    kind: str
    name: str
    output: str
    given: Mapping[str, Any]
    is_pointwise: bool = False

    def tensor(self, name: str) -> str:
        """A tensor's name; "" if it is not given, or is a number."""
        value = self.given.get(name)
        return value if isinstance(value, Tensor) else ""

    def tensors(self) -> Iterator[str]:
        """All tensors it reads, in order."""
        for value in self.given.values():
            if isinstance(value, Tensor):
                yield value
            elif isinstance(value, list | tuple):
                yield from (one for one in value if isinstance(one, Tensor))


class Tensor(str):
    """The name of a tensor, among a call's arguments."""

    __slots__ = ()


Write = Callable[[Found, Call], None]


def write(found: Found, call: Call) -> None:
    """Append a call in the words of ONNX; one that is not known keeps its own name."""
    special = _SPECIAL.get(call.kind)
    if special is not None:
        special(found, call)
        return
    kind = _SAME.get(call.kind)
    if kind is None:
        kind = "Exp" if call.is_pointwise else f"aten::{call.kind}"
    found.add(kind, call.name, tuple(call.tensors()), call.output)


def _each(kinds: str, name: str) -> dict[str, str]:
    return dict.fromkeys(kinds.split(), name)


_SAME: dict[str, str] = {
    # Where data lies
    **_each("view reshape flatten unflatten _unsafe_view view_as reshape_as", "Reshape"),
    **_each("permute transpose t numpy_T movedim swapaxes", "Transpose"),
    **_each("squeeze squeeze_dims", "Squeeze"),
    "unsqueeze": "Unsqueeze",
    **_each("contiguous clone detach alias lift_fresh_copy lift_fresh dropout feature_dropout "
            "alpha_dropout", "Identity"),
    **_each("to _to_copy type_as", "Cast"),
    **_each("slice select narrow split split_with_sizes chunk unbind getitem tensor_split "
            "diagonal index_select unfold", "Slice"),
    **_each("cat concat stack", "Concat"),
    **_each("expand expand_as repeat repeat_interleave roll flip tile", "Expand"),
    **_each("pad constant_pad_nd", "Pad"),
    **_each("pixel_shuffle channel_shuffle", "DepthToSpace"),
    "pixel_unshuffle": "SpaceToDepth",
    **_each("arange zeros ones full zeros_like ones_like full_like empty new_zeros new_ones "
            "new_full scalar_tensor tril triu eye empty_like", "Range"),
    # Products
    **_each("matmul mm bmm mv dot", "MatMul"),
    # Elements
    "add": "Add",
    "sub": "Sub",
    **_each("mul", "Mul"),
    "div": "Div",
    **_each("relu relu6 hardtanh clamp", "Relu"),
    **_each("gelu", "Gelu"),
    **_each("silu hardswish mish", "HardSwish"),
    **_each("sigmoid hardsigmoid", "Sigmoid"),
    "tanh": "Tanh",
    **_each("leaky_relu prelu elu celu selu softplus", "LeakyRelu"),
    **_each("softmax _softmax log_softmax", "Softmax"),
    **_each("mean sum amax amin max min argmax argmin var std logsumexp norm prod "
            "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d "
            "_adaptive_avg_pool2d linalg_vector_norm", "ReduceMean"),
    **_each("cumsum cumprod", "CumSum"),
    **_each("masked_fill where", "Where"),
    # Operators that read and write, but multiply nothing
    **_each("index gather take_along_dim", "GatherElements"),
    **_each("index_put scatter scatter_add index_add index_copy", "ScatterElements"),
    **_each("topk sort argsort", "TopK"),
    "grid_sampler": "GridSample",
    **_each("upsample_nearest1d upsample_nearest2d upsample_nearest3d", "Resize"),
}  # fmt: skip
"""Calls that an operator of ONNX says with the tensors that they read, and no settings."""


def _operands(call: Call) -> tuple[str, str, str]:
    """Input, weight and bias."""
    return call.tensor("input"), call.tensor("weight"), call.tensor("bias")


def _wide(value: int | Sequence[int], axes: int) -> list[int]:
    """A setting for each axis; one number stands for all."""
    numbers = [value] if isinstance(value, int) else list(value)
    return numbers * axes if len(numbers) == 1 else numbers


def _window(found: Found, call: Call) -> dict[str, Any]:
    """Stride, dilation and padding of a convolution or pool."""
    axes = len(found.shapes[call.tensor("input") or call.tensor("self")]) - 2
    padding = call.given.get("padding", 0)
    settings: dict[str, Any] = {"dilations": _wide(call.given.get("dilation", 1), axes)}
    stride = call.given.get("stride")
    if stride is not None and stride != []:
        settings["strides"] = _wide(stride, axes)
    if isinstance(padding, str):
        settings["auto_pad"] = "SAME_UPPER" if padding == "same" else "VALID"
    else:
        settings["pads"] = _wide(padding, axes) * 2
    return settings


def _conv(found: Found, call: Call) -> None:
    groups = call.given.get("groups", 1)
    settings = _window(found, call)
    found.add("Conv", call.name, _operands(call), call.output, group=groups, **settings)


def _conv_transpose(found: Found, call: Call) -> None:
    settings = {
        "strides": _window(found, call).get("strides"),
        "group": call.given.get("groups", 1),
    }
    given = {key: value for key, value in settings.items() if value is not None}
    found.add("ConvTranspose", call.name, _operands(call), call.output, **given)


def _pool(found: Found, call: Call) -> None:
    axes = len(found.shapes[call.tensor("self")]) - 2
    kernel = _wide(call.given["kernel_size"], axes)
    settings = {"strides": kernel, **_window(found, call)}
    ceil = int(bool(call.given.get("ceil_mode", False)))
    inputs = (call.tensor("self"),)
    found.add(
        "MaxPool", call.name, inputs, call.output, kernel_shape=kernel, ceil_mode=ceil, **settings
    )


def _linear(found: Found, call: Call) -> None:
    """The weights lie transposed."""
    x, weight, bias = _operands(call)
    turned = f"{call.output}/turned"
    found.add("Transpose", turned, (weight,), turned, found.shapes[weight][::-1])
    _product(found, call, x, turned, bias)


def _addmm(found: Found, call: Call) -> None:
    left, right = ("batch1", "batch2") if call.kind == "baddbmm" else ("mat1", "mat2")
    _product(found, call, call.tensor(left), call.tensor(right), call.tensor("self"))


def _product(found: Found, call: Call, left: str, right: str, bias: str) -> None:
    """A product, and a sum behind it."""
    if not bias:
        found.add("MatMul", call.name, (left, right), call.output)
        return
    product = f"{call.output}/product"
    found.add("MatMul", call.name, (left, right), product, found.shapes[call.output])
    found.add("Add", f"{call.name}/bias", (product, bias), call.output)


def _attention(found: Found, call: Call) -> None:
    inputs = tuple(call.tensor(name) for name in ("query", "key", "value"))
    one_head: dict[str, Any] = {"q_num_heads": 1, "kv_num_heads": 1}
    has_heads = len(found.shapes[inputs[0]]) == 4
    found.add("Attention", call.name, inputs, call.output, **({} if has_heads else one_head))


def _einsum(found: Found, call: Call) -> None:
    inputs = tuple(call.tensors())
    found.add("Einsum", call.name, inputs, call.output, equation=call.given["equation"])


def _embedding(found: Found, call: Call) -> None:
    found.add("Gather", call.name, (call.tensor("weight"), call.tensor("indices")), call.output)


def _norm(kind: str, scale: str) -> Write:
    """A normalisation; its scales say what it is over, so there are some even if none is given."""

    def write_norm(found: Found, call: Call) -> None:
        x = call.tensor("input")
        weight = call.tensor(scale)
        if not weight:
            over = call.given.get("normalized_shape") or found.shapes[x][1:2]
            weight = f"{call.output}/ones"
            found.shapes[weight] = tuple(over)
        found.add(kind, call.name, (x, weight, call.tensor("bias")), call.output)

    return write_norm


def _recurrent(kind: str, gates: int) -> Write:
    """Layers on top of each other, each in one or two directions."""

    def write_recurrent(found: Found, call: Call) -> None:
        x, params = call.tensor("input"), call.given["params"]
        directions = 2 if call.given["bidirectional"] else 1
        has_bias = bool(call.given["has_biases"])
        layout = int(bool(call.given["batch_first"]))
        each = (4 if has_bias else 2) * directions
        for layer in range(call.given["num_layers"]):
            own = params[layer * each : (layer + 1) * each]
            (_, features), (rows, hidden) = (found.shapes[name] for name in own[:2])
            key = own[0]
            inputs = [
                x,
                found.stored(f"{key}/w", (directions, rows, features)),
                found.stored(f"{key}/r", (directions, rows, hidden)),
            ]
            if has_bias:
                inputs.append(found.stored(f"{key}/b", (directions, 2 * gates * hidden)))
            output = f"{call.output}/{layer}"
            shape = (*found.shapes[x][:2], directions * hidden)
            found.add(kind, f"{call.name}/{layer}", inputs, output, shape, layout=layout)
            x = output
        found.add("Identity", call.name, (x,), call.output)

    return write_recurrent


_SPECIAL: dict[str, Write] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution"), _conv),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _conv_transpose
    ),
    **dict.fromkeys(
        ("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
         "max_pool2d_with_indices"), _pool
    ),
    "linear": _linear,
    **dict.fromkeys(("addmm", "baddbmm"), _addmm),
    "scaled_dot_product_attention": _attention,
    "einsum": _einsum,
    "embedding": _embedding,
    "batch_norm": _norm("BatchNormalization", "weight"),
    "layer_norm": _norm("LayerNormalization", "weight"),
    "rms_norm": _norm("RMSNormalization", "weight"),
    "group_norm": _norm("GroupNormalization", "weight"),
    "instance_norm": _norm("InstanceNormalization", "weight"),
    "lstm": _recurrent("LSTM", 4),
    "gru": _recurrent("GRU", 3),
    **dict.fromkeys(("rnn_tanh", "rnn_relu"), _recurrent("RNN", 1)),
}  # fmt: skip
"""Calls whose settings matter."""
