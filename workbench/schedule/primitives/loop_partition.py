"""loop_partition: one loop becomes several, one after the other."""

from __future__ import annotations

from ...analysis.reduction_loops import reduce_variables
from ...analysis.regions import accesses
from ...analysis.tree import BlockSite, extent_of
from ...arith import build
from ...arith.nodes import PrimExpr, Var
from ...arith.scope import Scope, variables_in
from ...core import origin
from ...core.node import Node, post_order, rewrite, substitute
from ...tir import nodes as t
from ..arguments import Factor
from ..errors import refuse, require
from ..kinds import require_still_independent
from ..references import LoopRV
from ..registry import primitive
from ..state import Change, ScheduleState
from ..surgery import Names, replaced, tidied


@primitive(
    category="loop", keeps_order=True, suggest={"factors": [[2], [1, None], [None, 1], [2, None, 1]]},
)  # fmt: skip
def loop_partition(
    state: ScheduleState, loop: LoopRV, factors: list[Factor | None], preserve_unit_iters: bool = True
) -> Change[list[LoopRV]]:
    """Divide the iterations of a loop into loops that follow one another, of the given extents; one may be None.

    before:  for i in range(10): S(i)
    after:   for i_0 in range(2): S(i_0)               # factors=[2, None, 1]; all three loops are answered
             for i_1 in range(7): S(i_1 + 2)
             for i_2 in range(1): S(i_2 + 9)

    Without a None, a last loop takes what is left.  Blocks of later loops get names of their own; where a reduction is
    divided, only the first part keeps its initialisation.  `preserve_unit_iters=False` puts the number in the place of
    the variable of a loop of one iteration.  Order is kept, so this is legal unless a buffer is private to each
    iteration of a loop inside that runs at once: all parts would share it.
    Raises `ScheduleError`: a loop that is not serial or whose extent is not a constant, two Nones, extents beyond the
    loop's, statements outside blocks, a private buffer inside.
    """
    old = state.loop(loop)
    require(
        old.kind is t.ForKind.SERIAL and not old.annotations,
        "E-SCHEDULE-PARTITION-KIND",
        f"cannot partition {old.var.name}: it is {'annotated' if old.annotations else old.kind.value}",
        found=f"a loop of kind {old.kind.value}",
        expected="a serial loop without annotations",
        fix="partition first, annotate the parts afterwards",
        nodes=(old,),
    )
    extents = _extents(old, factors)
    sites = state.tree.under(old)
    parts = _Parts(old, sites, Names(state.tree.names()), Names(set(state.tree.blocks)))
    offset, made = 0, list[t.For]()
    for number, extent in enumerate(extents):
        made.append(parts.part(number, offset, extent, preserve_unit_iters))
        offset += extent
    func = replaced(state.func, {id(old): made})
    if len(made) > 1 and any(isinstance(node, t.For) and node.kind in t.AT_ONCE for node in post_order(old.body)):
        require_still_independent(state, func, [region.buffer for site in sites for region in site.block.writes])
    return Change(tidied(func, parts.blocks), tuple(part.var for part in made))


def _extents(old: t.For, factors: list[int | None]) -> list[int]:
    extent = extent_of(old)
    if extent is None:
        raise refuse(
            "E-SCHEDULE-PARTITION-EXTENT",
            f"cannot partition {old.var.name}: its extent is not a constant",
            found="a symbolic extent",
            expected="a constant extent",
            fix="split the loop by a constant and partition the inner part",
            nodes=(old,),
        )
    open_ones = sum(factor is None for factor in factors)
    rest = extent - sum(factor or 0 for factor in factors)
    require(
        len(factors) >= 1 and open_ones <= 1 and rest >= open_ones,
        "E-SCHEDULE-PARTITION-FACTORS",
        f"these are no parts of the {extent} iterations of {old.var.name}",
        found=f"{list(factors)}",
        expected=f"extents that make at most {extent} together, at most one of them None",
        fix="for example [1, None]",
        nodes=(old,),
    )
    parts = [rest if factor is None else factor for factor in factors]
    return parts if open_ones or not rest else [*parts, rest]


