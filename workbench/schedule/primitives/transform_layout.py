"""transform_layout: the elements of a buffer in other places."""

from __future__ import annotations

from ...analysis.tree import BlockSite, Tree
from ...arith import build
from ...arith.nodes import PrimExpr, Var, literal
from ...core import origin
from ...core.errors import WorkbenchError
from ...core.node import substitute
from ...tir import nodes as t
from ...tir.build import nest, point_region
from ...tir.index_map import IndexMap
from ..arguments import BufferChoice
from ..blocks import chosen_buffer, require_not_addressed
from ..caching import top_statement
from ..errors import refuse, require
from ..layouts import (
    is_parameter,
    mapped_shape,
    marked_unsafe,
    relaid,
    require_injective,
    require_plain_storage,
    require_rank,
)
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, Replacement, replaced

SUGGESTED = (
    "lambda i, j: (j, i)",
    "lambda i, j: (i // 2, j, i % 2)",
    "lambda i, j: (i, j // 4, j % 4)",
    "lambda i, j, k: (k, i, j)",
    "lambda i, j, k: (i, k // 2, j, k % 2)",
    "lambda i: (i // 2, i % 2)",
    "lambda i, j, k, l: (i, l, j * 1, k)",
)
"""Maps worth trying: exchanges and blocks of small sizes."""


@primitive(category="cache", suggest={"buffer": [("own", 0), ("own", 1)], "index_map": SUGGESTED})
def transform_layout(
    state: ScheduleState,
    block: BlockRV,
    buffer: BufferChoice,
    index_map: IndexMap,
    pad_value: int | float | None = None,
    assume_injective_transform: bool = False,
) -> Change[None]:
    """Keep the elements of a buffer in other places: element (i, j) of the old lies at index_map(i, j) of the new.

    before:  C = T.alloc_buffer((8, 6));     C[vi, vj] = ...;  D[...] = C[vi, vj]
    after:   C = T.alloc_buffer((2, 6, 4));  C[vi // 4, vj, vi % 4] = ...;  D[...] = C[vi // 4, vj, vi % 4]
             # transform_layout(C, ("write", 0), lambda i, j: (i // 4, j, i % 4))

    `buffer` is ("read", number), ("write", number), ("own", number) among those that the function allocates, a name
    or the `Buffer`.  A map that does not fill its box leaves padding, whose values are undefined unless `pad_value`
    is given: then a block before the first use writes them.  Loops stay as they are; `transform_block_layout`
    changes them.  A parameter of the function changes for its callers, which a note says.
    Raises `ScheduleError`: a map of another rank, one that takes two elements to one place (they are named), one for
    which neither is shown, negative indices, padding of a parameter that is only read.
    """
    site = state.block(block)
    old = chosen_buffer(state, site, buffer)
    require_rank(index_map, len(old.shape), old.name, (site.block,))
    require_not_addressed(state, old)
    require_plain_storage(state, site, old, "transform")
    shape = mapped_shape(index_map, old.shape, (site.block,))
    shown = require_injective(index_map, old.shape, assume_injective_transform, (site.block,))
    new = old.replace(shape=shape, axis_separators=index_map.separators)
    _require_sizes_told(state, site, old, new)
    func = relaid(state.func, old, new, index_map)
    if pad_value is not None and index_map.is_bijective(old.shape) is not True:
        func = _padded(state, site, func, old, new, index_map, pad_value)
    notes: list[str] = []
    number = next((number for number, item in enumerate(state.func.params) if item is old), None)
    if number is not None:
        notes.append(f"{old.name} is a parameter: callers pass it in the new layout, {index_map.text}")
    if not shown:
        notes.append(f"unsafe: {index_map.text} is assumed to keep the elements of {old.name} apart")
        func = marked_unsafe(func)
    return Change(func, notes=tuple(notes), relaid=None if number is None else (number, index_map.text))


