"""Copies between buffers: the common parts of cache_read, cache_write, reindex and their kin."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.bindings import writes_box
from ..analysis.coverage import fills_domain
from ..analysis.regions import Bound, hull, hull_in_domain, meet, union
from ..analysis.tree import BlockSite, Tree, domains_of
from ..arith import build
from ..arith.forms import Form
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope, are_equal, number_of
from ..core.node import post_order, substitute
from ..tir import nodes as t
from ..tir.build import nest, point_region
from .errors import refuse, require
from .legality import require_legal
from .state import ScheduleState
from .surgery import Names, Replacement, replaced

Box = list[tuple[PrimExpr, PrimExpr]]
"""(least index, number of indices) along each axis."""


def top_statement(state: ScheduleState, site: BlockSite) -> t.Stmt:
    """The statement of the root block's body that a block stands in."""
    below = site.path[2:]
    return next((part for part in (*below, site.realize) if not isinstance(part, t.SeqStmt)), site.realize)


def top_in(func: t.PrimFunc, name: str) -> t.Stmt:
    """The statement of the root block's body that the block `name` stands in, in a function."""
    now = Tree.of(func).blocks[name]
    return next(part for part in (*now.path[2:], now.realize) if not isinstance(part, t.SeqStmt))


def placed_before(func: t.PrimFunc, name: str, made: t.Stmt) -> t.PrimFunc:
    """`func` with a statement put before the loops of the block `name`."""
    top = top_in(func, name)
    return replaced(func, {id(top): (made, top)})


def placed_after(func: t.PrimFunc, name: str, made: t.Stmt) -> t.PrimFunc:
    """`func` with a statement put after the loops of the block `name`."""
    top = top_in(func, name)
    return replaced(func, {id(top): (top, made)})


def allocating(func: t.PrimFunc, *buffers: t.Buffer) -> t.PrimFunc:
    """`func` with buffers added to those that its root block allocates."""
    root = Tree.of(func).root
    changes: dict[int, Replacement] = {id(root): root.replace(alloc_buffers=(*root.alloc_buffers, *buffers))}
    return replaced(func, changes)


def cache_buffer(old: t.Buffer, scope: str, names: Names) -> t.Buffer:
    """A compact buffer like `old` in another scope."""
    require_scope(scope)
    name = names.fresh(f"{old.name}_{scope.replace('.', '_')}")
    return old.replace(name=name, scope=scope, strides=(), elem_offset=None, axis_separators=())


def require_scope(scope: str) -> None:
    """Refuse what is no name of a scope."""
    require(
        scope.replace(".", "").replace("_", "").isalnum(),
        "E-SCHEDULE-SCOPE",
        "a scope is a name",
        found=repr(scope)[:40],
        expected='"global", "local", "shared" or another of the target',
        fix='write "local"',
    )


def available_box(state: ScheduleState, old: t.Buffer, consumers: Sequence[BlockSite]) -> Box:
    """The box of `old` that is complete before the loops of `consumers`, to be copied there.

    Refuses writers in or after these loops, and contents that are not shown to be complete.
    """
    tops = [top_statement(state, site) for site in consumers]
    inside = [*consumers, *(other for top in tops for other in state.tree.under(top))]
    first = min(other.order for other in inside)
    parameter = any(old is item for item in state.func.params)
    for writer in state.tree.writers(old):
        require_legal(
            state,
            writer.order < first and not any(part is top for top in tops for part in (*writer.path, writer.realize)),
            "E-SCHEDULE-CACHE-WRITTEN",
            f"{writer.name} writes {old.name} in or after the loops of {consumers[0].name}",
            found="a copy that would be out of date",
            expected="a buffer that is complete before the loops",
            fix="cache before moving blocks together",
            nodes=(writer.block, consumers[0].block),
        )
        require_legal(
            state,
            parameter or fills_domain(writer),
            "E-SCHEDULE-PARTIAL",
            f"cannot show that {writer.name} writes all of {old.name}",
            found="loops that may leave elements out",
            expected="a buffer that is written as a whole",
            fix="cache before splitting or moving the producer",
            nodes=(writer.block,),
        )
    if parameter and state.full is not None:
        return _needed(state, old, consumers)
    return [(build.const(0), extent) for extent in old.shape] if parameter else _written(state, old)


