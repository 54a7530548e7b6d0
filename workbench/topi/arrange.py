"""How operators compute on data whose axes are arranged differently: what `Operator.arrange` of the classes answers.

A tensor is `Placed(before, now)`: its axes in the program as it was written ("NCHW") and as they lie now ("NHWC",
"NCHW16c").  A rule answers the operator with its attributes moved to the new places, how it wants its operands, and
how its result lies; or None, where it can only compute on data as written.

>>> along_axis(Softmax(axis=1), "axis", [Placed("NCHW", "NHWC")], (TensorType((1, 8, 4, 4)),)).op.axis
3
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import WorkbenchError
from ..relay.ir.operator import Arrangement, Operator, Placed
from ..relay.ir.types import TensorType, Type
from .layout import Layout, parse

Operands = Sequence[Any]
"""For each operand its `Placed`, None (as written), or for a tuple a tuple of these."""


def place(placed: Placed, axis: int) -> int | None:
    """Where an axis of the tensor as written lies now; None if it is split."""
    letter = placed.before[axis]
    target = parse(placed.now)
    return None if letter in target.factors else target.index_of(letter)


def places(placed: Placed, axes: Sequence[int]) -> tuple[int, ...] | None:
    """Where several axes lie now; None if one of them is split."""
    found = [place(placed, axis) for axis in axes]
    known = tuple(axis for axis in found if axis is not None)
    return known if len(known) == len(found) else None


def rearranged(placed: Placed, values: Sequence[Any], inner: Any) -> tuple[Any, ...]:
    """One value for each axis as written, in the order in which axes lie now; `inner` for inner parts."""
    return tuple(inner if factor else values[placed.before.index(letter)] for letter, factor in parse(placed.now).axes)


def without(placed: Placed, letters: str) -> Placed | None:
    """The arrangement after some (unsplit) axes are gone; None where the rest lies as written."""
    before = "".join(letter for letter in placed.before if letter not in letters)
    now = "".join(
        f"{factor}{letter.lower()}" if factor else letter
        for letter, factor in parse(placed.now).axes
        if letter not in letters
    )
    return None if before == now else Placed(before, now)


def first_placed(operands: Operands, types: Sequence[Type], rank: int) -> Placed | None:
    """The arrangement of the first operand of full rank that lies differently than written."""
    for placed, kind in zip(operands, types, strict=True):
        if isinstance(placed, Placed) and isinstance(kind, TensorType) and len(kind.shape) == rank:
            return placed
    return None


def broadcast(op: Operator, operands: Operands, types: Sequence[Type]) -> Arrangement | None:
    """Operands of equal or lesser rank follow the first one that is arranged."""
    ranks = [len(kind.shape) for kind in types if isinstance(kind, TensorType)]
    placed = first_placed(operands, types, max(ranks, default=0))
    return None if placed is None else Arrangement(op, (placed,) * len(operands), placed)


def along_axis(
    op: Any, name: str, operands: Operands, types: Sequence[Type], results: int | None = None
) -> Arrangement | None:
    """An operator whose attribute `name` is the one axis that matters; further operands belong to that axis.

    `results`: the result is a tuple of so many tensors, of which the first is arranged (-1: all are).
    """
    placed, kind = operands[0], types[0]
    if not isinstance(placed, Placed) or not isinstance(kind, TensorType):
        return None
    axis = place(placed, getattr(op, name) % len(kind.shape))
    if axis is None:
        return None
    return Arrangement(op.replace(**{name: axis}), (placed, *(None for _ in operands[1:])), placed)


def joined(op: Any, operands: Operands, types: Sequence[Type]) -> Arrangement | None:
    """Concatenation: all parts follow the first one that is arranged; a split axis grows by whole blocks."""
    parts = operands[0] if isinstance(operands[0], tuple) else ()
    placed = next((part for part in parts if isinstance(part, Placed)), None)
    kinds = getattr(types[0], "fields", ())
    if placed is None or not divisible(placed, kinds):
        return None
    axis = parse(placed.now).index_of(placed.before[op.axis % len(placed.before)])
    return Arrangement(op.replace(axis=axis), ((placed,) * len(parts),), placed)


def divisible(placed: Placed, kinds: Sequence[Type]) -> bool:
    """Whether no tensor would have to be filled up in the new arrangement."""
    factors = parse(placed.now).factors
    for kind in kinds:
        shape = kind.shape if isinstance(kind, TensorType) else ()
        for letter, factor in factors.items():
            extent = shape[placed.before.index(letter)] if len(shape) == len(placed.before) else None
            if not isinstance(extent, int) or extent % factor:
                return False
    return True


def cut_in_parts(op: Any, operands: Operands, types: Sequence[Type], parts: int) -> Arrangement | None:
    """A split along an axis that is not in blocks: every part lies as the whole does."""
    found = along_axis(op, "axis", operands, types)
    return None if found is None else Arrangement(found.op, found.operands, (found.result,) * parts)


def first_of_tuple(found: Arrangement | None, count: int) -> Arrangement | None:
    """The result is a tuple whose first item alone is arranged."""
    return None if found is None else Arrangement(found.op, found.operands, (found.result, *(None,) * (count - 1)))


def reduced(op: Any, operands: Operands, axes: tuple[int, ...], many: bool = True) -> Arrangement | None:
    """A reduction over unsplit axes; over several of them only if the order does not matter (`many`)."""
    placed = operands[0]
    if not isinstance(placed, Placed) or (not many and len(axes) != 1):
        return None
    now = places(placed, axes)
    if now is None:
        return None
    changed = op.replace(axis=tuple(sorted(now)), exclude=False)
    letters = "".join(placed.before[axis] for axis in axes)
    return Arrangement(changed, (placed,), placed if op.keepdims else without(placed, letters))


def padded(op: Any, operands: Operands) -> Arrangement | None:
    """nn.pad on axes that are not split."""
    placed = operands[0]
    if not isinstance(placed, Placed):
        return None
    if any(op.pad_width[placed.before.index(letter)] != (0, 0) for letter in parse(placed.now).factors):
        return None
    changed = op.replace(pad_width=rearranged(placed, op.pad_width, (0, 0)))
    return Arrangement(changed, (placed, *(None,) * (len(operands) - 1)), placed)


def sliced(op: Any, operands: Operands, axes: tuple[int, ...]) -> Arrangement | None:
    """strided_slice of axes that are not split."""
    placed = operands[0]
    if not isinstance(placed, Placed):
        return None
    now = places(placed, axes)
    return None if now is None else Arrangement(op.replace(axes=now), (placed,), placed)


def turned(op: Any, operands: Operands, order: tuple[int, ...]) -> Arrangement | None:
    """transpose: nothing moves, the axes have other places in the program only."""
    placed = operands[0]
    if not isinstance(placed, Placed):
        return None
    before = "".join(placed.before[axis] for axis in order)
    return Arrangement(None, (placed,), None if before == placed.now else Placed(before, placed.now))


def relabelled(op: Any, operands: Operands, types: Sequence[Type]) -> Arrangement | None:
    """layout_transform: nothing moves if no element is filled up."""
    placed = operands[0] if isinstance(operands[0], Placed) else Placed(op.src_layout, op.src_layout)
    source, target = parse(op.src_layout), parse(op.dst_layout)
    if source.factors or placed.before != op.src_layout:
        return None
    if target.factors and not divisible(Placed(op.src_layout, op.dst_layout), types):
        return None
    if target.factors and isinstance(operands[0], Placed) and placed.now != op.dst_layout:
        return None
    result = None if op.dst_layout == placed.now else Placed(op.dst_layout, placed.now)
    return Arrangement(None, (placed if isinstance(operands[0], Placed) else None,), result)


def by_layout(op: Any, name: str, operands: Operands, types: Sequence[Type], wish: Sequence[str]) -> Arrangement | None:
    """An operator that names its data's layout in attribute `name`: it takes the wish, or follows its operand.

    Weights (further operands) stay as they are.  Raises `WorkbenchError` for a wish that the operator does not know.
    """
    own, placed = getattr(op, name), operands[0]
    given = wish[0] if wish else placed.now if isinstance(placed, Placed) and placed.before == own else None
    if given is None or set(parse(given).letters) != set(parse(own).letters):
        return None
    if (parse(own).factors and own != given) or not divisible(Placed(own, given), types[:1]):
        return None
    result = getattr(op, "out_layout", "") or own
    changes = {name: given, "out_layout": ""} if hasattr(op, "out_layout") else {name: given}
    try:
        changed = op.replace(**changes)
    except WorkbenchError:
        if wish:
            raise
        return None
    rest = (None,) * (len(operands) - 1)
    return Arrangement(changed, (Placed(own, given), *rest), None if result == given else Placed(result, given))


def kernel_layout(wish: Sequence[str], own: str, data: Layout, depthwise: bool) -> str:
    """The wished layout of a convolution's weight; by default the usual one for the layout of data."""
    wanted = wish[1] if len(wish) > 1 else "default"
    if wanted != "default":
        return wanted
    if parse(own).factors or set(parse(own).letters) != set("OIHW"):
        return own
    if data.letters[-1] != "C":
        return "OIHW"
    return "HWOI" if depthwise else "HWIO"


