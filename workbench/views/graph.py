"""A relay function as a graph: DOT text, and SVG where a Graphviz is to be had.

Layout is `dot`'s, from the system or from the package `graphviz-pure`; `render` is the only place that knows.
Constants are left out.  What is too much to be read at once is drawn as groups (`graph_groups`), which can be opened.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import graphviz

from ..core.arguments import items
from ..core.errors import WorkbenchError, nearest
from ..core.walks import parents_first
from ..relay.ir import expr as r
from ..relay.ir.operator import Fusion, Operator
from .graph_calls import changed_in
from .graph_groups import MOST, Box, boxes_of, operators
from .graph_view import GraphView, view_of
from .strings.tables import say

_SHAPES: Final = {
    Fusion.OUT_ELEMWISE_FUSABLE: "box",
    Fusion.COMM_REDUCE: "invtrapezium",
    Fusion.OPAQUE: "octagon",
}
_LINE: Final = "#7a8a99"
"""Lines, readable on white and on black; texts take the page's own colour."""
_TEXT: Final = "#010203"
"""Stands for the colour of the page's text: DOT knows no such colour."""
_CALL, _GROUP, _INPUT = "#5b8fc940", "#8f7ac940", "#d9a44140"
_LINES: Final = 8
"""Operators of a fused function that are written one below the other."""


def dot_source(function: r.Function, title: str = "main", opened: Iterable[str] = ()) -> str:
    """The graph in DOT: a node a call or group, an edge a tensor labelled with its type, or several.

    `opened`: ids of groups (`graph_groups.Box.id`) that are drawn as frames around what is in them.
    """
    return _source(function, title, opened, boxes_of(function))


def _source(function: r.Function, title: str, opened: Iterable[str], tops: Sequence[Box]) -> str:
    graph = graphviz.Digraph(_plain(title))
    graph.attr("graph", rankdir="TB", ranksep="0.3", nodesep="0.25", bgcolor="transparent", fontname="sans-serif")
    graph.attr("graph", fontsize="10", fontcolor=_TEXT, color=_LINE, style="rounded")
    graph.attr("node", fontname="sans-serif", fontsize="11", style="filled,rounded", fillcolor=_CALL, color=_LINE)
    graph.attr("node", fontcolor=_TEXT, margin="0.2,0.06")  # fonts of pages are wider than the layout thinks
    graph.attr("edge", fontname="sans-serif", fontsize="9", color=_LINE, fontcolor=_TEXT)
    place: dict[int, str] = {}
    chosen = _chosen(opened, tops)
    for box in tops:
        _draw(graph, box, chosen, place)
    _draw_inputs(graph, function, place)
    _draw_edges(graph, [box for top in tops for box in _visible(top, chosen)], place)
    return graph.source


def _chosen(opened: Iterable[str], tops: Sequence[Box]) -> frozenset[str]:
    """The groups to open.  Raises `WorkbenchError` for one that is not there."""
    wanted = items(opened, "show(\"graph\", opened=...)", "E-VIEW-GROUP", '["5", "5.0"]')
    groups = [box.id for box in parents_first(tops, lambda one: one.children) if box.children]
    for name in wanted:
        if name not in groups:
            first = ", ".join(sorted(groups, key=lambda one: (one.count("."), len(one), one))[:12])
            raise WorkbenchError(
                "E-VIEW-GROUP", f"the graph has no group {name!r:.40}", expected=first or "none: it is drawn whole",
                fix=nearest(str(name), groups),
            )  # fmt: skip
    return frozenset(wanted)


def _draw(graph: graphviz.Digraph, box: Box, opened: frozenset[str], place: dict[int, str]) -> None:
    """A box, named after its id, or a frame around those in it; `place` gets where each call is drawn."""
    if box.id in opened and box.children:
        frame = graphviz.Digraph(f"cluster_{box.id}")
        frame.attr(label=_group(box))
        for child in box.children:
            _draw(frame, child, opened, place)
        graph.subgraph(frame)
        return
    place.update((id(node), f"n{box.id}") for node in box.nodes)
    if box.children:
        graph.node(f"n{box.id}", _group(box), shape="folder", fillcolor=_GROUP)
    else:
        graph.node(f"n{box.id}", _label(box.nodes[0]), shape=_shape(box.nodes[0]))


def _visible(box: Box, opened: frozenset[str]) -> Iterator[Box]:
    """The boxes that are drawn in place of one."""
    if box.id in opened and box.children:
        for child in box.children:
            yield from _visible(child, opened)
    else:
        yield box


