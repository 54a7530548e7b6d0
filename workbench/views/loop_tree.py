"""The loop tree of a schedule as nested boxes, and the flow of data between its stages.

tree_svg(loop_tree(sch)); dataflow_svg(sch)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..analysis.loop_trees import LoopTree, TreeFact
from ..analysis.programs import loop_function
from ..analysis.tree import Tree
from ..core.errors import WorkbenchError
from ..tir import nodes as t
from ..tir.script import script
from .strings.tables import say
from .svg import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW, box, label, line, number, picture, text_width

_ROW: Final = 24
_INDENT: Final = 14
_STYLES: Final = {
    "serial": ("\u21bb", GREY),
    "parallel": ("\u2225", BLUE),
    "vectorized": ("\u21c9", GREEN),
    "unroll": ("\u2261", ORANGE),
    "thread_binding": ("\u229e", PINK),
}
"""Sign and colour of each kind of loop."""


def tree_svg(tree: LoopTree) -> str:
    """Nested boxes: name, extent and kind of each loop, what it reads and writes at the right."""
    rows = list(tree.walk())
    deepest = max((depth for depth, _ in rows), default=0)
    labels = max((text_width(loop_line(node), 12) + depth * _INDENT for depth, node in rows), default=100)
    chips_at = max(labels + 50, 220)
    chips = max((text_width(_touches(node), 10) for _, node in rows), default=0)
    width = min(max(chips_at + min(chips, 420) + 24, 360), 1100) + deepest * 4
    parts: list[str] = [label(8, 16, tree.name, bold=True, size=12)]
    y = 26.0
    for root in tree.roots:
        y = _node(root, 8, y, width - 16, chips_at, parts) + 6
    return picture(width, y + 4, parts, say.schedule.loop_tree(tree.name, len(rows)))


def loop_line(node: TreeFact) -> str:
    """A loop's sign, name, extent and kind, or a block's name, in a line."""
    if node.kind != "loop":
        return say.schedule.summing(node.name) if node.reduction else node.name
    kind = node.loop_kind.split(" ")
    word = kind[1] if len(kind) > 1 else kind[0]
    return f"{_STYLES.get(kind[0], _STYLES['serial'])[0]} {node.name}  {node.extent}  {word}"


def _touches(node: TreeFact) -> str:
    return f"{', '.join(node.reads) or say.schedule.nothing} \u2192 {', '.join(node.writes)}"


def _node(node: TreeFact, x: float, y: float, width: float, chips_at: float, parts: list[str]) -> float:
    """Draws a box with its children inside; answers its lower edge."""
    place = len(parts)
    end = y + _ROW
    for child in node.children:
        end = _node(child, x + _INDENT, end, width - _INDENT - 4, chips_at, parts) + 3
    end += 2 if node.children else 0
    colour = _STYLES.get(node.loop_kind.split(" ")[0], _STYLES["serial"])[1] if node.kind == "loop" else SKY
    touched = _touches(node)
    shown = touched if len(touched) <= 72 else touched[:71] + "\u2026"
    parts[place:place] = [
        box(x, y, width, end - y, colour, opacity=0.1 if node.kind == "loop" else 0.25, title=touched),
        label(x + 7, y + 16, loop_line(node), size=12, bold=node.kind != "loop"),
        label(chips_at, y + 16, shown, size=10, faint=True),
    ]
    return end


# --- stages -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A box of the dataflow picture: a parameter that is only read, or a block."""

    name: str
    detail: str
    kind: str
    """"input", "block", "sum" or "output"."""
    inputs: tuple[str, ...]
    """The stages whose buffers it reads."""


