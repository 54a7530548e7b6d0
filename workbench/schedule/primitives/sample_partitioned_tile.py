"""sample_partitioned_tile: factors of a loop's extent, drawn so that the inner ones are a multiple of a number."""

from __future__ import annotations

from math import prod

from ..arguments import Factor, Index
from ..errors import require
from ..references import ExprRV, LoopRV
from ..registry import primitive
from ..sampling import Draws, divisors, draw_factors, factorisations
from ..state import Change, ScheduleState
from .sample_perfect_tile import require_product, sampled_extent


@primitive(category="sample", suggest={"n": [2, 3]})
def sample_partitioned_tile(
    state: ScheduleState,
    loop: LoopRV,
    n: Factor,
    partition_pos: Index = 0,
    innerpart_factor: Factor = 1,
    decision: list[Factor] | None = None,
) -> Change[list[ExprRV]]:
    """Draw `n` factors of a loop's extent; the product of those from `partition_pos` on is a multiple of a number.

    before:  for i in range(24): S(i)
    after:   the same program; v0, v1 = sch.sample_partitioned_tile(i, n=2, partition_pos=1, innerpart_factor=4) are
             6 and 4, or 3 and 8, or 2 and 12, or 1 and 24

    Every choice is equally likely.
    Raises `ScheduleError`: an extent that is not a constant or no multiple of `innerpart_factor`, a position outside
    of 0 to n, a decision that is not of such factors.
    """
    extent = sampled_extent(state, loop, n)
    old = state.loop(loop)
    require(
        0 <= partition_pos <= n and (partition_pos < n or innerpart_factor == 1),
        "E-SCHEDULE-PARTITION",
        f"there is no part of {n} factors from position {partition_pos} on",
        found=f"partition_pos = {partition_pos}",
        expected=f"0 to {n - 1}",
        fix="partition_pos counts the factors of the outer part",
        nodes=(old,),
    )
    require(
        extent % innerpart_factor == 0,
        "E-SCHEDULE-PARTITION",
        f"the inner factors of {old.var.name} cannot be a multiple of {innerpart_factor}",
        found=f"{extent} iterations",
        expected=f"an extent that {innerpart_factor} divides",
        fix="pad the loop, or choose another innerpart_factor",
        nodes=(old,),
    )
    draws = Draws(state.random)
    if decision is None:
        parts = [part for part in divisors(extent) if part % innerpart_factor == 0]
        weights = [
            factorisations(extent // part, partition_pos) * factorisations(part, n - partition_pos) for part in parts
        ]
        inner = parts[draws.weighted(weights)]
        outer_factors = draw_factors(draws, extent // inner, partition_pos)
        chosen = (*outer_factors, *draw_factors(draws, inner, n - partition_pos))
    else:
        chosen = tuple(decision)
        require_product(state, loop, chosen, extent, n)
        require(
            prod(chosen[partition_pos:]) % innerpart_factor == 0,
            "E-SCHEDULE-DECISION",
            f"the decision's inner factors are no multiple of {innerpart_factor}",
            found=f"factors {list(chosen)}, the inner ones make {prod(chosen[partition_pos:])}",
            expected=f"a multiple of {innerpart_factor} from position {partition_pos} on",
            fix="leave the decision out to draw again",
            nodes=(old,),
        )
    return Change(state.func, chosen, decision=chosen, random=draws.state)
