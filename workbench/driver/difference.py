"""What a step changed, as text: changes by what they did, the first of each kind open.

    difference = s["FuseOps"].diff()
    print(difference)                  # the kinds of changes, how often each, one of each written out
    difference.changes[0].rows         # (("-", "    v1 = R.nn.conv2d(x, ..."), ..., ("+", "    def fused_conv2d..."))

Relay functions are compared by the origins that the step recorded (`graph_difference`), functions of loop programs and
whatever else is text line by line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from .._lazy import views
from ..core.line_diff import line_hunks
from ..core.module import IRModule
from ..core.node import traced_nodes
from ..core.origin import OriginTable
from ..relay.ir import expr as r
from ..relay.ir.listing import Listing, listing
from .graph_difference import Change, Row, graph_changes
from .origin_index import Resolver
from .step_listings import listings_of
from .step_sources import Sources, by_likeness, nodes_of, origins_before, sources_in
from .text import function_script

if TYPE_CHECKING:
    from .history import Step

_OPEN: Final = 40
"""Changed lines that are written out in one display; of further kinds the text says only how often they are."""
_TITLE: Final = 100
"""Characters of a kind that a heading shows."""
_NUMBER = re.compile(r"\d+")
_AROUND: Final = 2
"""Unchanged lines around changed ones where texts are compared."""


@dataclass(frozen=True)
class Kind:
    """Changes that did the same in several places."""

    title: str
    changes: tuple[Change, ...]

    @property
    def heading(self) -> str:
        """The title, how often, and where else."""
        places = list(dict.fromkeys(change.function for change in self.changes if change.function))
        where = (
            f" in {', '.join(places[:3])}{' ...' if len(places) > 3 else ''}" if places != ["main"] and places else ""
        )
        often = f"  ×{len(self.changes)}" if len(self.changes) > 1 else ""
        title = self.title if len(self.title) <= _TITLE else self.title[: _TITLE - 1] + "…"
        return f"{title}{often}{where}"


@dataclass(frozen=True)
class Difference:
    """The changes between two versions of a program."""

    title: str
    changes: tuple[Change, ...]

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The changes by kind, the most frequent first."""
        found: dict[tuple[str, ...], list[Change]] = {}
        for change in self.changes:
            found.setdefault((change.kind, *change.key), []).append(change)
        kinds = (Kind(title, tuple(changes)) for (title, *_), changes in found.items())
        return tuple(sorted(kinds, key=lambda kind: -len(kind.changes)))

    @property
    def summary(self) -> str:
        """One line: how much changed."""
        if not self.changes:
            return f"{self.title}: nothing changed"
        lines = sum(change.size for change in self.changes)
        count, kinds = len(self.changes), len(self.kinds)
        return f"{self.title}: {count} change{_s(count)} of {kinds} kind{_s(kinds)}, {lines} lines"

    def opened(self) -> list[tuple[Kind, tuple[Row, ...]]]:
        """Each kind with the lines of its first change, as far as there is room; then without lines."""
        room, shown = _OPEN, []
        for kind in self.kinds:
            rows = kind.changes[0].rows
            changed = [index for index, (sign, _) in enumerate(rows) if sign in "+-"]
            if room <= 0:
                shown.append((kind, ()))
                continue
            cut = changed[room] if len(changed) > room else len(rows)
            left = len(changed) - room
            shown.append((kind, (*rows[:cut], ("@", f"{left} more lines")) if left > 0 else rows))
            room -= len(changed)
        return shown

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        if not self.changes:
            return ""
        written = [self.summary]
        for kind, rows in self.opened():
            written += [f"@ {kind.heading}", *(f"{sign} {line}" for sign, line in rows)]
        return "\n".join(written)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().difference_bundle(self)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def step_difference(step: Step) -> Difference:
    """What a step did to the program before it; of the first step, all functions are new."""
    before = step.previous.stage.module if step.previous is not None else IRModule({})
    if not step.changed:
        return Difference(step.label, ())
    resolve = origins_before(step)
    exact = step.action.kind == "edit"  # a person's changes are told apart by all that was written
    rules: dict[int, list[str]] = {}
    for firing in step.firings:
        for source in resolve(firing.before):
            rules.setdefault(id(source), []).append(firing.rule.name)
    texts = listings_of(step.previous) if step.previous is not None else {}
    return Difference(step.label, _changes(before, step.stage.module, sources_in(step), rules, exact, texts))