def _without_init(block: t.Block) -> t.Block:
    """A reduction's block that goes on with what an earlier part has made: it reads what it writes."""
    loaded = {id(access.buffer) for access in accesses(block.body) if not access.is_store}
    own = tuple(region for region in block.writes if id(region.buffer) in loaded)
    return block.replace(init=None, reads=(*own, *block.reads))


class _Parts:
    """Makes the parts of a loop; the first one keeps the blocks' names and the loops inside."""

    def __init__(self, old: t.For, sites: tuple[BlockSite, ...], names: Names, block_names: Names) -> None:
        self.old = old
        self.sites = sites
        self.names = names
        self.block_names = block_names
        self.blocks: list[str] = []
        self._check()

    def _check(self) -> None:
        inside = {id(node) for site in self.sites for node in post_order(site.block)}
        for node in post_order(self.old.body):
            loose = isinstance(node, (t.BufferStore, t.Evaluate, t.AllocBuffer, t.While)) and id(node) not in inside
            require(
                not loose,
                "E-SCHEDULE-GUARD",
                "the loop cannot be partitioned: its body has statements outside blocks",
                found=f"a {type(node).__name__}",
                expected="blocks only",
                fix="put the statement into a block",
                nodes=(node,),
            )

    def part(self, number: int, offset: int, extent: int, keep_units: bool) -> t.For:
        old = self.old
        var = Var(self.names.fresh(f"{old.var.name}_{number}"), old.var.dtype)
        index: PrimExpr = build.add(old.min, offset) if extent == 1 and not keep_units else build.add(
            build.add(old.min, offset), var
        )  # fmt: skip
        body = old.body if number == 0 else self._copied(offset)
        if number == 0:
            self.blocks.extend(site.name for site in self.sites)
        body = substitute(body, {old.var: index})
        return origin.derived(t.For(var, build.const(0), build.const(extent), t.ForKind.SERIAL, body), old)

    def _copied(self, offset: int) -> t.Stmt:
        """The body with fresh variables, buffers of its own and block names, and without initialisations that belong to
        earlier parts."""
        fresh: dict[Node, Node] = {}
        kept = {site.name: not self._is_later(site, offset) for site in self.sites}
        for node in post_order(self.old.body):
            if isinstance(node, (t.For, t.LetStmt, t.IterVar)):
                fresh[node.var] = Var(self.names.fresh(node.var.name), node.var.dtype)
            for buffer in node.alloc_buffers if isinstance(node, t.Block) else ():
                fresh[buffer] = buffer.replace(name=self.names.fresh(buffer.name))
        body = substitute(self.old.body, fresh)

        def post(node: t.Block) -> t.Block | None:
            if not isinstance(node, t.Block):
                return None
            made = node.replace(name=self.block_names.fresh(node.name))
            return made if kept.get(node.name, True) else _without_init(made)

        made: t.Stmt = rewrite(body, post)
        self.blocks.extend(node.name for node in post_order(made) if isinstance(node, t.Block))
        return made

    def _from(self, loop: t.For, offset: int | PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Where a loop begins, and its extent, if the one that is parted begins `offset` later."""
        if loop is not self.old:
            return loop.min, loop.extent
        return build.add(loop.min, offset), build.subtract(loop.extent, offset)

    def _is_later(self, site: BlockSite, offset: int) -> bool:
        """Whether a block's initialisation belongs to an earlier part: the loop steps through its reduction.

        Refuses a reduction whose first iteration cannot be told to be in the first part.
        """
        if site.block.init is None or id(self.old.var) not in reduce_variables(site):
            return False
        scope = Scope()
        own = {scope.enter(loop.var, *self._from(loop, offset)) for loop in site.loops}
        for item, value in site.bindings:
            if item.kind is not t.IterKind.REDUCE or self.old.var not in variables_in(value):
                continue
            least = scope.ends(scope.linear(value), own)[0]
            if least is not None and scope.at_most(scope.linear(item.dom.min).shifted(1), least):
                return True
        raise refuse(
            "E-SCHEDULE-PARTITION-REDUCTION",
            f"cannot tell in which part of {self.old.var.name} the reduction of {site.name} begins",
            found="a reduction that may begin in a later part",
            expected="reduction loops that begin with the first value",
            fix="decompose the reduction first",
            nodes=(self.old, site.block),
        )
