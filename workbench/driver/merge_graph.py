"""Three versions of a relay function, merged by expressions: a person's changes of `before`, made on `now`.

Every expression of the two later versions gets the label of its counterpart in `before`, found by `counterparts`, or
a label of its own.  A version is then a table from label to what the expression is and the labels of its operands, and
tables merge field by field: what one side left alone is the other's.  Which order the text has does not matter, and a
numbering that shifted is no change.

Invariants: a counterpart that is not the only candidate is none, so nothing is merged by a guess; every change that
the edit made is applied or dropped with a reason.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from ..core.node import Node, children, rewrite
from ..core.walks import parts_first
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from . import reattach
from .counterparts import VALUES, counterparts, parts

Label = int | tuple[str, Hashable]
"""The position of an expression in `before`; else the version and the position there; of `VALUES`, what they are."""
Change = tuple[Label | str, int]
"""An expression and the place of its operand that is another; or one of the marks below."""
_OWN: Final = -1
"""The expression itself is another, or new."""
_ALL: Final = -2
"""The expression has more or fewer operands."""
_ROOT: Final = "the result"
_VALUE: Final = "value"


@dataclass(frozen=True)
class MergedGraph:
    """The outcome: the function with all changes that apply."""

    result: Any
    applied: tuple[str, ...]
    """The changed expressions."""
    dropped: tuple[tuple[str, str], ...]
    """(the expression, why its change does not apply)"""
    made: int
    """How many changes the edit made; each of them is applied or dropped."""


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
    mine = _version(after, counterparts(after, before), "after")
    theirs = _version(now, counterparts(now, before), "now")
    merge = _Merge(base, mine, theirs)
    merge.run()
    if merge.has_cycle():
        merge.lose("what it is to read reads it now")
    return MergedGraph(merge.built(), tuple(merge.applied.values()), tuple(merge.dropped.values()), len(merge.made))


# --- versions as tables ---------------------------------------------------------------------------------------------


def _operands(node: Node) -> list[Node]:
    """The expressions below a node; the function that a call calls is one of them, an operator is not."""
    return [child for child in children(node) if isinstance(child, (r.Expr, r.Clause))]


def _version(function: r.Expr, counterparts: dict[int, int], name: str) -> _Version:
    nodes, positions = parts(function)
    of_position: list[Label] = []
    for at, node in enumerate(nodes):
        known: Label = at if name == "before" else counterparts.get(id(node), (name, at))
        of_position.append((_VALUE, reattach.own_key(node)) if isinstance(node, VALUES) else known)
    labels = {identity: of_position[at] for identity, at in positions.items()}
    made = _Version()
    for node in nodes:
        operands = tuple(labels[id(child)] for child in _operands(node))
        made.table[labels[id(node)]] = _Definition(_own(node), operands, node)
    made.root = labels[id(function)]
    return made


def _own(node: Node) -> Hashable:
    """What an expression is, without its operands; of a variable also the type written for it."""
    written = str(node.type_annotation) if isinstance(node, r.Var) else ""
    return (reattach.own_key(node), written)


def _is_value(label: Label) -> bool:
    return isinstance(label, tuple) and label[0] == _VALUE


def _changes(base: _Version, mine: _Version) -> dict[Change, str]:
    """All that an edit changed, each as text."""
    found: dict[Change, str] = {}
    if mine.root != base.root:
        found[_ROOT, 0] = "the result"
    for label, wanted in mine.table.items():
        if _is_value(label):
            continue  # nothing can become another of them: what reads it reads another
        was = base.table.get(label)
        if was is None or wanted.own != was.own:
            found[label, _OWN] = _shown(wanted.node)
        if was is not None and len(was.operands) != len(wanted.operands):
            found[label, _ALL] = f"the operands of {_shown(wanted.node)}"
        elif was is not None:
            pairs = enumerate(zip(was.operands, wanted.operands, strict=True))
            places = [place for place, (one, other) in pairs if one != other]
            found.update({(label, place): f"an operand of {_shown(wanted.node)}" for place in places})
    return found


# --- merging --------------------------------------------------------------------------------------------------------


class _Merge:
    """One merge; `run` fills the merged table.  Every change that the edit made ends in `applied` or in `dropped`."""

    def __init__(self, base: _Version, mine: _Version, theirs: _Version) -> None:
        self.base, self.mine, self.theirs = base, mine, theirs
        self.table: dict[Label, tuple[Any, tuple[Label, ...]]] = {}
        """The node whose own part is taken, and the merged operands."""
        self.root: Label = theirs.root
        self.made = _changes(base, mine)
        self.applied: dict[Change, str] = {}
        self.dropped: dict[Change, tuple[str, str]] = {}
        self.lost: list[str] = []
        """What the edit builds on and that is gone: then nothing of it applies."""

    def run(self) -> None:
        """Merge what the result needs, from the root on; a change of what nothing needs any more is dropped."""
        self.root = self._edge((_ROOT, 0), self.base.root, self.mine.root, self.theirs.root)
        stack = [self.root]
        while stack:
            label = stack.pop()
            if label not in self.table:
                self.table[label] = self._definition(label)
                stack.extend(self.table[label][1])
        if self.lost:
            self.lose(f"{self.lost[0]} is not there any more")
        for change in self.made:
            if change not in self.applied and change not in self.dropped:
                self._drop(change, "nothing in what comes before is this expression for certain")

    def lose(self, why: str) -> None:
        """Nothing of the edit applies."""
        for change in self.made:
            self._drop(change, why)

    def has_cycle(self) -> bool:
        """Whether an expression would need itself: each side has put one of two before the other."""
        done: set[Label] = set()
        above: set[Label] = set()
        stack: list[tuple[Label, bool]] = [(self.root, False)]
        while stack:
            label, left = stack.pop()
            if left:
                above.discard(label)
                done.add(label)
            elif label in above:
                return True
            elif label not in done:
                above.add(label)
                stack.append((label, True))
                stack.extend((operand, False) for operand in self.table[label][1] if operand not in done)
        return False

    def _apply(self, change: Change) -> None:
        self.applied[change] = self.made[change]

    def _drop(self, change: Change, why: str) -> None:
        self.applied.pop(change, None)
        self.dropped.setdefault(change, (self.made[change], why))

    def _of(self, label: Label) -> list[Change]:
        """The changes of the operands of an expression."""
        places = range(max(1, len(self.mine.table[label].operands)))
        return [change for change in ((label, place) for place in (_ALL, *places)) if change in self.made]

    def _definition(self, label: Label) -> tuple[Any, tuple[Label, ...]]:
        was, wanted, found = (version.table.get(label) for version in (self.base, self.mine, self.theirs))
        if _is_value(label):
            chosen = found or wanted or was
            assert chosen is not None
            return chosen.node, ()
        if found is None and wanted is None:  # only where a dropped change left a reference behind
            assert was is not None
            return was.node, was.operands
        if wanted is None or was is None:
            chosen = found if wanted is None else wanted
            assert chosen is not None
            if was is None and wanted is not None:
                self._apply((label, _OWN))
            return chosen.node, chosen.operands
        if found is None:
            self.lost.append(_shown(was.node))
            return wanted.node, wanted.operands
        return self._merged(label, was, wanted, found)

    def _merged(
        self, label: Label, was: _Definition, wanted: _Definition, found: _Definition
    ) -> tuple[Any, tuple[Label, ...]]:
        node = found.node
        if wanted.own != was.own:
            if found.own not in (was.own, wanted.own):
                why = f"{_shown(was.node)} is {_shown(found.node)} now"
                return self._kept(found, [(label, _OWN), *self._of(label)], why)
            node = wanted.node
            self._apply((label, _OWN))
        if wanted.operands == was.operands and len(found.operands) == len(_operands(node)):
            return node, found.operands
        if not len(was.operands) == len(wanted.operands) == len(found.operands):
            if found.operands == was.operands and found.own in (was.own, wanted.own):
                gone = next(filter(None, map(self._deleted, (o for o in was.operands if o not in wanted.operands))), "")
                if gone:
                    return self._kept(found, self._of(label), gone)
                for change in self._of(label):
                    self._apply(change)
                return wanted.node, wanted.operands
            own: list[Change] = [(label, _OWN)] if wanted.own != was.own else []
            return self._kept(found, [*own, *self._of(label)], f"its operands are others now: {_shown(found.node)}")
        edges = enumerate(zip(was.operands, wanted.operands, found.operands, strict=True))
        return node, tuple(self._edge((label, place), *labels) for place, labels in edges)

    def _kept(self, found: _Definition, changes: list[Change], why: str) -> tuple[Any, tuple[Label, ...]]:
        """The expression as it is now, without these changes."""
        for change in changes:
            self._drop(change, why)
        return found.node, found.operands

    def _edge(self, change: Change, was: Label, wanted: Label, found: Label) -> Label:
        if wanted == was:
            return found
        gone = self._deleted(was) if wanted != found == was else ""
        if wanted == found or (found == was and not gone):
            self._apply(change)
            return wanted
        self._drop(change, gone or "what comes before has changed it as well")
        return found

    def _deleted(self, label: Label) -> str:
        """Why an expression that the edit leaves out cannot go: it, or what goes with it, has been changed before.

        Else the edit would win over that change, and nobody would hear of it.
        """
        stack, seen = [label], {label}
        while stack:
            current = stack.pop()
            if current in self.mine.table:
                continue
            was, found = self.base.table[current], self.theirs.table.get(current)
            if found is not None and (found.own, found.operands) != (was.own, was.operands):
                what = _shown(found.node) if found.own != was.own else f"{_shown(found.node)} of other operands"
                return f"it leaves out {_shown(was.node)}, which is {what} now"
            stack.extend(operand for operand in was.operands if operand not in seen)
            seen.update(was.operands)
        return ""

    def built(self) -> Any:
        """The merged function; the one of now where nothing of the edit applies."""
        if not self.applied:
            return self.theirs.table[self.theirs.root].node
        made: dict[Label, Any] = {}
        for label in parts_first([self.root], lambda one: self.table[one][1], lambda one: one):
            node, operands = self.table[label]
            made[label] = _rebuilt(node, [made[operand] for operand in operands])
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
