"""Breakpoints on rewrites: stop where a named rule fires, or where a node of some kind is rewritten.

The rewrite driver asks before each firing.  A breakpoint that fits keeps a `Stop` (what matched, which firing it
was), and may call a function or open the debugger inside the rule.  `budget(n)` lets only the first n rewrites of a
table happen, so that the program between two rewrites can be looked at, and run.

>>> with watching(Breakpoint(rule="fold-*")) as stops:
...     pass
>>> stops
[]
"""

from __future__ import annotations

import pdb
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .errors import WorkbenchError
from .node import Node

if TYPE_CHECKING:
    from .rewrite import Match, Rule

STOPS = 1_000
"""Most stops that one breakpoint keeps; further ones are only counted."""


@dataclass(frozen=True)
class Stop:
    """One rewrite that a breakpoint fits."""

    rule: Rule
    before: Node
    after: Node
    bound: Mapping[str, Any]
    """What the rule's pattern met, by the names in it."""
    number: int
    """How many rewrites the step had done before this one."""


@dataclass
class Breakpoint:
    """Where to stop, and what to do there.

    `rule`: the name of a rule, `*` and `?` as in file names.  `node`: the node rewritten, as a function of it, as the
    node itself, as the name of an operator or as the name of a node's class.  `action`: "keep" collects stops, "debug"
    opens the Python debugger at the first line of the rule, a function is called with the `Stop`.
    """

    rule: str | None = None
    node: Callable[[Node], bool] | Node | str | None = None
    action: str | Callable[[Stop], None] = "keep"
    hits: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        action: Any = self.action
        if not callable(action) and not (isinstance(action, str) and action in ("keep", "debug")):
            raise WorkbenchError(
                "E-BREAK-ACTION",
                "a breakpoint has no such action",
                found=repr(self.action)[:80],
                expected='"keep", "debug" or a function of the stop',
            )
        rule: Any = self.rule
        if rule is not None and not isinstance(rule, str):
            raise WorkbenchError(
                "E-BREAK-RULE", "a rule is given by its name", found=repr(rule)[:80], expected='"add-zero", "fold-*"'
            )
        node: Any = self.node
        if not (node is None or isinstance(node, (str, Node)) or callable(node)):
            raise WorkbenchError(
                "E-BREAK-NODE", "a breakpoint is on no such node", found=repr(node)[:80],
                expected='a node, the name of an operator or of nodes\' class ("nn.conv2d"), or a function of a node',
            )  # fmt: skip

    def fits(self, rule: Rule, node: Node) -> bool:
        """Whether this rewrite is meant."""
        return (self.rule is None or fnmatchcase(rule.name, self.rule)) and self._fits_node(node)

    def _fits_node(self, node: Node) -> bool:
        if self.node is None:
            return True
        if isinstance(self.node, Node):
            return node is self.node
        if isinstance(self.node, str):
            return self.node in (type(node).__name__, getattr(getattr(node, "op", None), "name", None))
        return bool(self.node(node))


@dataclass
class _Watch:
    breakpoints: tuple[Breakpoint, ...]
    stops: list[Stop]
    done: int = 0


_watch: ContextVar[_Watch | None] = ContextVar("workbench_breakpoints", default=None)
_budget: ContextVar[list[int] | None] = ContextVar("workbench_rewrite_budget", default=None)


@contextmanager
def watching(*breakpoints: Breakpoint) -> Generator[list[Stop]]:
    """Breakpoints hold inside the block; gives the list that stops are kept in."""
    watch = _Watch(breakpoints, [])
    token = _watch.set(watch)
    try:
        yield watch.stops
    finally:
        _watch.reset(token)


@contextmanager
def budget(rewrites: int) -> Generator[None]:
    """Only the first `rewrites` firings of rule tables happen inside the block; afterwards no rule fires."""
    token = _budget.set([rewrites])
    try:
        yield
    finally:
        _budget.reset(token)


def spent() -> bool:
    """Whether the budget of rewrites is used up."""
    left = _budget.get()
    return left is not None and left[0] <= 0


def replaced(rule: Rule, node: Node, match: Match) -> Node | None:
    """The rule's replacement, built under the debugger where a breakpoint wants it."""
    assert rule.replace is not None
    watch = _watch.get()
    if watch is not None and any(one.action == "debug" and one.fits(rule, node) for one in watch.breakpoints):
        return pdb.Pdb(nosigint=True).runcall(rule.replace, match)
    return rule.replace(match)


def passed(rule: Rule, before: Node, after: Node, bound: Mapping[str, Any] | None = None) -> None:
    """Tell of a rewrite that is happening."""
    left = _budget.get()
    if left is not None:
        left[0] -= 1
    watch = _watch.get()
    if watch is None:
        return
    for one in watch.breakpoints:
        if one.fits(rule, before):
            one.hits += 1
            stop = Stop(rule, before, after, dict(bound or {}), watch.done)
            if one.hits <= STOPS:
                watch.stops.append(stop)
            if callable(one.action):
                one.action(stop)
    watch.done += 1
