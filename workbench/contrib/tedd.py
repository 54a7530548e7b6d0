"""Classic `contrib.tedd`: pictures of a schedule, in DOT text, a file, or a notebook.

    from workbench.contrib import tedd
    tedd.viz_schedule_tree(s, dot_file_path="tree.dot")
    print(tedd.viz_dataflow_graph(s, output_dot_string=True))

Schedules of te stages and of blocks are taken, and loop functions.
"""

from __future__ import annotations

from typing import Any

import graphviz

from ..analysis.loop_trees import TreeFact, loop_tree
from ..core.whole_file import write_whole
from ..views.loop_tree import dataflow_svg, stages, tree_svg
from ..views.relations import relations, relations_svg
from ..views.show import show_svg as display_svg


def viz_dataflow_graph(
    sch: Any, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """The stages and what they read from each other; the DOT text if `output_dot_string`."""
    graph = graphviz.Digraph("dataflow")
    for stage in stages(sch):
        shape = "ellipse" if stage.kind == "input" else "box"
        graph.node(_quoted(stage.name), f"{_quoted(stage.name)}\\n{_quoted(stage.detail)}", shape=shape)
        for source in stage.inputs:
            graph.edge(_quoted(source), _quoted(stage.name))
    return _done(graph, dataflow_svg(sch), show_svg, dot_file_path, output_dot_string)


def viz_schedule_tree(
    sch: Any, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """The loop tree; the DOT text if `output_dot_string`."""
    tree = loop_tree(sch)
    graph = graphviz.Digraph("schedule")
    graph.node("root", _quoted(tree.name), shape="box")
    todo: list[tuple[str, TreeFact]] = [("root", child) for child in reversed(tree.roots)]
    count = 0
    while todo:
        above, node = todo.pop()
        count += 1
        name = f"n{count}"
        graph.node(name, _quoted(node.label), shape="ellipse" if node.kind == "loop" else "box")
        graph.edge(above, name)
        todo.extend((name, child) for child in reversed(node.children))
    return _done(graph, tree_svg(tree), show_svg, dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(
    sch: Any, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """Loops through splits and fuses to the iterators they move; the DOT text if `output_dot_string`."""
    found = relations(sch)
    graph = graphviz.Digraph("relations")
    graph.attr("graph", rankdir="LR")
    names = {node.key: f"n{number}" for number, node in enumerate(found.nodes)}
    for node in found.nodes:
        text = _quoted(node.text) + (f"\\n{_quoted(node.detail)}" if node.detail else "")
        graph.node(names[node.key], text, shape="box" if node.kind == "step" else "ellipse")
    for one, other in found.edges:
        graph.edge(names[one], names[other])
    return _done(graph, relations_svg(found), show_svg, dot_file_path, output_dot_string)


def _quoted(text: str) -> str:
    return graphviz.escape("".join(character if character.isprintable() else " " for character in text))


def _done(graph: Any, drawn: str, shown: bool, path: str, answered: bool) -> str | None:
    if path:
        write_whole(path, graph.source)
    if shown:
        display_svg(drawn)
    return graph.source if answered else None