def stages(program: Any) -> tuple[Stage, ...]:
    """The stages of a schedule or function of blocks, each after those it reads from.

    Raises `WorkbenchError` E-VIEW-STAGES for a function without blocks.
    """
    func = loop_function(program)
    leaves = Tree.of(func).leaves
    if not leaves:
        raise WorkbenchError(
            "E-VIEW-STAGES", "the function has no blocks to draw", expected="a function in block form",
            fix="draw it before it is lowered", nodes=(func,),
        )  # fmt: skip
    parameters = {id(item): item for item in func.params if isinstance(item, t.Buffer)}
    makers: dict[int, str] = {}
    made: list[Stage] = []
    written = {id(region.buffer) for site in leaves for region in site.block.writes}
    for key, buffer in parameters.items():
        if key not in written:
            makers[key] = buffer.name
            made.append(Stage(buffer.name, _shape(buffer), "input", ()))
    for site in leaves:
        sources = [makers[id(r.buffer)] for r in site.block.reads if id(r.buffer) in makers]
        sources += [makers[id(r.buffer)] for r in site.block.writes if id(r.buffer) in makers]
        is_sum = any(item.kind is t.IterKind.REDUCE for item in site.block.iter_vars)
        ends = any(id(region.buffer) in parameters for region in site.block.writes)
        detail = ", ".join(dict.fromkeys(f"{r.buffer.name} {_shape(r.buffer)}" for r in site.block.writes))
        name = site.name if site.name not in {stage.name for stage in made} else say.schedule.block_of_name(site.name)
        kind = "output" if ends else "sum" if is_sum else "block"
        told = say.schedule.summing(detail) if is_sum else detail
        made.append(Stage(name, told, kind, tuple(dict.fromkeys(sources))))
        makers.update({id(region.buffer): name for region in site.block.writes})
    return tuple(made)


def _shape(buffer: t.Buffer) -> str:
    return "x".join(script(extent) for extent in buffer.shape) or say.schedule.scalar


_COLOURS: Final = {"input": YELLOW, "block": SKY, "sum": ORANGE, "output": GREEN}


def dataflow_svg(program: Any) -> str:
    """The stages in layers from inputs down to outputs, an arrow from each maker to its readers."""
    made = stages(program)
    layer: dict[str, int] = {}
    for stage in made:
        layer[stage.name] = 1 + max((layer[name] for name in stage.inputs), default=-1)
    for stage in made:
        # An input stands right above its first reader.
        readers = [layer[other.name] for other in made if stage.name in other.inputs]
        if stage.kind == "input" and readers:
            layer[stage.name] = min(readers) - 1
    rows: dict[int, list[Stage]] = {}
    for stage in made:
        rows.setdefault(layer[stage.name], []).append(stage)
    sizes = {stage.name: max(text_width(stage.name, 12), text_width(stage.detail, 10), 40) + 20 for stage in made}
    widths = {depth: sum(sizes[s.name] + 24 for s in row) for depth, row in rows.items()}
    width = max(widths.values()) + 56
    places: dict[str, tuple[float, float]] = {}
    drawn: list[str] = []
    for depth in sorted(rows):
        x = (width - widths[depth]) / 2 + 12
        for stage in rows[depth]:
            y = 10 + depth * 76
            places[stage.name] = (x + sizes[stage.name] / 2, y)
            drawn.append(
                box(
                    x,
                    y,
                    sizes[stage.name],
                    40,
                    _COLOURS[stage.kind],
                    opacity=0.25,
                    corner=18 if stage.kind == "input" else 4,
                )
            )
            drawn.append(label(x + sizes[stage.name] / 2, y + 17, stage.name, anchor="middle", size=12, bold=True))
            drawn.append(label(x + sizes[stage.name] / 2, y + 32, stage.detail, anchor="middle", size=10, faint=True))
            x += sizes[stage.name] + 24
    arrows = [_edge(places[name], places[stage.name]) for stage in made for name in stage.inputs if name != stage.name]
    height = 10 + (max(rows) + 1) * 76 - 26
    return picture(width, height, [*arrows, *drawn], say.schedule.stages(len(made), ", ".join(s.name for s in made)))


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    """An arrow; one that passes a layer bends round it."""
    x1, y1, x2, y2 = start[0], start[1] + 40, end[0], end[1] - 1
    if y2 - y1 < 76:
        return line(x1, y1, x2, y2, arrow=True, opacity=0.6)
    side = max(x1, x2) + 70
    bend = (
        f'<path d="M{number(x1)} {number(y1)}C{number(side)} {number(y1 + 30)} {number(side)} {number(y2 - 30)} '
        f'{number(x2 + 6)} {number(y2 - 8)}" stroke="currentColor" stroke-opacity="0.6" fill="none"/>'
    )
    return bend + line(x2 + 6, y2 - 8, x2 + 2, y2, arrow=True, opacity=0.6)


__all__ = ["Stage", "dataflow_svg", "stages", "tree_svg"]
