"""Classic `topi.nn` functions with the layout in their name, or arguments of their own.

topi.nn.conv2d_nchw(data, weight, stride=1, padding=1, dilation=1)
topi.nn.pool2d(data, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..core.errors import WorkbenchError
from .classic_order import only, op, unscheduled

Ints = int | Sequence[int]


def _many(value: Any, count: int) -> tuple[int, ...]:
    """One number for each of `count` axes."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def _padding(value: Any, count: int) -> tuple[int, ...] | str:
    """Begins and ends from one number, a number an axis, or both already; "VALID" is nothing."""
    if isinstance(value, str):
        if value.upper() != "VALID":
            raise WorkbenchError(
                "E-TOPI-PADDING",
                f"padding {value!r} is not known here",
                found=repr(value),
                expected='numbers, or "VALID"',
                fix="give the numbers",
            )
        return (0,) * (2 * count)
    given = _many(value, count)
    return given * 2 if len(given) == count else given


def _convolved(
    layouts: tuple[str, str], data: te.Tensor, weight: te.Tensor, stride: Any, padding: Any, dilation: Any, groups: int,
    out_dtype: str | None, depthwise: bool = False,
) -> te.Tensor:  # fmt: skip
    """A convolution with its layouts fixed; `padding` is one number, one an axis, or begins then ends."""
    axes = len(layouts[0]) - 2
    options: dict[str, Any] = {
        "strides": _many(stride, axes), "padding": _padding(padding, axes), "dilation": _many(dilation, axes),
        "groups": int(data.shape[layouts[0].index("C")]) if depthwise else groups,
        "data_layout": layouts[0], "kernel_layout": layouts[1], "out_dtype": out_dtype or "",
    }  # fmt: skip
    if depthwise:
        # The multiplier of the weight's second axis: as many results as channels times that.
        axis = {"OIHW": (0, 1), "HWOI": (2, 3)}[layouts[1]]
        options["channels"] = int(weight.shape[axis[0]]) * int(weight.shape[axis[1]])
    return op(f"nn.conv{axes}d")(data, weight, **options)


