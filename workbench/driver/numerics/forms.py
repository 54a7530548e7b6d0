"""A loop function in the form in which it is checked: flat, bounds checked, memory poisoned, no pass after its step.

Code generation needs flat code without blocks; only the passes that make this of a function run here (`LEAST`), and
none of those that come later in the pipeline, so that they have no say.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, Final

from ...analysis.tree import loops_around, statements_in
from ...arith import nodes as n
from ...arith.nodes import literal
from ...core.module import IRModule
from ...core.node import pre_order, rewrite
from ...core.transform import PASSES, PassContext
from ...target.target import target_of_function
from ...tir import nodes as t
from ...tir.transforms.fast_functions import EXACT
from ...tir.transforms.intrinsic_rules import RULES
from ...tir.transforms.small_floats import is_small

RUNS_A_STATEMENT: Final = 1_000_000
"""From how many runs of a statement on optimising it pays, when the whole runs once."""
LEAST: Final = ("LowerBlocks", "BoundCheck", "FlattenBuffer", "VectorizeLoop")
"""Passes that code generation cannot do without, and the check of bounds while buffers still have axes."""
INTRINSICS: Final = "LowerIntrinsics"
"""One more, for functions with calls or values that only this pass knows."""


def is_flat(function: t.PrimFunc) -> bool:
    return "signature" in function.attrs


def checked_form(function: t.PrimFunc, name: str = "main") -> t.PrimFunc:
    """`function`, as it stands, in checked mode."""
    return flat_form(IRModule({name: function}), checked=True)[name]


def flat_form(module: IRModule, checked: bool) -> IRModule:
    """The module in the least form that code generation takes."""
    flat = {name: function for name, function in module.items() if is_flat(function)}
    rest = IRModule({name: function for name, function in module.items() if name not in flat})
    for name in LEAST:
        # (VectorizeLoop: scalar code, hardly optimised, would take ten times as long to run.)
        if checked or name != "BoundCheck":
            rest = PASSES[name]()(rest)
    if checked and flat:
        flat = dict(PASSES["BoundCheck"]()(IRModule(flat)).functions)
    made = module.with_functions({**flat, **rest.functions})
    with PassContext(opt_level=3, config={"tir.disable_vectorize": True}):
        made = PASSES["VectorizeLoop"]()(made)  # what is flat and not made into vectors yet stays loops
    made = _lowered(made)
    return PASSES["PoisonBuffers"]()(made) if checked else made


def lacks_lowering(function: t.PrimFunc) -> bool:
    """Whether code generation needs `INTRINSICS` first: fast functions, rules of a user's, float8 and float4."""
    target = target_of_function(function.attrs)
    ruled = RULES.has(str(target.kind) if target is not None else "llvm")
    return any(
        isinstance(node, n.PrimExpr)
        and (is_small(node.dtype) or (isinstance(node, n.Call) and (ruled or node.op in EXACT)))
        for node in pre_order(function.body)
    )


def _lowered(module: IRModule) -> IRModule:
    """The module with intrinsics lowered in the functions that lack it."""
    lacking = {name: each for name, each in module.items() if isinstance(each, t.PrimFunc) and lacks_lowering(each)}
    return module.with_functions(dict(PASSES[INTRINSICS]()(IRModule(lacking)).functions)) if lacking else module


def iterations(function: t.PrimFunc) -> int:
    """About how many innermost iterations running a function once takes; a vector counts for each of its lanes."""
    return sum(times * _width(stmt) for stmt, times, _ in _innermost(function))


def for_one_run(module: IRModule) -> tuple[IRModule, int]:
    """Forms that run once, and LLVM's level for them: none where compiling would take longer than running.

    Where LLVM optimises, what is still to be unrolled stays loops: it took 23 s for the 36 copies of a convolution's
    tile, each with what it reports.
    """
    level = max((_level(each) for each in module.functions.values() if isinstance(each, t.PrimFunc)), default=0)
    if not level:
        return module, 0
    return module.with_functions({name: rewrite(each, _rolled) for name, each in module.items()}), level


def _rolled(node: Any) -> Any:
    unrolled = isinstance(node, t.For) and node.kind is t.ForKind.UNROLLED
    return node.replace(kind=t.ForKind.SERIAL) if unrolled else node


def _level(form: t.PrimFunc) -> int:
    found = list(_innermost(form))
    runs, statements = sum(times for _, times, _ in found), sum(copies for _, _, copies in found)
    return int(runs > RUNS_A_STATEMENT * statements)


def _innermost(function: t.PrimFunc) -> Iterator[tuple[t.Stmt, int, int]]:
    """The innermost statements, how often each runs, and how many copies unrolled loops make of it."""
    for stmt, loops in loops_around(function.body):
        if not statements_in(stmt):
            extents = [(loop.kind, literal(loop.extent, 16)) for loop in loops]
            copies = prod(extent for kind, extent in extents if kind is t.ForKind.UNROLLED)
            yield stmt, prod(extent for _, extent in extents), copies


def _width(stmt: t.Stmt) -> int:
    """Lanes of the widest vector that a statement handles."""
    return max((node.dtype.lanes for node in pre_order(stmt) if isinstance(node, t.BufferLoad)), default=1)