def _needed(state: ScheduleState, old: t.Buffer, consumers: Sequence[BlockSite]) -> Box:
    """What blocks read of a buffer, of which only that need be there."""
    boxes = [_read_box(site, region) for site in consumers for region in site.reads if region.buffer is old]
    scope = consumers[0].forms
    bounds = [
        union([bound for bound in axis if bound is not None], scope) if None not in axis else None
        for axis in zip(*boxes, strict=True)
    ]  # fmt: skip
    known = [bound for bound in bounds if bound is not None]
    sizes = [bound.high.minus(bound.low).shifted(1) for bound in known]
    extents = map(scope.linear, old.shape)
    counted = all(size.same_as(extent) or scope.is_natural(size) for size, extent in zip(sizes, extents, strict=False))
    require(
        len(known) == len(bounds) and counted and _is_there(state, old, known, consumers),
        "E-SCHEDULE-REGION",
        f"what is read of {old.name} in there is not known to be a box of one size that is made before",
        found="an index that is looked up, regions that cannot be compared, or elements that may have no value yet",
        expected="a box of the same extents in each iteration, made by one block before",
        fix="cache the buffer outside, for the block around",
        nodes=tuple(site.block for site in consumers),
    )
    return [(scope.index(bound.low), scope.index(size)) for bound, size in zip(known, sizes, strict=True)]


def _is_there(state: ScheduleState, old: t.Buffer, box: Sequence[Bound], consumers: Sequence[BlockSite]) -> bool:
    """Whether all of a box has a value before the loops of `consumers`, which conditions may keep from parts of it."""
    if id(old) in (state.full or ()):
        return True
    scope = consumers[0].forms
    for writer in state.tree.writers(old):
        if any(site.order < writer.order or _share_loops(site, writer) for site in consumers):
            continue
        for region in writer.block.writes:
            if region.buffer is old and writes_box(writer, region, writer.loops):
                made = hull_in_domain(region, writer, writer.loops)
                if all(bound is not None and _holds(bound, one, scope) for bound, one in zip(made, box, strict=True)):
                    return True
    return False


def _share_loops(one: BlockSite, other: BlockSite) -> bool:
    return any(loop is item for loop in one.loops for item in other.loops)


def _holds(outer: Bound, inner: Bound, scope: Scope) -> bool:
    return scope.at_most(outer.low, inner.low) and scope.at_most(inner.high, outer.high)


def _read_box(site: BlockSite, region: t.BufferRegion) -> tuple[Bound | None, ...]:
    """What a block reads while its loops run; these may reach beyond its domain, and its indices beyond the buffer,
    where a condition keeps it from reading."""
    wholes = [Bound(Form({}, 0), site.forms.linear(size).shifted(-1)) for size in region.buffer.shape]
    pairs = zip(hull_in_domain(region, site, site.loops), wholes, strict=True)
    return tuple(None if bound is None else meet(bound, whole, site.forms) for bound, whole in pairs)


def _written(state: ScheduleState, buffer: t.Buffer) -> Box:
    """The box that a buffer's writers fill, the same for all of them."""
    boxes = [
        written_box(writer, region)
        for writer in state.tree.writers(buffer)
        for region in writer.block.writes
        if region.buffer is buffer
    ]
    alike = all(
        are_equal(one, other)
        for box in boxes[1:]
        for pair, first in zip(box, boxes[0], strict=True)
        for one, other in zip(pair, first, strict=True)
    )
    require(
        bool(boxes) and alike,
        "E-SCHEDULE-PARTIAL",
        f"cannot tell which part of {buffer.name} is written",
        found="writers of different parts" if boxes else "no writer",
        expected="a buffer that one block fills",
        fix="choose another buffer",
        nodes=(buffer,),
    )
    return boxes[0]


def require_alone_in_loops(state: ScheduleState, site: BlockSite, old: t.Buffer, but: Sequence[BlockSite] = ()) -> None:
    """Refuse others that use what a block writes inside its loops, `but` those who will read the copy."""
    top = top_statement(state, site)
    for other in state.tree.accessing(old):
        excused = any(other is item for item in (site, *but))
        require_legal(
            state,
            excused or all(part is not top for part in (*other.path, other.realize)),
            "E-SCHEDULE-CACHE-SHARED",
            f"{other.name} uses {old.name} inside the same loops as {site.name}",
            found=f"a reader that would come before the copy into {old.name}",
            expected="readers after the loops",
            fix="cache before moving blocks together",
            nodes=(other.block, site.block),
        )


def require_covering(state: ScheduleState, site: BlockSite) -> None:
    """Refuse a block that may leave out elements: a copy of its buffer would read what nobody wrote."""
    require_legal(
        state,
        fills_domain(site),
        "E-SCHEDULE-PARTIAL",
        f"cannot show that {site.name} runs through all of its domain",
        found="loops that may leave elements out",
        expected="a block that writes everything it is declared to",
        fix="cache before splitting or moving",
        nodes=(site.block,),
    )