def convolution(op: Any, types: Sequence[Type], wish: Sequence[str]) -> Arrangement | None:
    """nn.conv2d in the wished layouts; in blocks of channels only where the channels fill them."""
    if not wish:
        return None
    data = parse(wish[0])
    own = parse(op.data_layout)
    if set(data.letters) != set(own.letters) or (own.factors and own.text != wish[0]):
        return None
    sizes = op.geometry(*(kind.shape for kind in types if isinstance(kind, TensorType)))
    block = data.factors.get("C")
    if block and not all(
        isinstance(many, int) and many % block == 0 for many in (sizes.in_channels, sizes.out_channels)
    ):
        return None
    if set(data.factors) - {"C"}:
        return None
    depthwise = op.groups > 1 and sizes.out_channels == op.groups
    kernel = kernel_layout(wish, op.kernel_layout, data, depthwise)
    if parse(op.kernel_layout).factors and kernel != op.kernel_layout:
        return None
    changed = op.replace(data_layout=wish[0], kernel_layout=kernel, out_layout="", channels=sizes.out_channels)
    after = op.out_layout or op.data_layout
    return Arrangement(
        changed, (Placed(op.data_layout, wish[0]), Placed(op.kernel_layout, kernel)),
        None if after == wish[0] else Placed(after, wish[0]),
    )  # fmt: skip
