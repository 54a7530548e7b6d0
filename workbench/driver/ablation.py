"""What each pass of the graph does for the program: what the program would be without it.

    found = s.ablation()                     # or s.ablation({"x": photo}): also run, and measured
    print(found)                             # a row for each pass, with what leaving it out changes
    found["FuseOps"].figures.kernels - found.base.kernels

Every variant leaves out one pass and keeps all others; it is no branch of the session.  What variants share with the
session and with each other is computed once, and what was computed is kept with the history.

Invariant: no time is told where the code is the same, and a difference that is measured is that of runs in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ..analysis.fact import Fact, table
from ..analysis.quick_cycles import quick_cycles
from ..core.arguments import by_name
from ..core.equal import fingerprint
from ..core.errors import WorkbenchError, nearest
from ..core.node import post_order
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from .alternating import Spread, alternating, samples
from .intermediates import graph_steps
from .origin_index import sites
from .traffic import traffic

if TYPE_CHECKING:
    from .history import Step
    from .session import Session

_CYCLES: Final = "estimated cycles of one run"
"""In the memo of the step that schedules."""
_CODE: Final = "fingerprints of the code"
"""In the memo of the last step."""


@dataclass(frozen=True)
class Figures(Fact):
    """What a program is, in numbers."""

    operators: int
    """Calls of operators in the last graph; those of a function that is called twice count once."""
    kernels: int
    bytes: int | None
    """Bytes in and out of all kernels in one run; None where an extent is not known."""
    cycles: int | None
    """Of one run on one core, estimated by the cost model (`quick_cycles`); None where a kernel has no estimate."""
    time: Spread | None = None
    """Of runs in this process; None where nothing was run."""


@dataclass(frozen=True)
class Without(Fact):
    """The program without one pass."""

    step: str
    figures: Figures | None
    """None where nothing can be made of the graph without this pass."""
    problem: str = ""
    """What the step that failed says."""
    same_code: bool = False
    """Whether it was to be measured and is compiled to the very code of the whole program."""
    slower: Spread | None = None
    """By how much it takes longer than the whole program, in alternating runs."""


@dataclass(frozen=True)
class Ablation(Fact):
    """The program, and what it would be without each of its passes."""

    base: Figures
    rows: tuple[Without, ...]

    def __getitem__(self, step: str) -> Without:
        found = next((row for row in self.rows if row.step == step), None)
        if found is None:
            names = [row.step for row in self.rows]
            raise WorkbenchError("E-ABLATION-PASS", f"no pass {step!r} was left out", fix=nearest(step, names))
        return found

    def __str__(self) -> str:
        heads = ["without", "operators", "kernels", "bytes", "cycles (estimated)"]
        measured = self.base.time is not None
        rows = [["nothing", *_plain(self.base)], *([row.step, *_changed(row, self.base)] for row in self.rows)]
        if measured:
            heads.append("ms (measured)")
        return table(heads, [row if measured else row[:5] for row in rows])

    __repr__ = __str__


def graph_passes(session: Session) -> list[str]:
    """The labels of the passes of the graph."""
    pairs = zip(session.labels, session.actions, strict=True)
    return [label for label, action in pairs if action.level == "relay" and action.kind == "pass"]


def ablation(session: Session, inputs: Mapping[str, Any] | None = None) -> Ablation:
    """See the module's header.  Raises what makes the session itself fail."""
    return Ablation(
        figures(session, inputs), tuple(without(session, label, inputs) for label in graph_passes(session))
    )


def without(session: Session, step: str, inputs: Mapping[str, Any] | None = None) -> Without:
    """The figures without one pass.  Raises `WorkbenchError` E-ABLATION-PASS for what is no pass of the graph."""
    passes = graph_passes(session)
    if step not in passes:
        raise WorkbenchError(
            "E-ABLATION-PASS", f"{step!r} is no pass of the graph", expected=", ".join(passes),
            fix=nearest(step, passes),
        )  # fmt: skip
    plan = session.plan.without(session.labels.index(step))
    variant = replace(session, plan=plan, is_branch=False)
    try:
        found = figures(variant)
        return Without(step, found) if inputs is None else _against(session, variant, Without(step, found), inputs)
    except WorkbenchError as error:
        return Without(step, None, f"{error.code}: {error.message}")


