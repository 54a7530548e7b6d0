"""Rewriting by tables of named rules over patterns as data, with every firing logged and every refusal explained.

A rule is a pattern (what it looks at), clauses (what must hold besides) and a function that builds the replacement.
One driver applies a table bottom-up until nothing fires, keeps origins, and guards against endless rewriting.
Patterns belong to an IR (`relay.patterns`); here they are anything with `match(node, match) -> Failure | None`.

    TABLE = RuleTable("simplify")

    @TABLE.rule("add-zero", op("add", any_("x"), constant("zero", value=0)))
    def add_zero(m):
        '''x + 0 is x.'''
        return m["x"]

>>> with logging() as log:
...     pass
>>> list(log)
[]
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from . import breakpoints, origin, reliance
from .code_names import Keyed, is_own
from .errors import WorkbenchError, nearest
from .limits import limits
from .node import Node, children, map_children, post_order
from .time_limit import check_time


class Failure:
    """The first clause of a rule that does not hold, with the value found there.

    Either may be given as a function that makes the text: most failures are never read.
    """

    __slots__ = ("_clause", "_found")

    def __init__(self, clause: str | Callable[[], str], found: str | Callable[[], str]) -> None:
        self._clause = clause
        self._found = found

    @property
    def clause(self) -> str:
        return self._clause if isinstance(self._clause, str) else self._clause()

    @property
    def found(self) -> str:
        return self._found if isinstance(self._found, str) else self._found()

    def __str__(self) -> str:
        return f"{self.clause}; found {self.found}"

    def __repr__(self) -> str:
        return f"Failure({self.clause!r}, {self.found!r})"


class Match:
    """What a pattern met: nodes by the names in it, and those it went through."""

    def __init__(self, root: Node, uses: Callable[[Node], int] | None = None) -> None:
        self.root = root
        self.bound: dict[Any, Any] = {}
        self.matched: list[Node] = []
        self._uses = uses

    def __getitem__(self, name: Any) -> Any:
        return self.bound[name]

    def uses(self, node: Node) -> int:
        """How often a node of the program is used (1 where it is not known)."""
        return self._uses(node) if self._uses is not None else 1

    def mark(self) -> tuple[dict[Any, Any], int]:
        """A point to return to when an alternative fails."""
        return dict(self.bound), len(self.matched)

    def back_to(self, mark: tuple[dict[Any, Any], int]) -> None:
        self.bound = mark[0]
        del self.matched[mark[1] :]


class Pattern(Protocol):
    """What a rule looks for.

    A pattern may have `fits(head) -> bool` as well: False where it fits no node of that `Driver.head`.
    """

    def match(self, node: Node, match: Match) -> Failure | None:
        """None if the pattern fits (its names are then bound in `match`), else why not."""
        ...


@dataclass(frozen=True)
class Clause:
    """A condition beyond the pattern: its text, the test, and how to show the value found."""

    text: str
    holds: Callable[[Match], bool]
    found: Callable[[Match], Any] = lambda match: "otherwise"


@dataclass(frozen=True)
class Rule(Keyed):
    """A named rewrite; `replace` may still answer None to decline."""

    name: str
    pattern: Pattern | None
    replace: Callable[[Match], Node | None] | None
    when: tuple[Clause, ...] = ()
    doc: str = ""
    where: str = ""
    """file:line where the rule is written"""

    @property
    def module(self) -> str:
        """The module in which it is written."""
        return str(getattr(self.replace, "__module__", ""))

    def key_parts(self) -> tuple[Any, ...]:
        """What the rule does, wherever it is written."""
        return self.name, self.pattern, self.replace, self.when

    def match(self, node: Node, uses: Callable[[Node], int] | None = None) -> Match | Failure:
        """Match pattern and clauses at a node."""
        found = Match(node, uses)
        if self.pattern is None:
            return Failure("this rule belongs to a pass and has no pattern", "none")
        failure = self.pattern.match(node, found)
        if failure is not None:
            return failure
        for clause in self.when:
            if not clause.holds(found):
                return Failure(clause.text, lambda: str(clause.found(found)))  # noqa: B023  (returned at once)
        return found


@dataclass(frozen=True)
class Firing:
    """One rule that fired."""

    rule: Rule
    before: Node
    after: Node
    nanoseconds: int
    matched: tuple[Node, ...] = ()
    """What was looked at and replaced, `before` among it."""
    bound: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the rule's pattern met, by the names in it."""

    def __repr__(self) -> str:
        return f"Firing({self.rule.name}, {self.rule.where})"


def step(name: str, doc: str) -> Rule:
    """A name for the rewrites of a pass that is no table: logged like a rule's firings."""
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    where = f"{caller.f_code.co_filename.rsplit('/', 1)[-1]}:{caller.f_lineno}" if caller is not None else ""
    return Rule(name, None, None, (), doc, where)