def conv1d(
    data: te.Tensor, kernel: te.Tensor, strides: Ints = 1, padding: Any = "VALID", dilation: Ints = 1,
    data_layout: str = "NCW", kernel_layout: str = "", out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """A convolution along an axis: data NCW with kernel OIW, or NWC with WIO."""
    build = {"NCW": (conv1d_ncw, "OIW"), "NWC": (conv1d_nwc, "WIO")}.get(data_layout)
    if build is None or kernel_layout not in ("", build[1]):
        raise _layout_refusal("conv1d", data_layout, kernel_layout, "NCW with OIW, or NWC with WIO")
    return build[0](data, kernel, strides, padding, dilation, out_dtype)


def _layout_refusal(name: str, data_layout: str, kernel_layout: str, expected: str) -> WorkbenchError:
    found = f"{data_layout!r}, {kernel_layout!r}"
    return WorkbenchError("E-TOPI-LAYOUT", f"nn.{name}: no such layouts of data and kernel", found=found,
                          expected=expected)  # fmt: skip


def conv1d_ncw(
    data: te.Tensor, kernel: te.Tensor, strides: Ints = 1, padding: Any = "VALID", dilation: Ints = 1,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """A convolution along an axis: data NCW, kernel OIW."""
    return _convolved(("NCW", "OIW"), data, kernel, strides, padding, dilation, 1, out_dtype)


def conv1d_nwc(
    data: te.Tensor, kernel: te.Tensor, strides: Ints = 1, padding: Any = "VALID", dilation: Ints = 1,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """A convolution along an axis: data NWC, kernel WIO."""
    turn = op("transpose")
    made = conv1d_ncw(turn(data, (0, 2, 1)), turn(kernel, (2, 1, 0)), strides, padding, dilation, out_dtype)
    return turn(made, (0, 2, 1))


def conv2d(
    input: te.Tensor, filter: te.Tensor, strides: Ints = 1, padding: Any = 0, dilation: Ints = 1,
    data_layout: str = "NCHW", kernel_layout: str = "", out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """A convolution: data NCHW with filter OIHW, NHWC with HWIO, or HWCN with HWIO."""
    known = {"NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO"}
    if data_layout not in known or kernel_layout not in ("", known[data_layout]):
        raise _layout_refusal("conv2d", data_layout, kernel_layout, "NCHW with OIHW, NHWC or HWCN with HWIO")
    if data_layout == "HWCN":
        return conv2d_hwcn(input, filter, strides, padding, dilation, out_dtype)
    return _convolved((data_layout, known[data_layout]), input, filter, strides, padding, dilation, 1, out_dtype)


def conv2d_nchw(
    Input: te.Tensor,
    Filter: te.Tensor,
    stride: Ints = 1,
    padding: Any = 0,
    dilation: Ints = 1,
    out_dtype: str | None = None,
) -> te.Tensor:
    """A convolution: data NCHW, filter OIHW."""
    return _convolved(("NCHW", "OIHW"), Input, Filter, stride, padding, dilation, 1, out_dtype)


def conv2d_nhwc(
    Input: te.Tensor, Filter: te.Tensor, stride: Ints = 1, padding: Any = 0, dilation: Ints = 1,
    out_dtype: str = "float32", auto_scheduler_rewritten_layout: str = "", meta_schedule_original_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """A convolution: data NHWC, filter HWIO."""
    unscheduled("nn.conv2d_nhwc", auto_scheduler_rewritten_layout, meta_schedule_original_shape)
    return _convolved(("NHWC", "HWIO"), Input, Filter, stride, padding, dilation, 1, out_dtype)


def conv3d_ncdhw(
    Input: te.Tensor, Filter: te.Tensor, stride: Ints = 1, padding: Any = 0, dilation: Ints = 1, groups: int = 1,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """A three-dimensional convolution: data NCDHW, filter OIDHW."""
    return _convolved(("NCDHW", "OIDHW"), Input, Filter, stride, padding, dilation, groups, out_dtype)


def conv3d_ndhwc(
    Input: te.Tensor, Filter: te.Tensor, stride: Ints = 1, padding: Any = 0, dilation: Ints = 1, groups: int = 1,
    out_dtype: str = "float32", auto_scheduler_rewritten_layout: str = "", meta_schedule_origin_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """A three-dimensional convolution: data NDHWC, filter DHWIO."""
    unscheduled("nn.conv3d_ndhwc", auto_scheduler_rewritten_layout, meta_schedule_origin_shape)
    turn = op("transpose")
    inside = turn(Input, (0, 4, 1, 2, 3)), turn(Filter, (4, 3, 0, 1, 2))
    made = conv3d_ncdhw(*inside, stride, padding, dilation, groups, out_dtype)
    return turn(made, (0, 2, 3, 4, 1))


def depthwise_conv2d_nchw(
    Input: te.Tensor,
    Filter: te.Tensor,
    stride: Ints = 1,
    padding: Any = 0,
    dilation: Ints = 1,
    out_dtype: str | None = None,
) -> te.Tensor:
    """A convolution channel by channel: data NCHW, filter OIHW."""
    return _convolved(("NCHW", "OIHW"), Input, Filter, stride, padding, dilation, 1, out_dtype, depthwise=True)


def depthwise_conv2d_nhwc(
    Input: te.Tensor, Filter: te.Tensor, stride: Ints = 1, padding: Any = 0, dilation: Ints = 1,
    kernel_layout: str = "HWOI", out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """A convolution channel by channel: data NHWC, filter HWOI."""
    only("nn.depthwise_conv2d_nhwc", "kernel_layout", kernel_layout, "HWOI")
    return _convolved(("NHWC", "HWOI"), Input, Filter, stride, padding, dilation, 1, out_dtype, depthwise=True)


def group_conv2d_nchw(
    Input: te.Tensor, Filter: te.Tensor, stride: Ints, padding: Any, dilation: Ints, groups: int,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """A grouped convolution: data NCHW, filter OIHW."""
    return _convolved(("NCHW", "OIHW"), Input, Filter, stride, padding, dilation, groups, out_dtype)


def conv2d_hwcn(
    data: te.Tensor, weight: te.Tensor, stride: Ints, padding: Any, dilation: Ints = 1, out_dtype: str | None = None
) -> te.Tensor:
    """A convolution with the batch innermost: data HWCN, weight HWIO, result HWCN."""
    steps, gaps = _many(stride, 2), _many(dilation, 2)
    top, left, bottom, right = _padding(padding, 2)
    padded = pad(data, (top, left, 0, 0), (bottom, right, 0, 0), name="PadInput")
    kernel = [(weight.shape[axis] - 1) * gaps[axis] + 1 for axis in range(2)]
    height, width = ((padded.shape[axis] - kernel[axis]) // steps[axis] + 1 for axis in range(2))
    kind = out_dtype or data.dtype
    ry, rx = (te.reduce_axis((0, weight.shape[axis]), name=f"r{'yx'[axis]}") for axis in range(2))
    rc = te.reduce_axis((0, weight.shape[2]), name="rc")
    return te.compute(
        (height, width, weight.shape[3], data.shape[3]),
        lambda y, x, o, n: te.sum(
            te.cast(kind, padded(y * steps[0] + ry * gaps[0], x * steps[1] + rx * gaps[1], rc, n))
            * te.cast(kind, weight(ry, rx, rc, o)),
            axis=[ry, rx, rc],
        ),
        name="Conv2dOutput",
        tag="conv2d_hwcn",
    )


def conv2d_transpose_nchw(
    data: te.Tensor, weight: te.Tensor, strides: Ints, padding: Any, out_dtype: str, output_padding: Ints = 0
) -> te.Tensor:
    """A transposed convolution: data NCHW, weight IOHW."""
    return op("nn.conv2d_transpose")(
        data, weight, strides=_many(strides, 2), padding=_padding(padding, 2), output_padding=_many(output_padding, 2),
        out_dtype=out_dtype or "", channels=int(weight.shape[1]), kernel_size=tuple(int(n) for n in weight.shape[2:]),
    )  # fmt: skip


def _pool(axes: int) -> Callable[..., Any]:
    def build(
        data: te.Tensor, kernel: Ints, stride: Ints, dilation: Ints, padding: Ints, pool_type: str,
        ceil_mode: bool = False, layout: str = "NCDHW"[:2] + "DHW"[3 - axes :], count_include_pad: bool = True,
    ) -> te.Tensor:  # fmt: skip
        options: dict[str, Any] = {
            "pool_size": _many(kernel, axes), "strides": _many(stride, axes), "dilation": _many(dilation, axes),
            "padding": _padding(padding, axes), "layout": layout, "ceil_mode": ceil_mode,
        }  # fmt: skip
        if pool_type == "avg":
            options["count_include_pad"] = count_include_pad
        return op(f"nn.{_pooling(pool_type)}_pool{axes}d")(data, **options)

    build.__name__ = build.__qualname__ = f"pool{axes}d"
    build.__doc__ = f"""Maxima ("max") or means ("avg") of windows over {axes} axes; `padding` is begins, then ends."""
    return build


def _pooling(pool_type: str) -> str:
    if pool_type not in ("max", "avg"):
        raise WorkbenchError("E-TOPI-POOL", "pools are of type max or avg", found=repr(pool_type))
    return pool_type


pool1d, pool2d, pool3d = _pool(1), _pool(2), _pool(3)


def global_pool(data: te.Tensor, pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Maxima or means over all of an image."""
    return op(f"nn.global_{_pooling(pool_type)}_pool2d")(data, layout=layout)


def adaptive_pool(data: te.Tensor, output_size: Sequence[int], pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Maxima or means of windows chosen so that the result has `output_size`."""
    return op(f"nn.adaptive_{_pooling(pool_type)}_pool2d")(data, output_size=tuple(output_size), layout=layout)


def pad(
    data: te.Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None, pad_value: Any = 0.0,
    name: str = "PadInput", attrs: Any = None,
) -> te.Tensor:  # fmt: skip
    """`data` with a border: so many elements of `pad_value` before and after each axis (after: as before)."""
    only("nn.pad", "attrs", attrs, None)
    after = list(pad_before) if pad_after is None else list(pad_after)
    if len(pad_before) != data.ndim or len(after) != data.ndim:
        raise WorkbenchError(
            "E-TOPI-PADDING", "padding has one number for each axis", found=f"{len(pad_before)} and {len(after)}",
            expected=f"{data.ndim} and {data.ndim}",
        )  # fmt: skip
    value = te.const(pad_value, data.dtype) if isinstance(pad_value, (bool, int, float)) else pad_value
    shape = [extent + low + high for extent, low, high in zip(data.shape, pad_before, after, strict=True)]

    def element(*at: Any) -> Any:
        inside: list[Any] = []
        for index, extent, low, high in zip(at, data.shape, pad_before, after, strict=True):
            inside += [index >= low] if not _is_zero(low) else []
            inside += [index < extent + low] if not _is_zero(high) else []
        moved = data(*(index - low for index, low in zip(at, pad_before, strict=True)))
        return te.if_then_else(te.all(*inside), moved, value) if inside else moved

    return te.compute(tuple(shape), element, name=name, tag="injective,pad")


def _is_zero(value: Any) -> bool:
    return isinstance(value, int) and value == 0


def mirror_pad(
    data: te.Tensor, pad_before: Sequence[int], pad_after: Sequence[int] | None = None, mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> te.Tensor:  # fmt: skip
    """`data` continued by its mirror image; "REFLECT" does not repeat the edge, "SYMMETRIC" does."""
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise WorkbenchError("E-TOPI-PADDING", "mirrors are SYMMETRIC or REFLECT", found=repr(mode))
    after = list(pad_before) if pad_after is None else list(pad_after)
    edge = 1 if mode == "SYMMETRIC" else 0
    shape = [extent + low + high for extent, low, high in zip(data.shape, pad_before, after, strict=True)]

    def element(*at: Any) -> Any:
        moved: list[Any] = []
        for index, extent, low in zip(at, data.shape, pad_before, strict=True):
            above = index - low
            over = te.select(above >= extent, 2 * extent - edge - (1 - edge) * 2 - above, above)
            moved.append(te.select(above < 0, -above - edge, over))
        return data(*moved)

    return te.compute(tuple(shape), element, name=name, tag="injective,pad")


def flatten(data: te.Tensor) -> te.Tensor:
    """(batch, everything else)."""
    return op("nn.batch_flatten")(data)


def scale_shift_nchw(data: te.Tensor, scale: te.Tensor, shift: te.Tensor) -> te.Tensor:
    """data * scale + shift, channel by channel; NCHW."""
    return te.compute(
        data.shape, lambda n, c, y, x: data(n, c, y, x) * scale(c) + shift(c), name="ScaleShift", tag="broadcast"
    )


def scale_shift_nhwc(data: te.Tensor, scale: te.Tensor, shift: te.Tensor) -> te.Tensor:
    """data * scale + shift, channel by channel; NHWC."""
    return te.compute(
        data.shape, lambda n, y, x, c: data(n, y, x, c) * scale(c) + shift(c), name="ScaleShift", tag="broadcast"
    )


def rms_norm(
    data: te.Tensor, weight: te.Tensor, bias: te.Tensor | None, axis: Sequence[int], epsilon: float = 1e-5
) -> te.Tensor:
    """data / sqrt(mean(data^2) + epsilon) * weight + bias over `axis`, whose extents are those of weight and bias."""
    along = sorted(number % data.ndim for number in axis)
    summed = {number: te.reduce_axis((0, data.shape[number]), name=f"k{number}") for number in along}
    kept = [number for number in range(data.ndim) if number not in along]
    count = 1
    for number in along:
        count = count * data.shape[number]

    def square(*at: Any) -> Any:
        known = {**dict(zip(kept, at, strict=True)), **summed}
        value = data(*(known[number] for number in range(data.ndim)))
        return te.sum(value * value, axis=list(summed.values()))

    squares = te.compute(tuple(data.shape[number] for number in kept), square, name="rms_norm_sum")

    def element(*at: Any) -> Any:
        mean = squares(*(at[number] for number in kept)) / te.cast(data.dtype, te.const(count, "int64"))
        scale = weight(*(at[number] for number in along))
        made = data(*at) * te.rsqrt(mean + te.const(epsilon, data.dtype)) * scale
        return made if bias is None else made + bias(*(at[number] for number in along))

    return te.compute(data.shape, element, name="rms_norm", tag="injective")


def group_norm(
    data: te.Tensor, gamma: te.Tensor, beta: te.Tensor, num_groups: int, channel_axis: int, axes: Sequence[int],
    epsilon: float = 1e-5,
) -> te.Tensor:  # fmt: skip
    """Each group of channels normalised over its channels and `axes`, then scaled and shifted channel by channel."""
    size = data.shape[channel_axis] // num_groups
    shape = (*data.shape[:channel_axis], num_groups, size, *data.shape[channel_axis + 1 :])
    grouped = op("reshape")(data, newshape=shape)
    over = (*(axis + (axis > channel_axis) for axis in axes), channel_axis + 1)
    mean = op("mean")(grouped, axis=over, keepdims=True)
    spread = op("variance")(grouped, axis=over, keepdims=True)

    def element(*at: Any) -> Any:
        channel = at[channel_axis]
        place = (*at[:channel_axis], channel // size, channel % size, *at[channel_axis + 1 :])
        point = tuple(0 if axis in over else index for axis, index in enumerate(place))
        scale = te.rsqrt(spread(*point) + te.const(epsilon, data.dtype))
        return (data(*at) - mean(*point)) * scale * gamma(channel) + beta(channel)

    return te.compute(data.shape, element, name="T_group_norm", tag="injective")


NAMES = (
    "adaptive_pool", "conv1d", "conv1d_ncw", "conv1d_nwc", "conv2d", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc",
    "conv2d_transpose_nchw", "conv3d_ncdhw", "conv3d_ndhwc", "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc", "flatten", "global_pool", "group_conv2d_nchw", "group_norm", "mirror_pad",
    "pad", "pool1d", "pool2d", "pool3d", "rms_norm", "scale_shift_nchw", "scale_shift_nhwc",
)  # fmt: skip
"""What stands in place of an operator of the same name."""
