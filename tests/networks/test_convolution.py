from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prema_gym.errors import ConfigError
from prema_gym.networks import Conv2d, Gemm, Pool2d, Tensor, VectorWork


def conv(shape: tuple[int, ...] = (3, 8, 8), **options: Any) -> Conv2d:
    return Conv2d("c", Tensor(shape), **({"out_channels": 4, "kernel": 3} | options))


@pytest.mark.small
@pytest.mark.parametrize(
    ("out_channels", "groups", "macs"),
    [(32, 32, 3_612_672), (64, 4, 57_802_752), (64, 1, 231_211_008)],
)
def test_groups_divide_the_work(out_channels: int, groups: int, macs: int) -> None:
    """Depthwise, grouped and dense 3 × 3 over 32 channels of 112 × 112: three different costs."""
    layer = conv((32, 112, 112), out_channels=out_channels, padding=1, groups=groups)
    assert layer.output_shape == (out_channels, 112, 112)
    assert layer.macs == macs


@pytest.mark.small
def test_a_grouped_convolution_is_one_gemm_per_group() -> None:
    layer = conv((32, 112, 112), out_channels=64, padding=1, groups=4)
    assert layer.work(2) == (Gemm("c", 2 * 112 * 112, 9 * 8, 16, 4, 2 * 8 * 112 * 112),)


@pytest.mark.small
def test_a_depthwise_convolution_is_vector_work_that_reads_map_and_filters() -> None:
    layer = conv((32, 112, 112), out_channels=32, padding=1, groups=32)
    pixels = 112 * 112 * 32
    assert layer.work(2) == (VectorWork("c", 2 * pixels, 9, 2 * pixels + 9 * 32),)


def test_depthwise_with_two_filters_per_channel() -> None:
    layer = conv((8, 5, 5), out_channels=16, groups=8)
    assert layer.work(1) == (VectorWork("c", 16 * 9, 9, 8 * 25 + 9 * 16),)
    assert layer.macs == 16 * 9 * 9
    assert layer.weights == 9 * 16 + 16


def test_one_input_channel_is_not_depthwise() -> None:
    assert conv((1, 5, 5), groups=1).work(1) == (Gemm("c", 9, 9, 4, input_elements=25),)


def test_weights_count_bias_and_folded_normalisation() -> None:
    assert conv(bias=False).weights == 4 * 27
    assert conv().weights == 4 * 27 + 4
    assert conv(bias=False, batch_norm=True).weights == 4 * 27 + 8
    assert conv(batch_norm=True).work(1) == conv().work(1)  # folding costs nothing


@pytest.mark.small
def test_output_size_by_hand() -> None:
    assert conv((3, 227, 227), kernel=11, stride=4).output_shape == (4, 55, 55)
    # (10 + 2 - 3) // 2 + 1 = 5 high; a span of 2 · (5 - 1) + 1 = 9 in 20 leaves 12 places wide
    not_square = conv((3, 10, 20), kernel=(3, 5), stride=(2, 1), padding=(1, 0), dilation=(1, 2))
    assert not_square.output_shape == (4, 5, 12)
    # one zero below and to the right only, as TensorFlow pads an even map at stride 2
    assert conv((3, 8, 8), stride=2, padding=(0, 0, 1, 1)).output_shape == (4, 4, 4)
    assert conv((3, 8, 8), stride=2, padding=(1, 0, 0, 0)).output_shape == (4, 4, 3)


def test_one_meaning_compares_equal_however_it_is_written() -> None:
    assert conv(kernel=3, padding=1) == conv(kernel=(3, 3), padding=(1, 1, 1, 1))
    assert hash(conv(stride=2)) == hash(conv(stride=(2, 2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 2}, "groups must divide the 3 input and the 4 output channels, got 2"),
        (
            {"shape": (4, 8, 8), "groups": 4, "out_channels": 6},
            "groups must divide the 4 input and the 6 output channels, got 4",
        ),
        ({"groups": 0}, "groups must be a whole number of at least 1, got 0"),
        ({"stride": -1}, "stride must be a whole number of at least 1, .*got -1"),
        ({"stride": 0}, "stride must be a whole number of at least 1, .*got 0"),
        (
            {"stride": (1, 2, 3)},
            r"stride must be a whole .*, or \(height, width\) of such, got \(1, 2, 3\)",
        ),
        ({"kernel": 9}, "a window of 9 does not fit into 8 pixels padded by 0 and 0"),
        ({"kernel": 5, "dilation": 3}, "a window of 13 does not fit into 8 pixels"),
        ({"kernel": 2.5}, "kernel must be a whole number of at least 1, .*got 2.5"),
        ({"padding": -1}, "padding must be a whole number of at least 0, .*got -1"),
        (
            {"padding": (1, 2, 3)},
            r"padding must be .* \(top, left, bottom, right\) of such, got \(1, 2, 3\)",
        ),
        (
            {"padding": (1, 1, 1, -2)},
            r"padding must be a whole number of at least 0, .*got \(1, 1, 1, -2\)",
        ),
        ({"dilation": 0}, "dilation must be a whole number of at least 1, .*got 0"),
        ({"out_channels": 0}, "out_channels must be a whole number of at least 1, got 0"),
        ({"shape": (3, 8)}, r"input must be \(channels, height, width\), got \(3, 8\)"),
    ],
)
def test_bad_arguments_give_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^Conv2d 'c': {message}") as caught:
        conv(**options)
    assert "\n" not in str(caught.value)


