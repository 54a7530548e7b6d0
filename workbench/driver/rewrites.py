"""What a rule did at one place, in the names of the program before the step.

    shown = rewrite_shown(step, step.firings[3])
    shown.before, shown.after     # lines: the statements that were replaced, and those in their place
    shown.bindings                # (("x", "v3 = nn.conv2d(…)"), ...): what the names of the rule's pattern met
    shown.rule                    # the rule as it is written

Statements read as in the program: what lies around the place is named, not cut out of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.node import Node, post_order
from ..core.rewrite import Firing, Rule
from ..relay.ir import expr as r
from ..relay.ir.brief import brief
from ..relay.ir.listing import fragment
from .history import Step
from .step_listings import listings_of
from .step_sources import origins_before
from .text import function_text, short_constants


@dataclass(frozen=True)
class RewriteShown:
    """A rewrite as text."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    bindings: tuple[tuple[str, str], ...]
    rule: str


class Names:
    """What the program before a step calls its values; others are called as what they come from."""

    def __init__(self, step: Step) -> None:
        self._origins = origins_before(step)
        self._names: dict[int, str] = {}
        self._statements: dict[int, r.Expr] = {}
        self._positions: dict[int, int] = {}
        for found in (listings_of(step.previous) if step.previous is not None else {}).values():
            self._names.update(found.names)
            self._statements.update(found.statement_of)
            self._positions.update((id(one), place) for place, one in enumerate(found.statements))
        self.all = frozenset(self._names.values())

    def __call__(self, expr: Any) -> str | None:
        """The name of an expression; None for what comes from nothing with a name."""
        own = self._names.get(id(expr))
        if own is not None or id(expr) in self._statements:  # written inside of another statement: without a name
            return own
        named = [id(one) for one in self._origins(expr) if id(one) in self._names]
        last = max(named, key=lambda identity: self._positions.get(identity, -1), default=None)
        return None if last is None else self._names[last]


def rewrite_shown(firing: Firing, names: Names) -> RewriteShown:
    """One firing of a rule of a step whose `names` these are."""
    made = _made(firing)

    def called(expr: Any) -> str | None:
        """The result is called as what it replaces; what else the rule made has no name yet."""
        if expr is firing.after:
            return names(firing.before)
        return None if id(expr) in made else names(expr)

    found = firing.after  # of a table, perhaps an expression that was there before: it is only named
    known = isinstance(found, r.Expr) and firing.rule.pattern is not None and id(found) not in made
    return RewriteShown(
        _lines(firing.before, {id(node) for node in firing.matched}, names, names),
        (brief(found),) if known else _lines(found, made, called, names),
        tuple((str(name), _bound(value, names)) for name, value in firing.bound.items()),
        rule_text(firing.rule),
    )


def rule_text(rule: Rule) -> str:
    """The rule as it is written; empty where its text is not to be had (a cell of an earlier session)."""
    if rule.replace is None:
        return ""
    try:
        return inspect.cleandoc(inspect.getsource(rule.replace))
    except (OSError, TypeError):
        return ""


def _lines(node: Node, inside: set[int], called: Callable[[Any], str | None], names: Names) -> tuple[str, ...]:
    if isinstance(node, r.Expr):
        return tuple(short_constants(line) for line in fragment(node, inside, called, names.all))
    return tuple(short_constants(line) for line in function_text("main", node).text.rstrip("\n").split("\n"))


def _made(firing: Firing) -> set[int]:
    """What the rule made: of a rule of a table, all that was not there before; of a pass, the one expression."""
    if firing.rule.pattern is None:
        return set()
    there = {id(node) for node in post_order(firing.before)}
    return {id(node) for node in post_order(firing.after)} - there


def _bound(value: Any, names: Names) -> str:
    if not isinstance(value, r.Expr):
        return str(value)[:80]
    name = names(value)
    return f"{name} = {brief(value)}" if name and not isinstance(value, r.Var) else brief(value)
