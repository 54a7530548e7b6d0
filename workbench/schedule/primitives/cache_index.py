"""cache_index: index expressions of a block computed once, into buffers."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.dataflow import Dataflow
from ...analysis.tree import BlockSite
from ...arith import build
from ...arith import nodes as a
from ...arith.intrinsics import is_pure
from ...arith.nodes import PrimExpr, Var, literal
from ...arith.scope import variables_in
from ...core import origin
from ...core.dtype import DataType
from ...core.node import post_order, rewrite, substitute
from ...tir import nodes as t
from ...tir.build import nest, point_region
from ..arguments import Index
from ..blocks import require_leaf
from ..caching import allocating, placed_before, require_scope
from ..errors import require
from ..kinds import require_still_independent
from ..references import BlockRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced, with_regions

_PURE = (a.Add, a.Sub, a.Mul, a.FloorDiv, a.FloorMod, a.Div, a.Mod, a.Min, a.Max, a.Select, a.Cast, a.CompareExpr,
         a.And, a.Or, a.Not, a.IntImm, a.FloatImm, a.Var)  # fmt: skip
_DIVISIONS = (a.FloorDiv, a.FloorMod, a.Div, a.Mod)
Key = tuple[tuple[object, ...], ...]


def key(expr: PrimExpr) -> Key:
    """Equal for expressions of the same operations on the same variables."""
    numbers: dict[tuple[object, ...], int] = {}
    of: dict[int, int] = {}
    for node in post_order(expr):
        parts: list[object] = [id(node)] if isinstance(node, Var) else []
        for value in () if isinstance(node, Var) else (getattr(node, name) for name in node.field_names):
            parts += value if isinstance(value, tuple) else [value]
        own = [of[id(part)] if id(part) in of else str(part) for part in parts]
        of[id(node)] = numbers.setdefault((type(node).__name__, *own), len(numbers))
    return tuple(numbers)


@primitive(category="cache", suggest={"storage_scope": ["global", "local"], "cse_thresh": [0, 1]})
def cache_index(
    state: ScheduleState, block: BlockRV, storage_scope: str, cse_thresh: Index = 0
) -> Change[list[BlockRV]]:
    """Compute the index expressions with which a block reads into buffers before its loops.

    before:  for i: C[vi] = A[vi // 3 % 4]
    after:   for ax0: index_0[v0] = v0 // 3 % 4              # one block for each expression, all answered
             for i: C[vi] = A[index_0[vi]]

    `cse_thresh` 0 takes every index that is an expression; n takes expressions, parts of indices too, that occur more
    than n times.  Indices read from buffers are not affine: later steps that must prove something about them are
    refused, so this comes last.
    Raises `ScheduleError`: no such expression, a block with others inside, iterations that run at once and would share
    what each of them makes for itself now.
    """
    site = state.block(block)
    require_leaf(state, site, "cache the indices of")
    require_scope(storage_scope)
    chosen = _chosen(site, cse_thresh)
    require(
        bool(chosen),
        "E-SCHEDULE-NO-INDEX",
        f"{site.name} has no index to compute beforehand",
        found="plain iterators, numbers, and values of buffers or inner loops",
        expected="an index that is an expression of the block's iterators"
        + (f", occurring more than {cse_thresh} times" if cse_thresh else ""),
        fix="leave the block as it is" if not cse_thresh else "try cse_thresh=0",
        nodes=(site.block,),
    )
    names = Names(state.tree.names())
    loads: dict[Key, PrimExpr] = {}
    stages: list[tuple[t.Stmt, str, t.Buffer]] = []
    for number, expr in enumerate(chosen):
        stage, load = _stage(site, expr, storage_scope, names, number)
        origin.derived(stage[0], site.block)
        stages.append(stage)
        loads[key(expr)] = load
    func = replaced(state.func, {id(site.block): _reading(site.block, loads)})
    for stage, _, _ in stages:
        func = placed_before(func, site.name, stage)
    func = allocating(func, *(buffer for _, _, buffer in stages))
    require_still_independent(state, func, _shared(func, site))
    return Change(func, tuple(name for _, name, _ in stages))


def _shared(func: t.PrimFunc, site: BlockSite) -> list[t.Buffer]:
    """The buffers that a block reads and that a loop around one that runs at once carries now, as far as is shown."""
    flow = Dataflow(func.body)
    last = max((at for at, loop in enumerate(site.loops) if loop.has_private_buffers), default=0)
    buffers = dict.fromkeys(region.buffer for region in site.block.reads)
    return [one for one in buffers if any(flow.carries(loop, one) for loop in site.loops[:last])]


def _chosen(site: BlockSite, threshold: int) -> list[PrimExpr]:
    """The expressions to compute beforehand, each once, in order of first appearance."""
    own = {id(item.var) for item in site.block.iter_vars}
    counts: dict[Key, int] = {}
    first: dict[Key, PrimExpr] = {}
    for load in post_order(site.block.body):
        if not isinstance(load, t.BufferLoad):
            continue
        for index in load.indices:
            for part in _parts(index) if threshold else [index]:
                if _is_computed(part, own):
                    counts[key(part)] = counts.get(key(part), 0) + 1
                    first.setdefault(key(part), part)
    return [expr for known, expr in first.items() if counts[known] > threshold]


def _parts(index: PrimExpr) -> list[PrimExpr]:
    return [node for node in post_order(index) if isinstance(node, PrimExpr) and node.dtype.is_integer]


def _is_computed(expr: PrimExpr, own: set[int]) -> bool:
    if isinstance(expr, (Var, a.IntImm)) or expr.dtype.lanes != 1:
        return False
    variables = variables_in(expr)
    parts = [node for node in post_order(expr) if isinstance(node, PrimExpr)]
    plain = all(isinstance(node, _PURE) or (isinstance(node, a.Call) and is_pure(node.op)) for node in parts)
    # A condition beside the load may keep a divisor from 0; there is none around what is computed before.
    divided = all(literal(node.b, 0) for node in parts if isinstance(node, _DIVISIONS))
    return plain and divided and bool(variables) and all(id(var) in own for var in variables)


def _stage(
    site: BlockSite, expr: PrimExpr, scope: str, names: Names, number: int
) -> tuple[tuple[t.Stmt, str, t.Buffer], PrimExpr]:
    """(loops with the block that computes an expression, its name, its buffer), and the load that stands for it."""
    used: Sequence[t.IterVar] = [
        item for item in site.block.iter_vars if item.var in variables_in(expr)
    ]
    name = names.fresh(f"index_{number}")
    buffer = t.Buffer(name, tuple(item.dom.extent for item in used), DataType(expr.dtype), scope)
    fresh = {item.var: Var(f"v{number}", item.var.dtype) for number, item in enumerate(used)}
    iter_vars = tuple(t.IterVar(fresh[item.var], item.dom, t.IterKind.SPATIAL) for item in used)
    where = tuple(build.subtract(fresh[item.var], item.dom.min) for item in used)
    loops = [(Var(names.fresh(f"ax{number}")), item.dom.extent) for number, item in enumerate(used)]
    values = tuple(build.add(item.dom.min, var) for (var, _), item in zip(loops, used, strict=True))
    block = t.Block(
        names.fresh(f"{name}_compute"), iter_vars, (), (point_region(buffer, where),), (), None,
        t.BufferStore(buffer, substitute(expr, fresh), where),
    )  # fmt: skip
    load = t.BufferLoad(buffer, tuple(build.subtract(item.var, item.dom.min) for item in used))
    return (nest(loops, t.BlockRealize(values, build.const(True), block)), block.name, buffer), load


def _reading(block: t.Block, loads: dict[Key, PrimExpr]) -> t.Block:
    """`block` with the indices of its loads read from buffers; larger expressions first."""

    def in_index(node: object) -> PrimExpr | None:
        if isinstance(node, PrimExpr) and not isinstance(node, (Var, a.IntImm)):
            return loads.get(key(node))
        return None

    def post(node: object) -> t.BufferLoad | None:
        if not isinstance(node, t.BufferLoad):
            return None
        indices = tuple(rewrite(index, lambda _: None, in_index) for index in node.indices)
        return (
            None if all(n is o for n, o in zip(indices, node.indices, strict=True)) else node.replace(indices=indices)
        )

    body = rewrite(block.body, post, lambda node: node if isinstance(node, t.Buffer) else None)
    return with_regions(block.replace(body=body))
