"""Operators whose classic te function takes its arguments in another order, or more of them, than relay's builder.

    topi.image.resize2d(data, roi, size), topi.argsort(data, valid_count, axis), topi.nn.dense(data, weight, bias)

Arguments that are of no use here keep their place and accept their classic default; other values are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..core.errors import WorkbenchError
from .functions import function


def op(name: str) -> Callable[..., Any]:
    """The te function of an operator by its full name."""
    return function("", name)


def only(name: str, argument: str, value: Any, *accepted: Any) -> None:
    """Refuse an argument that is accepted in its place only.  Raises `WorkbenchError`."""
    if not any(value is item or (type(value) is type(item) and value == item) for item in accepted):
        raise WorkbenchError(
            "E-TOPI-ARGUMENT",
            f"{name}: {argument} is not supported yet",
            found=f"{argument}={value!r}",
            expected=" or ".join(repr(item) for item in accepted),
            fix=f"leave {argument} out",
        )


# --- topi ---------------------------------------------------------------------------------------------------------


def cast(x: te.Tensor, dtype: str, span: Any = None) -> te.Tensor:
    """`x` in another dtype."""
    only("cast", "span", span, None)
    return op("cast")(x, dtype)


def argmax(data: te.Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> te.Tensor:
    """The place of the greatest value over `axis`: the first of equals, or the last."""
    return op("argmax")(data, axis=axis, keepdims=keepdims, select_last_index=select_last_index)


def argmin(data: te.Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> te.Tensor:
    """The place of the least value over `axis`: the first of equals, or the last."""
    return op("argmin")(data, axis=axis, keepdims=keepdims, select_last_index=select_last_index)


def argsort(
    data: te.Tensor, valid_count: Any = None, axis: int = -1, is_ascend: Any = 1, dtype: str = "float32"
) -> te.Tensor:
    """The positions that put `axis` in order, as `dtype`."""
    only("argsort", "valid_count", valid_count, None)
    return op("argsort")(data, axis=axis, is_ascend=bool(is_ascend), dtype=dtype)


def topk(
    data: te.Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int64"
) -> Any:
    """The `k` greatest (or least) elements along `axis`, and their positions as `dtype`; k < 1 means all."""
    return op("topk")(data, k=k, axis=axis, ret_type=ret_type, is_ascend=is_ascend, dtype=dtype)


def layout_transform(array: te.Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None") -> te.Tensor:
    """`array` from one layout to another."""
    only("layout_transform", "schedule_rule", schedule_rule, "None", "")
    return op("layout_transform")(array, src_layout, dst_layout)


def matrix_set_diag(data: te.Tensor, diagonal: te.Tensor, k: Any = 0, align: str = "RIGHT_LEFT") -> te.Tensor:
    """`data` with the `k`-th diagonal (counted upwards) of its last two axes replaced; `align` is of bands only."""
    if not isinstance(k, int):
        only("matrix_set_diag", "k", k, 0)
    if align not in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        only("matrix_set_diag", "align", align, "RIGHT_LEFT")

    def element(*at: Any) -> Any:
        row, column = at[-2], at[-1]
        place = row if k >= 0 else column
        inside = (column - row).equal(k)
        return te.if_then_else(inside, diagonal(*at[:-2], place), data(*at))

    return te.compute(data.shape, element, name="matrix_set_diag", tag="injective")


# --- topi.nn ------------------------------------------------------------------------------------------------------


def batch_matmul(
    tensor_a: te.Tensor, tensor_b: te.Tensor, oshape: Any = None, out_dtype: str | None = None,
    transpose_a: bool = False, transpose_b: bool = True, auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """Products of matrices, one for each batch; `oshape`, if given, is the shape of the result."""
    unscheduled("nn.batch_matmul", auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    made = op("nn.batch_matmul")(
        tensor_a, tensor_b, out_dtype=out_dtype, transpose_a=transpose_a, transpose_b=transpose_b
    )
    return _of_shape("nn.batch_matmul", made, oshape)


def matmul(
    tensor_a: te.Tensor, tensor_b: te.Tensor, bias: te.Tensor | None = None, out_dtype: str | None = None,
    transpose_a: bool = False, transpose_b: bool = False, auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """The matrix product, and `bias` added to each row."""
    unscheduled("nn.matmul", auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    made = op("nn.matmul")(tensor_a, tensor_b, out_dtype=out_dtype, transpose_a=transpose_a, transpose_b=transpose_b)
    return _biased(made, bias)


def dense(
    data: te.Tensor, weight: te.Tensor, bias: te.Tensor | None = None, out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """data times the transposed weight, and `bias` added to each row."""
    unscheduled("nn.dense", auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _biased(op("nn.dense")(data, weight, out_dtype=out_dtype), bias)


def _biased(made: te.Tensor, bias: te.Tensor | None) -> te.Tensor:
    if bias is None:
        return made
    return te.compute(
        made.shape, lambda *at: made(*at) + te.cast(made.dtype, bias(at[-1])), name="T_bias", tag="broadcast"
    )


def unscheduled(name: str, layout: str, shape: Any) -> None:
    """Refuse what a search would hand over.  Raises `WorkbenchError`."""
    only(name, "auto_scheduler_rewritten_layout", layout, "")
    only(name, "meta_schedule_original_shape", shape, None)


def _of_shape(name: str, made: te.Tensor, shape: Any) -> te.Tensor:
    if shape is not None and tuple(shape) != tuple(made.shape):
        raise WorkbenchError(
            "E-TOPI-SHAPE", f"{name}: the result has another shape", found=str(tuple(shape)),
            expected=str(tuple(made.shape)),
        )  # fmt: skip
    return made


def batch_norm(
    data: te.Tensor, gamma: te.Tensor, beta: te.Tensor, moving_mean: te.Tensor, moving_var: te.Tensor,
    axis: int | None = None, epsilon: float | None = None, center: bool | None = None, scale: bool | None = None,
    training: bool | None = None, momentum: float | None = None,
) -> list[te.Tensor]:  # fmt: skip
    """Normalised by the moving mean and variance along `axis` (1); of inference, `momentum` (0.1) has no effect."""
    only("nn.batch_norm", "training", training, None, False)
    return op("nn.batch_norm")(
        data, gamma, beta, moving_mean, moving_var, axis=axis, epsilon=epsilon, center=center, scale=scale
    )


def batch_to_space_nd(
    data: te.Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> te.Tensor:
    """Batches become the places of blocks; so many elements are cut off before and after each axis."""
    crops = tuple(zip(crop_begin_list, crop_end_list, strict=True))
    return op("nn.batch_to_space_nd")(data, block_shape=block_shape, crops=crops)


def space_to_batch_nd(
    data: te.Tensor, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> te.Tensor:  # fmt: skip
    """Space, with so many elements added before and after each axis, cut into blocks."""
    paddings = tuple(zip(pad_before, pad_after, strict=True))
    return op("nn.space_to_batch_nd")(data, block_shape=block_shape, paddings=paddings, pad_value=pad_value)


def dilate(
    data: te.Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput"
) -> te.Tensor:
    """`data` with `strides - 1` elements of `dilation_value` between its elements; the stage is called `name`."""
    made = op("nn.dilate")(data, strides=strides, dilation_value=dilation_value)
    return made if name == "DilatedInput" else te.compute(made.shape, lambda *at: made(*at), name=name)


def lrn(
    data: te.Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2
) -> te.Tensor:
    """data / (bias + alpha/size * sum of squares over a window of `size` along `axis`) ** beta."""
    return op("nn.lrn")(data, size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)


def upsampling(
    data: te.Tensor, scale_h: float, scale_w: float, layout: str = "NCHW", method: str = "nearest_neighbor",
    align_corners: bool = False, output_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """Images made larger by factors; `output_shape`, if given, is the shape of the result."""
    made = op("nn.upsampling")(
        data, scale_h=scale_h, scale_w=scale_w, layout=layout, method=method, align_corners=align_corners
    )
    return _of_shape("nn.upsampling", made, output_shape)


# --- topi.image ---------------------------------------------------------------------------------------------------


def resize2d(
    data: te.Tensor, roi: Any, size: Sequence[int], layout: str = "NCHW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "", bicubic_alpha: float = -0.5,
    bicubic_exclude: Any = 0, extrapolation_value: float = 0.0, out_dtype: str | None = None, output_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """Images in another size; no coordinate mode that is here looks at the region `roi`."""
    made = op("image.resize2d")(
        data, size=size, roi=roi, layout=layout, method=method,
        coordinate_transformation_mode=coordinate_transformation_mode, rounding_method=rounding_method,
        cubic_alpha=bicubic_alpha, cubic_exclude=bool(bicubic_exclude), extrapolation_value=extrapolation_value,
        out_dtype=out_dtype,
    )  # fmt: skip
    return _of_shape("image.resize2d", made, output_shape)


ROOT: dict[str, Callable[..., Any]] = {
    "argmax": argmax, "argmin": argmin, "argsort": argsort, "cast": cast, "layout_transform": layout_transform,
    "matrix_set_diag": matrix_set_diag, "topk": topk,
}  # fmt: skip
NN: dict[str, Callable[..., Any]] = {
    "batch_matmul": batch_matmul, "batch_norm": batch_norm, "batch_to_space_nd": batch_to_space_nd, "dense": dense,
    "dilate": dilate, "lrn": lrn, "matmul": matmul, "space_to_batch_nd": space_to_batch_nd, "upsampling": upsampling,
}  # fmt: skip
IMAGE: dict[str, Callable[..., Any]] = {"resize2d": resize2d}
"""By namespace: what stands in place of the operator's own function."""
