"""The iterations of a block as points of a plane, in the order in which a schedule visits them.

Two axes are shown, block iterators or loops; loops that move neither stand at their first iteration.  Tiles are the
values of those loops that have another loop inside moving the same axis.  Arrows join iterations that touch the same
element, one of them writing it: from each write to the next reads and the next write.

    points = iteration_points(sch, "C")
    [(p.x, p.y) for p in points.points][:4]          # the first four visits
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arith.build import conjuncts
from ..arith.nodes import PrimExpr
from ..core.errors import WorkbenchError, nearest
from ..tir import nodes as t
from ..tir.array_values import values
from .fact import Fact
from .instances import enumerate_loops, variables_in
from .programs import function_of
from .tree import BlockSite, Tree, loops_around

_WINDOW = 16
"""Points along each axis that are kept."""


@dataclass(frozen=True)
class Point(Fact):
    """One iteration: where it is, when it is visited (0 is first), and in which tile it lies."""

    x: int
    y: int
    order: int
    tile: int


@dataclass(frozen=True)
class Arrow(Fact):
    """`later` touches `element` after `earlier`; kind is "flow" (write, read), "anti" (read, write) or "output"."""

    earlier: tuple[int, int]
    later: tuple[int, int]
    element: str
    kind: str


@dataclass(frozen=True)
class IterationPoints(Fact):
    """See the module's header.  `lit` are the points of a witness."""

    block: str
    axes: tuple[str, str]
    points: tuple[Point, ...]
    arrows: tuple[Arrow, ...]
    lit: tuple[tuple[int, int], ...]
    fixed: Mapping[str, int]
    """Loops that stand still."""
    clipped: bool
    """Whether there are more points than are kept."""

    def __str__(self) -> str:
        """The order of visits as a table of numbers."""
        at = {(point.x, point.y): point for point in self.points}
        xs, ys = (sorted({point.x for point in self.points}), sorted({point.y for point in self.points}))
        width = len(str(max((point.order for point in self.points), default=0))) + 1
        lines = [f"{self.block}: visits over {self.axes[1]} (down) and {self.axes[0]} (across)"]
        for y in ys:
            cells = [f"{at[x, y].order}{'*' if (x, y) in self.lit else ''}" if (x, y) in at else "." for x in xs]
            lines.append(" ".join(cell.rjust(width) for cell in cells))
        return "\n".join(lines) + ("\n..." if self.clipped else "")


class _Nest(NamedTuple):
    """A block, or the first statement of a function without blocks."""

    name: str
    loops: tuple[t.For, ...]
    axes: dict[str, PrimExpr]
    """What may be an axis, as expressions of the loops."""
    guards: tuple[PrimExpr, ...]
    site: BlockSite | None


def iteration_points(
    program: Any,
    block: Any = None,
    axes: Sequence[str] | None = None,
    *,
    witness: Any = None,
    sizes: Mapping[str, int] | None = None,
    window: int = _WINDOW,
) -> IterationPoints:
    """The iterations of `block` (a name or reference; by default the last one) over two `axes`.

    Axes are names of block iterators or loops, horizontal first; by default the last two iterators, the innermost
    across.  `witness` is the two iterations of a refusal (`error.witness`).  Raises `WorkbenchError`
    E-ANALYSIS-BLOCK, E-ANALYSIS-AXIS for unknown names, E-ANALYSIS-SIZE beyond a million iterations.
    """
    func = function_of(program, sizes)
    nest = _nest(func, block)
    across, down = _axes(nest, axes)
    moved = variables_in(nest.axes[across]) | variables_in(nest.axes[down])
    shown = tuple(loop for loop in nest.loops if id(loop.var) in moved)
    fixed = _first_iterations([loop for loop in nest.loops if id(loop.var) not in moved])
    grid = enumerate_loops(shown, known=fixed)
    if grid is None:
        raise WorkbenchError(
            "E-ANALYSIS-SIZE", "these loops have too many iterations to draw", expected="at most a million",
            fix="shrink the shape and replay the schedule on it",
        )  # fmt: skip
    count, known = grid
    xs = np.broadcast_to(np.asarray(values(nest.axes[across], known)), (count,))
    ys = np.broadcast_to(np.asarray(values(nest.axes[down], known)), (count,))
    keep = _kept(nest, known, count, xs, ys, window)
    everything = _kept(nest, known, count, xs, ys, None)
    points = _points(xs[keep], ys[keep], _tiles(nest, (across, down), shown, known, count)[keep])
    return IterationPoints(
        nest.name,
        (across, down),
        points,
        _arrows(nest, known, keep, xs, ys),
        _lit(nest, (across, down), witness),
        {loop.var.name: fixed[id(loop.var)] for loop in nest.loops if id(loop.var) in fixed},
        bool(keep.sum() < everything.sum()),
    )


def _nest(func: t.PrimFunc, block: Any) -> _Nest:
    tree = Tree.of(func)
    name = block if isinstance(block, str) or block is None else getattr(block, "target", str(block))
    if name is None and tree.leaves:
        name = tree.leaves[-1].name
    if name is None and not tree.leaves:
        return _plain_nest(func)
    if name not in tree.blocks:
        raise WorkbenchError(
            "E-ANALYSIS-BLOCK", f"there is no block {name!r}", expected=", ".join(tree.blocks) or "no blocks at all",
            fix=nearest(str(name), tree.blocks),
        )  # fmt: skip
    site = tree.blocks[name]
    axes: dict[str, PrimExpr] = {loop.var.name: loop.var for loop in site.loops}
    axes.update({iter_var.var.name: value for iter_var, value in site.bindings})
    return _Nest(name, site.loops, axes, tuple(conjuncts(site.realize.predicate)), site)


