"""Why a pass left an operator as it is: each of its rules at that place, with the first clause that fails.

    found = s.why_not("SimplifyExpr", node)
    print(found)                      # rules that come far first; then those that fail at the operator itself
    found.answers[0].failed           # Line("failed", "x is floating-point", "int8")

The rules are those that the pass tries when it runs: it is run once more for that, and its result thrown away.
They are tried on the program as it was before the pass; what earlier rules of the same pass made of it is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import WorkbenchError
from ..core.node import post_order
from ..core.rewrite import Match, Rule, count_uses, watching
from ..core.rule_trial import Trial, try_rule
from ..relay.dataflow_pattern.patterns import DFPattern
from ..relay.dataflow_pattern.rewriting import Group, refusal
from ..relay.ir import expr as r
from ..relay.ir.brief import brief
from ..relay.ir.operator import Operator
from .origin_index import index_of

if TYPE_CHECKING:
    from .history import Step
    from .session import Session

_RULES: Final = "rules that it tries"
"""In a step's memo."""
_MARKS: Final = {"holds": "✓", "failed": "✗", "not reached": "·"}


@dataclass(frozen=True)
class WhyNot:
    """The answer for one pass and one operator."""

    step: str
    node: str
    """The operator in the program before the pass; empty where nothing there became it."""
    note: str
    """What is to be said of all rules: that one fired here, that the pass keeps none, that it changed nothing."""
    answers: tuple[Trial, ...]
    """Rules that look at operators like this one, those that come farthest first."""
    others: tuple[Trial, ...]
    """Rules that fail at the operator itself."""

    def __str__(self) -> str:
        lines = [f"{self.step} at {self.node or 'an operator that was not there'}", *([self.note] if self.note else [])]
        for trial in self.answers:
            lines.append(f"{trial.rule.name}  ({trial.rule.where})")
            for line in trial.lines:
                found = f"; found {line.found}" if line.state == "failed" else f": {line.found}" if line.found else ""
                lines.append(f"  {_MARKS[line.state]} {line.text}{found}")
        for trial in self.others:
            line = trial.failed
            lines.append(f"{trial.rule.name}  {_MARKS['failed']} {line.text}; found {line.found}" if line else "")
        return "\n".join(lines)

    __repr__ = __str__


def why_not(session: Session, step: str | int, node: Any) -> WhyNot:
    """See the module's header; `node` is a call of an operator, of the program after any graph step.

    Raises `WorkbenchError` E-WHY-NOT-PASS for a step that is no pass of the graph, and E-WHY-NOT-NODE for a node that
    is no call of an operator.
    """
    found = session.step(step)
    if found.previous is None or found.action.kind != "pass" or found.action.level != "relay":
        raise WorkbenchError(
            "E-WHY-NOT-PASS", f"step {found.label!r} is no pass of the graph", expected="one of its passes"
        )
    if not isinstance(node, r.Call) or not isinstance(node.op, Operator):
        shown = brief(node) if isinstance(node, r.Expr) else type(node).__name__
        raise WorkbenchError("E-WHY-NOT-NODE", "rules are tried at calls of operators", found=shown)
    place = _before(session, found, node)
    if place is None:
        return WhyNot(found.label, "", f"Nothing in the program before {found.label} became this operator.", (), ())
    main, here = place
    rules = rules_of(found)
    trials = _trials(rules, here, main)
    near = tuple(sorted((one for one in trials if one.nodes), key=_reached, reverse=True))
    others = tuple(one for one in trials if not one.nodes)
    return WhyNot(found.label, brief(here), _note(found, here, rules), near, others)


def rules_of(step: Step) -> tuple[Rule, ...]:
    """The rules that a pass tries; it is run again the first time."""
    if _RULES not in step.memo:
        assert step.previous is not None
        with watching() as tried, suppress(WorkbenchError):  # what it refuses at last, it has tried
            step.action.run(step.previous.stage)
        step.memo[_RULES] = tuple(tried)
    return step.memo[_RULES]


def _trials(rules: Sequence[Rule], here: r.Call, main: r.Expr) -> list[Trial]:
    uses = count_uses(main)

    def together(match: Match) -> Any:
        return refusal(Group(here, match), set(), uses)

    return [
        try_rule(rule, here, uses, brief, together if isinstance(rule.pattern, DFPattern) else None) for rule in rules
    ]


def _reached(trial: Trial) -> tuple[bool, int]:
    held = sum(line.state == "holds" for line in trial.lines)
    return (trial.failed is None, held)


def _note(step: Step, here: r.Call, rules: Sequence[Rule]) -> str:
    fired = [one for one in step.firings if any(node is here for node in (one.before, *one.matched))]
    if fired:
        names = ", ".join(dict.fromkeys(one.rule.name for one in fired))
        return f"It did fire here: {names}. {fired[0].rule.doc.splitlines()[0] if fired[0].rule.doc else ''}".strip()
    if not rules:
        said = f"{step.label} decides without rules over patterns, and records no reason for what it leaves alone."
        return said if step.changed else f"{said} It changed nothing in this program."
    return ""


# --- the operator before the pass ---------------------------------------------------------------------------------


def _before(session: Session, step: Step, node: r.Call) -> tuple[r.Expr, r.Call] | None:
    """The operator of the program before a step that `node` is, or that comes from the same nodes of the import."""
    assert step.previous is not None
    functions = list(step.previous.stage.module.functions.values())
    for main in functions:
        if any(one is node for one in post_order(main)):
            return main, node
    steps = session.history.computed(session.actions)
    known = {one.step.id: one for one in index_of(session)}
    own = next((one for one in steps if _holds(one, node)), None)
    if own is None:
        return None
    sources = known[own.id].sources_of(node)
    there = known[step.previous.id]
    best: tuple[float, r.Expr, r.Call] | None = None
    for main in functions:
        for one in post_order(main):
            if not isinstance(one, r.Call) or type(one.op) is not type(node.op):
                continue
            theirs = there.sources_of(one)
            share = len(sources & theirs) / max(1, len(sources | theirs))
            if share > 0 and (best is None or share > best[0]):
                best = share, main, one
    return None if best is None else best[1:]


def _holds(step: Step, node: r.Call) -> bool:
    return any(one is node for main in step.stage.module.functions.values() for one in post_order(main))
