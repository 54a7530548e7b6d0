"""Winograd's matrices are exact, and convolutions by them are convolutions, within the bound that is stated."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.nightly import daily
from tests.topi.judges_nn import run
from workbench import relay
from workbench.core.errors import WorkbenchError
from workbench.topi.nn_winograd import WinogradWeightTransform
from workbench.topi.winograd import LARGEST, growth, matrices

ALL = [(outputs, taps) for outputs in range(1, LARGEST + 1) for taps in range(1, LARGEST + 2 - outputs)]


@pytest.mark.parametrize(("outputs", "taps"), ALL, ids=[f"F({outputs},{taps})" for outputs, taps in ALL])
def test_each_transform_is_a_filter_exactly(outputs: int, taps: int) -> None:
    """y[k] = sum of d[k + j] g[j] for every unit vector d and g, in fractions."""
    own = matrices(outputs, taps)
    size = outputs + taps - 1
    for t in range(size):
        for j in range(taps):
            products = [own.filter[i][j] * own.data[i][t] for i in range(size)]
            found = [sum((row[i] * products[i] for i in range(size)), Fraction(0)) for row in own.output]
            assert found == [Fraction(int(t == k + j)) for k in range(outputs)]


def test_the_transforms_of_three_taps_are_the_published_ones() -> None:
    """Lavin and Gray's F(2, 3) up to signs, and F(4, 3)."""
    two, four = matrices(2, 3), matrices(4, 3)
    assert [[abs(one) for one in row] for row in two.data] == [[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]]
    assert [list(row) for row in four.data] == [
        [4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]  # fmt: skip
    assert [list(row) for row in four.output] == [
        [1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(("outputs", "taps"), [(0, 3), (7, 3), (2, 0)])
def test_no_transform(outputs: int, taps: int) -> None:
    with pytest.raises(WorkbenchError, match="E-WINOGRAD-TILE"):
        matrices(outputs, taps)


def by_winograd(
    weight: np.ndarray, data: np.ndarray, tile: int, lanes: int = 0, data_layout: str = "NCHW", padding: int = 0
) -> Any:
    """The convolution's program, its weight transformed in it, in blocks of `lanes` (0: in none)."""
    x, w = relay.var("x", shape=data.shape), relay.const(weight)
    own = relay.nn.contrib_conv2d_winograd_weight_transform(w, tile_size=tile)
    layout = "HWOI"
    if lanes:
        layout = f"HWOI{lanes}o"
        own = relay.layout_transform(own, src_layout="HWOI", dst_layout=layout)
    made = relay.nn.contrib_conv2d_winograd_without_weight_transform(
        x, own, tile_size=tile, padding=padding, channels=len(weight), data_layout=data_layout, kernel_layout=layout
    )
    return wb.IRModule.from_expr(relay.Function([x], made))


def ran(module: Any, data: np.ndarray) -> np.ndarray:
    (found,) = wb.open(module).run({"x": data}).values()
    return np.asarray(found)


@pytest.mark.parametrize(
    ("tile", "taps", "shape", "outputs", "lanes", "padding"),
    [
        (2, 3, (1, 8, 14, 14), 16, 8, 1),
        (4, 3, (1, 8, 14, 14), 16, 8, 1),
        (4, 3, (2, 12, 9, 17), 20, 8, 1),
        (4, 3, (1, 64, 28, 28), 64, 8, 1),
        (2, 5, (1, 16, 11, 10), 8, 8, 2),
        (6, 3, (1, 8, 13, 13), 8, 8, 0),
        (4, 3, (1, 3, 8, 8), 8, 8, 1),
        (3, 2, (1, 8, 7, 5), 8, 0, 0),
        (2, 3, (1, 8, 3, 3), 8, 8, 0),
        (4, 1, (1, 8, 6, 6), 8, 8, 0),
        (4, 3, (1, 16, 1, 1), 16, 8, 1),
    ],
)
@pytest.mark.parametrize("data_layout", ["NCHW", "NHWC"])
def test_convolutions(
    tile: int, taps: int, shape: tuple[int, ...], outputs: int, lanes: int, padding: int, data_layout: str
) -> None:
    """Against onnxruntime: ragged tiles, blocks filled up, several pictures, channels that are no vectors."""
    random = np.random.default_rng(0)
    data = random.normal(size=shape).astype("float32")
    weight = random.normal(size=(outputs, shape[1], taps, taps)).astype("float32")
    (wanted,) = run("Conv", [data, weight], pads=[padding] * 4)
    turned = np.ascontiguousarray(data.transpose(0, 2, 3, 1)) if data_layout == "NHWC" else data
    found = ran(by_winograd(weight, turned, tile, lanes, data_layout, padding), turned)
    found = found.transpose(0, 3, 1, 2) if data_layout == "NHWC" else found
    (scale,) = run("Conv", [abs(data), abs(weight)], pads=[padding] * 4)
    assert found.shape == wanted.shape
    assert (abs(found - wanted) / scale).max() < 2e-5 if tile < 6 else 2e-4


@pytest.mark.parametrize("channels", daily((16, 64, 256), 16))
@pytest.mark.parametrize(("tile", "taps"), [(2, 3), (4, 3), (6, 3), (2, 5)])
@pytest.mark.parametrize("positive", [False, True])
def test_the_error_of_an_element_grows_by_no_more_than_is_stated(
    channels: int, tile: int, taps: int, positive: bool
) -> None:
    """Against float64, as a part of the sum of the products' absolute values, beside that of the direct kernel."""
    random = np.random.default_rng(channels)
    data, weight = random.normal(size=(1, channels, 13, 13)), random.normal(size=(16, channels, taps, taps))
    if positive:
        data, weight = abs(data), abs(weight)
    data, weight = data.astype("float32"), weight.astype("float32")
    windows = np.lib.stride_tricks.sliding_window_view(data[0].astype(np.float64), (taps, taps), axis=(1, 2))
    exact = np.einsum("cyxij,ocij->oyx", windows, weight.astype(np.float64))
    scale = np.einsum("cyxij,ocij->oyx", abs(windows), abs(weight.astype(np.float64)))
    x = relay.var("x", shape=data.shape)
    straight = relay.nn.conv2d(x, relay.const(weight))
    with wb.PassContext(opt_level=1):
        direct = ran(wb.IRModule.from_expr(relay.Function([x], straight)), data)[0]
    found = ran(by_winograd(weight, data, tile, 8), data)[0]
    error, usual = (float((abs(one - exact) / scale).max()) for one in (found, direct))
    assert error <= usual + growth(tile, taps) * 2**-24


@pytest.mark.parametrize("tile", (2, 4))
def test_a_weight_transformed_in_blocks_has_the_bits_of_each_filter_by_itself(tile: int) -> None:
    """And a sum of zeros is no negative zero."""
    weight = np.random.default_rng(tile).standard_normal((40, 300, 3, 3)).astype(np.float32)
    weight[::2, ::3] = -0.0
    whole = WinogradWeightTransform(tile_size=tile).reference(weight)
    assert whole.shape == (tile + 2, tile + 2, 40, 300) and whole.flags.c_contiguous
    matrix = np.array(matrices(tile, 3).filter, np.float64)
    np.testing.assert_allclose(whole, np.einsum("ia,ocab,jb->ijoc", matrix, weight, matrix), rtol=1e-5, atol=1e-6)
    for number in range(40):
        alone = WinogradWeightTransform(tile_size=tile).reference(weight[number : number + 1])
        assert alone.tobytes() == whole[:, :, number : number + 1].tobytes()
    assert not np.signbit(whole[:, :, ::2, ::3]).any()