def _draw_inputs(graph: graphviz.Digraph, function: r.Function, place: dict[int, str]) -> None:
    """The parameters; those of a network with its weights as parameters are one node."""
    one = len(function.params) > MOST
    if one:
        graph.node("inputs", say.graph.parameters(len(function.params)), shape="ellipse", fillcolor=_INPUT)
    for number, parameter in enumerate(function.params):
        place[id(parameter)] = "inputs" if one else f"p{number}"
        if not one:
            graph.node(f"p{number}", _plain(parameter.name_hint), shape="ellipse", fillcolor=_INPUT)


def _draw_edges(graph: graphviz.Digraph, visible: Sequence[Box], place: dict[int, str]) -> None:
    """What passes between boxes: one tensor by its type, several by their number."""
    for box in visible:
        here = f"n{box.id}"
        passing = [source for source in box.reads if place.get(id(source), here) != here]
        kinds = {place[id(source)]: _type(source) for source in passing}
        distinct = Counter(place[identity] for identity in {id(source) for source in passing})
        for source, kind in kinds.items():
            several = distinct[source]
            graph.edge(source, here, "  " + _plain(kind if several == 1 else say.graph.tensors(several)))


def _group(box: Box) -> str:
    """The title of a group, after the id that opens it."""
    return _plain(f"{box.id} · {box.title}")


def _label(call: r.Call) -> str:
    """The operators of a call, one below the other; the first ones when there are many."""
    names = [_plain(name) for name in operators(call)]
    shown = names if len(names) <= _LINES else [*names[: _LINES - 1], say.graph.more_operators(len(names) - _LINES + 1)]
    return graphviz.escape("\n".join(shown))


def _shape(call: r.Call) -> str:
    return _SHAPES.get(call.op.fusion, "box") if isinstance(call.op, Operator) else "box"


def _type(value: r.Expr) -> str:
    known = value.type_or_none
    shape = getattr(known, "shape", None)
    return "x".join(str(extent) for extent in shape) if shape is not None else ""


def _plain(text: str) -> str:
    """A label without the escapes that DOT would read in it, at most 40 characters."""
    shortened = text if len(text) <= 40 else text[:39] + "…"
    return graphviz.escape("".join(character if character.isprintable() else " " for character in shortened))


def graph_svg(function: r.Function, title: str = "main", opened: Iterable[str] = ()) -> str | None:
    """The drawn graph; None where no Graphviz answers."""
    return render(dot_source(function, title, opened))


def graph_view(
    function: r.Function,
    opened: Sequence[str] = (),
    classes: Mapping[int, Iterable[int]] | None = None,
    changed: frozenset[int] = frozenset(),
    tops: tuple[Box, ...] | None = None,
) -> GraphView:
    """The graph laid out, as data; `classes` are those of its expressions (`driver.links`), by identity.

    `changed`: the identities of calls that are to be marked.  `tops`: the function's boxes, where they are known.

    Raises `WorkbenchError` E-VIEW-GRAPHVIZ where no Graphviz answers.
    """
    tops = boxes_of(function) if tops is None else tops
    laid = _laid_out(_source(function, "main", opened, tops), "json0")
    if laid is None:
        raise WorkbenchError(
            "E-VIEW-GRAPHVIZ", "no Graphviz answers", expected="the program dot, or the package graphviz-pure",
            fix="pip install graphviz-pure; the text of the graph is there without it",
        )  # fmt: skip
    held: dict[str, set[int]] = {}
    visible = [one for top in tops for one in _visible(top, frozenset(opened))]
    for box in visible:
        held[box.id] = {number for node in box.nodes for number in (classes or {}).get(id(node), ())}
    groups = {box.id for box in visible if box.children}
    marked = {box.id: changed_in(box, changed) for box in visible} if changed else {}
    return view_of(json.loads(laid), held, groups, marked)


def render(source: str) -> str | None:
    """DOT text as SVG, laid out with the system's `dot`, else `graphviz-pure`; None where neither answers."""
    drawn = _laid_out(source, "svg")
    return None if drawn is None else drawn[drawn.find("<svg") :].replace(_TEXT, "currentColor")


def _laid_out(source: str, form: str) -> str | None:
    for command in (shutil.which("dot"), _bundled()):
        if command is None:
            continue
        try:
            ran = subprocess.run(
                [command, f"-T{form}"], input=source.encode(), capture_output=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ran.returncode == 0:
            return ran.stdout.decode("utf-8", "replace")
    return None


def _bundled() -> str | None:
    beside = Path(sys.executable).parent / "graphviz-pure"
    return str(beside) if beside.exists() else shutil.which("graphviz-pure")
