"""Operators as loops, where a tensor expression would take the square of the time: scatters, running totals, orders.

Each function answers a loop function in block form over the operands, then the result; an operator names its own by
`Operator.loops`.  What is done in order stands inside one block, so that schedules leave the order alone.

    for i0, i1 in T.grid(4, 3):
        with T.block("scatter_copy"): ...
    with T.block("scatter"):                      # the updates, one after the other
        for k0, k1 in T.grid(6, 3): ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..core.pass_context import PassContext
from ..relay.ir.types import TensorType
from ..tir.nodes import PrimFunc
from ..tir.script import parse

_JOIN = {
    "update": "{new}", "add": "{old} + {new}", "mul": "{old} * {new}", "min": "T.min({old}, {new})",
    "max": "T.max({old}, {new})",
}  # fmt: skip
_INDENT = "    "


def _buffer(name: str, kind: TensorType) -> str:
    shape = ", ".join(str(extent) for extent in kind.shape)
    return f'{name}: T.Buffer(({shape}{"," if len(kind.shape) == 1 else ""}), "{kind.dtype}")'


def _whole(name: str, kind: TensorType) -> str:
    return f"{name}[{', '.join(f'0:{extent}' for extent in kind.shape)}]"


def _parsed(name: str, parameters: Sequence[tuple[str, TensorType]], body: Sequence[str]) -> PrimFunc:
    head = f"def {name}({', '.join(_buffer(*item) for item in parameters)}):"
    made: Any = parse("\n".join(["@T.prim_func", head, *(_INDENT + line for line in body)]) + "\n")
    return made


def _fits(*kinds: TensorType) -> bool:
    """Whether loops can be written: known shapes with axes, nothing empty."""
    return all(kind.is_static and kind.shape and math.prod(kind.concrete_shape) for kind in kinds)


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{at}" for at in range(count)]


def _grid(names: Sequence[str], extents: Sequence[Any]) -> str:
    if len(names) == 1:
        return f"for {names[0]} in range({extents[0]}):"
    return f"for {', '.join(names)} in T.grid({', '.join(map(str, extents))}):"


def _copied(kind: TensorType) -> list[str]:
    """result = data."""
    loops, mine = _names("i", len(kind.shape)), _names("v", len(kind.shape))
    place = ", ".join(mine)
    axes = [f"{own} = T.axis.spatial({extent}, {loop})"
            for own, extent, loop in zip(mine, kind.shape, loops, strict=True)]  # fmt: skip
    inner = [*axes, f"T.reads(data[{place}])", f"T.writes(result[{place}])", f"result[{place}] = data[{place}]"]
    inner = [_INDENT * 2 + line for line in inner]
    return [_grid(loops, kind.shape), _INDENT + 'with T.block("scatter_copy"):', *inner]


def _written(
    kind: TensorType,
    where: TensorType,
    new: TensorType,
    grid: tuple[list[str], list[Any]],
    indices: list[tuple[str, Any, str]],
    target: str,
    source: str,
    mode: str,
) -> list[str]:
    """The block of updates.  Of each index, named at0, at1, ...: where it stands, its axis's extent, what it is called.

    In checked mode one out of range is reported (`PassContext.checks_bounds`), else its update is left out.
    """
    lines = [
        f"T.reads({_whole('indices', where)}, {_whole('updates', new)}, {_whole('result', kind)})",
        f"T.writes({_whole('result', kind)})",
        _grid(*grid),
    ]
    tests: list[str] = []
    checked = PassContext.current().checks_bounds
    for at, (place, extent, what) in enumerate(indices):
        read = f'T.Cast("int64", indices[{place}])' if where.dtype != "int64" else f"indices[{place}]"
        found = f"T.Select({read} < 0, {read} + {extent}, {read})"
        if checked:
            found = f'T.index_within({found}, {found}, {read}, T.int64({-extent}), T.int64({extent}), "{what}")'
        lines.append(f"{_INDENT}at{at}: T.let[T.int64] = {found}")
        tests.append(f"at{at} >= 0 and at{at} < {extent}")
    joined = _JOIN[mode].format(old=f"result[{target}]", new=f"updates[{source}]")
    lines += [f"{_INDENT}if {' and '.join(tests)}:", f"{_INDENT * 2}result[{target}] = {joined}"]
    return ['with T.block("scatter"):', *(_INDENT + line for line in lines)]


def scatter_elements(data: TensorType, indices: TensorType, updates: TensorType, axis: int, mode: str) -> Any:
    """scatter_elements, update by update; None for shapes that loops cannot be written for."""
    if not _fits(data, indices, updates):
        return None
    loops = _names("k", len(indices.shape))
    extents = [
        extent if at == axis else min(extent, data.concrete_shape[at])
        for at, extent in enumerate(indices.concrete_shape)
    ]
    place = ", ".join(loops)
    target = ", ".join("at0" if at == axis else loop for at, loop in enumerate(loops))
    named = [(place, data.shape[axis], f"scatter_elements along axis {axis}")]
    body = _copied(data) + _written(data, indices, updates, (loops, extents), named, target, place, mode)
    operands = [("data", data), ("indices", indices), ("updates", updates)]
    return _parsed("scatter_elements", [*operands, ("result", data)], body)


def scatter_nd(data: TensorType, indices: TensorType, updates: TensorType, width: int, mode: str) -> Any:
    """scatter_nd, update by update; index tuples stand along the first axis of indices."""
    if not _fits(data, indices, updates) or not width:
        return None
    outer, inner = indices.concrete_shape[1:], data.concrete_shape[width:]
    loops, rest = _names("k", len(outer)), _names("j", len(inner))
    if not loops and not rest:
        return None
    named = [(", ".join([str(m), *loops]), data.shape[m], f"scatter_nd along axis {m}") for m in range(width)]
    target = ", ".join([*(f"at{m}" for m in range(width)), *rest])
    grid = ([*loops, *rest], [*outer, *inner])
    body = _copied(data) + _written(data, indices, updates, grid, named, target, ", ".join([*loops, *rest]), mode)
    operands = [("data", data), ("indices", indices), ("updates", updates)]
    return _parsed("scatter_nd", [*operands, ("result", data)], body)


def _along(axis: int, others: Sequence[str]) -> Callable[[str], str]:
    """Writes the indices of a place along `axis`; the other axes have names."""
    return lambda at: ", ".join([*others[:axis], at, *others[axis:]])


def scan(data: TensorType, result: TensorType, axis: int, exclusive: bool, multiply: bool) -> Any:
    """A running total along `axis`, each row from its beginning; rows are independent.

    Floats narrower than 32 bits are added up in float32, and each total is rounded by itself.
    """
    if not _fits(data, result) or len(data.shape) != len(result.shape):
        return None
    shape = data.concrete_shape
    others = [at for at in range(len(shape)) if at != axis]
    loops, mine = _names("i", len(others)), _names("v", len(others))
    place = _along(axis, mine)

    wide = "float32" if result.dtype.is_float and result.dtype.bits < 32 else str(result.dtype)

    def value(at: str) -> str:
        read = f"data[{place(at)}]"
        return read if data.dtype == wide else f'T.Cast("{wide}", {read})'

    number = str(int(multiply)) + (".0" if result.dtype.is_float else "")
    row = place(f"0:{shape[axis]}")
    step = "*" if multiply else "+"
    first = f"T.{wide}({number})" if exclusive else value("0")
    added = value("k") if exclusive else value("k + 1")
    if wide == result.dtype:
        steps = [
            f"result[{place('0')}] = {first}",
            f"for k in range({shape[axis] - 1}):",
            f"{_INDENT}result[{place('k + 1')}] = result[{place('k')}] {step} {added}",
        ]
    else:
        steps = [
            f'total = T.alloc_buffer((1,), "{wide}")',
            f"total[0] = {first}",
            f'result[{place("0")}] = T.Cast("{result.dtype}", total[0])',
            f"for k in range({shape[axis] - 1}):",
            f"{_INDENT}total[0] = total[0] {step} {added}",
            f'{_INDENT}result[{place("k + 1")}] = T.Cast("{result.dtype}", total[0])',
        ]
    axes = [f"{own} = T.axis.spatial({shape[at]}, {loop})" for own, at, loop in zip(mine, others, loops, strict=True)]
    reads = f"data[{row}], result[{row}]" if wide == result.dtype else f"data[{row}]"
    block = [*axes, f"T.reads({reads})", f"T.writes(result[{row}])", *steps]
    body = ['with T.block("scan"):', *(_INDENT + line for line in block)]
    if loops:
        body = [_grid(loops, [shape[at] for at in others]), *(_INDENT + line for line in body)]
    return _parsed("scan", [("data", data), ("result", result)], body)


def sort(data: TensorType, results: Sequence[tuple[str, TensorType]], axis: int, ascend: bool) -> Any:
    """Rows of `data` along `axis` put in order, by merging (von Neumann, 1945): n log n steps, equals keep their order.

    `results` are named "values" and "places"; both hold the first elements of the order.
    """
    if not _fits(data, *(kind for _, kind in results)):
        return None
    shape = data.concrete_shape
    extent = shape[axis]
    others = [at for at in range(len(shape)) if at != axis]
    loops, mine = _names("i", len(others)), _names("v", len(others))
    place = _along(axis, mine)

    counts = {name: kind.concrete_shape[axis] for name, kind in results}
    written = [f"{name}[{place('0:' + str(count))}]" for name, count in counts.items()]
    block = [
        *(f"{own} = T.axis.spatial({shape[at]}, {loop})" for own, at, loop in zip(mine, others, loops, strict=True)),
        "T.reads(data[" + place(f"0:{extent}") + "])",
        f"T.writes({', '.join(written)})",
        *(f'{name} = T.alloc_buffer(({size},), "int64")' for name, size in _order_buffers(extent)),
        f"for k in range({extent}):",
        f"{_INDENT}order[k] = k",
        *_merges(extent, lambda at: "data[" + place(at) + "]", data.dtype, ascend),
    ]
    for name, kind in results:
        read = f"data[{place('order[k]')}]" if name == "values" else f'T.Cast("{kind.dtype}", order[k])'
        read = "order[k]" if name == "places" and kind.dtype == "int64" else read
        block += [f"for k in range({counts[name]}):", f"{_INDENT}{name}[{place('k')}] = {read}"]
    body = ['with T.block("sort"):', *(_INDENT + line for line in block)]
    if loops:
        body = [_grid(loops, [shape[at] for at in others]), *(_INDENT + line for line in body)]
    return _parsed("sort", [("data", data), *results], body)


def _order_buffers(extent: int) -> list[tuple[str, int]]:
    return [("order", extent), ("spare", extent), ("next", 2)]


def _merges(extent: int, read: Any, dtype: Any, ascend: bool) -> list[str]:
    """Runs of 1, 2, 4, ... positions in `order` merged in pairs; `next` holds how far either run is used up."""
    low, high = ("theirs", "ours") if ascend else ("ours", "theirs")
    before = f"{low} < {high}"
    mine, other = (f"order[T.min(next[{at}], {extent - 1})]" for at in (0, 1))
    if dtype.is_float:
        before = f"({before} or (not T.isnan({low}) and T.isnan({high})))"
    inner = [
        f"ours: T.let[T.{dtype}] = {read(mine)}",
        f"theirs: T.let[T.{dtype}] = {read(other)}",
        f"if next[0] < middle and (next[1] >= right or not {before}):",
        f"{_INDENT}spare[left + j] = {mine}",
        f"{_INDENT}next[0] = next[0] + 1",
        "else:",
        f"{_INDENT}spare[left + j] = {other}",
        f"{_INDENT}next[1] = next[1] + 1",
    ]
    chunk = [
        "left: T.let[T.int64] = chunk * width * 2",
        f"middle: T.let[T.int64] = T.min(left + width, {extent})",
        f"right: T.let[T.int64] = T.min(left + width * 2, {extent})",
        "next[0] = left",
        "next[1] = middle",
        "for j in range(right - left):",
        *(_INDENT + line for line in inner),
    ]
    level = [
        "width: T.let[T.int64] = T.shift_left(T.int64(1), level)",
        f"for chunk in range(({extent - 1} + width * 2) // (width * 2)):",
        *(_INDENT + line for line in chunk),
        f"for k in range({extent}):",
        f"{_INDENT}order[k] = spare[k]",
    ]
    levels = (extent - 1).bit_length()
    return [f"for level in range({levels}):", *(_INDENT + line for line in level)] if levels else []
