"""split: one loop becomes several, nested."""

from __future__ import annotations

from ...arith import build
from ...arith.nodes import PrimExpr, Var
from ...arith.scope import Scope
from ...tir import nodes as t
from ...tir.build import nest
from ..arguments import Factor
from ..errors import require
from ..legality import require_legal
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, guarded, loop_replaced, substituted, tidied_in, without_unit_variables


@primitive(
    category="loop", keeps_order=True,
    suggest={"factors": [[None, 4], [None, 2], [2, None], [None, 3], [2, None, 2], [3, 5]]},
)  # fmt: skip
def split(
    state: ScheduleState,
    loop: LoopRV,
    factors: list[Factor | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> Change[list[LoopRV]]:
    """Divide a loop into nested loops of the given extents, outermost first; one of them may be None, for the rest.

    before:  for i in range(30): S(i)
    after:   for i_0, i_1 in grid(8, 4): where i_0 * 4 + i_1 < 30: S(i_0 * 4 + i_1)      # factors=[None, 4]

    The guard stands only where the factors do not divide the extent.  Order is kept, so this is always legal.
    `preserve_unit_iters=False` puts the number in the place of the variable of a loop of one iteration.
    `disable_predication` leaves the guard out, which is legal only if the factors are known to divide the extent.
    Raises `ScheduleError`: a loop that is not serial, two Nones, factors whose product is below the extent, a guard
    that may not be left out.
    """
    old = state.loop(loop)
    require(
        old.kind is t.ForKind.SERIAL and not old.thread,
        "E-SCHEDULE-SPLIT-KIND",
        f"cannot split {old.var.name}: it is {old.kind.value}",
        found=f"a loop of kind {old.kind.value}",
        expected="a serial loop",
        fix="split first, annotate the parts afterwards",
        nodes=(old,),
    )
    require(
        len(factors) >= 1 and sum(factor is None for factor in factors) <= 1,
        "E-SCHEDULE-SPLIT-FACTORS",
        "factors name the extents of the new loops, at most one of them None",
        found=f"{list(factors)}",
        expected="for example [None, 8]",
        fix="leave one factor open",
        nodes=(old,),
    )
    extents, exact = _extents(old, factors)
    names = Names(state.tree.names())
    new = [Var(names.fresh(f"{old.var.name}_{position}"), old.var.dtype) for position in range(len(extents))]
    index: PrimExpr = build.const(0, old.var.dtype)
    for var, extent in zip(new, extents, strict=True):
        index = build.add(build.multiply(index, extent), var)
    body = old.body
    if disable_predication:
        require_legal(
            state,
            exact,
            "E-SCHEDULE-UNGUARDED",
            f"the guard of {old.var.name} is needed: the factors are not shown to divide its extent",
            found=f"factors {list(factors)}",
            expected="factors whose product divides the extent",
            fix="leave disable_predication out",
            nodes=(old,),
        )
    elif not exact:
        body = guarded(body, build.less(old.var, build.add(old.min, old.extent)))
    body = substituted(body, {old.var: build.add(build.cast(old.var.dtype, old.min), index)})
    if not preserve_unit_iters:
        body = without_unit_variables(body, new, extents)
    made = nest(list(zip(new, extents, strict=True)), body)
    return Change(loop_replaced(state.tree, old, tidied_in(state.tree, old, made)), tuple(new))


def _extents(old: t.For, factors: list[int | None]) -> tuple[list[PrimExpr], bool]:
    """The new extents, and whether their product is the old extent."""
    product = 1
    for factor in factors:
        product *= factor or 1
    scope, dtype = Scope(), old.var.dtype
    form = scope.linear(old.extent)
    extent = form.constant
    if None in factors:
        exact = not any(count % product for count in (*form.terms.values(), form.offset))
        rest = scope.written(scope.atoms.divided(form, product), dtype) if exact and product > 1 else None
        if rest is None or rest.dtype != dtype:
            rest = build.floordiv(build.add(old.extent, product - 1), product)
        return [rest if factor is None else build.const(factor, dtype) for factor in factors], exact
    require(
        extent is not None and product >= extent,
        "E-SCHEDULE-SPLIT-PRODUCT",
        f"the factors do not cover {old.var.name}",
        found=f"factors {list(factors)} make {product} iterations"
        + (f", the loop has {extent}" if extent is not None else ", the loop's extent is symbolic"),
        expected="a product of at least the extent",
        fix=f"use {[None, *factors[1:]]}",
        nodes=(old,),
    )
    return [build.const(factor, dtype) for factor in factors if factor is not None], product == extent
