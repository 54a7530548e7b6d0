"""Which statements of a relay function became which others, from the origins that a step recorded.

    changes = graph_changes("main", listing(before), after, sources, rules)

Values of the new function are called as the values that they stand for: of the statements that a new one comes from,
the one whose users' counterparts use it, else the last.  A statement that reads the same as its counterpart then is
unchanged.  Changed statements with an origin in common are one change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from ..core.node import Node
from ..relay.ir import expr as r
from ..relay.ir.listing import Listing, listing
from ..relay.ir.operator import Operator
from ..relay.ir.plan import plain_operands
from ..relay.ir.script import kernel_name
from .reattach import own_key
from .step_sources import Sources
from .text import short_constants

Row = tuple[str, str]
"""A sign ("-" taken out, "+" put in, " " unchanged, "@" where lines are left out) and a line."""

_NEIGHBOURS_OF: Final = 6
"""Changes of at most so many lines are shown with the unchanged statements that they read or that read them."""
_NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_WORD: Final = re.compile(r'"[^"]*"|[\w.]+(?:=(?:\([^()]*\)|\[[^][]*\]|"[^"]*"|[^,()\s]+))?')
"""A word of a line; a keyword argument with its value is one."""


@dataclass(frozen=True)
class Change:
    """Statements of a function that became others."""

    function: str
    kind: str
    """What became what, by rules and operators, and words of what no rule did."""
    rows: tuple[Row, ...]
    values: tuple[str, ...] = ()
    """What the values are called that it changes, makes or takes out."""
    key: tuple[str, ...] = ()
    """What tells it from others of its kind that are written differently."""

    @property
    def size(self) -> int:
        """How many lines differ."""
        return sum(sign in "+-" for sign, _ in self.rows)


def graph_changes(
    name: str,
    old: Listing,
    after: r.Expr,
    sources: Sources,
    rules: Mapping[int, Sequence[str]],
    exact: bool = True,
) -> tuple[Change, ...]:
    """The changes, in the order of the text; `old` is that of the function before.

    `rules` are those that fired, by identity of an expression before.  `exact`: changes of one kind read the same
    but for the names of values; else a pass made them, and its kinds are what it did to which operators.
    """
    new, partners = _named_after(name, old, after, sources)
    return tuple(_Changes(name, old, new, partners, rules, exact).made())


def named_after(name: str, old: Listing, after: r.Expr, sources: Sources) -> Listing:
    """The text of a function in which values are called as those that they stand for in an earlier text."""
    return _named_after(name, old, after, sources)[0]


def _named_after(name: str, old: Listing, after: r.Expr, sources: Sources) -> tuple[Listing, _Partners]:
    partners = _Partners(old, listing(after, name), sources)
    wishes = {key: old.names[id(one)] for key, one in partners.names() if id(one) in old.names}
    return listing(after, name, wishes, set(old.names.values())), partners


class _Partners:
    """Which statement before the step each one after it stands for."""

    def __init__(self, old: Listing, new: Listing, sources: Sources) -> None:
        self.old = old
        self.found: dict[int, r.Expr] = {}
        """By identity of a new statement."""
        self.origins: dict[int, list[r.Expr]] = {}
        """By identity of a new statement: the old ones that it comes from, in the order of the text."""
        self._position = {id(statement): number for number, statement in enumerate(old.statements)}
        self._taken: set[int] = set()
        self._votes: dict[int, Counter[int]] = {}
        self._new = new
        self._collect(sources)
        for statement in new.statements:
            if id(statement) in self._position:
                self._pair(statement, statement)
        for statement in reversed(new.statements):
            if id(statement) not in self.found:
                self._choose(statement)

    def _collect(self, sources: Sources) -> None:
        by_statement: dict[int, dict[int, r.Expr]] = {}
        for expr, statement in self._new.parts:
            known = by_statement.setdefault(id(statement), {})
            for source in sources(expr):
                written = self.old.statement_of.get(id(source))
                if written is not None and id(written) in self._position:
                    known[id(written)] = written
        for key, known in by_statement.items():
            self.origins[key] = sorted(known.values(), key=lambda one: self._position[id(one)])

    def names(self) -> Iterator[tuple[int, r.Expr]]:
        """Which new statement may be called as which old one: a kernel only where it has the same operators."""
        for statement in self._new.statements:
            one = self.found.get(id(statement))
            if one is not None and _kernel(statement) == _kernel(one):
                yield id(statement), one

    def _choose(self, statement: r.Expr) -> None:
        alike = [
            one for one in self.origins.get(id(statement), ())
            if id(one) not in self._taken and isinstance(one, r.Function) == isinstance(statement, r.Function)
        ]  # fmt: skip
        if alike:
            votes = self._votes.get(id(statement), Counter[int]())
            self._pair(statement, max(alike, key=lambda one: (votes[id(one)], self._position[id(one)])))

    def _pair(self, statement: r.Expr, one: r.Expr) -> None:
        self.found[id(statement)] = one
        self._taken.add(id(one))
        ours, theirs = values_read(statement, self._new), values_read(one, self.old)
        if len(ours) == len(theirs):
            for mine, other in zip(ours, theirs, strict=True):
                self._votes.setdefault(id(mine), Counter())[id(other)] += 1


def _kernel(statement: r.Expr) -> str:
    return kernel_name(statement) if isinstance(statement, r.Function) and statement.is_primitive else ""


def values_read(statement: r.Expr, within: Listing) -> list[r.Expr]:
    """The operands of a statement in order, those of what is written inside of it included."""
    found: list[r.Expr] = []
    stack = list(reversed(plain_operands(statement)))
    while stack:
        operand = stack.pop()
        if within.statement_of.get(id(operand)) is statement:
            stack.extend(reversed(plain_operands(operand)))
        else:
            found.append(operand)
    return found


@dataclass
class _Part:
    """Statements of both versions that changed together."""

    old: list[r.Expr] = field(default_factory=list[r.Expr])
    new: list[r.Expr] = field(default_factory=list[r.Expr])


class _Changes:
    """The changed statements of two listings, put together where they share an origin."""

    def __init__(
        self,
        name: str,
        old: Listing,
        new: Listing,
        partners: _Partners,
        rules: Mapping[int, Sequence[str]],
        exact: bool,
    ) -> None:
        self.name, self.old, self.new, self.partners, self.rules, self.exact = name, old, new, partners, rules, exact
        self._unchanged_old: set[int] = set()
        self._unchanged_new: set[int] = set()
        self._readers: dict[int, r.Expr] = {}
        """By identity of a new statement that only reads other values than its counterpart: the counterpart."""
        for statement in new.statements:
            partner = partners.found.get(id(statement))
            if partner is None:
                continue
            if new.lines_of(statement) == old.lines_of(partner):
                self._unchanged_old.add(id(partner))
                self._unchanged_new.add(id(statement))
            elif len(new.numbers_of(statement)) == 1 and own_key(statement) == own_key(partner):
                self._readers[id(statement)] = partner

    def made(self) -> Iterator[Change]:
        """All changes; that of the function's own lines (its parameters, what it returns) first."""
        own = [("-", line) for line in self.old.lines_of(None)], [("+", line) for line in self.new.lines_of(None)]
        if [line for _, line in own[0]] != [line for _, line in own[1]]:
            rows = tuple((sign, short_constants(line)) for sign, line in _differing(*own))
            yield Change(self.name, "the function's own lines", rows)
        for part in self._parts():
            yield self._change(part)

    def _parts(self) -> list[_Part]:
        """Changed statements that share an origin; with what only they read, and with those that only read them."""
        old = [one for one in self.old.statements if id(one) not in self._unchanged_old]
        new = [one for one in self.new.statements if id(one) not in self._unchanged_new]
        groups = _Groups()
        readers: set[int] = set()
        for statement in new:
            partner = self._readers.get(id(statement))
            if partner is not None:
                readers |= {id(partner), _new_key(statement)}
                groups.join(id(partner), _new_key(statement))
        changed = {id(one) for one in old} | {_new_key(one) for one in new}
        followed: set[int] = set()
        for statement in new:
            for one in self.partners.origins.get(id(statement), ()):
                link = {id(one), _new_key(statement)}
                if link <= changed and not link & readers:
                    groups.join(*link)
                    followed |= link
        unexplained = changed - followed - readers
        reads = [(id(one), [id(value) for value in values_read(one, self.old)]) for one in old]
        reads += [(_new_key(one), [_new_key(value) for value in values_read(one, self.new)]) for one in new]
        for key, values in reads:
            loose = [value for value in values if value in unexplained]
            ends = [value for value in values if value in followed][-1:] if key in readers else []
            for value in [*loose, *ends]:
                groups.join(key, value)
        return groups.parts(old, new)

    def _change(self, part: _Part) -> Change:
        removed = [self.old.lines[number] for number in _numbers(self.old, part.old)]
        added = _numbers(self.new, part.new)
        signs = dict.fromkeys(added, "+")
        if len(removed) + len(added) <= _NEIGHBOURS_OF:
            signs |= dict.fromkeys(_numbers(self.new, self._around(part)), " ")
        shown = [(signs[number], self.new.lines[number]) for number in sorted(signs)]
        first = next((at for at, (sign, _) in enumerate(shown) if sign == "+"), 0)
        rows = [*shown[:first], *(("-", line) for line in removed), *shown[first:]]
        names = [self.old.names.get(id(one)) for one in part.old] + [self.new.names.get(id(one)) for one in part.new]
        short = tuple((sign, short_constants(line)) for sign, line in rows)
        values = tuple(dict.fromkeys(name for name in names if name))
        return Change(self.name, self._kind(part), short, values, self._key(short) if self.exact else ())

    def _key(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """The lines that differ, values numbered as they come."""
        names = {*self.old.names.values(), *self.new.names.values()}
        numbers: dict[str, str] = {}

        def numbered(found: re.Match[str]) -> str:
            return numbers.setdefault(found[0], f"#{len(numbers)}") if found[0] in names else found[0]

        return tuple(sign + _NAME.sub(numbered, line) for sign, line in rows if sign in "+-")

    def _around(self, part: _Part) -> list[r.Expr]:
        """Unchanged statements of one line that a change reads or that read it."""
        near = [value for statement in part.new for value in values_read(statement, self.new)]
        near += [user for statement in part.new for user in self._users.get(id(statement), ())]
        found = {id(one): one for one in near if id(one) in self._unchanged_new}
        return [one for one in found.values() if len(self.new.numbers_of(one)) == 1][:_NEIGHBOURS_OF]

    @cached_property
    def _users(self) -> dict[int, list[r.Expr]]:
        """The statements of the new text that read a value, by its identity."""
        users: dict[int, list[r.Expr]] = {}
        for statement in self.new.statements:
            for value in values_read(statement, self.new):
                users.setdefault(id(value), []).append(statement)
        return users

    def _kind(self, part: _Part) -> str:
        rules = dict.fromkeys(rule for one in part.old for rule in self.rules.get(id(one), ()))
        readers = {id(self._readers[id(one)]) for one in part.new if id(one) in self._readers}
        old = [one for one in part.old if id(one) not in readers]
        new = [one for one in part.new if id(one) not in self._readers]
        before, after = (_operators(old), _operators(new)) if old or new else (_operators(part.old),) * 2
        if before == after:
            what = f"{before} changed"
        elif not before or not after:
            what = f"{before} gone" if before else f"{after} new"
        else:
            what = f"{before} -> {after}"
        if rules:
            return f"{', '.join(rules)}: {what}"
        return what + self._words(part) if before and after else what

    def _words(self, part: _Part) -> str:
        """Which words of the lines became which others, names of values and contents of constants aside.

        Of what no rule did it is part of the kind: two edits of one operator may have nothing else in common.
        """
        names = {*self.old.names.values(), *self.new.names.values()}
        gone, come = (
            Counter(word for number in _numbers(within, of) for word in _words(within.lines[number], names))
            for within, of in ((self.old, part.old), (self.new, part.new))
        )
        sides = (list((gone - come).elements()), list((come - gone).elements()))
        shown = " -> ".join(", ".join(words) for words in sides if words)
        return f": {shown}" if shown else ""


def _words(line: str, names: Collection[str]) -> Iterator[str]:
    for word in _WORD.findall(short_constants(line)):
        if word not in names and not word.startswith("R."):
            yield word


class _Groups:
    """Keys of statements that belong together (union and find)."""

    def __init__(self) -> None:
        self._leader: dict[int, int] = {}

    def leader(self, key: int) -> int:
        while self._leader.setdefault(key, key) != key:
            self._leader[key] = key = self._leader[self._leader[key]]
        return key

    def join(self, one: int, other: int) -> None:
        self._leader[self.leader(one)] = self.leader(other)

    def parts(self, old: Sequence[r.Expr], new: Sequence[r.Expr]) -> list[_Part]:
        parts: dict[int, _Part] = {}
        for one in old:
            parts.setdefault(self.leader(id(one)), _Part()).old.append(one)
        for statement in new:
            parts.setdefault(self.leader(_new_key(statement)), _Part()).new.append(statement)
        return list(parts.values())


def _new_key(statement: r.Expr) -> int:
    """A key that no old statement has, though a statement may be in both versions."""
    return ~id(statement)


def _numbers(within: Listing, statements: Sequence[r.Expr]) -> list[int]:
    return sorted(number for statement in statements for number in within.numbers_of(statement))


def _operators(statements: Sequence[r.Expr]) -> str:
    """What statements compute, in the order of the text: kernels stand for their calls, operators alike are counted."""
    functions = [
        kernel_name(one) if one.is_primitive else "function" for one in statements if isinstance(one, r.Function)
    ]
    names = functions or [_operator(one) for one in statements]
    counted = Counter(names)
    return " + ".join(name if count == 1 else f"{name} ×{count}" for name, count in counted.items())


def _operator(statement: Node) -> str:
    if isinstance(statement, r.Call):
        return statement.op.name if isinstance(statement.op, Operator) else "call"
    return {r.Tuple: "tuple", r.TupleGetItem: "item"}.get(type(statement), type(statement).__name__.lower())


def _differing(before: Sequence[Row], after: Sequence[Row]) -> list[Row]:
    """Lines of one list that are not in the other, each as often as it is missing."""
    lines = Counter(line for _, line in before), Counter(line for _, line in after)
    spare = (lines[0] - lines[1], lines[1] - lines[0])
    rows: list[Row] = []
    for given, left in zip((before, after), spare, strict=True):
        for sign, line in given:
            if left[line] > 0:
                left[line] -= 1
                rows.append((sign, line))
    return rows
