"""The classic functions on te tensors, each interpreted and held against NumPy; what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench import te, topi
from workbench.core.errors import WorkbenchError
from workbench.tir.interpret import interpret

rng = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype("float32")


def evaluated(build: Callable[..., Any], *arrays: np.ndarray) -> Any:
    """The results of a te expression of placeholders, interpreted."""
    inputs = [te.placeholder(item.shape, str(item.dtype), name=f"x{at}") for at, item in enumerate(arrays)]
    made = build(*inputs)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    func = te.create_prim_func([*inputs, *outputs])
    results = [np.zeros(output.shape, output.dtype.to_numpy()) for output in outputs]
    interpret(func, *(item.copy() for item in arrays), *results)
    return results if isinstance(made, (list, tuple)) else results[0]


def windows(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    """(n, c, y, x, ky, kx)"""
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


X, W = array(1, 4, 6, 6), array(6, 4, 3, 3)
PADDED = np.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)))
CONV = np.einsum("ncyxij,ocij->noyx", windows(PADDED.astype("float64"), 3, 1), W)
GROUPED = np.concatenate([
    np.einsum("ncyxij,ocij->noyx", windows(PADDED[:, at : at + 2].astype("float64"), 3, 1), W[at * 3 // 2 :][:3, :2])
    for at in (0, 2)
], axis=1)  # fmt: skip
A, B, V = array(3, 5), array(5, 4), array(5)

CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...], Any]] = {
    "operators": (lambda a, v: (2 * a - v) / 4 + (-a) * a, (A, V), (2 * A - V) / 4 - A * A),
    "identity": (topi.identity, (A,), A),
    "elemwise_sum": (lambda a, b: topi.elemwise_sum([a, b, a]), (A, A), 3 * A),
    "full": (lambda: topi.full((2, 3), "float32", 1.5), (), np.full((2, 3), 1.5)),
    "matmul": (topi.matmul, (A, B), A @ B),
    "matmul_transposed": (
        lambda a, b: topi.matmul(a, b, transp_a=True, transp_b=True), (A.T.copy(), B.T.copy()), A @ B,
    ),
    "tensordot": (lambda a, b: topi.tensordot(a, b, 1), (A, B), A @ B),
    "tensordot_axes": (
        lambda a, b: topi.tensordot(a, b, ((1, 0), (0, 1))), (A, A.T.copy()), np.tensordot(A, A.T, ((1, 0), (0, 1))),
    ),
    "einsum": (lambda a, b: topi.einsum("ij,jk->ki", a, b), (A, B), (A @ B).T),
    "einsum_trace": (lambda a: topi.einsum("ii", a), (array(4, 4),), None),
    "flip": (lambda a: topi.flip(a, axis=1), (A,), A[:, ::-1]),
    "shape": (topi.shape, (A,), np.array([3, 5])),
    "sequence_mask": (
        lambda a, n: topi.sequence_mask(a, n, mask_value=-1, axis=1),
        (A, np.array([2, 5, 0], "int32")),
        np.where(np.arange(5)[None] < np.array([2, 5, 0])[:, None], A, -1),
    ),
    "unravel_index": (
        lambda i: topi.unravel_index(i, (3, 4, 5)), (np.array([0, 17, 59], "int32"),),
        np.array(np.unravel_index([0, 17, 59], (3, 4, 5))),
    ),
    "invert_permutation": (topi.invert_permutation, (np.array([2, 0, 3, 1], "int32"),), np.argsort([2, 0, 3, 1])),
    "sliding_window": (
        lambda a: topi.sliding_window(a, 1, (3,), (2,)), (A,),
        np.lib.stride_tricks.sliding_window_view(A, 3, axis=1)[:, ::2],
    ),
    "matrix_set_diag": (
        topi.matrix_set_diag, (array(2, 3, 3), array(2, 3)), None,
    ),
    "ceil_log2": (topi.ceil_log2, (np.array([1.0, 5.0, 8.0], "float32"),), np.array([0, 3, 3])),
    "collapse_sum": (lambda a: topi.collapse_sum(a, (1, 5)), (A,), A.sum(0, keepdims=True)),
    "expand_like": (lambda v, a: topi.expand_like(v, a, axis=[0]), (V, A), np.broadcast_to(V, (3, 5))),
    "conv2d_nchw": (lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 1), (X, W), CONV),
    "conv2d_nhwc": (
        lambda x, w: topi.nn.conv2d_nhwc(x, w, 1, 1, 1),
        (X.transpose(0, 2, 3, 1).copy(), W.transpose(2, 3, 1, 0).copy()), CONV.transpose(0, 2, 3, 1),
    ),
    "conv2d_hwcn": (
        lambda x, w: topi.nn.conv2d_hwcn(x, w, 1, 1),
        (X.transpose(2, 3, 1, 0).copy(), W.transpose(2, 3, 1, 0).copy()), CONV.transpose(2, 3, 1, 0),
    ),
    "group_conv2d_nchw": (
        lambda x, w: topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, 2), (X, np.ascontiguousarray(W[:, :2])), GROUPED,
    ),
    "depthwise_conv2d_nchw": (
        lambda x, w: topi.nn.depthwise_conv2d_nchw(x, w, 1, 1, 1), (X, np.ascontiguousarray(W[:4, :1])),
        np.einsum("ncyxij,cij->ncyx", windows(PADDED.astype("float64"), 3, 1), W[:4, 0]),
    ),
    "conv1d_ncw": (
        lambda x, w: topi.nn.conv1d_ncw(x, w), (X[:, :, 0].copy(), np.ascontiguousarray(W[:, :, 0])),
        None,
    ),
    "pool2d_max": (
        lambda x: topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"), (X,), windows(X, 2, 2).max((-1, -2)),
    ),
    "pool2d_avg": (
        lambda x: topi.nn.pool2d(x, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), "avg", count_include_pad=True), (X,),
        windows(PADDED, 3, 1).mean((-1, -2)),
    ),
    "global_pool": (lambda x: topi.nn.global_pool(x, "avg"), (X,), X.mean((2, 3), keepdims=True)),
    "adaptive_pool": (lambda x: topi.nn.adaptive_pool(x, (3, 3), "max"), (X,), windows(X, 2, 2).max((-1, -2))),
    "pad": (lambda a: topi.nn.pad(a, (1, 0), (0, 2), 7.0), (A,), np.pad(A, ((1, 0), (0, 2)), constant_values=7)),
    "mirror_symmetric": (lambda a: topi.nn.mirror_pad(a, (2, 1)), (A,), np.pad(A, ((2, 2), (1, 1)), "symmetric")),
    "mirror_reflect": (
        lambda a: topi.nn.mirror_pad(a, (2, 3), (1, 0), "REFLECT"), (A,), np.pad(A, ((2, 1), (3, 0)), "reflect"),
    ),
    "flatten": (topi.nn.flatten, (X,), X.reshape(1, -1)),
    "scale_shift_nchw": (
        topi.nn.scale_shift_nchw, (X, V[:4].copy(), V[1:].copy()),
        X * V[:4, None, None] + V[1:, None, None],
    ),
    "rms_norm": (
        lambda a, w: topi.nn.rms_norm(a, w, None, axis=[1]), (A, V),
        A / np.sqrt((A**2).mean(1, keepdims=True) + 1e-5) * V,
    ),
    "rms_norm_biased": (
        lambda a, w: topi.nn.rms_norm(a, w, w, [1]), (A, V), A / np.sqrt((A**2).mean(1, keepdims=True) + 1e-5) * V + V,
    ),
    "matrix_set_diag_above": (
        lambda a, d: topi.matrix_set_diag(a, d, 1), (array(3, 4), np.full(3, 9, "float32")), None,
    ),
    "conv1d": (lambda x, w: topi.nn.conv1d(x, w), (X[:, :, 0].copy(), np.ascontiguousarray(W[:, :, 0])), None),
    "conv2d": (lambda x, w: topi.nn.conv2d(x, w, 1, 1, 1), (X, W), CONV),
    "dense": (lambda a, w, v: topi.nn.dense(a, w, v), (A, B.T.copy(), V[:4].copy()), A @ B + V[:4]),
    "nn_matmul": (lambda a, w, v: topi.nn.matmul(a, w, v), (A, B, V[:4].copy()), A @ B + V[:4]),
    "argsort": (topi.argsort, (A,), np.argsort(A, axis=-1).astype("float32")),
    "argmax_last": (
        lambda a: topi.argmax(a, 1, False, True), (np.array([[1, 2, 2], [3, 0, 3]], "float32"),), np.array([2, 2]),
    ),
    "lrn": (
        lambda x: topi.nn.lrn(x, 1, 1, 0.5, 0.75, 1.0), (X,), X / (1 + 0.5 * X * X) ** 0.75,
    ),
    "space_to_batch_nd": (
        lambda a: topi.nn.space_to_batch_nd(a, [2], [0], [1]), (A,),
        np.pad(A, ((0, 0), (0, 1))).reshape(3, 3, 2).transpose(2, 0, 1).reshape(6, 3),
    ),
    "resize2d": (
        lambda x: topi.image.resize2d(x, (0.0,) * 4, (6, 6), "NCHW", "nearest_neighbor", "asymmetric"),
        (array(1, 1, 4, 4),), None,
    ),
    "trilu": (lambda a: topi.trilu(a, 1, False), (A,), np.tril(A, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    build, arrays, expected = CASES[name]
    found = evaluated(build, *arrays)
    if expected is None:
        expected = {
            "einsum_trace": lambda a: np.trace(a),
            "matrix_set_diag_above": lambda a, d: np.where(np.eye(3, 4, 1, dtype=bool), d[:, None], a),
            "resize2d": lambda x: x[:, :, [0, 0, 1, 2, 2, 3]][:, :, :, [0, 0, 1, 2, 2, 3]],
            "conv1d": lambda x, w: np.einsum(
                "ncxi,oci->nox", np.lib.stride_tricks.sliding_window_view(x, 3, axis=2), w
            ),
            "matrix_set_diag": lambda a, d: np.where(np.eye(3, dtype=bool), d[:, :, None], a),
            "conv1d_ncw": lambda x, w: np.einsum(
                "ncxi,oci->nox", np.lib.stride_tricks.sliding_window_view(x, 3, axis=2), w
            ),
        }[name](*arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(indexing: Any) -> None:
    vectors = (array(3), array(4), array(2))
    found = evaluated(lambda *v: topi.meshgrid(v, indexing), *vectors)
    for one, other in zip(found, np.meshgrid(*vectors, indexing=indexing), strict=True):
        np.testing.assert_array_equal(one, other)


def test_group_norm() -> None:
    gamma, beta = array(4), array(4)
    found = evaluated(lambda x, g, b: topi.nn.group_norm(x, g, b, 2, 1, [2, 3]), X, gamma, beta)
    groups = X.reshape(1, 2, 2, 6, 6).astype("float64")
    mean, spread = groups.mean((2, 3, 4), keepdims=True), groups.var((2, 3, 4), keepdims=True)
    normal = ((groups - mean) / np.sqrt(spread + 1e-5)).reshape(X.shape)
    np.testing.assert_allclose(found, normal * gamma[:, None, None] + beta[:, None, None], rtol=1e-4, atol=1e-5)


def test_every_name_is_tested() -> None:
    from workbench.topi import classic, classic_nn

    tested = {*CASES, "meshgrid", "group_norm", "pool2d"} | {"mirror_pad"}
    # The same function with other layouts.
    alike = {"conv1d_nwc", "conv3d_ncdhw", "conv3d_ndhwc", "depthwise_conv2d_nhwc", "pool1d", "pool3d"}
    alike |= {"conv2d_transpose_nchw", "scale_shift_nhwc"}
    assert {*classic.NAMES, *classic_nn.NAMES} - tested - alike == set()


@pytest.mark.parametrize(
    ("name", "shapes", "expected"),
    [
        ("conv1d_nwc", [(1, 6, 4), (3, 4, 5)], (1, 4, 5)),
        ("conv3d_ncdhw", [(1, 2, 4, 4, 4), (3, 2, 3, 3, 3)], (1, 3, 2, 2, 2)),
        ("conv3d_ndhwc", [(1, 4, 4, 4, 2), (3, 3, 3, 2, 3)], (1, 2, 2, 2, 3)),
        ("depthwise_conv2d_nhwc", [(1, 6, 6, 4), (3, 3, 4, 1)], (1, 4, 4, 4)),
        ("scale_shift_nhwc", [(1, 6, 6, 4), (4,), (4,)], (1, 6, 6, 4)),
    ],
)
def test_shapes_of_other_layouts(name: str, shapes: list[Any], expected: Any) -> None:
    made = getattr(topi.nn, name)(*(te.placeholder(shape, name=f"x{at}") for at, shape in enumerate(shapes)))
    assert made.shape == expected


def test_shapes_of_pools_and_transposed_convolutions() -> None:
    line, cube = te.placeholder((1, 2, 8), name="line"), te.placeholder((1, 2, 4, 4, 4), name="cube")
    assert topi.nn.pool1d(line, 2, 2, 1, (0, 0), "max").shape == (1, 2, 4)
    assert topi.nn.pool3d(cube, 2, 2, 1, (0,) * 6, "avg").shape == (1, 2, 2, 2, 2)
    image, weight = te.placeholder((1, 4, 5, 5), name="image"), te.placeholder((4, 3, 3, 3), name="weight")
    assert topi.nn.conv2d_transpose_nchw(image, weight, 2, 1, "float32", 1).shape == (1, 3, 10, 10)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "valid_count": (lambda: topi.argsort(te.placeholder((2, 3)), te.placeholder((2,))), "E-TOPI-ARGUMENT"),
    "training": (
        lambda: topi.nn.batch_norm(*[te.placeholder((2, 3))] + [te.placeholder((3,))] * 4, training=True),
        "E-TOPI-ARGUMENT",
    ),
    "layouts": (
        lambda: topi.nn.conv2d(te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 3, 3)), 1, 0, 1, "NCHW", "HWIO"),
        "E-TOPI-LAYOUT",
    ),
    "output_shape": (
        lambda: topi.nn.upsampling(te.placeholder((1, 3, 8, 8)), 2, 2, output_shape=(1, 3, 8, 8)), "E-TOPI-SHAPE",
    ),
    "no tensors": (lambda: topi.elemwise_sum([]), "E-TOPI-OPERANDS"),
    "axes": (lambda: topi.tensordot(te.placeholder((2, 3)), te.placeholder((4, 5)), 1), "E-TOPI-AXES"),
    "letters": (lambda: topi.einsum("ij,jk->il", te.placeholder((2, 3)), te.placeholder((3, 4))), "E-TOPI-EINSUM"),
    "extents": (lambda: topi.einsum("ij,jk", te.placeholder((2, 3)), te.placeholder((4, 4))), "E-TOPI-EINSUM"),
    "mask": (lambda: topi.sequence_mask(te.placeholder((2, 3)), te.placeholder((2,)), axis=2), "E-TOPI-AXES"),
    "mesh": (lambda: topi.meshgrid([te.placeholder((2,))], "yx"), "E-TOPI-AXES"),
    "same": (
        lambda: topi.nn.conv2d_nchw(te.placeholder((1, 3, 8, 8)), te.placeholder((4, 3, 3, 3)), 1, "SAME"),
        "E-TOPI-PADDING",
    ),
    "pool": (lambda: topi.nn.global_pool(te.placeholder((1, 3, 8, 8)), "min"), "E-TOPI-POOL"),
    "pad": (lambda: topi.nn.pad(te.placeholder((2, 3)), (1,)), "E-TOPI-PADDING"),
    "mirror": (lambda: topi.nn.mirror_pad(te.placeholder((2, 3)), (1, 1), mode="WRAP"), "E-TOPI-PADDING"),
    "symbolic": (lambda: topi.utils.get_const_int(te.var("n")), "E-TOPI-CONSTANT"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    attempt, code = REFUSED[name]
    with pytest.raises(WorkbenchError) as caught:
        attempt()
    assert caught.value.code == code and caught.value.found


def test_utils_and_tags() -> None:
    n = te.var("n")
    assert topi.utils.get_const_tuple((te.const(4), 5)) == (4, 5)
    assert topi.utils.ceil_div(7, 2) == 4 and topi.utils.prod((2, 3)) == 6
    assert topi.utils.get_max_power2_factor(48) == 16 and topi.utils.get_max_power2_factor(48, 4) == 4
    assert topi.utils.equal_const_int(te.const(3), 3) and not topi.utils.equal_const_int(n, 3)
    assert topi.utils.ravel_index((1, 2), (3, 4)) == 6 and topi.utils.simplify(n - n) == 0
    assert (
        topi.tag.is_injective("elemwise") and topi.tag.is_broadcast("broadcast") and not topi.tag.is_injective("conv")
    )