def _plain_nest(func: t.PrimFunc) -> _Nest:
    for stmt, loops in loops_around(func.body):
        if isinstance(stmt, t.BufferStore):
            return _Nest(stmt.buffer.name, loops, {loop.var.name: loop.var for loop in loops}, (), None)
    raise WorkbenchError("E-ANALYSIS-BLOCK", "the function computes nothing", nodes=(func,))


def _axes(nest: _Nest, axes: Sequence[str] | None) -> tuple[str, str]:
    if nest.site is not None:
        own = [iter_var.var.name for iter_var, _ in nest.site.bindings]
    else:
        own = list(nest.axes)
    chosen = tuple(axes) if axes is not None else tuple(reversed(own[-2:]))
    unknown = next((name for name in chosen if name not in nest.axes), None)
    if unknown is not None or len(chosen) > 2 or not chosen:
        raise WorkbenchError(
            "E-ANALYSIS-AXIS",
            f"{nest.name} has no axis {unknown!r}" if unknown is not None else "a picture has two axes",
            found=", ".join(map(str, chosen)) or "none",
            expected=", ".join(nest.axes) or "a block inside loops",
            fix=nearest(str(unknown), nest.axes) if unknown is not None else 'for example axes=("j", "i")',
        )
    return (chosen[0], chosen[-1])


def _first_iterations(loops: Sequence[t.For]) -> dict[int, Any]:
    known: dict[int, Any] = {}
    for loop in loops:
        known[id(loop.var)] = int(values(loop.min, known))
    return known


def _kept(
    nest: _Nest, known: dict[int, Any], count: int, xs: np.ndarray, ys: np.ndarray, window: int | None
) -> np.ndarray:
    keep = np.ones(count, bool)
    for condition in nest.guards:
        try:
            keep &= np.asarray(values(condition, known), bool)
        except WorkbenchError:
            continue
    if window is not None and keep.any():
        keep &= (xs < xs[keep].min() + window) & (ys < ys[keep].min() + window)
    return keep


def _points(xs: np.ndarray, ys: np.ndarray, tiles: np.ndarray) -> tuple[Point, ...]:
    """A point that is visited several times counts when it is first visited."""
    found: dict[tuple[int, int], Point] = {}
    for x, y, tile in zip(xs.tolist(), ys.tolist(), tiles.tolist(), strict=True):
        if (x, y) not in found:
            found[x, y] = Point(x, y, len(found), tile)
    return tuple(found.values())


def _tiles(
    nest: _Nest, axes: tuple[str, str], shown: tuple[t.For, ...], known: dict[int, Any], count: int
) -> np.ndarray:
    outer: list[t.For] = []
    for name in dict.fromkeys(axes):
        used = [loop for loop in shown if id(loop.var) in variables_in(nest.axes[name])]
        outer.extend(loop for loop in used[:-1] if loop not in outer)
    if not outer or not count:
        return np.zeros(count, np.int64)
    keys = np.stack([np.broadcast_to(known[id(loop.var)], (count,)) for loop in outer], axis=1)
    _, first, numbers = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[numbers.reshape(-1)]


def _lit(nest: _Nest, axes: tuple[str, str], witness: Any) -> tuple[tuple[int, int], ...]:
    """The points of a witness's two iterations; loops that it does not name stand at their first iteration."""
    if witness is None:
        return ()
    made: list[tuple[int, int]] = []
    for at in (witness.first_at, witness.second_at):
        known = _first_iterations(nest.loops)
        known.update({id(loop.var): at[loop.var.name] for loop in nest.loops if loop.var.name in at})
        made.append((int(values(nest.axes[axes[0]], known)), int(values(nest.axes[axes[1]], known))))
    return tuple(dict.fromkeys(made))


def _arrows(nest: _Nest, known: dict[int, Any], keep: np.ndarray, xs: np.ndarray, ys: np.ndarray) -> tuple[Arrow, ...]:
    if nest.site is None:
        return ()
    block = nest.site.block
    own = {id(iter_var.var): values(value, known) for iter_var, value in nest.site.bindings}
    touched: list[tuple[str, bool, list[np.ndarray]]] = []
    for regions, writes in ((block.reads, False), (block.writes, True)):
        for region in regions:
            try:
                where = [values(axis.min, {**known, **own}) for axis in region.region]
            except WorkbenchError:
                continue
            touched.append((region.buffer.name, writes, [np.broadcast_to(axis, keep.shape)[keep] for axis in where]))
    visits = list(zip(xs[keep].tolist(), ys[keep].tolist(), strict=True))
    return tuple(_joined(visits, touched))


def _joined(visits: list[tuple[int, int]], touched: list[tuple[str, bool, list[np.ndarray]]]) -> list[Arrow]:
    """Reads of an iteration come before its writes."""
    written: dict[str, tuple[int, int]] = {}
    read: dict[str, list[tuple[int, int]]] = {}
    arrows: dict[tuple[Any, ...], Arrow] = {}

    def join(earlier: tuple[int, int], later: tuple[int, int], element: str, kind: str) -> None:
        if earlier != later:
            arrows.setdefault((earlier, later), Arrow(earlier, later, element, kind))

    for number, visit in enumerate(visits):
        for buffer, writes, where in touched:
            element = f"{buffer}[{', '.join(str(int(axis[number])) for axis in where)}]"
            if writes:
                for reader in read.pop(element, []):
                    join(reader, visit, element, "anti")
                if element in written:
                    join(written[element], visit, element, "output")
                written[element] = visit
            else:
                if element in written:
                    join(written[element], visit, element, "flow")
                read.setdefault(element, []).append(visit)
    return list(arrows.values())