sizes = st.integers(1, 12)


def padded_starts(size: int, span: int, stride: int, before: int, after: int) -> list[int]:
    """Every place of a window that lies wholly inside the padded axis, counted one by one."""
    return [s for s in range(-before, size + after) if s + span <= size + after][::stride]


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.data())
def test_output_and_macs_agree_with_counting_windows(data: st.DataObject) -> None:
    height, width, kernel_h, kernel_w = (data.draw(sizes) for _ in range(4))
    stride = (data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)))
    dilation = (data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)))
    padding = tuple(data.draw(st.integers(0, 3)) for _ in range(4))
    groups = data.draw(st.sampled_from([1, 2, 6]))
    top, left, bottom, right = padding
    span = ((kernel_h - 1) * dilation[0] + 1, (kernel_w - 1) * dilation[1] + 1)
    rows = padded_starts(height, span[0], stride[0], top, bottom)
    columns = padded_starts(width, span[1], stride[1], left, right)
    options: dict[str, Any] = {
        "out_channels": 12,
        "kernel": (kernel_h, kernel_w),
        "stride": stride,
        "dilation": dilation,
        "padding": padding,
        "groups": groups,
    }
    if not rows or not columns:
        with pytest.raises(ConfigError, match="does not fit"):
            conv((6, height, width), **options)
        return
    layer = conv((6, height, width), **options)
    assert layer.output_shape == (12, len(rows), len(columns))
    assert layer.macs == len(rows) * len(columns) * 12 * (6 // groups) * kernel_h * kernel_w
    work = layer.work(3)[0]
    done = work.macs if isinstance(work, Gemm) else work.ops
    assert done == 3 * layer.macs


def pool(shape: tuple[int, ...], **options: Any) -> Pool2d:
    return Pool2d("p", Tensor(shape), **options)


@pytest.mark.small
def test_pooling_by_hand() -> None:
    layer = pool((64, 112, 112), kernel=3, stride=2, ceil_mode=True)
    assert layer.output_shape == (64, 56, 56)
    assert layer.work(2) == (VectorWork("p", 2 * 64 * 56 * 56, 9, 2 * 64 * 112 * 112),)
    assert layer.macs == layer.weights == 0
    assert pool((64, 112, 112), kernel=3, stride=2).output_shape == (64, 55, 55)
    assert pool((8, 6, 9), kernel=(2, 3), stride=(2, 3)).output_shape == (8, 3, 3)


@pytest.mark.small
def test_global_pooling_spans_the_whole_map() -> None:
    layer = pool((1024, 7, 5))
    assert layer.output_shape == (1024, 1, 1)
    assert layer.work(1) == (VectorWork("p", 1024, 35, 1024 * 35),)
    assert layer == pool((1024, 7, 5), kernel=(7, 5))


def test_a_rounded_up_window_must_start_inside_the_map() -> None:
    # stride 3 over 4 pixels: starts at 0 and 3, both inside
    assert pool((1, 4, 4), kernel=2, stride=3, ceil_mode=True).output_shape == (1, 2, 2)
    # stride 3 over 3 pixels: the second window would start at 3, where nothing is left
    assert pool((1, 3, 3), kernel=2, stride=3, ceil_mode=True).output_shape == (1, 1, 1)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(size=sizes, kernel=st.integers(1, 5), stride=st.integers(1, 5), data=st.data())
def test_rounded_up_pooling_agrees_with_counting_windows(
    size: int, kernel: int, stride: int, data: st.DataObject
) -> None:
    padding = data.draw(st.integers(0, kernel - 1))
    if size + 2 * padding < kernel:
        with pytest.raises(ConfigError, match="does not fit"):
            pool((1, size, size), kernel=kernel, stride=stride, padding=padding, ceil_mode=True)
        return
    # Take windows from the left until one reaches the padded end or would start beyond the map.
    count, start = 1, -padding
    while start + kernel < size + padding and start + stride < size:
        count, start = count + 1, start + stride
    layer = pool((1, size, size), kernel=kernel, stride=stride, padding=padding, ceil_mode=True)
    assert layer.output_shape == (1, count, count)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": 5}, "a window of 5 does not fit into 4 pixels padded by 0 and 0"),
        ({"kernel": 2, "padding": 2}, "padding must be smaller than the kernel"),
        ({"kernel": 2, "stride": -2}, "stride must be a whole number of at least 1, .*got -2"),
        ({"kernel": 0}, "kernel must be a whole number of at least 1, .*got 0"),
    ],
)
def test_bad_pooling_gives_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^Pool2d 'p': .*{message}"):
        pool((3, 4, 4), **options)


def test_pooling_needs_a_map() -> None:
    with pytest.raises(ConfigError, match=r"input must be \(channels, height, width\)"):
        pool((3,), kernel=1)
