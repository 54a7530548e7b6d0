"""Three versions of a relay function, merged by expressions: a person's changes of `before`, made on `now`.

Every expression of the two later versions gets the label of its counterpart in `before`, found by `reattach`, or a
label of its own.  A version is then a table from label to what the expression is and the labels of its operands, and
tables merge field by field: what one side left alone is the other's.  Which order the text has does not matter, and a
numbering that shifted is no change.

Invariant: a counterpart that is not the only candidate is none, so nothing is merged by a guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from ..core.node import Node, children, post_order, rewrite
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from . import reattach

Label = int | tuple[str, int]
"""The position of an expression in `before`; else the version and the position there."""
_OWN: Final = "itself"


@dataclass(frozen=True)
class MergedGraph:
    """The outcome: the function with all changes that apply."""

    result: Any
    applied: tuple[str, ...]
    """The changed expressions."""
    dropped: tuple[tuple[str, str], ...]
    """(the expression, why its change does not apply)"""


@dataclass(frozen=True)
class _Definition:
    """What an expression is: itself, without its operands, and their labels."""

    own: Hashable
    operands: tuple[Label, ...]
    node: Any


@dataclass
class _Version:
    """A function as a table."""

    table: dict[Label, _Definition] = field(default_factory=dict)
    root: Label = 0


def merge_graph(before: r.Expr, after: r.Expr, now: r.Expr) -> MergedGraph:
    """See the module's header.  The function as it is `now` where nothing applies."""
    base = _version(before, {}, "before")
    mine = _version(after, _counterparts(after, before), "after")
    theirs = _version(now, _counterparts(now, before), "now")
    merge = _Merge(base, mine, theirs)
    merge.run()
    return MergedGraph(merge.built(), tuple(merge.applied), tuple(merge.dropped))


# --- versions as tables ---------------------------------------------------------------------------------------------


def _parts(function: r.Expr) -> list[Node]:
    return [node for node in post_order(function) if isinstance(node, (r.Expr, r.Clause))]


def _operands(node: Node) -> list[Node]:
    """The expressions below a node; the function that a call calls is one of them, an operator is not."""
    return [child for child in children(node) if isinstance(child, (r.Expr, r.Clause))]


def _version(function: r.Expr, counterparts: dict[int, int], name: str) -> _Version:
    labels: dict[int, Label] = {}
    made = _Version()
    for position, node in enumerate(_parts(function)):
        if name == "before":
            label: Label = position
        else:
            found = counterparts.get(id(node))
            label = (name, position) if found is None else found
        labels[id(node)] = label
        operands = tuple(labels[id(child)] for child in _operands(node))
        made.table[label] = _Definition(reattach.own_key(node), operands, node)
    made.root = labels[id(function)]
    return made


def _counterparts(new: r.Expr, old: r.Expr) -> dict[int, int]:
    """For expressions of `new`, the position of their counterpart in `old`; weak likeness counts where it is unique."""
    positions = {id(node): position for position, node in enumerate(_parts(old))}
    whole_new, whole_old = reattach.whole_keys(new), reattach.whole_keys(old)
    pairs = reattach.reattach(new, old).pairs
    certain = [(one, other) for one, other in pairs if whole_new[id(one)] == whole_old[id(other)]]
    sure_new, sure_old = {id(one) for one, _ in certain}, {id(other) for _, other in certain}
    left_new = Counter(reattach.own_key(node) for node in _parts(new) if id(node) not in sure_new)
    left_old = Counter(reattach.own_key(node) for node in _parts(old) if id(node) not in sure_old)
    found = {id(one): positions[id(other)] for one, other in certain}
    for one, other in pairs:
        mine, theirs = reattach.own_key(one), reattach.own_key(other)
        if id(one) not in sure_new and left_new[mine] == left_old[mine] and left_new[theirs] == left_old[theirs]:
            found[id(one)] = positions[id(other)]
        elif id(one) not in sure_new and mine != theirs and left_new[mine] == 1 and left_old[theirs] == 1:
            found[id(one)] = positions[id(other)]
    return found


# --- merging --------------------------------------------------------------------------------------------------------