def _require_sizes_told(state: ScheduleState, site: BlockSite, old: t.Buffer, new: t.Buffer) -> None:
    """Refuse to change a parameter that alone tells a size by itself: callers' arrays would not say it any more."""
    params = [new if item is old else item for item in state.func.params]
    plain = {id(item) for item in params if isinstance(item, Var)}
    plain |= {id(extent) for item in params if isinstance(item, t.Buffer) for extent in item.shape}
    lost = [extent for extent in old.shape if isinstance(extent, Var) and id(extent) not in plain]
    require(
        not is_parameter(state, old) or not lost,
        "E-SCHEDULE-LAYOUT-SIZE",
        f"no argument would say what {', '.join(var.name for var in lost)} is",
        found=f"{old.name}, of which alone it is an extent by itself",
        expected="another parameter with an axis of this extent",
        fix="cache_write the parameter first and transform the copy",
        nodes=(site.block,),
    )


def _padded(
    state: ScheduleState,
    site: BlockSite,
    func: t.PrimFunc,
    old: t.Buffer,
    new: t.Buffer,
    index_map: IndexMap,
    pad_value: int | float,
) -> t.PrimFunc:
    """`func` with a block before the first use of `new` that writes what the map leaves out."""
    users = state.tree.accessing(old)
    require(
        not is_parameter(state, old) or bool(state.tree.writers(old)),
        "E-SCHEDULE-LAYOUT-PAD",
        f"the padding of {old.name} is its caller's to write",
        found="a parameter that the function only reads",
        expected="a buffer that the function writes",
        fix="leave pad_value out, or cache_read the parameter first and transform the copy",
        nodes=(site.block,),
    )
    require(
        bool(users),
        "E-SCHEDULE-LAYOUT-PAD",
        f"the padding of {old.name} would have to be written inside of another block",
        found="a buffer that blocks within a block use",
        expected="a buffer of the function",
        fix="leave pad_value out",
        nodes=(site.block,),
    )
    value = build.const(pad_value, old.dtype)
    require(
        old.dtype.is_float or literal(value, None) == pad_value,
        "E-SCHEDULE-LAYOUT-PAD",
        f"{old.name} cannot hold {pad_value}",
        found=f"pad_value={pad_value!r}",
        expected=f"a value of {old.dtype}",
        fix="choose another pad_value",
        nodes=(site.block,),
    )
    try:
        inverse, missing = index_map.non_surjective_inverse(old.shape)
    except WorkbenchError as error:
        raise refuse(
            "E-SCHEDULE-LAYOUT-PAD",
            f"cannot tell which elements are padding: {error.message}",
            found=index_map.text,
            expected="a mixed-radix map, whose inverse is known",
            fix="leave pad_value out",
            nodes=(site.block,),
        ) from None
    names = Names(state.tree.names())
    first = min(users, key=lambda user: user.order)
    top = top_statement(state, first)
    before = Tree.of(func)
    now = before.blocks[first.name]
    position = now.realize if top is first.realize else next(s for s in now.path[2:] if not isinstance(s, t.SeqStmt))
    placed = _pad_nest(new, inverse, missing, value, names)
    origin.derived(placed, first.block)
    changes: dict[int, Replacement] = {id(position): (placed, position)}
    return replaced(func, changes)


def _pad_nest(buffer: t.Buffer, inverse: IndexMap, missing: PrimExpr, value: PrimExpr, names: Names) -> t.Stmt:
    """Loops over a buffer and a block that writes its padding."""
    loops = [(Var(names.fresh(f"ax{number}")), extent) for number, extent in enumerate(buffer.shape)]
    iter_vars = tuple(
        t.IterVar(Var(f"v{number}"), t.Range(build.const(0), extent), t.IterKind.SPATIAL)
        for number, extent in enumerate(buffer.shape)
    )
    where = tuple(item.var for item in iter_vars)
    predicate = substitute(missing, dict(zip(inverse.initial_indices, (var for var, _ in loops), strict=True)))
    block = t.Block(
        names.fresh(f"{buffer.name}_pad"), iter_vars, (), (point_region(buffer, where),), (), None,
        t.BufferStore(buffer, value, where),
    )  # fmt: skip
    return nest(loops, t.BlockRealize(tuple(var for var, _ in loops), predicate, block))
