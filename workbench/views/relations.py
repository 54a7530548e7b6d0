"""How the loops of a schedule came about: from the first loops through splits and fuses to block iterators.

print(relations(sch))
relations_svg(relations(sch))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..analysis.fact import Fact
from ..analysis.instances import variables_in
from ..analysis.programs import loop_function
from ..analysis.tree import Tree
from ..arith.nodes import Var
from ..schedule.arguments import ResultName
from ..schedule.schedule import Schedule
from ..schedule.trace import Step
from ..tir import nodes as t
from ..tir.script import script
from .strings.tables import say
from .svg import BLUE, GREY, ORANGE, SKY, box, label, line, picture, text_width

_ASKING: Final = frozenset({"get_loops", "get_block", "get_child_blocks", "get_producers", "get_consumers"})


@dataclass(frozen=True)
class RelationNode(Fact):
    """A loop ("loop", or "gone" if a step replaced it), a step ("step") or a block iterator ("iterator")."""

    key: str
    kind: str
    text: str
    detail: str


@dataclass(frozen=True)
class Relations(Fact):
    """A graph from first loops (no edge in) to block iterators; `edges` join keys of nodes."""

    nodes: tuple[RelationNode, ...]
    edges: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        by_key = {node.key: node for node in self.nodes}
        lines: list[str] = []
        for node in self.nodes:
            into = [by_key[one].text for one, other in self.edges if other == node.key]
            out = [by_key[other].text for one, other in self.edges if one == node.key]
            if node.kind == "step":
                lines.append(f"{', '.join(into)} -> {node.text} -> {', '.join(out)}")
            elif node.kind == "iterator":
                lines.append(f"{node.text} = {node.detail}")
        return "\n".join(lines)


def relations(program: Any) -> Relations:
    """The relations of a schedule (of blocks or te stages); of a function, those of loops and iterators only."""
    schedule = program.to_schedule() if hasattr(program, "to_schedule") else program
    nodes: dict[str, RelationNode] = {}
    edges: list[tuple[str, str]] = []
    if isinstance(schedule, Schedule):
        _add_steps(schedule, nodes, edges)
    _add_program(loop_function(schedule), nodes, edges)
    used = {key for edge in edges for key in edge}
    return Relations(tuple(node for key, node in nodes.items() if key in used), tuple(dict.fromkeys(edges)))


def _add_steps(schedule: Schedule, nodes: dict[str, RelationNode], edges: list[tuple[str, str]]) -> None:
    named = schedule.state.named
    for number, step in enumerate(schedule.trace.steps, 1):
        taken = [named.get(name) for name in _loops_taken(step)]
        made = [named.get(name) for name in step.results]
        known = {target for target in made if isinstance(target, Var) and _key(target) in nodes}
        fresh = [target for target in made if isinstance(target, Var) and target not in known]
        for target in (*taken, *fresh):
            if isinstance(target, Var):
                nodes.setdefault(_key(target), RelationNode(_key(target), "gone", target.name, ""))
        if step.primitive in _ASKING or not fresh:
            continue
        key = f"step:{number}"
        nodes[key] = RelationNode(key, "step", step.primitive, _shown_arguments(step))
        edges.extend((_key(target), key) for target in taken if isinstance(target, Var))
        edges.extend((key, _key(target)) for target in fresh)


def _key(target: Var) -> str:
    return f"loop:{id(target)}"


def _loops_taken(step: Step) -> list[str]:
    found: list[str] = []
    for _, value in step.arguments:
        items = value if isinstance(value, tuple) else (value,)
        found.extend(item.name for item in items if isinstance(item, ResultName))
    return found


def _shown_arguments(step: Step) -> str:
    shown = [value for _, value in step.arguments if not isinstance(value, ResultName)]
    plain = [
        value for value in shown if not (isinstance(value, tuple) and any(isinstance(i, ResultName) for i in value))
    ]
    return ", ".join(str(list(value)) if isinstance(value, tuple) else str(value) for value in plain)


def _add_program(func: t.PrimFunc, nodes: dict[str, RelationNode], edges: list[tuple[str, str]]) -> None:
    """The loops that there are now, and the iterators that they move."""
    tree = Tree.of(func)
    for site in tree.loops.values():
        loop = site.loop
        detail = f"{script(loop.extent)} {loop.kind.value}"
        nodes[_key(loop.var)] = RelationNode(_key(loop.var), "loop", loop.var.name, detail)
    for block in tree.leaves:
        for iter_var, value in block.bindings:
            key = f"iterator:{block.name}:{iter_var.var.name}"
            nodes[key] = RelationNode(key, "iterator", f"{block.name}.{iter_var.var.name}", script(value))
            used = variables_in(value)
            edges.extend((_key(loop.var), key) for loop in block.loops if id(loop.var) in used)


# --- drawing ------------------------------------------------------------------------------------------------------

_COLOURS: Final = {"loop": BLUE, "gone": GREY, "step": ORANGE, "iterator": SKY}


def relations_svg(found: Relations) -> str:
    """Columns from left to right: first loops, steps, loops as they are now, iterators."""
    column = _columns(found)
    rows = _rows(found, column)
    wide: dict[int, float] = {}
    for node in found.nodes:
        width = max(text_width(node.text, 11), text_width(node.detail[:34], 9)) + 16
        wide[column[node.key]] = max(wide.get(column[node.key], 40), width)
    lefts: dict[int, float] = {}
    x = 8.0
    for number in sorted(wide):
        lefts[number] = x
        x += wide[number] + 46
    drawn: list[str] = []
    at = {node.key: (lefts[column[node.key]], 30 + rows[node.key] * 42) for node in found.nodes}
    for node in found.nodes:
        left, top = at[node.key]
        width = wide[column[node.key]]
        corner = 16 if node.kind == "step" else 4
        drawn.append(
            box(left, top, width, 34, _COLOURS[node.kind], opacity=0.2, corner=corner, dashed=node.kind == "gone",
                title=node.detail)
        )  # fmt: skip
        drawn.append(label(left + width / 2, top + 14, node.text, anchor="middle", bold=node.kind != "gone"))
        drawn.append(label(left + width / 2, top + 27, node.detail[:34], anchor="middle", size=9, faint=True))
    arrows = [
        line(
            at[one][0] + wide[column[one]],
            at[one][1] + 17,
            at[other][0] - 1,
            at[other][1] + 17,
            arrow=True,
            opacity=0.5,
        )
        for one, other in found.edges
    ]
    height = 40 + (max(rows.values(), default=0) + 1) * 42
    title = label(8, 16, say.schedule.where_loops_come_from, bold=True, size=12)
    return picture(max(x - 30, 300), height, [title, *arrows, *drawn], say.schedule.relations)


def _columns(found: Relations) -> dict[str, int]:
    """The longest way to each node; iterators stand last, loops that are there now right before them."""
    column = {node.key: 0 for node in found.nodes}
    kinds = {node.key: node.kind for node in found.nodes}
    inner = [edge for edge in found.edges if kinds[edge[1]] != "iterator"]
    for _ in range(len(found.nodes)):
        changed = False
        for one, other in inner:
            if column[other] < column[one] + 1:
                column[other], changed = column[one] + 1, True
        if not changed:
            break
    last = max((column[key] for key, kind in kinds.items() if kind != "iterator"), default=0)
    for key, kind in kinds.items():
        if kind == "loop" and not any(one == key for one, _ in inner):
            column[key] = last
        if kind == "iterator":
            column[key] = last + 1
    return column


def _rows(found: Relations, column: dict[str, int]) -> dict[str, float]:
    """Nodes of a column below each other, each as near as possible to what leads to it."""
    into: dict[str, list[str]] = {}
    for one, other in found.edges:
        into.setdefault(other, []).append(one)
    rows: dict[str, float] = {}
    order = {node.key: number for number, node in enumerate(found.nodes)}
    for number in sorted(set(column.values())):
        keys = [node.key for node in found.nodes if column[node.key] == number]
        wish = {
            key: sum(rows[one] for one in into[key] if one in rows) / max(1, sum(one in rows for one in into[key]))
            if any(one in rows for one in into.get(key, ()))
            else 1e9
            for key in keys
        }
        for position, key in enumerate(sorted(keys, key=lambda key: (wish[key], order[key]))):
            rows[key] = position
    return rows
