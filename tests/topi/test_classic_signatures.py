"""Builders take their arguments in the classic order, and leaving one out means what it meant in the classic API.

The classic signatures (version 0.14, from its documentation) of everything that once differed stand below as text.
All other builders' signatures are in the golden text: they agreed when it was written.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from workbench import relay, te, topi
from workbench.core.errors import WorkbenchError
from workbench.relay.ir.operator import OPERATORS
from workbench.topi import classic, classic_nn, classic_order
from workbench.topi.calls import signature

RELAY = """
reshape_like(data, shape_like, lhs_begin=0, lhs_end=None, rhs_begin=0, rhs_end=None)
trilu(data, k, upper=True)
variance(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None)
arange(start, stop=None, step=None, dtype="float32")
cumsum(data, axis=None, dtype=None, exclusive=None)
cumprod(data, axis=None, dtype=None, exclusive=None)
argsort(data, axis=-1, is_ascend=1, dtype="int32")
topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32")
nn.conv1d(data, weight, strides=1, padding=0, dilation=1, groups=1, channels=None, kernel_size=None, data_layout="NCW", kernel_layout="OIW", out_layout="", out_dtype="")
nn.conv2d(data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
nn.conv3d(data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), groups=1)
nn.conv1d_transpose(data, weight, strides=(1,), padding=(0,), dilation=(1,), groups=1)
nn.conv2d_transpose(data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1))
nn.conv3d_transpose(data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), groups=1)
nn.max_pool1d(data, pool_size=(1,), strides=(1,), dilation=(1,), padding=(0,), layout="NCW")
nn.max_pool2d(data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0), layout="NCHW")
nn.max_pool3d(data, pool_size=(1, 1, 1), strides=(1, 1, 1), dilation=(1, 1, 1), padding=(0, 0, 0), layout="NCDHW")
nn.avg_pool1d(data, pool_size=(1,), strides=(1,), dilation=(1,), padding=(0,), layout="NCW")
nn.avg_pool2d(data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0), layout="NCHW")
nn.avg_pool3d(data, pool_size=(1, 1, 1), strides=(1, 1, 1), dilation=(1, 1, 1), padding=(0, 0, 0), layout="NCDHW")
nn.contrib_dense_pack(data, weight, weight_layout="NC", units=None, out_dtype="")
nn.contrib_conv2d_winograd_weight_transform(weight, tile_size)
nn.contrib_conv2d_winograd_without_weight_transform(data, weight, tile_size, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
nn.leaky_relu(data, alpha=0.01)
nn.pad(data, pad_width, pad_value=0, pad_mode="constant")
nn.l2_normalize(data, eps, axis=None)
nn.lrn(data, size=5, axis=1, bias=2, alpha=1e-05, beta=0.75)
nn.upsampling(data, scale_h=1, scale_w=1, layout="NCHW", method="nearest_neighbor", align_corners=False)
nn.deformable_conv2d(data, offset, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), deformable_groups=1, groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
image.resize2d(data, size, roi=None, layout="NCHW", method="linear", coordinate_transformation_mode="half_pixel", rounding_method="", cubic_alpha=-0.5, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None)
image.grid_sample(data, grid, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True)
vision.roi_align(data, rois, pooled_size, spatial_scale, sample_ratio=-1, layout="NCHW", mode="avg")
"""  # noqa: E501
TOPI = """
cast(x, dtype, span=None)
argmax(data, axis=None, keepdims=False, select_last_index=False)
argmin(data, axis=None, keepdims=False, select_last_index=False)
argsort(data, valid_count=None, axis=-1, is_ascend=1, dtype="float32")
topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int64")
cumsum(data, axis=None, dtype=None, exclusive=None)
cumprod(data, axis=None, dtype=None, exclusive=None)
layout_transform(array, src_layout, dst_layout, schedule_rule="None")
matrix_set_diag(data, diagonal, k=0, align="RIGHT_LEFT")
trilu(data, k, upper)
nn.batch_matmul(tensor_a, tensor_b, oshape=None, out_dtype=None, transpose_a=False, transpose_b=True, auto_scheduler_rewritten_layout="", meta_schedule_original_shape=None)
nn.batch_norm(data, gamma, beta, moving_mean, moving_var, axis=None, epsilon=None, center=None, scale=None, training=None, momentum=None)
nn.batch_to_space_nd(data, block_shape, crop_begin_list, crop_end_list)
nn.space_to_batch_nd(data, block_shape, pad_before, pad_after, pad_value=0.0)
nn.conv1d(data, kernel, strides=1, padding="VALID", dilation=1, data_layout="NCW", kernel_layout="", out_dtype=None)
nn.conv1d_ncw(data, kernel, strides=1, padding="VALID", dilation=1, out_dtype=None)
nn.conv1d_nwc(data, kernel, strides=1, padding="VALID", dilation=1, out_dtype=None)
nn.conv2d(input, filter, strides, padding, dilation, data_layout="NCHW", kernel_layout="", out_dtype=None)
nn.conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=None)
nn.conv2d_nhwc(Input, Filter, stride, padding, dilation, out_dtype="float32", auto_scheduler_rewritten_layout="", meta_schedule_original_shape=None)
nn.conv3d_ndhwc(Input, Filter, stride, padding, dilation, groups, out_dtype="float32", auto_scheduler_rewritten_layout="", meta_schedule_origin_shape=None)
nn.depthwise_conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=None)
nn.matmul(tensor_a, tensor_b, bias=None, out_dtype=None, transpose_a=False, transpose_b=False, auto_scheduler_rewritten_layout="", meta_schedule_original_shape=None)
nn.dense(data, weight, bias=None, out_dtype=None, auto_scheduler_rewritten_layout="", meta_schedule_original_shape=None)
nn.dilate(data, strides, dilation_value=0.0, name="DilatedInput")
nn.lrn(data, size, axis=1, alpha=0.0001, beta=0.75, bias=2)
nn.pad(data, pad_before, pad_after=None, pad_value=0.0, name="PadInput", attrs=None)
nn.rms_norm(data, weight, bias, axis, epsilon=1e-05)
nn.upsampling(data, scale_h, scale_w, layout="NCHW", method="nearest_neighbor", align_corners=False, output_shape=None)
image.grid_sample(data, grid, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True)
image.resize2d(data, roi, size, layout="NCHW", method="linear", coordinate_transformation_mode="half_pixel", rounding_method="", bicubic_alpha=-0.5, bicubic_exclude=0, extrapolation_value=0.0, out_dtype=None, output_shape=None)
"""  # noqa: E501
REQUIRED = inspect.Parameter.empty


def classic_signatures(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, default of each parameter in order) of each line."""
    for line in text.strip().splitlines():
        name, _, rest = line.partition("(")
        arguments = ast.parse(f"def f({rest}: ...").body[0].args  # type: ignore[attr-defined]
        defaults = [ast.literal_eval(item) for item in arguments.defaults]
        names = [argument.arg for argument in arguments.args]
        yield name, dict(zip(names, [REQUIRED] * (len(names) - len(defaults)) + defaults, strict=True))


