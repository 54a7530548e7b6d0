"""A session as the pipeline screen sees it: the list of steps, each with its difference and its rewrites."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import WorkbenchError
from ..core.line_diff import line_hunks
from ..core.transform import PASSES, Pass, defined_in
from ..driver.difference import Difference, step_difference
from ..driver.dropping import Loss, applicable_plan
from ..driver.history import identities
from ..driver.layers import compiled_apart
from ..driver.plan import PassRow
from ..driver.rewrites import Names, rewrite_shown
from ..driver.step_listings import lasting_script, listings_of
from ..driver.text import short_constants
from . import left_out as lefts
from .eager import runs_graph_passes
from .left_out import LeftOut
from .pass_forms import made, options_from, pass_code, pass_form
from .schema import (
    Chunk,
    ErrorView,
    PipelineView,
    PrimitiveView,
    RewriteView,
    SourceView,
    StepSummary,
    StepView,
    TextView,
)
from .step_parts import function_count, near, operation_count, rewrite_summary
from .strings.tables import say

if TYPE_CHECKING:
    from ..driver.history import Step
    from ..driver.session import Session

_REWRITES: Final = 200
"""Rewrites listed with a step."""
_NATIVE: Final = 400
"""Lines of machine code sent at first."""
_TEXTS: Final = 16
"""Programs whose text is kept; the oldest goes first."""
_KINDS: Final = {
    "import": "import",
    "lower": "te",
    "schedule": "schedule",
    "edit": "edit",
    "codegen": "codegen",
}


@dataclass(frozen=True)
class SessionModel:
    """A `PipelineModel` on a session.

    The graph passes are computed when it is first looked at, since they are cheap; the later steps, which make native
    code, when one of them is chosen.  `view().state` changes when more steps are known.
    """

    session: Session
    left_out: tuple[LeftOut, ...] = ()
    """What was left out on the screen, which its list of steps still holds."""
    _lines: dict[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"], compare=False, repr=False)
    _names: dict[str, Names] = field(default_factory=dict[str, Names], compare=False, repr=False)

    def view(self) -> PipelineView:
        """The list of steps."""
        eager = runs_graph_passes(self.session)
        steps = tuple(
            self._summary(entry, eager) if isinstance(entry, int) else _left_out_summary(identity, name, entry)
            for (identity, entry), (_, name, _) in zip(self._outline(), self.names(), strict=True)
        )
        known = self.session.history.computed(self.session.actions)
        state = f"{identities(self.session.actions)[-1]}-{known[-1].state}" if known else ""
        if state and self.left_out:  # the same program has another list of steps
            listed = ",".join(step.id + step.name for step in steps if step.left_out)
            state += f"-{hashlib.sha256(listed.encode()).hexdigest()[:12]}"
        return PipelineView(state, steps, self.session.heading, str(self.session.target))

    def _outline(self) -> list[tuple[str, int | LeftOut]]:
        return lefts.outline(self.left_out, identities(self.session.actions))

    def names(self) -> list[tuple[str, str, bool]]:
        """Of every step in the list its id, its name and whether it is left out; asking runs nothing.

        What runs is counted by name, and so is what is left out: "FoldConstant#2" is the second of these.
        """
        labels, counts, found = self.session.labels, Counter[str](), list[tuple[str, str, bool]]()
        for identity, entry in self._outline():
            if isinstance(entry, int):
                found.append((identity, labels[entry], False))
                continue
            counts[entry.row.name] += 1
            count = counts[entry.row.name]
            found.append((identity, entry.row.name if count == 1 else f"{entry.row.name}#{count}", True))
        return found

    def _summary(self, index: int, eager: bool) -> StepSummary:
        action = self.session.actions[index]
        step = self.session.history.peek(self.session.actions, index)
        if step is None and action.level == "relay" and (eager or index == 0):
            step = self.session.step(index)
        if step is None:
            return StepSummary(
                id=identities(self.session.actions[: index + 1])[-1],
                name=self.session.labels[index],
                kind=_KINDS.get(action.kind, action.level),  # type: ignore[arg-type]
                changed=False,
                milliseconds=0.0,
                ops_before=0,
                ops_after=0,
                note=say.pipeline.in_part if self._in_part(action) else say.pipeline.not_run,
                pending=True,
            )
        return StepSummary(
            id=step.id,
            name=step.label,
            kind=_KINDS.get(action.kind, action.level),  # type: ignore[arg-type]
            changed=step.changed or action.kind == "codegen",
            milliseconds=round(step.milliseconds, 3),
            ops_before=operation_count(step.previous.stage.module) if step.previous is not None else 0,
            ops_after=operation_count(step.stage.module),
            rewrite_count=len(step.firings),
            functions=function_count(step.stage.module) if action.level == "relay" else 0,
            error=ErrorView.of(step.error) if step.error is not None else None,
            rules=tuple(Counter(firing.rule.name for firing in step.firings).items()),
        )

    def _in_part(self, action: Any) -> bool:
        """Whether what a step would make has been made by itself, of some kernels."""
        session = self.session
        return action.kind == "codegen" and bool(compiled_apart(session, session.history.computed(session.actions)))

    def _find(self, identity: str) -> tuple[str, Step]:
        entry = dict(self._outline()).get(identity)
        if isinstance(entry, int):
            return self.session.labels[entry], self.session.step(entry)
        if entry is not None:
            name = next(name for one, name, _ in self.names() if one == identity)
            raise WorkbenchError(
                "E-STEP-LEFT-OUT", f"{name} is left out", expected="a step that runs",
                fix="switch it on again", kept="the session as it was",
            )  # fmt: skip
        raise WorkbenchError("E-STEP-UNKNOWN", "there is no such step in this session", found=repr(identity)[:60])

    def step(self, step: str) -> StepView:
        """One step closely: its difference, with lines around the changes."""
        label, found = self._find(step)
        if found.action.kind == "codegen" and found.error is None:
            return self._native(found)
        before, after = self._texts(found)
        hunks = line_hunks(before, after)
        return StepView(
            id=found.id,
            state=found.state,
            before=near(before, [(hunk.before_start, hunk.before_count) for hunk in hunks]),
            after=near(after, [(hunk.after_start, hunk.after_count) for hunk in hunks]),
            hunks=hunks,
            rewrites=tuple(rewrite_summary(firing) for firing in found.firings[:_REWRITES]),
            rewrite_count=len(found.firings),
            call=f"s[{label!r}].diff()",
        )

    def difference(self, step: str) -> Difference:
        """What a step changed, by kinds of changes."""
        return step_difference(self._find(step)[1])

    def _native(self, found: Step) -> StepView:
        """Machine code has no program before it in its own language: the first kernel's assembly."""
        name = next(name for name in found.stage.module.names() if name != "main" or len(found.stage.module) == 1)
        lines = self._assembly(found, name)
        return StepView(
            id=found.id,
            state=found.state,
            before=TextView(len(lines), (Chunk(0, lines[:_NATIVE]),)),
            after=TextView(len(lines), (Chunk(0, lines[:_NATIVE]),)),
            hunks=(),
            language="asm",
            call=f"s.codegen[{name!r}].show('asm')",
        )

    def _assembly(self, found: Step, name: str) -> tuple[str, ...]:
        if found.state not in self._lines:
            text = str(found.stage.compiled.get_source("asm", name))
            self._lines[found.state] = tuple(text.rstrip("\n").replace("\t", "    ").split("\n"))
        return self._lines[found.state]

    def rewrite(self, step: str, index: int) -> RewriteView:
        """One rule that fired: the expression before and after it, as text."""
        _, found = self._find(step)
        if not 0 <= index < len(found.firings):
            raise WorkbenchError("E-REWRITE-UNKNOWN", f"the step has {len(found.firings)} rewrites", found=str(index))
        firing = found.firings[index]
        shown = rewrite_shown(firing, self._names_at(found))
        return RewriteView(
            step=found.id,
            index=index,
            rewrite=rewrite_summary(firing),
            before=TextView.of("\n".join(shown.before)),
            after=TextView.of("\n".join(shown.after)),
            hunks=line_hunks(shown.before, shown.after),
            why=firing.rule.doc,
            bindings=shown.bindings,
            rule_text=shown.rule,
        )

    def _names_at(self, step: Step) -> Names:
        if step.id not in self._names:
            self._names.clear()  # one step's rewrites are looked at after another's
            self._names[step.id] = Names(step)
        return self._names[step.id]

    def text(self, step: str, side: Any, start: int, count: int) -> Chunk:
        """Further lines of the program before or after a step."""
        _, found = self._find(step)
        if found.action.kind == "codegen" and found.state in self._lines:
            lines = self._lines[found.state]
        else:
            lines = self._texts(found)[0 if side == "before" else 1]
        return Chunk(start, tuple(lines[start : start + count]))

    # --- changes: each gives another model, and the line of Python that does the same ---

    def source(self, step: str, function: str = "") -> SourceView:
        """The text of one function after a step (the first without a name), as it may be edited."""
        label, found = self._find(step)
        program = self.session[label].program
        names = tuple(program)
        if found.action.level == "native" or not names:
            raise WorkbenchError("E-EDIT-LEVEL", f"{label} has no program to edit", fix="edit at a step before it")
        chosen = function or ("main" if "main" in names and found.action.level == "relay" else names[0])
        written = listings_of(found).get(chosen)
        text = program[chosen].script() if written is None else written.text.text
        return SourceView(found.id, names, chosen, text, passes_for(found.action.level))

    def edited(self, step: str, function: str, text: str) -> tuple[SessionModel, str]:
        """The session with a function's text changed after a step; errors name the line of the text."""
        label, _ = self._find(step)
        made = self.session.changed_at(label, {function: text})
        return self._put_in(made, label), f"s = s[{label!r}].edit({{{function!r}: text}})"

    def _put_in(self, made: Session, label: str) -> SessionModel:
        """A session with a further step behind that of this label."""
        return SessionModel(made, lefts.moved_on(self.left_out, self.session.labels.index(label)))

    def without(self, step: str) -> tuple[SessionModel, str]:
        """The session without the pass or the edit of a step, which stays in the list of steps."""
        label, _ = self._find(step)
        made, index = self.session.without(label), self.session.labels.index(label)
        row: Any = self.session.plan.rows[index - 1]
        return SessionModel(made, lefts.taken_out(self.left_out, index, row)), f"s = s.without({label!r})"

    def switched_on(self, step: str) -> tuple[SessionModel, str]:
        """The session with a step again that was left out."""
        entry = dict(self._outline()).get(step)
        if not isinstance(entry, LeftOut):
            label, _ = self._find(step)
            raise WorkbenchError("E-STEP-RUNS", f"{label} is not left out", expected="a step that was left out")
        made, call = lefts.running_again(self.session, entry)
        return SessionModel(made, lefts.put_back(self.left_out, entry)), call

    def losses(self) -> tuple[Loss, ...]:
        """The parts of edits that `rebased` is without."""
        return applicable_plan(self.session)[1]

    def rebased(self) -> tuple[SessionModel, str]:
        """The session without the parts of edits that do not apply to what comes before them now."""
        made = self.session.rebase(keep="applicable")
        if made.plan == self.session.plan:
            raise WorkbenchError("E-EDIT-APPLIES", "every change by hand applies", kept="the session as it was")
        return self.followed_by(made), 's = s.rebase(keep="applicable")'

    def followed_by(self, session: Session) -> SessionModel:
        """Another session that something else has made of this one; what is left out of this one stays in the list."""
        same = identities(session.actions)[0] == identities(self.session.actions)[0]
        rows = self.session.plan.rows
        return SessionModel(session, lefts.carried(self.left_out, rows, session.plan.rows) if same else ())

    def inserted(self, step: str, name: str, values: Mapping[str, Any] | None = None) -> tuple[SessionModel, str]:
        """The session with a pass put in after a step; `values` are what its form holds."""
        label, _ = self._find(step)
        chosen, code = self._chosen(name, values)
        made = self.session.rerun(insert={label: chosen})
        return self._put_in(made, label), f"s = s.rerun(insert={{{label!r}: {code}}})"

    def pass_form(self, step: str, name: str = "") -> PrimitiveView:
        """The form of a pass's options: of the step's own pass as it is, or of another one to be put in."""
        if name:
            return pass_form(name)
        row = self._pass_row(step)
        return pass_form(row.name, self.session.history.contents.options(row))

    def with_options(self, step: str, values: Mapping[str, Any]) -> tuple[SessionModel, str]:
        """The session with the step's pass under other options."""
        (label, _), row = self._find(step), self._pass_row(step)
        fields = {parameter.name for parameter in pass_form(row.name).parameters}
        kept = {name: one for name, one in self.session.history.contents.options(row).items() if name not in fields}
        chosen, code = self._chosen(row.name, values, kept)
        made = SessionModel(self.session.rerun(replace={label: chosen}), self.left_out)
        return made, f"s = s.rerun(replace={{{label!r}: {code}}})"

    def _pass_row(self, step: str) -> PassRow:
        label, _ = self._find(step)
        index = self.session.labels.index(label)
        row = self.session.plan.rows[index - 1] if index else None
        if not isinstance(row, PassRow):
            raise WorkbenchError("E-PASS-UNKNOWN", f"step {label!r} is no pass", expected="a step that a pass made")
        return row

    def _chosen(
        self, name: str, values: Mapping[str, Any] | None, kept: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[str | Pass, str]:
        """A pass as `rerun` takes it, and in Python; `kept` are options that a form has no field for."""
        options = {**kept, **(options_from(name, values) if values else {})}
        return made(name, options) if options else name, pass_code(name, options)

    def _texts(self, step: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
        before = self._program(step.previous) if step.previous is not None else ()
        return before, self._program(step) if step.changed else before

    def _program(self, step: Step) -> tuple[str, ...]:
        if step.state not in self._lines:
            while len(self._lines) >= _TEXTS:
                del self._lines[next(iter(self._lines))]
            text = short_constants(lasting_script(step))
            self._lines[step.state] = tuple(text.rstrip("\n").split("\n"))
        return self._lines[step.state]


def _left_out_summary(identity: str, name: str, entry: LeftOut) -> StepSummary:
    """A step that does not run."""
    row = entry.row
    kind: Any = _KINDS.get(row.kind, row.level)
    return StepSummary(identity, name, kind, False, 0.0, 0, 0, note=say.pipeline.left_out, left_out=True)


def passes_for(level: str) -> tuple[str, ...]:
    """Names of the passes that work on programs of a level ("relay", "tir"); one's own are among both."""
    other = "workbench.tir." if level == "relay" else "workbench.relay."
    return tuple(name for name in PASSES if not defined_in(PASSES[name]).startswith(other))
