"""The boxes of the schedule editor: the loop tree of a program, and which reference each box stands for.

"b:C" is block C, "l:C:1" the second loop around it, counted from outside; the first block below a loop names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..arith.nodes import Var, literal
from ..core.errors import WorkbenchError
from ..schedule.references import BlockRV, LoopRV, Reference
from ..schedule.schedule import Schedule
from ..schedule.trial import live_reference
from ..tir import nodes as t
from ..tir.script import text
from .schema import TreeNode
from .strings.tables import say

Kept = tuple[str, tuple[str, ...]]

_KINDS: Final[dict[t.ForKind, Any]] = {
    t.ForKind.SERIAL: "serial",
    t.ForKind.PARALLEL: "parallel",
    t.ForKind.VECTORIZED: "vectorized",
    t.ForKind.UNROLLED: "unrolled",
    t.ForKind.THREAD_BINDING: "thread",
}


def referenced(schedule: Schedule) -> tuple[Schedule, dict[str, Reference]]:
    """A copy in which every box has a reference, and these by box; what stands inside of a made block is one too."""
    made = schedule.copy()
    found: dict[str, Reference] = {}
    named: set[int] = set()
    for site in [site for site in made.state.tree.blocks.values() if site.block is not made.state.tree.root]:
        block = made.get_block(site.name)
        found[f"b:{site.name}"] = block
        for depth, loop in enumerate(made.get_loops(block)):
            if id(loop.target) not in named:
                named.add(id(loop.target))
                found[f"l:{site.name}:{depth}"] = loop
    return made, found


def meant(schedule: Schedule, given: Any) -> Any:
    """An argument from the screen; boxes become references of `schedule` (asked for if it has none yet)."""
    if isinstance(given, list):
        return [meant(schedule, item) for item in given]
    if not isinstance(given, str) or given[:2] not in ("b:", "l:"):
        return given
    name = given[2:] if given.startswith("b:") else given[2:].rpartition(":")[0]
    block = live_reference(schedule.state, name) or schedule.get_block(name)
    if given.startswith("b:"):
        return block
    site = schedule.state.find_block(name)
    depth = _depth(given)
    around = len(site.loops)
    if not 0 <= depth < around:
        raise WorkbenchError(
            "E-SCHEDULE-SELECTION", "there is no such loop any more", where="an argument that is a box",
            found=repr(given[:60]), expected=f"l:{name}:0 to l:{name}:{around - 1}" if around else "a block",
            fix="choose the loop again", kept="the schedule is unchanged",
        )  # fmt: skip
    return live_reference(schedule.state, site.loops[depth].var) or schedule.get_loops(block)[depth]


def _depth(box: str) -> int:
    """The number at the end of a loop's box; -1 where a stranger's text has none."""
    try:
        return int(box.rpartition(":")[2])
    except ValueError:
        return -1


def tree_of(
    func: t.PrimFunc, references: Mapping[str, Reference], kept: Callable[[Var], Kept] = lambda var: ("", ())
) -> tuple[TreeNode, ...]:
    """`kept` gives what a loop's variable is known by, and what it was made of; see `editor_kept`."""
    boxes = {id(reference.target): box for box, reference in references.items() if isinstance(reference, LoopRV)}
    return _nodes(func.body, _Told(boxes, kept))


@dataclass(frozen=True)
class _Told:
    """What is told of loops besides what the program says."""

    boxes: Mapping[int, str]
    kept: Callable[[Var], Kept]


def _nodes(stmt: t.Stmt | None, told: _Told) -> tuple[TreeNode, ...]:
    """The boxes of a statement; programs nest as shallowly as their text does."""
    if isinstance(stmt, t.SeqStmt):
        return tuple(node for part in stmt.stmts for node in _nodes(part, told))
    if isinstance(stmt, t.For):
        key, made_of = told.kept(stmt.var)
        return (
            TreeNode(
                id=told.boxes.get(id(stmt.var), f"x:{stmt.var.name}"),
                kind="loop",
                name=stmt.var.name,
                extent=str(literal(stmt.extent, "n")),
                loop_kind=_KINDS[stmt.kind],
                children=_nodes(stmt.body, told),
                key=key,
                made_of=made_of,
            ),
        )
    if isinstance(stmt, t.BlockRealize):
        return _block(stmt, told)
    if isinstance(stmt, t.IfThenElse):
        return _nodes(stmt.then_case, told) + _nodes(stmt.else_case, told)
    return ()


def _block(realize: t.BlockRealize, told: _Told) -> tuple[TreeNode, ...]:
    block = realize.block
    inside = _nodes(block.body, told)
    if not block.iter_vars and inside:
        return inside
    reads = ", ".join(dict.fromkeys(region.buffer.name for region in block.reads))
    writes = ", ".join(dict.fromkeys(region.buffer.name for region in block.writes))
    return (
        TreeNode(
            id=f"b:{block.name}",
            kind="block",
            name=block.name,
            detail=_guarded(realize, f"{reads or say.schedule.nothing} → {writes}"),
            reduction=any(item.kind is t.IterKind.REDUCE for item in block.iter_vars),
            children=inside,
        ),
    )


def _guarded(realize: t.BlockRealize, touched: str) -> str:
    """With the guard of a block whose loops run past its domain: of 5 x 23 iterations for 112, three do nothing."""
    predicate = realize.predicate
    if literal(predicate, None):
        return touched
    return say.schedule.guarded(touched, text(predicate).text)


def boxes_of(nodes: Sequence[Any], references: Mapping[str, Reference]) -> Iterator[str]:
    """The boxes that stand for the nodes of an error."""
    for node in nodes:
        for box, reference in references.items():
            if reference.target is getattr(node, "var", node) or (
                isinstance(node, t.Block) and reference.target == node.name
            ):
                yield box


def key_of(reference: Reference) -> Any:
    """What a reference stands for, as a key."""
    return reference.target if isinstance(reference, BlockRV) else id(reference.target)