def filled_box(state: ScheduleState, site: BlockSite, region: t.BufferRegion) -> Box:
    """The box that a block has filled when its loops are over: all of its domain, or what they run through of it."""
    declared = written_box(site, region)
    if not fills_domain(site):
        box = _box_of_loops(site, region, declared)
        if box is not None:
            return box
        require_covering(state, site)
    return declared


def _box_of_loops(site: BlockSite, region: t.BufferRegion, declared: Box) -> Box | None:
    """What the loops run through of the declared box, where they leave nothing out: along each axis all of it, or a
    part of constant size."""
    if not writes_box(site, region, site.loops):
        return None
    scope, found = site.forms, Box()
    for bound, (least, count) in zip(hull(region, site, site.loops), declared, strict=True):
        if bound is None:
            return None
        begin = scope.linear(least)
        last = begin.plus(scope.linear(count)).shifted(-1)
        ends = bound.low.constant, bound.high.constant, begin.constant, last.constant
        if None not in ends:
            low, high = max(ends[0] or 0, ends[2] or 0), min(ends[1] or 0, ends[3] or 0)
            found.append((build.const(low), build.const(high - low + 1)))
            continue
        if bound.low.same_as(begin) and bound.high.same_as(last):
            found.append((least, count))
            continue
        extent = bound.high.minus(bound.low).shifted(1).constant
        if extent is None or not _holds(Bound(begin, last), bound, scope):
            return None
        found.append((scope.index(bound.low), build.const(extent)))
    return found


def copy_block(
    name: str, source: t.Buffer, target: t.Buffer, axes: Sequence[tuple[PrimExpr, PrimExpr]]
) -> tuple[t.Stmt, str]:
    """Loops and a block that copy a box (least index and extent along each axis), and the block's name."""
    loops: list[tuple[Var, PrimExpr]] = []
    iter_vars: list[t.IterVar] = []
    values: list[PrimExpr] = []
    for number, (low, extent) in enumerate(axes):
        var = Var(f"ax{number}")
        loops.append((var, extent))
        iter_vars.append(t.IterVar(Var(f"v{number}"), t.Range(low, extent), t.IterKind.SPATIAL))
        values.append(build.add(low, var))
    where = tuple(item.var for item in iter_vars)
    block = t.Block(
        name,
        tuple(iter_vars),
        (point_region(source, where),),
        (point_region(target, where),),
        (),
        None,
        t.BufferStore(target, t.BufferLoad(source, where), where),
    )
    return nest(loops, t.BlockRealize(tuple(values), build.const(True), block)), name


def written_box(site: BlockSite, region: t.BufferRegion) -> Box:
    """What a block writes along each axis."""
    block, scope = site.block, site.forms
    if not _is_plain_inside(block, region.buffer):
        raise _no_box(block)
    found, used = Box(), set[Var]()
    domains = {item.var: item.dom for item in block.iter_vars}
    single = {var: dom.min for var, dom in domains.items() if number_of(dom.extent) == 1}
    for axis in region.region:
        form, still = scope.parted(scope.linear(substitute(axis.min, single)), site.iterators)
        if scope.moves(scope.linear(axis.extent), site.iterators) or not site.is_held(still):
            raise _no_box(block)
        if form.constant is not None:
            found.append((scope.index(still), axis.extent))
        elif (var := scope.only_variable(form)) is not None and not (still.offset or var in used):
            used.add(var)
            domain = domains[var]
            begin = build.add(scope.index(still), domain.min) if still.terms else domain.min
            found.append((begin, build.add(domain.extent, build.subtract(axis.extent, 1))))
        else:
            raise _no_box(block)
    return found


def _no_box(block: t.Block) -> Exception:
    return refuse(
        "E-SCHEDULE-CACHE-REGION",
        f"what {block.name} writes is not a box of its iterators",
        found="an index that is an expression",
        expected="an access like C[vi, vj]",
        fix="choose another block",
        nodes=(block,),
    )


def _is_plain_inside(block: t.Block, buffer: t.Buffer) -> bool:
    """Whether blocks inside write, along each axis, one of their iterators from a place on: a tile without gaps."""
    inside = [node for node in post_order(block.body) if isinstance(node, t.Block)]
    for inner in inside:
        scope, used = domains_of(inner), set[Var | None]()
        own = scope.numbers(item.var for item in inner.iter_vars)
        for region in inner.writes:
            for axis in region.region if region.buffer is buffer else ():
                moving = scope.parted(scope.linear(axis.min), own)[0]
                var = scope.only_variable(moving)
                if moving.terms and (var is None or var in used):
                    return False
                used.add(var)
    return True
