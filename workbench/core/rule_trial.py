"""How far a rule comes at one place: what of it holds, the first clause that fails, what is not reached.

    tried = try_rule(RULES["add-zero"], node, count_uses(root), brief)
    [line.text for line in tried.lines if line.state == "failed"]     # at most one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .errors import WorkbenchError
from .node import Node
from .rewrite import Failure, Match, Rule

State = Literal["holds", "failed", "not reached"]


@dataclass(frozen=True)
class Line:
    """One part of a rule: a node that its pattern met, a name that it bound, a clause, the replacement."""

    state: State
    text: str
    found: str = ""


@dataclass(frozen=True)
class Trial:
    """A rule at one place."""

    rule: Rule
    lines: tuple[Line, ...]
    nodes: int
    """How many nodes its pattern went through: 0 where not even the place itself is what it looks for."""

    @property
    def failed(self) -> Line | None:
        """The first clause that does not hold; None if the rule fires."""
        return next((line for line in self.lines if line.state == "failed"), None)


def try_rule(
    rule: Rule,
    node: Node,
    uses: Mapping[int, int],
    show: Callable[[Any], str],
    more: Callable[[Match], Any] | None = None,
) -> Trial:
    """Try a rule without changing anything.

    `uses`: how often each node is used, by identity.  `show` writes a node down.  `more(match)` gives a `Failure` of
    what is asked of a match beside the rule's own clauses, or None.
    """
    match = Match(node, lambda used: uses.get(id(used), 1))
    pattern = rule.pattern
    failure = pattern.match(node, match) if pattern is not None else Failure("the rule has a pattern", "none")
    nodes = list(dict.fromkeys(match.matched))
    named = {name: one for name, one in match.bound.items() if isinstance(name, str)}
    lines = [Line("holds", "meets", show(one)) for one in nodes if not any(one is bound for bound in named.values())]
    lines += [Line("holds", name, show(one)) for name, one in named.items()]
    if failure is not None:
        lines.append(Line("failed", failure.clause, failure.found))
    for clause in rule.when:
        if failure is not None:
            lines.append(Line("not reached", clause.text))
        elif clause.holds(match):
            lines.append(Line("holds", clause.text, ""))
        else:
            failure = Failure(clause.text, str(clause.found(match)))
            lines.append(Line("failed", failure.clause, failure.found))
    if failure is None:
        last = _replacement(rule, match, more)
        lines += [Line("failed", last.clause, last.found)] if last is not None else []
    return Trial(rule, tuple(lines), len(nodes))


def _replacement(rule: Rule, match: Match, more: Callable[[Match], Any] | None) -> Failure | None:
    """Why a rule whose clauses all hold replaces nothing."""
    found = more(match) if more is not None else None
    if found is not None or rule.replace is None:
        return found
    try:
        made = rule.replace(match)
    except WorkbenchError as error:
        return Failure("the rule builds a replacement", error.message)
    if made is None or made is match.root:
        return Failure("the rule builds a replacement", "it declined: " + (rule.doc.split("\n")[0] or rule.name))
    return None