class _Merge:
    """One merge; `run` fills the merged table."""

    def __init__(self, base: _Version, mine: _Version, theirs: _Version) -> None:
        self.base, self.mine, self.theirs = base, mine, theirs
        self.table: dict[Label, tuple[Any, tuple[Label, ...]]] = {}
        """The node whose own part is taken, and the merged operands."""
        self.root: Label = theirs.root
        self.applied: list[str] = []
        self.dropped: list[tuple[str, str]] = []
        self.lost: list[tuple[str, str]] = []
        """What the edit builds on and that is gone: then nothing of it applies."""

    def run(self) -> None:
        """Merge what the result needs, from the root on; so what nothing uses any more is no conflict."""
        self.root = self._edge("the result", self.base.root, self.mine.root, self.theirs.root)
        stack = [self.root]
        while stack:
            label = stack.pop()
            if label not in self.table:
                self.table[label] = self._definition(label)
                stack.extend(self.table[label][1])
        if self.lost:
            with_them = [(change, "it goes with the others") for change in self.applied]
            self.dropped = [*self.dropped, *self.lost, *with_them]
            self.applied = []

    def _definition(self, label: Label) -> tuple[Any, tuple[Label, ...]]:
        was, wanted, found = (version.table.get(label) for version in (self.base, self.mine, self.theirs))
        if found is None and wanted is None:  # only where a dropped change left a reference behind
            assert was is not None
            return was.node, was.operands
        if wanted is None or was is None:
            chosen = found if wanted is None else wanted
            assert chosen is not None
            if was is None and wanted is not None:
                self.applied.append(_shown(wanted.node))
            return chosen.node, chosen.operands
        if found is None:
            self.lost.append((_shown(wanted.node), f"{_shown(was.node)} is not there any more"))
            return wanted.node, wanted.operands
        return self._merged(was, wanted, found)

    def _merged(self, was: _Definition, wanted: _Definition, found: _Definition) -> tuple[Any, tuple[Label, ...]]:
        node = found.node
        if wanted.own != was.own:
            if found.own not in (was.own, wanted.own):
                self.dropped.append((_shown(wanted.node), f"{_shown(was.node)} is {_shown(found.node)} now"))
                return found.node, found.operands
            node = wanted.node
            self.applied.append(_shown(wanted.node))
        if wanted.operands == was.operands and len(found.operands) == len(_operands(node)):
            return node, found.operands
        if not len(was.operands) == len(wanted.operands) == len(found.operands):
            if found.operands == was.operands:
                self.applied.append(_shown(wanted.node))
                return wanted.node, wanted.operands
            self.dropped.append((_shown(wanted.node), f"its operands are others now: {_shown(found.node)}"))
            return found.node, found.operands
        edges = zip(was.operands, wanted.operands, found.operands, strict=True)
        return node, tuple(self._edge(f"an operand of {_shown(wanted.node)}", *labels) for labels in edges)

    def _edge(self, where: str, was: Label, wanted: Label, found: Label) -> Label:
        if wanted in (was, found):
            return found
        if found == was:
            self.applied.append(where)
            return wanted
        self.dropped.append((where, "what comes before has changed it as well"))
        return found

    def built(self) -> Any:
        """The merged function; the one of now where nothing of the edit applies."""
        if not self.applied:
            return self.theirs.table[self.theirs.root].node
        made: dict[Label, Any] = {}
        stack: list[tuple[Label, bool]] = [(self.root, False)]
        entered: set[Label] = set()
        while stack:
            label, ready = stack.pop()
            node, operands = self.table[label]
            if ready:
                made[label] = _rebuilt(node, [made[operand] for operand in operands])
            elif label not in entered:
                entered.add(label)
                stack.append((label, True))
                stack.extend((operand, False) for operand in reversed(operands))
        return made[self.root]


def _rebuilt(node: Any, operands: list[Any]) -> Any:
    """The node with other operands, in order."""
    old = _operands(node)
    if len(old) == len(operands) and all(map(lambda one, other: one is other, old, operands)):
        return node
    if isinstance(node, r.Call) and isinstance(node.op, Operator):
        return node.replace(args=tuple(operands))
    if isinstance(node, r.Tuple):
        return node.replace(fields=tuple(operands))
    swapped = {id(one): other for one, other in zip(old, operands, strict=True)}
    return rewrite(node, lambda _: None, lambda part: swapped.get(id(part)))


def _shown(node: Any) -> str:
    """An expression without its operands, for a report."""
    own = reattach.own_key(node)
    if isinstance(node, r.Call) and isinstance(node.op, Operator):
        given = ", ".join(f"{name}={value}" for name, value in own[2])[:60]  # type: ignore[index]
        return f"{node.op.name}({given})"
    if isinstance(node, r.Var):
        return f"variable {node.name_hint}"
    return type(node).__name__
