"""Classic `topi` functions whose arguments differ from the operator's, or that no operator stands for.

    topi.full((2, 3), "float32", 1.0), topi.matmul(a, b, transp_b=True), topi.elemwise_sum([a, b, c])

Each is a te tensor (or several); sources: the documentation of the classic API, and NumPy's for what it copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .. import te
from ..core.errors import WorkbenchError
from .classic_order import op


def identity(x: te.Tensor) -> te.Tensor:
    """A copy."""
    return te.compute(x.shape, lambda *at: x(*at), name="identity", tag="elemwise")


def elemwise_sum(xs: Sequence[te.Tensor]) -> te.Tensor:
    """The sum of tensors of one shape.  Raises `WorkbenchError` without tensors."""
    tensors = list(xs)
    if not tensors:
        raise WorkbenchError("E-TOPI-OPERANDS", "elemwise_sum needs a tensor", found="none", expected="at least one")

    def total(*at: Any) -> Any:
        made = tensors[0](*at)
        for other in tensors[1:]:
            made = made + other(*at)
        return made

    return te.compute(tensors[0].shape, total, name="elemwise_sum", tag="elemwise")


def full(shape: Sequence[Any], dtype: str, fill_value: Any) -> te.Tensor:
    """A tensor of one value."""
    value = te.const(fill_value, dtype) if isinstance(fill_value, (bool, int, float)) else fill_value
    return te.compute(tuple(shape), lambda *_: value, name="full", tag="elemwise")


def matmul(a: te.Tensor, b: te.Tensor, transp_a: bool = False, transp_b: bool = False) -> te.Tensor:
    """The matrix product of two matrices, each transposed first if said so."""
    return op("nn.matmul")(a, b, transpose_a=transp_a, transpose_b=transp_b)


def tensordot(a: te.Tensor, b: te.Tensor, axes: int | Sequence[Sequence[int]] = 2) -> te.Tensor:
    """The sum of products over pairs of axes, as `numpy.tensordot`.  Axes of `a` that are left come first."""
    if isinstance(axes, int):
        ours, theirs = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        ours, theirs = [axis % a.ndim for axis in axes[0]], [axis % b.ndim for axis in axes[1]]
    if [a.shape[axis] for axis in ours] != [b.shape[axis] for axis in theirs]:
        raise WorkbenchError(
            "E-TOPI-AXES",
            "the axes of a tensordot do not fit together",
            found=f"extents {[a.shape[axis] for axis in ours]} and {[b.shape[axis] for axis in theirs]}",
            expected="equal extents, axis by axis",
        )
    summed = [te.reduce_axis((0, a.shape[axis]), name=f"k{number}") for number, axis in enumerate(ours)]
    kept_a = [axis for axis in range(a.ndim) if axis not in ours]
    kept_b = [axis for axis in range(b.ndim) if axis not in theirs]

    def element(*at: Any) -> Any:
        left: dict[int, Any] = {**dict(zip(kept_a, at, strict=False)), **dict(zip(ours, summed, strict=True))}
        rest = at[len(kept_a) :]
        right: dict[int, Any] = {**dict(zip(kept_b, rest, strict=True)), **dict(zip(theirs, summed, strict=True))}
        product = a(*(left[axis] for axis in range(a.ndim))) * b(*(right[axis] for axis in range(b.ndim)))
        return te.sum(product, axis=summed) if summed else product

    shape = [a.shape[axis] for axis in kept_a] + [b.shape[axis] for axis in kept_b]
    return te.compute(tuple(shape), element, name="T_tensordot", tag="matmul")


def einsum(subscripts: str, *operands: te.Tensor) -> te.Tensor:
    """Sums of products by letters, as `numpy.einsum`: ``einsum("ij,jk->ik", a, b)``; no ellipsis.

    Raises `WorkbenchError` when letters and axes do not fit.
    """
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = "".join(terms)
    if not arrow:
        result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    extents: dict[str, Any] = {}
    fits = len(terms) == len(operands) and letters.isalpha() and len(set(result)) == len(result)
    for term, tensor in zip(terms, operands, strict=False):
        fits = fits and len(term) == tensor.ndim
        for letter, extent in zip(term, tensor.shape, strict=False):
            fits = fits and extents.setdefault(letter, extent) == extent
    if not fits or not set(result) <= set(letters):
        raise WorkbenchError(
            "E-TOPI-EINSUM",
            f"the subscripts {subscripts!r} do not fit the operands",
            found=", ".join(str(list(tensor.shape)) for tensor in operands),
            expected="one letter for each axis, equal extents for equal letters",
        )
    summed = {letter: te.reduce_axis((0, extents[letter]), name=letter) for letter in extents if letter not in result}

    def element(*at: Any) -> Any:
        known = {**dict(zip(result, at, strict=True)), **summed}
        made = operands[0](*(known[letter] for letter in terms[0]))
        for term, tensor in zip(terms[1:], operands[1:], strict=True):
            made = made * tensor(*(known[letter] for letter in term))
        return te.sum(made, axis=list(summed.values())) if summed else made

    return te.compute(tuple(extents[letter] for letter in result), element, name="T_einsum", tag="matmul")


def flip(a: te.Tensor, axis: int = 0) -> te.Tensor:
    """The elements along an axis in reverse order."""
    return op("reverse")(a, axis=axis)


def shape(array: te.Tensor, dtype: str = "int32") -> te.Tensor:
    """The extents of a tensor, as a tensor."""
    return op("shape_of")(array, dtype=dtype)


def sequence_mask(data: te.Tensor, valid_length: te.Tensor, mask_value: float = 0, axis: int = 0) -> te.Tensor:
    """`data` with what lies beyond each sequence's length replaced; time is `axis` (0 or 1), the batch the other."""
    if axis not in (0, 1) or data.ndim < 2:
        raise WorkbenchError("E-TOPI-AXES", "sequence_mask counts along axis 0 or 1", found=f"axis {axis}")

    def element(*at: Any) -> Any:
        inside = at[axis] < te.cast("int64", valid_length(at[1 - axis]))
        return te.select(inside, data(*at), te.const(mask_value, data.dtype))

    return te.compute(data.shape, element, name="sequence_mask", tag="injective")


