"""A relay function as a graph: DOT text, and SVG where a Graphviz is to be had.

Layout is `dot`'s, from the system or from the package `graphviz-pure`; `render` is the only place that knows.
Constants are left out.  Above 300 operators nothing is drawn, since no flat graph of that size can be read.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import graphviz

from ..core.node import post_order
from ..relay.ir import expr as r
from ..relay.ir.operator import Fusion, Operator

_SHAPES: Final = {
    Fusion.OUT_ELEMWISE_FUSABLE: "box",
    Fusion.COMM_REDUCE: "invtrapezium",
    Fusion.OPAQUE: "octagon",
}
_LIMIT: Final = 300


def dot_source(function: r.Function, title: str = "main") -> str:
    """The graph in DOT: a node an operator (or fused function), an edge a tensor labelled with its type."""
    graph = graphviz.Digraph(_plain(title))
    graph.attr("graph", rankdir="TB", ranksep="0.3", nodesep="0.25", bgcolor="transparent", fontname="sans-serif")
    graph.attr(
        "node",
        fontname="sans-serif",
        fontsize="11",
        style="filled,rounded",
        fillcolor="#eef3f8",
        color="#5b7083",
    )
    graph.attr("edge", fontname="sans-serif", fontsize="9", color="#5b7083", fontcolor="#5b7083")
    names = {id(parameter): f"n{index}" for index, parameter in enumerate(function.params)}
    for parameter in function.params:
        graph.node(names[id(parameter)], _plain(parameter.name_hint), shape="ellipse", fillcolor="#fdf3e1")
    for current in _drawn(function.body):
        names[id(current)] = f"n{len(names)}"
        graph.node(names[id(current)], _label(current), shape=_shape(current))
        for source in _operands(current):
            if id(source) in names:
                graph.edge(names[id(source)], names[id(current)], _plain(_type(source)))
    return graph.source


def _drawn(body: r.Expr) -> list[r.Expr]:
    """Calls and tuples of the outermost level, in order."""
    inside: set[int] = set()
    order = [node for node in post_order(body) if isinstance(node, r.Expr)]
    for node in order:
        if isinstance(node, r.Function):
            inside.update(id(inner) for inner in post_order(node))
    return [node for node in order if id(node) not in inside and isinstance(node, (r.Call, r.Tuple, r.TupleGetItem))]


def _operands(current: Any) -> tuple[r.Expr, ...]:
    if isinstance(current, r.Call):
        return current.args
    if isinstance(current, r.Tuple):
        return current.fields
    return (current.tuple_value,)


def _label(current: r.Expr) -> str:
    if isinstance(current, r.Tuple):
        return "tuple"
    if isinstance(current, r.TupleGetItem):
        return f"[{current.index}]"
    assert isinstance(current, r.Call)
    if isinstance(current.op, Operator):
        return _plain(current.op.name)
    if isinstance(current.op, r.Function):
        inner = [
            _plain(node.op.name)
            for node in post_order(current.op.body)
            if isinstance(node, r.Call) and isinstance(node.op, Operator)
        ]
        return _joined(inner) or "function"
    return _plain(getattr(current.op, "name_hint", "call"))


def _joined(names: list[str]) -> str:
    """Names below each other; the first ones when there are many."""
    shown = names if len(names) <= 8 else [*names[:7], f"and {len(names) - 7} more"]
    return graphviz.escape("\n".join(shown))


def _shape(current: r.Expr) -> str:
    if isinstance(current, r.Call) and isinstance(current.op, Operator):
        return _SHAPES.get(current.op.fusion, "box")
    return "box"


def _type(value: r.Expr) -> str:
    known = value.type_or_none
    shape = getattr(known, "shape", None)
    return "x".join(str(extent) for extent in shape) if shape is not None else ""


def _plain(text: str) -> str:
    """A label without the escapes that DOT would read in it, at most 40 characters."""
    shortened = text if len(text) <= 40 else text[:39] + "…"
    return graphviz.escape("".join(character if character.isprintable() else " " for character in shortened))


def graph_svg(function: r.Function, title: str = "main") -> str | None:
    """The drawn graph; None when it is too large to read or no Graphviz answers."""
    if len(_drawn(function.body)) > _LIMIT:
        return None
    return render(dot_source(function, title))


def render(source: str) -> str | None:
    """Lay out DOT text with the system's `dot`, else `graphviz-pure`."""
    for command in (shutil.which("dot"), _bundled()):
        if command is None:
            continue
        try:
            ran = subprocess.run(
                [command, "-Tsvg"], input=source.encode(), capture_output=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ran.returncode == 0:
            drawn = ran.stdout.decode("utf-8", "replace")
            return drawn[drawn.find("<svg") :]
    return None


def _bundled() -> str | None:
    beside = Path(sys.executable).parent / "graphviz-pure"
    return str(beside) if beside.exists() else shutil.which("graphviz-pure")