def _against(session: Session, variant: Session, row: Without, inputs: Mapping[str, Any]) -> Without:
    """The row with what runs of both programs in turn say; code that is the same is not run."""
    if _code(session) == _code(variant):
        return replace(row, same_code=True)
    pair = alternating(_runner(session, inputs), _runner(variant, inputs))
    assert row.figures is not None
    return replace(row, figures=replace(row.figures, time=pair.second), slower=pair.apart)


def _code(session: Session) -> tuple[tuple[str, str], ...]:
    """The functions as they are handed to code generation, up to the names of variables."""
    last = session.step(len(session.actions) - 1)
    if last.error is not None:
        raise last.error
    if _CODE not in last.memo:
        last.memo[_CODE] = tuple((name, fingerprint(function)) for name, function in last.stage.module.items())
    return last.memo[_CODE]


def _runner(session: Session, inputs: Mapping[str, Any]) -> Callable[[], Any]:
    model, given = session.build(), by_name(inputs, "ablation(inputs)", "E-RUN-INPUT", '{"x": array, ...}')
    return lambda: model.run(given)


def figures(session: Session, inputs: Mapping[str, Any] | None = None) -> Figures:
    """The numbers of one session; with inputs it is compiled and run."""
    graphs = graph_steps(session)
    functions = session.step(graphs[-1]).stage.module.functions.values() if graphs else ()
    index, row = session.plan.schedule_row()
    if row is None or not graphs:
        raise WorkbenchError(
            "E-SESSION-LEVEL", "only the passes of a graph are left out in turn", found=", ".join(session.labels)
        )
    scheduled = session.step(index)
    if scheduled.error is not None:
        raise scheduled.error
    calls = {id(node) for main in functions for node in post_order(main) if _is_operator_call(node)}
    spent = samples(_runner(session, inputs)) if inputs is not None else None
    return Figures(len(calls), len(session.kernels), traffic(session), _cycles(session, scheduled), spent)


def _is_operator_call(node: Any) -> bool:
    return isinstance(node, r.Call) and isinstance(node.op, Operator)


def _cycles(session: Session, scheduled: Step) -> int | None:
    if _CYCLES not in scheduled.memo:
        scheduled.memo[_CYCLES] = _estimated(session, scheduled)
    return scheduled.memo[_CYCLES]


def _estimated(session: Session, scheduled: Step) -> int | None:
    """The cycles of every call of a kernel; None where the loops of one depend on data or unknown extents."""
    lowered = scheduled.stage.lowered
    if lowered is None:
        return None
    own: dict[str, int] = {}
    try:
        for site in sites(lowered):
            if site.kernel not in own:
                own[site.kernel] = quick_cycles(scheduled.stage.schedules[site.kernel], session.target).total
    except WorkbenchError:
        return None
    return sum(own[site.kernel] for site in sites(lowered))


# --- as text ------------------------------------------------------------------------------------------------------


def _plain(found: Figures) -> list[str]:
    return [
        f"{found.operators:,}", f"{found.kernels:,}", _known(found.bytes), _known(found.cycles),
        "" if found.time is None else _ms(found.time, ".3f"),
    ]  # fmt: skip


def _changed(row: Without, base: Figures) -> list[str]:
    if row.figures is None:
        return [row.problem, "", "", "", ""]
    pairs = [(getattr(row.figures, name), getattr(base, name)) for name in ("operators", "kernels", "bytes", "cycles")]
    deltas = ["not known" if None in pair else _delta(pair[0] - pair[1], ",") for pair in pairs]
    return [*deltas, "same code" if row.same_code else _slower(row.slower)]


def _slower(found: Spread | None) -> str:
    if found is None:
        return ""
    return _ms(found, "+.3f") if found.clear else f"none seen: {_range(found, '+.3f')}"


def _ms(found: Spread, form: str) -> str:
    return f"{found.seconds * 1000:{form}} ({_range(found, form)})"


def _range(found: Spread, form: str) -> str:
    return f"{found.least * 1000:{form}} to {found.greatest * 1000:{form}}"


def _delta(difference: int, form: str) -> str:
    return "same" if difference == 0 else f"{difference:+{form}}"


def _known(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"