class RuleTable(Sequence[Rule], Keyed):
    """Rules in the order in which they are tried."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rules: list[Rule] = []

    def rule(
        self, name: str, pattern: Pattern, when: Iterable[Clause] = (), override: bool = False
    ) -> Callable[[Any], Rule]:
        """Add the decorated function as a rule; its docstring says what the rule means.

        In the place of a rule of that name, which was written in the same module (a cell run again), or `override`.
        """

        def decorate(function: Callable[[Match], Node | None]) -> Rule:
            code = function.__code__
            where = f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"
            made = Rule(name, pattern, function, tuple(when), inspect.getdoc(function) or "", where)
            known = next((rule for rule in self._rules if rule.name == name), None)
            if known is not None and not override and known.module != made.module:
                raise WorkbenchError(
                    "E-RULE-CLASH", f"{self.name} has a rule {name!r} already", where=where,
                    found=f"one of {known.module}", fix="choose another name, or pass override=True to replace it",
                )  # fmt: skip
            self._rules = [rule for rule in self._rules if rule.name != name] + [made]
            reliance.changed(is_own(made.module))
            return made

        return decorate

    def add(self, rule: Rule, module: str = "") -> None:
        """Take in a rule of another table; `module` says who does."""
        self._rules.append(rule)
        reliance.changed(is_own(module))

    def key_parts(self) -> tuple[Rule, ...]:
        """The rules as they are now: passes that apply the table do something else after a rule has changed."""
        return tuple(self._rules)

    @property
    def kind(self) -> str:
        """The word for its rules, for `reliance`."""
        return f"{self.name} rule"

    def user_entry(self, name: str) -> tuple[Rule, ...] | None:
        """The rules that users wrote; None for none."""
        return tuple(rule for rule in self._rules if not is_own(rule.module)) or None

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, index: str | int | slice) -> Any:
        reliance.note(self, reliance.EVERY)
        if isinstance(index, str):
            for rule in self._rules:
                if rule.name == index:
                    return rule
            names = [rule.name for rule in self._rules]
            raise WorkbenchError("E-RULE-UNKNOWN", f"{self.name} has no rule {index!r}", fix=nearest(index, names))
        return self._rules[index]

    def __iter__(self) -> Iterator[Rule]:
        reliance.note(self, reliance.EVERY)
        return iter(self._rules)


# --- the log ------------------------------------------------------------------------------------------------------

_log: ContextVar[list[Firing] | None] = ContextVar("workbench_rewrites", default=None)


@contextmanager
def logging() -> Generator[list[Firing]]:
    """Collect the firings inside the block."""
    firings: list[Firing] = []
    token = _log.set(firings)
    try:
        yield firings
    finally:
        _log.reset(token)


def fired(
    rule: Rule,
    before: Node,
    after: Node,
    started: int,
    bound: Mapping[str, Any] | None = None,
    matched: Iterable[Node] = (),
) -> None:
    """Log a rewrite that began at `started` (`time.perf_counter_ns`), and tell breakpoints of it."""
    breakpoints.passed(rule, before, after, bound)
    log = _log.get()
    if log is not None:
        spent = time.perf_counter_ns() - started
        replaced = tuple(dict.fromkeys((*matched, before)))
        log.append(Firing(rule, before, after, spent, replaced, bound or {}))


def log_again(firings: Iterable[Firing]) -> None:
    """Log what fired earlier, where its result is used again."""
    log = _log.get()
    if log is not None:
        log.extend(firings)


_tried: ContextVar[list[Rule] | None] = ContextVar("workbench_tried_rules", default=None)


@contextmanager
def watching() -> Generator[list[Rule]]:
    """Collect the rules that are tried inside the block, whether they fire or not; each once, in their order."""
    tried: list[Rule] = []
    token = _tried.set(tried)
    try:
        yield tried
    finally:
        _tried.reset(token)


def trying(rules: Iterable[Rule]) -> None:
    """Tell `watching` of rules that are about to be tried."""
    tried = _tried.get()
    if tried is not None:
        tried.extend(rule for rule in rules if rule not in tried)


def why_not(rule: Rule, node: Node, root: Node | None = None) -> Failure | None:
    """Why a rule does not fire at a node: the first clause that fails, with the value found; None if it would.

    `root` is the program around the node, for clauses about how often something is used.
    """
    uses = count_uses(root) if root is not None else None
    found = rule.match(node, (lambda used: uses.get(id(used), 1)) if uses is not None else None)
    if isinstance(found, Failure):
        return found
    if rule.replace is not None and rule.replace(found) is None:
        return Failure("the rule builds a replacement", "it declined: " + (rule.doc.split("\n")[0] or rule.name))
    return None


# --- the driver ---------------------------------------------------------------------------------------------------


def _anything(node: Node) -> bool:
    return True


def _kind(node: Node) -> str:
    return type(node).__name__


def _nothing(new: Node, old: Node) -> None:
    return None


_AT_ONE: Final = 10_000
"""Firings at one node: rules that undo each other come to this within a second, others not to a hundredth of it."""


@dataclass
class Driver:
    """Applies rules bottom-up to a fixed point.

    `enters(node)` says whether a node's children are looked at; `rebuilt(new, old)` is told of nodes whose children
    changed, `made(new, old)` of replacements, before they are used.
    """

    rules: Sequence[Rule]
    enters: Callable[[Node], bool] = _anything
    rebuilt: Callable[[Node, Node], None] = _nothing
    made: Callable[[Node, Node], None] = _nothing
    show: Callable[[Node], str] = _kind
    """Writes a node down in one line, for errors."""
    head: Callable[[Node], Hashable] | None = None
    """By what patterns tell at once that they do not fit a node, as their IR writes it; None: every one is tried."""
    rounds: int = 64
    firings: int = 0
    _last: list[tuple[Rule, Node, Node]] = field(default_factory=list[tuple[Rule, Node, Node]])
    """The last firings: the rule, the node before and after."""
    _fitting: dict[Hashable, tuple[Rule, ...]] = field(default_factory=dict[Hashable, tuple[Rule, ...]])
    """The rules that may fit a node, by its head."""

    def run(self, root: Node) -> Any:
        """The rewritten program; the same object if nothing fired.  Raises E-REWRITE-ENDLESS."""
        self.rules = tuple(self.rules)  # what is run now: a table is asked once
        trying(self.rules)
        for _ in range(self.rounds):
            before = self.firings
            root = self._round(root)
            if self.firings == before:
                return root
        raise self._endless(root)

    def _endless(self, root: Node) -> WorkbenchError:
        names = list(dict.fromkeys(rule.name for rule, _, _ in self._last))
        _, before, after = self._last[-1]
        return WorkbenchError(
            "E-REWRITE-ENDLESS",
            f"rules keep firing: {', '.join(names)}",
            found=f"{self.firings:,} firings, at last between {self.show(before)} and {self.show(after)}",
            fix="one of them must make its result smaller, or not match its own result",
            kept="the program before",
            nodes=(root, before, after),
        )

    def _round(self, root: Node) -> Node:
        uses = count_uses(root, self.enters)
        done: dict[int, Node] = {}
        kept: list[Node] = []
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            current, expanded = stack.pop()
            if id(current) in done:
                continue
            if not expanded:
                stack.append((current, True))
                if self.enters(current):
                    stack.extend((child, False) for child in children(current) if id(child) not in done)
                continue
            new = self._rebuild(current, done)
            kept.append(new)
            uses.setdefault(id(new), uses.get(id(current), 1))
            done[id(current)] = self._settle(new, uses, kept)
        return done[id(root)]

    def _rebuild(self, current: Node, done: dict[int, Node]) -> Node:
        if not self.enters(current):
            return current
        new = map_children(current, lambda child: done[id(child)])
        if new is not current:
            self.rebuilt(new, current)
        return new

    def _settle(self, node: Node, uses: dict[int, int], kept: list[Node]) -> Node:
        """Apply rules at one node until none fires."""
        changed, most = True, self.firings + _AT_ONE
        while changed:
            changed = False
            for rule in self._rules_for(node):
                started = time.perf_counter_ns()
                found = rule.match(node, lambda used: uses.get(id(used), 1))
                if isinstance(found, Failure) or rule.replace is None or breakpoints.spent():
                    continue
                new = breakpoints.replaced(rule, node, found)
                if new is None or new is node:
                    continue
                self.made(new, node)
                origin.derived(new, *dict.fromkeys([node, *found.matched]))
                origin.joined(new, node)
                fired(rule, node, new, started, found.bound, found.matched)
                self._count(rule, node, new, most)
                kept.append(new)
                uses.setdefault(id(new), uses.get(id(node), 1))
                node, changed = new, True
                break
        return node

    def _rules_for(self, node: Node) -> tuple[Rule, ...]:
        head = self.head(node) if self.head is not None else None
        known = self._fitting.get(head)
        if known is None:
            known = self._fitting[head] = tuple(rule for rule in self.rules if _may_fit(rule, head))
        return known

    def _count(self, rule: Rule, before: Node, after: Node, most: int) -> None:
        self.firings += 1
        self._last = [*self._last[-11:], (rule, before, after)]
        check_time(f"rule {rule.name}")
        if self.firings > min(most, limits.rewrites):
            raise self._endless(after)


def _may_fit(rule: Rule, head: Hashable) -> bool:
    """Whether a rule has to be tried at nodes of a head; where no head is known or its pattern cannot tell, it has."""
    fits = getattr(rule.pattern, "fits", None)
    return rule.pattern is not None and (head is None or fits is None or fits(head))


def count_uses(root: Node, enters: Callable[[Node], bool] = _anything) -> dict[int, int]:
    """How many times each node stands as a child of another (by identity)."""
    uses: dict[int, int] = {id(root): 1}
    for node in post_order(root):
        if enters(node):
            for child in children(node):
                uses[id(child)] = uses.get(id(child), 0) + 1
    return uses
