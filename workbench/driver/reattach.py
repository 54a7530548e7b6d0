"""Which part of a program edited by hand is which part of the one before: origins survive a text edit.

Both programs are sequences of statements (or of relay expressions) in the order of their text.  They are aligned by
keys that ask less and less: all that a statement holds, its own line, what it is named by, its kind; what was moved
is then looked for anywhere.  (Alignment by ever weaker anchors is Cohen's patience diff; the keys of a tree's nodes
are those of Falleri et al., "Fine-grained and accurate source code differencing", 2014.)

    found = reattach(new, old)
    found.pairs        # [(new statement, old statement), ...]
    found.added        # statements that a person wrote
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

from ..core import origin
from ..core.line_diff import longest_rising
from ..core.node import Node, children, post_order
from ..core.origin import ImportedFrom
from ..core.text import Text
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from ..tir import nodes as t
from .text import function_text

Keys = tuple[Hashable, ...]
"""From the one that asks most to the one that asks least."""
LONG: Final = 40_000
"""Two stretches are long whose lengths multiply to more."""


@dataclass
class Reattached:
    """The outcome of matching."""

    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    added: list[Node] = field(default_factory=list)
    """What has no counterpart: written by the person."""
    around: dict[int, Node] = field(default_factory=dict)
    """For what was added to a loop program, the old statement around it."""


def reattach(new: Any, old: Any, name: str = "main") -> Reattached:
    """Match two versions of one function, both tir or both relay."""
    if isinstance(new, t.PrimFunc) and isinstance(old, t.PrimFunc):
        found = _matched(_statements(new, name), _statements(old, name))
        _note_surroundings(new, {id(one): other for one, other in found.pairs}, old, found)
        return found
    if isinstance(new, r.Expr) and isinstance(old, r.Expr):
        return _matched(_expressions(new), _expressions(old))
    return Reattached(added=[new])


def record(new: Any, old: Any, name: str) -> None:
    """Tell the table of the step being run what the parts of `new` derive from."""
    table = origin.active()
    if table is None or new is old:
        return
    found = reattach(new, old, name)
    for one, other in found.pairs:
        if not table.is_old(one) and one not in table:
            table.add(one, [other])
    written = ImportedFrom("edit", f"edit of {name}")
    for node in found.added:
        if not table.is_old(node) and node not in table:
            around = found.around.get(id(node))
            table.add(node, [written] if around is None else [written, around])
    origin.derived(new, old)


# --- matching -----------------------------------------------------------------------------------------------------


def _matched(new: list[tuple[Node, Keys]], old: list[tuple[Node, Keys]]) -> Reattached:
    partner: dict[int, int] = {}
    levels = len(new[0][1]) if new else 0
    _align(range(len(new)), range(len(old)), 0, levels, new, old, partner)
    _moved(new, old, levels - 1, partner)
    found = Reattached()
    for index, (node, _) in enumerate(new):
        if index in partner:
            found.pairs.append((node, old[partner[index]][0]))
        else:
            found.added.append(node)
    return found


def _align(
    new_range: Sequence[int],
    old_range: Sequence[int],
    first: int,
    levels: int,
    new: list[tuple[Node, Keys]],
    old: list[tuple[Node, Keys]],
    partner: dict[int, int],
) -> None:
    """Align two stretches by the key of a level, then what lies between by weaker ones."""
    stack: list[tuple[Sequence[int], Sequence[int], int]] = [(new_range, old_range, first)]
    while stack:
        ours, theirs, level = stack.pop()
        if not ours or not theirs or level >= levels:
            continue
        if level == levels - 1 and _kinds(ours, new, level) != _kinds(theirs, old, level):
            continue  # the weakest key holds only where as many of each kind stand on both sides
        last_ours = last_theirs = 0
        for begin, other, count in _alike([new[i][1][level] for i in ours], [old[i][1][level] for i in theirs]):
            stack.append((ours[last_ours:begin], theirs[last_theirs:other], level + 1))
            for step in range(count):
                partner[ours[begin + step]] = theirs[other + step]
            last_ours, last_theirs = begin + count, other + count


def _alike(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> list[tuple[int, int, int]]:
    """Stretches that are the same, in order: where they begin and how long they are; an empty one at the end.

    First those at both ends.  What is between is searched for longest stretches, which takes cubic time in the worst
    case; where it is long, equal keys are taken in the order of their occurrence, as many as keep the order of both.
    """
    most = min(len(ours), len(theirs))
    first = next((at for at in range(most) if ours[at] != theirs[at]), most)
    last = next((at for at in range(most - first) if ours[-1 - at] != theirs[-1 - at]), most - first)
    mine, other = ours[first : len(ours) - last], theirs[first : len(theirs) - last]
    if len(mine) * len(other) > LONG:
        between = [(one, two, 1) for one, two in _in_order(mine, other)]
    else:
        between = [tuple(block) for block in SequenceMatcher(None, mine, other, autojunk=False).get_matching_blocks()]
    ends = [(len(ours) - last, len(theirs) - last, last), (len(ours), len(theirs), 0)]
    return [(0, 0, first), *((first + one, first + two, count) for one, two, count in between), *ends]


def _in_order(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The first of a key is the first, the second the second; of these pairs a longest row that rises on both sides."""
    places: dict[Hashable, list[int]] = {}
    for at in reversed(range(len(theirs))):
        places.setdefault(theirs[at], []).append(at)
    pairs = [(at, places[key].pop()) for at, key in enumerate(ours) if places.get(key)]
    return longest_rising(pairs)


def _kinds(stretch: Sequence[int], units: list[tuple[Node, Keys]], level: int) -> list[str]:
    return sorted(str(units[index][1][level]) for index in stretch)


