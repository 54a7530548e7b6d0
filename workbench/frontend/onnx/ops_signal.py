"""Signals: Fourier transforms as products with matrices of cosines and sines, which are known at import.

Complex numbers are pairs along the last axis (or real numbers, with one entry there).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...relay.ir.expr import Expr
from .emit import call, constant, dtype_of, pack, rank_of, reshaped, shape_of
from .ops_elementwise import cast
from .site import Site
from .table import onnx_op
from .tensors import dtype_of as dtype_of_number

GREATEST_LENGTH = 4096
"""Longer transforms would need matrices of more than 16 million elements."""


def _parts(node: Site, x: Expr) -> tuple[Expr, Expr | None]:
    """(real part, imaginary part or None) without the last axis."""
    shape = shape_of(x)
    if not shape or shape[-1] not in (1, 2):
        raise node.refuse("the last axis must hold real numbers or pairs", str(shape), "an extent of 1 or 2")
    last = len(shape) - 1
    real = call("take", x, constant(0, "int64"), axis=last)
    return real, call("take", x, constant(1, "int64"), axis=last) if shape[-1] == 2 else None


def _resized(x: Expr, axis: int, length: int) -> Expr:
    """Cut, or filled up with zeros, to `length` along `axis`."""
    extent = shape_of(x)[axis]
    if length < extent:
        return call("strided_slice", x, begin=(0,), end=(length,), axes=(axis,))
    if length == extent:
        return x
    return call("nn.pad", x, pad_width=tuple((0, length - extent if at == axis else 0) for at in range(rank_of(x))))


def _waves(rows: int, columns: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of 2 pi i j / length."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % length * (2 * np.pi / length)
    return np.cos(turns), np.sin(turns)


def _along(x: Expr, axis: int, matrix: np.ndarray) -> Expr:
    """x times the matrix along `axis`; the axis becomes the last one."""
    rank = rank_of(x)
    moved = call("transpose", x, axes=(*(at for at in range(rank) if at != axis), axis)) if axis != rank - 1 else x
    flat = reshaped(moved, (-1 if 0 not in shape_of(moved) else 0, matrix.shape[0]))
    return reshaped(call("nn.matmul", flat, constant(matrix)), (*shape_of(moved)[:-1], matrix.shape[1]))


def _back(x: Expr, axis: int) -> Expr:
    """The last axis at its place `axis`."""
    rank = rank_of(x)
    order = list(range(rank - 1))
    order.insert(axis, rank - 1)
    return call("transpose", x, axes=tuple(order)) if axis != rank - 1 else x


def _complex(real: Expr, imaginary: Expr) -> Expr:
    wide = [reshaped(part, (*shape_of(part), 1)) for part in (real, imaginary)]
    return call("concatenate", pack(wide), axis=rank_of(real))


def transformed(node: Site, x: Expr, axis: int, length: int, inverse: bool, onesided: bool) -> Expr:
    """The discrete Fourier transform of `length` along `axis`.

    In float64: a sum over all of a signal loses the small frequencies of float32, which a fast transform keeps.
    """
    if not 1 <= length <= GREATEST_LENGTH:
        raise node.refuse("the transform is too long", str(length), f"1 to {GREATEST_LENGTH}")
    real, imaginary = _parts(node, cast(x, "float64"))
    if inverse and onesided:
        return cast(_real_inverse(real, imaginary, axis, length), dtype_of(x))
    bins = length // 2 + 1 if onesided else length
    cosine, sine = _waves(length, bins, length)
    if inverse:
        cosine, sine = cosine / length, -sine / length
    real = _resized(real, axis, length)
    found_real, found_imaginary = _along(real, axis, cosine), _along(real, axis, -sine)
    if imaginary is not None:
        imaginary = _resized(imaginary, axis, length)
        found_real = call("add", found_real, _along(imaginary, axis, sine))
        found_imaginary = call("add", found_imaginary, _along(imaginary, axis, cosine))
    return cast(_complex(_back(found_real, axis), _back(found_imaginary, axis)), dtype_of(x))


def _real_inverse(real: Expr, imaginary: Expr | None, axis: int, length: int) -> Expr:
    """A real signal from half of its spectrum: inner bins stand for two."""
    bins = length // 2 + 1
    cosine, sine = _waves(bins, length, length)
    weight = np.full((bins, 1), 2.0 / length)
    weight[0] = 1 / length
    if length % 2 == 0:
        weight[-1] = 1 / length
    found = _along(_resized(real, axis, bins), axis, cosine * weight)
    if imaginary is not None:
        found = call("add", found, _along(_resized(imaginary, axis, bins), axis, -sine * weight))
    found = _back(found, axis)
    return reshaped(found, (*shape_of(found), 1))


def _length(node: Site, x: Expr, axis: int, given: Expr | None, inverse: int, onesided: int) -> int:
    if given is not None:
        return node.integer(given, "dft_length")
    extent = shape_of(x)[axis]
    return 2 * (extent - 1) if inverse and onesided else extent


@onnx_op("DFT", since=17, until=19)
def dft_by_attribute(
    node: Site, x: Expr, dft_length: Expr | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Expr:
    place = node.axis(axis, rank_of(x))
    length = _length(node, x, place, dft_length, inverse, onesided)
    return transformed(node, x, place, length, bool(inverse), bool(onesided))


@onnx_op("DFT", since=20)
def dft(
    node: Site, x: Expr, dft_length: Expr | None = None, axis: Expr | None = None, *, inverse: int = 0,
    onesided: int = 0,
) -> Expr:  # fmt: skip
    place = node.axis(-2 if axis is None else node.integer(axis, "axis"), rank_of(x))
    length = _length(node, x, place, dft_length, inverse, onesided)
    return transformed(node, x, place, length, bool(inverse), bool(onesided))


@onnx_op("STFT", since=17)
def stft(
    node: Site, x: Expr, frame_step: Expr, window: Expr | None = None, frame_length: Expr | None = None, *,
    onesided: int = 1,
) -> Expr:  # fmt: skip
    """Frames, taken by their known places, weighted by the window, and transformed."""
    shape = shape_of(x)
    step = node.integer(frame_step, "frame_step")
    size = node.integer(frame_length, "frame_length") if frame_length is not None else 0
    size = size or (shape_of(window)[0] if window is not None else shape[1])
    if step < 1 or not 1 <= size <= shape[1]:
        raise node.refuse("the frames do not fit the signal", f"step {step}, length {size} of {shape[1]}")
    count = 1 + (shape[1] - size) // step
    places = np.arange(count)[:, None] * step + np.arange(size)
    frames = call("take", x, constant(places.astype(np.int64)), axis=1)
    if window is not None:
        frames = call("multiply", frames, reshaped(window, (1, 1, size, 1)))
    return transformed(node, frames, 2, size, False, bool(onesided))


@onnx_op("MelWeightMatrix", since=17)
def mel_weight_matrix(
    node: Site, bins: Any, length: Any, rate: Any, low: Any, high: Any, *, output_datatype: int = 1
) -> Expr:
    """The matrix from frequencies to mel bins: triangles that overlap by half (Stevens, Volkmann, Newman, 1937)."""
    count, size, per_second = (node.integer(item, name) for item, name in
                               ((bins, "num_mel_bins"), (length, "dft_length"), (rate, "sample_rate")))  # fmt: skip
    edges = [float(node.constant(item, "an edge").reshape(-1)[0]) for item in (low, high)]
    first, last = (2595 * np.log10(1 + edge / 700) for edge in edges)
    mel = np.arange(count + 2) * ((last - first) / (count + 2)) + first
    places = (((size + 1) * 700 * (10 ** (mel / 2595) - 1)) // per_second).astype(np.int64)
    result = np.zeros((size // 2 + 1, count))
    for column in range(count):
        left, middle, right = places[column : column + 3]
        if left == middle:
            result[middle, column] = 1
        else:
            result[left : middle + 1, column] = np.arange(middle - left + 1) / (middle - left)
        if right > middle:
            result[middle:right, column] = np.arange(right - middle, 0, -1) / (right - middle)
    return constant(result.astype(dtype_of_number(output_datatype, node.where).to_numpy()))