def branch_difference(title: str, one: Step, other: Step) -> Difference:
    """How the programs of two steps differ of which neither was made from the other.

    What stems from the same expressions of the last step that both share is taken for the same; where they share
    none, what is alike.
    """
    shared = [mine for mine, theirs in zip(one.path, other.path, strict=False) if mine is theirs]
    sources_of = _by_ancestors(shared[-1], one, other) if shared else by_likeness
    return Difference(title, _changes(one.stage.module, other.stage.module, sources_of, {}, texts=listings_of(one)))


def text_difference(title: str, before: str, after: str) -> Difference:
    """How two texts differ, line by line."""
    return Difference(title, text_changes("", before, after))


def _by_ancestors(shared: Step, one: Step, other: Step) -> Callable[[r.Expr, r.Expr], Sources]:
    ours, theirs = _stems(shared, one), _stems(shared, other)

    def sources_of(before: r.Expr, after: r.Expr) -> Sources:
        by_stem: dict[int, list[Any]] = {}
        for node in traced_nodes(before):
            for stem in ours(node):
                by_stem.setdefault(id(stem), []).append(node)
        return lambda node: (found for stem in theirs(node) for found in by_stem.get(id(stem), ()))

    return sources_of


def _stems(shared: Step, last: Step) -> Sources:
    """Which nodes of an earlier step's program those of a later one come from."""
    resolve = Resolver(OriginTable(), {id(node): frozenset((node,)) for node in nodes_of(shared)})
    for step in last.path[len(shared.path) :]:
        resolve = Resolver(step.origins, {id(node): resolve(node) for node in nodes_of(step.previous)})
    return resolve


def _changes(
    before: IRModule,
    after: IRModule,
    sources_of: Callable[[r.Expr, r.Expr], Sources],
    rules: Mapping[int, Sequence[str]],
    exact: bool = True,
    texts: Mapping[str, Listing] | None = None,
) -> tuple[Change, ...]:
    """The changes by function; `texts` are those of the functions before."""
    changes: list[Change] = []
    old = {**before.type_definitions, **before.functions}
    new = {**after.type_definitions, **after.functions}
    for name in dict.fromkeys([*old, *new]):
        one, other = old.get(name), new.get(name)
        if one is other:
            continue
        if isinstance(one, r.Expr) and isinstance(other, r.Expr):
            written = (texts or {}).get(name) or listing(one, name)
            changes += graph_changes(name, written, other, sources_of(one, other), rules, exact)
        elif one is None or other is None:
            sign, what = ("+", "new") if one is None else ("-", "gone")
            lines = _lines(function_script(name, other if one is None else one))
            changes.append(Change(name, f"functions {what}", tuple((sign, line) for line in lines)))
        else:
            changes += text_changes(name, function_script(name, one), function_script(name, other), exact)
    return tuple(changes)


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n") if text else []


def text_changes(name: str, before: str, after: str, exact: bool = True) -> tuple[Change, ...]:
    """Two texts line by line: one change a stretch of lines that differ, with a few unchanged lines around it.

    `exact`: changes of one kind are equal; else a pass made them, which does the same to other numbers elsewhere.
    """
    old, new = _lines(before), _lines(after)
    hunks = line_hunks(old, new)
    ends = [0, *(hunk.before_start + hunk.before_count for hunk in hunks)]
    starts = [*(hunk.before_start for hunk in hunks), len(old)]
    changes: list[Change] = []
    for number, hunk in enumerate(hunks):
        end = ends[number + 1]
        removed = old[hunk.before_start : end]
        added = new[hunk.after_start : hunk.after_start + hunk.after_count]
        above = old[max(ends[number], hunk.before_start - _AROUND) : hunk.before_start]
        below = old[end : min(starts[number + 1], end + _AROUND)]
        signed: list[tuple[str, Sequence[str]]] = [(" ", above), ("-", removed), ("+", added), (" ", below)]
        rows = tuple((sign, line) for sign, lines in signed for line in lines)
        sides = [[line.strip() for line in lines] for lines in (removed, added)]
        gone, come = sides if exact else _unnumbered(*sides)
        first = " -> ".join(lines[0] for lines in (gone, come) if lines)
        kind = first if gone and come else f"{'-' if gone else '+'} {first}"
        changes.append(Change(name, kind, rows, key=(*(f"-{line}" for line in gone), *(f"+{line}" for line in come))))
    return tuple(changes)


def _unnumbered(removed: Sequence[str], added: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines without their numbers: the same step on many functions is of one kind.

    Where the numbers are what differs they stay.
    """
    sides = [[(_NUMBER.sub("#", line), line) for line in lines] for lines in (removed, added)]
    both = {text for text, _ in sides[0]} & {text for text, _ in sides[1]}
    gone, come = ([whole if text in both else text for text, whole in side] for side in sides)
    return gone, come