def _moved(
    new: list[tuple[Node, Keys]], old: list[tuple[Node, Keys]], levels: int, partner: dict[int, int]
) -> None:
    """Pair what is left by a key that only one on each side has, wherever they stand."""
    for level in range(levels):
        taken = set(partner.values())
        ours = _by_key((i for i in range(len(new)) if i not in partner), new, level)
        theirs = _by_key((i for i in range(len(old)) if i not in taken), old, level)
        for key, places in ours.items():
            if len(places) == 1 and len(theirs.get(key, ())) == 1:
                partner[places[0]] = theirs[key][0]


def _by_key(indices: Any, units: list[tuple[Node, Keys]], level: int) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for index in indices:
        found.setdefault(units[index][1][level], []).append(index)
    return found


# --- loop programs ------------------------------------------------------------------------------------------------

_UNITS = (t.For, t.While, t.IfThenElse, t.Block, t.BufferStore, t.Evaluate, t.AssertStmt, t.LetStmt, t.AllocBuffer)
_NAMES: dict[type, Callable[[Any], str]] = {
    t.For: lambda node: node.var.name,
    t.Block: lambda node: node.name,
    t.BufferStore: lambda node: node.buffer.name,
    t.AllocBuffer: lambda node: node.buffer.name,
    t.LetStmt: lambda node: node.var.name,
}


def _statements(function: t.PrimFunc, name: str) -> list[tuple[Node, Keys]]:
    """The statements in the order of the text, each with its keys."""
    text = function_text(name, function)
    spans: dict[int, tuple[int, int]] = {}
    nodes: dict[int, Node] = {}
    for node, span in text.spans:
        if isinstance(node, _UNITS):
            begin, end = spans.get(id(node), span)
            spans[id(node)] = (min(begin, span.start), max(end, span.end))
            nodes[id(node)] = node
    units: list[tuple[Node, Keys]] = []
    for identity in sorted(spans, key=lambda known: (spans[known][0], -spans[known][1])):
        node = nodes[identity]
        units.append((node, _statement_keys(node, text, *spans[identity])))
    return units


def _statement_keys(node: Node, text: Text, begin: int, end: int) -> Keys:
    kind = type(node).__name__
    line, _ = text.position(begin)
    named = _NAMES.get(type(node), lambda node: "")(node)
    whole = "\n".join(part.strip() for part in text.text[begin:end].split("\n"))
    header = text.lines[line - 1].strip()
    return (kind, whole, named), (kind, header, named), (kind, named), kind


def _note_surroundings(new: t.PrimFunc, partner: dict[int, Node], old: t.PrimFunc, found: Reattached) -> None:
    """For statements that were added, what the nearest matched statement around them was."""
    added = {id(node) for node in found.added}
    stack: list[tuple[Node, Node]] = [(new, old)]
    while stack:
        node, around = stack.pop()
        around = partner.get(id(node), around)
        if id(node) in added:
            found.around[id(node)] = around
        stack.extend((child, around) for child in children(node) if isinstance(child, t.Stmt))


# --- graphs -------------------------------------------------------------------------------------------------------


def _expressions(function: r.Expr) -> list[tuple[Node, Keys]]:
    """The expressions, operands first, each with its keys."""
    whole: dict[int, Hashable] = {}
    units: list[tuple[Node, Keys]] = []
    for node in post_order(function):
        if isinstance(node, (r.Expr, r.Clause)):
            own = own_key(node)
            below = [whole[id(child)] for child in children(node) if id(child) in whole]
            near = tuple(_name_of(child) for child in children(node) if isinstance(child, r.Expr))
            whole[id(node)] = hash((own, tuple(below)))
            name = _name_of(node)
            units.append((node, (whole[id(node)], (own, near), own, name, type(node).__name__)))
    return units


def whole_keys(function: r.Expr) -> dict[int, Hashable]:
    """By identity of the expressions, a key of all that they hold."""
    return {id(node): keys[0] for node, keys in _expressions(function)}


def own_key(node: Node) -> Hashable:
    """What an expression is, without its operands."""
    if isinstance(node, r.Call) and isinstance(node.op, Operator):
        fields = tuple((name, repr(getattr(node.op, name))) for name in node.op.field_names)
        return ("Call", node.op.name, fields)
    if isinstance(node, r.Constant):
        return ("Constant", node.data.fingerprint)
    if isinstance(node, r.Var):
        return ("Var", node.name_hint)
    if isinstance(node, r.TupleGetItem):
        return ("TupleGetItem", node.index)
    if isinstance(node, (r.GlobalVar, r.Constructor)):
        return (type(node).__name__, node.name_hint)
    if isinstance(node, r.Function):
        return ("Function", tuple(sorted((key, repr(value)) for key, value in node.attrs.items())))
    if isinstance(node, r.Clause):
        return ("Clause", _pattern_key(node.lhs))
    if isinstance(node, r.Match):
        return ("Match", node.complete)
    return (type(node).__name__,)


def _pattern_key(pattern: r.Pattern) -> Hashable:
    """What a pattern fits, whatever it calls it."""
    made = pattern.constructor.name_hint if isinstance(pattern, r.PatternConstructor) else ""
    return (type(pattern).__name__, made, tuple(map(_pattern_key, getattr(pattern, "patterns", ()))))


def _name_of(node: Node) -> str:
    if isinstance(node, r.Call) and isinstance(node.op, Operator):
        return node.op.name
    if isinstance(node, (r.Var, r.GlobalVar)):
        return f"variable {node.name_hint}"
    return type(node).__name__


__all__ = ["Reattached", "own_key", "reattach", "record", "whole_keys"]
