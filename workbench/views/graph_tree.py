"""A graph as a tree of words, for those who hear it: groups, their calls, the operators of fused calls.

    tree = graph_tree(session, "FuseOps")
    tree.items[1].title, tree.items[1].name, tree.items[1].inputs, tree.items[1].shape    # ("nn.conv2d", "v0", 2, ...)
    tree.items[1].changed                                                                # ("PackWeights", "FuseOps")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..core.node import post_order
from ..driver.difference import step_difference
from ..driver.step_listings import listings_of
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from ..relay.ir.types import TensorType, TupleType
from .graph_calls import changed_calls
from .graph_groups import Box, boxes_of, operands, operators
from .schema import SCHEMA_VERSION, View
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.history import Step

_SPOKEN: Final = 300
"""Changed statements that are listed of one step."""
_LINE: Final = 160


@dataclass(frozen=True, slots=True)
class TreeItem(View):
    """A group, a call, or an operator of a fused call; items stand in the order in which they are read."""

    id: str
    """Of a group or call, the id of its box; of an operator, that of its call and its number there."""
    level: int
    """From 1."""
    kind: str
    """group, call or operator"""
    title: str
    name: str = ""
    """What the text calls its value."""
    inputs: int = 0
    shape: str = ""
    """Of its result: "1×64×56×56 float32"."""
    changed: tuple[str, ...] = ()
    """The steps that made or altered it, the first one first."""
    classes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeView(View):
    step: str
    items: tuple[TreeItem, ...]
    linked: bool = True
    """Whether the items have their classes: not before the kernels are known."""
    version: int = SCHEMA_VERSION


def graph_tree(step: Step, classes: Mapping[int, Set[int]], linked: bool = True) -> TreeView:
    """The graph after a step; `classes` by identity of calls."""
    main = step.stage.module["main"]
    assert isinstance(main, r.Function)
    names: dict[int, str] = {}
    for found in listings_of(step).values():
        names.update(found.names)
    words = _Words(_Changed(step), names, classes)
    return TreeView(step.label, tuple(item for box in boxes_of(main) for item in words.of_box(box, 1)), linked)


class _Words:
    def __init__(self, changed: _Changed, names: Mapping[int, str], classes: Mapping[int, Set[int]]) -> None:
        self._changed, self._names, self._classes = changed, names, classes

    def of_box(self, box: Box, level: int) -> Iterator[TreeItem]:
        if not box.children:
            yield from self._of_call(box, level)
            return
        yield TreeItem(box.id, level, "group", box.title, classes=self._held(box.nodes))
        for child in box.children:
            yield from self.of_box(child, level + 1)

    def _of_call(self, box: Box, level: int) -> Iterator[TreeItem]:
        call = box.nodes[0]
        yield self._item(box.id, level, "call", ", ".join(operators(call)), call)
        if isinstance(call.op, r.Function):
            calls = [one for one in post_order(call.op.body) if isinstance(one, r.Call)]
            for number, one in enumerate(one for one in calls if isinstance(one.op, Operator)):
                yield self._item(f"{box.id}#{number}", level + 1, "operator", operators(one)[0], one)

    def _item(self, identity: str, level: int, kind: str, title: str, call: r.Call) -> TreeItem:
        name, shape = self._names.get(id(call), ""), _shape(call.type_or_none)
        made = self._changed.by(call, inside=kind == "operator")
        return TreeItem(identity, level, kind, title, name, len(operands(call)), shape, made, self._held([call]))

    def _held(self, calls: Sequence[r.Call]) -> tuple[int, ...]:
        return tuple(sorted({one for call in calls for one in self._classes.get(id(call), ())}))


def _shape(kind: Any) -> str:
    if isinstance(kind, TensorType):
        return f"{'×'.join(map(str, kind.shape)) or say.graph.scalar} {kind.dtype}"
    if isinstance(kind, TupleType):
        return say.graph.tensors(len(kind.fields))
    return ""


class _Changed:
    """By which steps the calls of the last one's graph were made or altered."""

    def __init__(self, last: Step) -> None:
        self._steps: list[tuple[Step, frozenset[int], frozenset[int]]] = []
        """The latest first: a step, the nodes before it, the calls that it made or altered; by identity."""
        for step in reversed(last.path):
            if step.previous is None or not step.changed:
                continue
            before, after = step.previous.stage.module["main"], step.stage.module["main"]
            assert isinstance(before, r.Function) and isinstance(after, r.Function)
            there = frozenset(id(node) for node in post_order(before))
            self._steps.append((step, there, changed_calls(before, after, step.origins)))

    def by(self, call: r.Call, inside: bool) -> tuple[str, ...]:
        """The steps, the first one first; an operator `inside` of a fused call was not altered by being put there."""
        found: list[str] = []
        front = [call]
        for step, there, changed in self._steps:
            earlier: dict[int, r.Call] = {}
            for current in front:
                if id(current) in there:
                    earlier[id(current)] = current
                    continue
                sources = [one for one in step.origins.of(current) if isinstance(one, r.Call) and id(one) in there]
                alike = [one for one in sources if type(one.op) is type(current.op)]
                moved = inside and any(one.op is current.op for one in alike)
                if id(current) in changed and not moved and step.label not in found:
                    found.append(step.label)
                earlier.update((id(one), one) for one in alike or sources)
            front = list(earlier.values())
        return tuple(reversed(found))


# --- what a step changed, as lists --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpokenView(View):
    """What a step added, removed and changed: by what is done, (what is said of it, the statement)."""

    step: str
    summary: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    counts: Mapping[str, int]
    """How many there are of each; of many, the first are listed."""
    version: int = SCHEMA_VERSION


def spoken(step: Step) -> SpokenView:
    """The statements that a step added, removed and changed; a value of the same name before and after is changed."""
    found = step_difference(step)
    lists: dict[str, list[str]] = {"+": [], "-": [], "=": []}
    for change in found.changes:
        rows = [(sign, line) for sign, line in change.rows if not line.strip().startswith("@")]
        gone, made = ({_name(line): line for sign, line in rows if sign == one} for one in "-+")
        for name, line in gone.items():
            lists["=" if name in made else "-"].append(made.get(name, line))
        lists["+"] += [line for name, line in made.items() if name not in gone]
    kept = {sign: tuple(line.strip()[:_LINE] for line in lines[:_SPOKEN]) for sign, lines in lists.items()}
    counts = {"added": len(lists["+"]), "removed": len(lists["-"]), "changed": len(lists["="])}
    return SpokenView(step.label, found.summary, kept["+"], kept["-"], kept["="], counts)


def _name(line: str) -> str:
    """What a statement defines; the statement itself where it defines nothing."""
    head, equals, _ = line.strip().partition(" = ")
    return head if equals and head.isidentifier() else line.strip()
