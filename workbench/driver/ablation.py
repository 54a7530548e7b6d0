"""What each pass of the graph does for the program: what the program would be without it.

    found = s.ablation()                     # or s.ablation({"x": photo}): also run, and measured
    print(found)                             # a row for each pass, with what leaving it out changes
    found["FuseOps"].figures.kernels - found.base.kernels

Every variant leaves out one pass and keeps all others; it is no branch of the session.  What variants share with the
session and with each other is computed once, and what was computed is kept with the history.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from ..analysis.fact import Fact, table
from ..analysis.quick_cycles import quick_cycles
from ..core.errors import WorkbenchError, nearest
from ..core.node import post_order
from ..relay.ir import expr as r
from ..relay.ir.operator import Operator
from .intermediates import graph_steps
from .origin_index import sites
from .traffic import traffic

if TYPE_CHECKING:
    from .history import Step
    from .session import Session

RUNS: Final = 5
"""Runs of which the median is the measured time."""
_CYCLES: Final = "estimated cycles of one run"
"""In the memo of the step that schedules."""


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
    seconds: float | None = None
    """Median of measured runs in this process; None where nothing was run."""


@dataclass(frozen=True)
class Without(Fact):
    """The program without one pass."""

    step: str
    figures: Figures | None
    """None where nothing can be made of the graph without this pass."""
    problem: str = ""
    """What the step that failed says."""


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
        measured = self.base.seconds is not None
        rows = [["nothing", *_plain(self.base)], *([row.step, *_changed(row, self.base)] for row in self.rows)]
        if measured:
            heads.append("ms (measured)")
        return table(heads, [[*row[:5], *row[5:6]] if measured else row[:5] for row in rows])

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
        return Without(step, figures(variant, inputs))
    except WorkbenchError as error:
        return Without(step, None, f"{error.code}: {error.message}")


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
    seconds = _measured(session, inputs) if inputs is not None else None
    return Figures(len(calls), len(session.kernels), traffic(session), _cycles(session, scheduled), seconds)


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


def _measured(session: Session, inputs: Mapping[str, Any]) -> float:
    session.run(inputs)
    spent: list[float] = []
    for _ in range(RUNS):
        started = time.perf_counter()
        session.run(inputs)
        spent.append(time.perf_counter() - started)
    return median(spent)


# --- as text ------------------------------------------------------------------------------------------------------


def _plain(found: Figures) -> list[str]:
    return [
        f"{found.operators:,}", f"{found.kernels:,}", _known(found.bytes, ","), _known(found.cycles, ","),
        _known(None if found.seconds is None else found.seconds * 1000, ".3f"),
    ]  # fmt: skip


def _changed(row: Without, base: Figures) -> list[str]:
    if row.figures is None:
        return [row.problem, "", "", "", ""]
    pairs = [(getattr(row.figures, name), getattr(base, name)) for name in ("operators", "kernels", "bytes", "cycles")]
    deltas = ["not known" if None in pair else _delta(pair[0] - pair[1], ",") for pair in pairs]
    times = (row.figures.seconds, base.seconds)
    apart = "not known" if times[0] is None or times[1] is None else f"{(times[0] - times[1]) * 1000:+.3f}"
    return [*deltas, apart]


def _delta(difference: int, form: str) -> str:
    return "same" if difference == 0 else f"{difference:+{form}}"


def _known(value: float | None, form: str) -> str:
    return "not known" if value is None else f"{value:{form}}"