def unravel_index(indices: te.Tensor, shape: Sequence[int]) -> te.Tensor:
    """The coordinates of flat indices in a row-major array of `shape`; result (rank, *indices.shape)."""
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]

    def element(axis: Any, *at: Any) -> Any:
        flat = indices(*at)
        made = te.floormod(te.floordiv(flat, steps[-1]), shape[-1])
        for number in reversed(range(len(shape) - 1)):
            made = te.select(axis == number, te.floormod(te.floordiv(flat, steps[number]), shape[number]), made)
        return te.cast(indices.dtype, made)

    return te.compute((len(shape), *indices.shape), element, name="unravel", tag="injective")


def meshgrid(a_tuple: Sequence[te.Tensor], indexing: str = "ij") -> list[te.Tensor]:
    """Coordinate tensors of vectors; `indexing` "ij" or "xy", as `numpy.meshgrid`."""
    if indexing not in ("ij", "xy"):
        raise WorkbenchError("E-TOPI-AXES", "meshgrid indexes by ij or xy", found=repr(indexing))
    order = list(range(len(a_tuple)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    extents = tuple(a_tuple[number].shape[0] for number in order)

    def spread(vector: te.Tensor, axis: int) -> te.Tensor:
        return te.compute(extents, lambda *at: vector(at[axis]), name="meshgrid", tag="injective")

    return [spread(vector, order.index(number)) for number, vector in enumerate(a_tuple)]


def invert_permutation(data: te.Tensor) -> te.Tensor:
    """The inverse of a permutation given as a vector of indices."""
    extent = data.shape[0]
    k = te.reduce_axis((0, extent), name="k")
    return te.compute(
        (extent,),
        lambda i: te.max(te.select(data(k) == te.cast(data.dtype, i), te.cast(data.dtype, k), 0), axis=k),
        name="invert_permutation",
    )


def sliding_window(
    data: te.Tensor, axis: int, window_shape: Sequence[int], strides: Sequence[int] | None = None
) -> te.Tensor:
    """Windows over the axes from `axis` on: their numbers take the axes' place, their elements come last."""
    steps = list(strides or [1] * len(window_shape))
    counts = [(data.shape[axis + number] - width) // steps[number] + 1 for number, width in enumerate(window_shape)]
    result = (*data.shape[:axis], *counts, *window_shape)

    def element(*at: Any) -> Any:
        count = len(window_shape)
        places, inside = at[axis : axis + count], at[axis + count :]
        moved = [place * step + offset for place, step, offset in zip(places, steps, inside, strict=True)]
        return data(*at[:axis], *moved)

    return te.compute(result, element, name="sliding_window", tag="injective")


def ceil_log2(x: te.Tensor) -> te.Tensor:
    """The base-2 logarithm, rounded up."""
    return te.compute(x.shape, lambda *at: te.ceil(te.log2(x(*at))), name="ceil_log2", tag="elemwise")


def collapse_sum(data: te.Tensor, target_shape: Sequence[int]) -> te.Tensor:
    """The sum over the axes that broadcasting `target_shape` to the shape of `data` would repeat."""
    return op("collapse_sum_to")(data, shape=tuple(target_shape))


def expand_like(a: te.Tensor, shape_like: te.Tensor, axis: Sequence[int]) -> te.Tensor:
    """`a` with axes inserted and repeated until it has the shape of `shape_like`."""
    inserted = sorted(number % shape_like.ndim for number in axis)
    kept = [number for number in range(shape_like.ndim) if number not in inserted]
    return te.compute(
        shape_like.shape, lambda *at: a(*(at[number] for number in kept)), name="expand_like", tag="broadcast"
    )


NAMES = (
    "ceil_log2", "collapse_sum", "einsum", "elemwise_sum", "expand_like", "flip", "full", "identity",
    "invert_permutation", "matmul", "meshgrid", "sequence_mask", "shape",
    "sliding_window", "tensordot", "unravel_index",
)  # fmt: skip
"""What stands in place of an operator of the same name."""