def found_in(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def rows(text: str) -> Any:
    found = list(classic_signatures(text))
    return pytest.mark.parametrize(("name", "wanted"), found, ids=[name for name, _ in found])


@rows(RELAY)
def test_relay(name: str, wanted: dict[str, Any]) -> None:
    """The classic parameters come first, by their names; saying a classic default is the same as saying nothing."""
    cls = OPERATORS[name]
    own = inspect.signature(found_in(relay, name)).parameters
    assert list(own)[: len(wanted)] == list(wanted)
    for parameter, default in wanted.items():
        if default is REQUIRED or parameter not in cls.field_names:
            assert default is REQUIRED or (parameter, default) == ("pad_value", 0)  # an operand; left out, it means 0
            continue
        field = next(item for item in cls.__dataclass_fields__.values() if item.name == parameter)
        convert = field.metadata["convert"] or (lambda value: value)
        said = field.default if default is None else convert(default)  # builders drop None: "not given"
        assert said == convert(field.default) if field.default is not None else said is None, parameter


@rows(TOPI)
def test_topi(name: str, wanted: dict[str, Any]) -> None:
    """As for relay; defaults that the operator converts (None: not given) are judged by the calls below."""
    own = inspect.signature(found_in(topi, name)).parameters
    assert list(own)[: len(wanted)] == list(wanted)
    written_out = name in classic_order.ROOT or name in ("nn.pad", "nn.rms_norm") or ".conv" in name
    written_out |= name.removeprefix("nn.") in classic_order.NN or name.removeprefix("image.") in classic_order.IMAGE
    for parameter, default in wanted.items():
        if default is not REQUIRED and written_out:
            assert own[parameter].default == default, parameter
        elif default not in (REQUIRED, None):
            assert own[parameter].default == default, parameter


def test_every_signature(golden: Golden) -> None:
    lines = [f"relay.{name}{signature(OPERATORS[name])}" for name in sorted(OPERATORS)
             if OPERATORS[name].__module__.startswith("workbench.")]  # fmt: skip
    own = {**{name: getattr(classic, name) for name in classic.NAMES}, **classic_order.ROOT}
    own |= {f"nn.{name}": getattr(classic_nn, name) for name in classic_nn.NAMES}
    own |= {f"nn.{name}": made for name, made in classic_order.NN.items()}
    own |= {f"image.{name}": made for name, made in classic_order.IMAGE.items()}
    lines += [f"topi.{name}({', '.join(inspect.signature(own[name]).parameters)})" for name in sorted(own)]
    golden("\n".join(lines) + "\n")


X = relay.var("x", shape=(1, 3, 4, 4))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: relay.variance(X, 1, False, False, False, True), "with_mean"),
        (lambda: relay.image.grid_sample(X, relay.var("g", shape=(1, 2, 4, 4)), "bilinear", "NHWC"), "layout"),
        (lambda: relay.vision.roi_align(X, relay.var("r", shape=(2, 5)), 2, 1.0), "sample_ratio"),
        (lambda: relay.vision.roi_align(X, relay.var("r", shape=(2, 5)), 2, 1.0, 2, "NHWC"), "layout"),
        (lambda: relay.image.resize2d(X, 8, (0, 0, 1), "NCHW"), "four numbers"),
        (lambda: relay.image.resize2d(X, 8, None, "NCHW", "linear", "tf_crop_and_resize"), "one of"),
        (lambda: topi.cast(te.placeholder((2,)), "int32", "span"), "span"),
        (lambda: topi.layout_transform(te.placeholder((2, 3)), "NC", "CN", "mine"), "schedule_rule"),
        (lambda: topi.matrix_set_diag(te.placeholder((3, 3)), te.placeholder((3,)), (0, 1)), "k is not supported"),
        (lambda: topi.nn.dense(te.placeholder((2, 3)), te.placeholder((4, 3)), None, None, "NC"), "rewritten"),
        (lambda: topi.nn.batch_matmul(te.placeholder((1, 2, 3)), te.placeholder((1, 4, 3)), (1, 2, 5)), "shape"),
        (lambda: topi.nn.pad(te.placeholder((2,)), (1,), None, 0.0, "pad", {}), "attrs"),
    ],
)
def test_what_is_not_here_is_refused_in_its_place(build: Any, words: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        build()
    assert words in str(caught.value) and caught.value.code.startswith("E-")


def test_positional_calls_mean_what_they_meant() -> None:
    """Through the interpreter of relay, by position only."""
    from workbench.relay.interpret import interpret

    data = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    x = relay.var("x", shape=data.shape)

    def of(made: Any) -> np.ndarray:
        return interpret(relay.Function([x], made), data)

    six = [0, 0, 1, 2, 2, 3]
    nearest = relay.image.resize2d(x, (6, 6), None, "NCHW", "nearest_neighbor", "asymmetric")
    np.testing.assert_array_equal(of(nearest), data[:, :, six][:, :, :, six])
    np.testing.assert_array_equal(of(relay.trilu(x, 1, False)), np.tril(data, 1))
    np.testing.assert_array_equal(of(relay.trilu(x, -1)), np.triu(data, -1))
    np.testing.assert_allclose(of(relay.nn.leaky_relu(-x)), -data * np.float32(0.01), rtol=1e-6)
    np.testing.assert_allclose(of(relay.nn.l2_normalize(x, 1e-12)), data / np.linalg.norm(data), rtol=1e-6)
    # Bilinear, asymmetric: pixel i lies at i * 4 / 8 of the source; beyond the last one its value stays.
    line = of(relay.nn.upsampling(x, 1, 2, "NCHW", "bilinear"))[0, 0, 0]
    np.testing.assert_allclose(line, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3], rtol=1e-6)
