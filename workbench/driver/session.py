"""Sessions: a compilation as a value, with its steps by name and the commands that make other sessions of it.

    s = wb.open("model.onnx", shape={"x": (1, 3, 224, 224)})
    s["FoldScaleAxis"].diff()
    nofuse = s.rerun(disabled_pass=["FuseOps"])
    s.run({"x": photo})

Commands return new sessions; history is shared, so nothing is computed twice and nothing is lost.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lazy import save_page, views
from ..codegen.backend import building_for
from ..core.arguments import by_name, items
from ..core.errors import WorkbenchError, nearest
from ..core.pass_table import CLASSIC, pass_names
from ..core.transform import Pass, PassInstrument
from ..schedule.schedule import Schedule
from ..target.target import Target
from . import pipeline
from .ablation import Ablation, ablation
from .actions import actions_of
from .against import Against, against
from .anchors import unknown_kernel
from .as_python import to_python
from .branches import Branches
from .built import built
from .checking import BackgroundCheck
from .choices import Candidates, candidates_of, plan_with
from .debugging import debug
from .dropping import applicable_plan
from .edits import as_kernels, checked_row, require_change, rescheduled, with_passes
from .first_run import SCHEDULED, require_harmless
from .history import Action, History, Stage, Step
from .layers import SessionLayer, layers_of
from .llvm_passes import llvm_passes
from .numerics.check import check_numerics
from .plan import CompilePlan, EditRow, PassRow, ScheduleRow
from .progress import with_progress
from .provenance import became, origins
from .reloading import of_now
from .run_profile import RunProfile, profile_run
from .saving import save
from .trails import Provenance
from .values import Value
from .view import ProgramView, StepHandle
from .why_not import WhyNot, why_not

if TYPE_CHECKING:
    from .llvm_passes import LlvmPasses
    from .numerics.report import NumericsReport


@dataclass(frozen=True)
class Session(Value):
    """One path through a history; see the module's header.  Equal plans on one history share all their steps."""

    history: History
    plan: CompilePlan
    deciders: tuple[PassInstrument, ...] = ()
    """Instruments of the context in which it was opened that decide which passes run; they make other steps."""
    is_branch: bool = field(default=True, compare=False, repr=False)
    """Whether it counts among the history's branches; what is only tried does not."""

    def __post_init__(self) -> None:
        if self.is_branch:
            self.history.note(self.plan, self.actions)

    @property
    def target(self) -> Target:
        return self.plan.target

    @property
    def source(self) -> str:
        """What was opened: a file's name or the class of the object."""
        return self.plan.program.source

    def _with(self, plan: CompilePlan) -> Session:
        return Session(self.history, plan, self.deciders)

    # --- steps ---

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """What the plan stands for, in order, not run."""
        return actions_of(self.plan, self.history.root, self.history.contents, self.deciders)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all steps, in order; a name that occurs again is numbered ("FoldConstant#2")."""
        return self.plan.labels

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, which: str | int) -> StepHandle:
        """A step by name or position; it and those before it are computed now."""
        return StepHandle(self, self._index(which))

    def _index(self, which: str | int) -> int:
        if isinstance(which, str):
            if which not in self.labels:
                raise WorkbenchError(
                    "E-STEP-UNKNOWN", f"there is no step named {which!r}", found=", ".join(self.labels),
                    fix=nearest(which, self.labels),
                )  # fmt: skip
            return self.labels.index(which)
        if not isinstance(which, int) or isinstance(which, bool) or not -len(self) <= which < len(self):
            expected = f"a label, or a number from 0 to {len(self) - 1}"
            raise WorkbenchError("E-STEP-UNKNOWN", f"there is no step {which!r}", expected=expected)
        return which % len(self)

    @property
    def steps(self) -> tuple[StepHandle, ...]:
        """All steps."""
        return tuple(StepHandle(self, index) for index in range(len(self)))

    @with_progress
    def step(self, which: str | int) -> Step:
        """A step by name or position, computed now."""
        return self.history.step(self.actions, self._index(which))

    def _last(self, level: str) -> int:
        """The position of the last step of an IR level."""
        found = [index for index, action in enumerate(self.actions) if action.level == level]
        if not found:
            raise WorkbenchError("E-SESSION-LEVEL", f"this session has no {level} stage", found=", ".join(self.labels))
        return found[-1]

    # --- stages ---

    @property
    def layers(self) -> tuple[SessionLayer, ...]:
        """What its steps make, from the file's nodes to machine code, as far as it is computed."""
        return layers_of(self)

    @property
    def relay(self) -> ProgramView:
        """The graph after the last relay step.  Raises what stopped the session before or there; so do the others."""
        return ProgramView(self._required(self._last("relay")))

    @property
    def tir(self) -> ProgramView:
        """The scheduled kernels and the entry, before the loop passes."""
        return ProgramView(self._required(self.plan.loop_step()))

    @property
    def codegen(self) -> ProgramView:
        """The kernels as they are handed to code generation; `show("asm")`, `show("ll")` give native text."""
        index = self._last("native")
        self._required(index - 1)
        return ProgramView(self.step(index))

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels; of te tensors and other loop programs, of their functions."""
        return tuple(self._before_schedule().kernels(self.target))

    def schedule(self, kernel: str, default: bool = True) -> Schedule:
        """The schedule of a kernel: a handle on an immutable state, so that changing it leaves the session alone.

        Hand it back with `edit(schedule={kernel: schedule})`.  Without `default` it is an empty one, on the kernel as
        it was before any choice; so is that of a function of a loop program that nobody has scheduled.
        """
        index, row = self.plan.schedule_row()
        schedules = self._required(index).stage.schedules if row is not None else {}
        kernels = self._before_schedule().kernels(self.target)
        if not isinstance(kernel, str) or kernel not in kernels:
            raise unknown_kernel(kernel, kernels)
        if not isinstance(default, bool):
            raise WorkbenchError(
                "E-SCHEDULE-ARGUMENT", "`default` asks for the default schedule or for none", expected="True or False",
                where="schedule(default=...)", found=repr(default)[:80],
            )  # fmt: skip
        made = schedules[kernel].copy() if default and kernel in schedules else Schedule(kernels[kernel].func)
        return made.retarget(self.target)

    def _before_schedule(self) -> Stage:
        """What is scheduled."""
        return self._required(self.plan.kernel_step()).stage

    def _required(self, which: str | int) -> Step:
        """A computed step whose failure is the caller's."""
        step = self.step(self._index(which))
        if step.error is not None:
            raise step.error
        return step

    # --- commands: each gives another session ---

    def rerun(
        self,
        disabled_pass: Sequence[str] | None = None,
        passes: Sequence[str | Pass] | None = None,
        target: Target | str | None = None,
        replace: Mapping[str | int, str | Pass] | None = None,
        insert: Mapping[str | int, str | Pass] | None = None,
        required_pass: Sequence[str] | None = None,
    ) -> Session:
        """The same input through another pipeline.

        `disabled_pass`: names left out, where they are there.  `required_pass`: names of passes of the pipeline that
        run whatever the session's level.  `passes`: the relay passes to run instead (names or pass objects).
        `replace`: passes of any level by the label (or number) of the step whose place they take; `insert`: passes by
        that of the step after which they run; both are steps of this session, or of `passes` where these are given.
        The default target is this session's.
        """
        self.plan.settings.warn_unheard("rerun")
        contents = self.history.contents
        required = pass_names(required_pass, "rerun(required_pass=...)", code="E-PASS-KIND")
        replace, insert = (
            by_name(given, f"rerun({name}=...)", "E-PASS-KIND", '{"FuseOps": a pass}', (str, int))
            for name, given in (("replace", replace), ("insert", insert))
        )
        plan = self.plan if target is None else replace_field(self.plan, target=building_for(target))
        if passes is not None:
            listed = items(passes, "rerun(passes=...)", "E-PASS-KIND", '["InferType", "FuseOps"]')
            plan = plan.with_graph([contents.row_of(chosen, "relay") for chosen in listed])
        made = self._with(plan)
        made = made._with(with_passes(made, replace, insert))
        plan = made.plan.requiring(required)
        known = {row.name for one in (plan, *self.history.plans) for row in one.rows if row.kind == "pass"}
        disabled = pass_names(disabled_pass, "rerun(disabled_pass=...)", known | CLASSIC, "E-PASS-KIND")
        both = [name for name in disabled if name in required]
        if both:
            raise WorkbenchError("E-PASS-DISABLED", f"pass {both[0]} is both required and disabled", where="rerun(...)")
        return made._with(plan.without_passes(disabled))

    def without(self, step: str | int) -> Session:
        """The session without one step: a pass or an edit."""
        index = self._index(step)
        kind = self.actions[index].kind
        if kind not in ("pass", "edit"):
            raise WorkbenchError(
                "E-PASS-UNKNOWN", f"step {self.labels[index]!r} cannot be left out", found=f"a step of kind {kind}",
                expected="a pass or an edit",
            )  # fmt: skip
        return self._with(self.plan.without(index))

    def reload(self) -> Session:
        """The same plan with the passes and the graph's operators as they are defined now.

        A pass whose cell was run again with other code is run again, and everything after it; what comes before is
        taken from the history.  Where a plan has two passes that were written in one place, each stays what it is.
        A program with an operator that was defined anew is another program, with a history of its own.
        """
        contents = self.history.contents
        rows = self.plan.rows
        made = tuple(contents.reloaded(row, rows) if isinstance(row, PassRow) else row for row in rows)
        return of_now(self._with(replace_field(self.plan, rows=made)))

    def edit(
        self,
        relay: Any = None,
        te: Mapping[str, Any] | None = None,
        tir: Any = None,
        schedule: Mapping[str, Schedule] | None = None,
        at: str | int | None = None,
    ) -> Session:
        """A session with something changed by hand; everything after it is computed anew.

        `relay`, `tir`: a whole script, an IRModule, or functions (or their texts) by name; put after the step `at`
        (default: the last relay step; the step that `session.tir` shows).  `te`: kernels by name, as te tensors or
        unscheduled PrimFuncs.  `schedule`: schedules by kernel.

        An edit is kept as what it changes.  When something before it changes later, it is made again on what comes
        there; what does not apply stops there, and `rebase` drops it.
        """
        made = self
        if relay is not None:
            made = made._edited("relay", relay, made._index(at) if at is not None else made._last("relay"))
        if te is not None:
            made = made._edited("tir", as_kernels(te), made.plan.kernel_step())
        if schedule is not None:
            made = made._rescheduled(schedule)
        if tir is not None:
            made = made._edited("tir", tir, made._index(at) if at is not None else made.plan.loop_step())
        return made

    def changed_at(self, at: str | int, functions: Mapping[str, Any]) -> Session:
        """As `edit` of functions (or their texts) by name after a step; a person expects that it does something.

        Raises `WorkbenchError`: E-EDIT-UNCHANGED where every function is what it was, however it is written.
        """
        index = self._index(at)
        row = self._edit_row("relay" if self.actions[index].level == "relay" else "tir", functions, index)
        return self._with(self.plan.after(index, require_change(row)))

    def _edited(self, level: str, change: Any, index: int) -> Session:
        return self._with(self.plan.after(index, self._edit_row(level, change, index)))

    def _edit_row(self, level: str, change: Any, index: int) -> EditRow:
        if self.actions[index].kind == "codegen":
            raise WorkbenchError(
                "E-PASS-PLACE", "no edit comes after code generation", found=self.labels[index], expected="one before",
                fix=f"edit(..., at={self.labels[index - 1]!r})", kept="the session as it was",
            )  # fmt: skip
        return checked_row(level, change, self._required(index).stage, self.history)

    def _rescheduled(self, schedules: Mapping[str, Schedule]) -> Session:
        index, row = self.plan.schedule_row()
        plan = self.plan if row is not None else self.plan.after(index - 1, ScheduleRow())
        made = rescheduled(row or ScheduleRow(), schedules, self._before_schedule(), self.target)
        return self._with(plan.with_row(index, made))

    def candidates(self, kernel: str) -> Candidates:
        """What can compute a kernel's operator: the cheapest first, then what does not fit, and why; prints a table."""
        return candidates_of(self, kernel)

    def choose(self, kernel: str = "", implementation: Any = "", /, **config: Any) -> Session:
        """A session in which an implementation (its name, or one of `candidates`) computes a kernel, so configured.

        Neither: the cheapest.  Numbers alone: what computes it now.  A schedule by hand of the kernel goes: what
        computes it brings its own.  Raises `WorkbenchError` where that cannot be.
        """
        return self._with(plan_with(self, kernel, implementation, config))

    def rebase(self, keep: str = "applicable") -> Session:
        """The session with every edit made anew on what comes before it, and without what does not apply there.

        The only command that drops parts of an edit; `step.error.reports` say which.
        """
        if not isinstance(keep, str) or keep != "applicable":
            raise WorkbenchError("E-REBASE-KEEP", f"nothing is kept as {keep!r}", expected='"applicable"')
        return self._with(applicable_plan(self)[0])

    # --- looking inside a step ---

    def debug(self, step: str | int, rule: str | None = None, node: Any = None, action: Any = "keep") -> Any:
        """Run a step again with a breakpoint on a rule, on the nodes rewritten, or on both.

        `rule`: a rule's name, `*` and `?` as in file names.  `node`: a node of the program before, an operator's name
        ("nn.conv2d"), a class's name ("TupleGetItem"), or a function of a node.  `action`: "keep" only collects the
        stops; "debug" opens the Python debugger inside the rule; a function is called with each stop.
        """
        return debug(self._required(self.labels[self._index(step)]), rule, node, action)

    def why_not(self, step: str | int, node: Any) -> WhyNot:
        """Why a graph pass left an operator as it is: its rules at that place, with the first clause that fails.

        `node`: a call of an operator, of the program after any graph step.
        """
        return why_not(self, step, node)

    @property
    def branches(self) -> Any:
        """All sessions that were made from the same import, as a tree: print it, or take one with `[number]`."""
        return Branches(self)

    # --- running ---

    def build(self) -> Any:
        """The compiled model (``lib["default"](dev)``); kernels changed by hand ran in a child first (`first_run`)."""
        self.plan.settings.warn_unheard("native code")
        if self.plan.program.source == SCHEDULED or any(row.kind == "edit" for row in self.plan.rows):
            require_harmless(self._required(self._index(pipeline.CODEGEN) - 1), self.target)
        return built(self)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run the native code on arrays by input name; outputs by name."""
        return self.build().run(by_name(inputs, "run(inputs)", "E-RUN-INPUT", '{"x": array, ...}'))

    def profile(self, inputs: Mapping[str, Any]) -> RunProfile:
        """Run the native code on arrays by input name, and time each kernel call; `classes` of a call are its links."""
        return profile_run(self, by_name(inputs, "profile(inputs)", "E-RUN-INPUT", '{"x": array, ...}'))

    def against(self, inputs: Mapping[str, Any], threads: int = 0, model: Any = None) -> Against:
        """The same run by onnxruntime beside ours: which nodes of the file lose how much; see `driver.against`.

        `threads`: of both (0: as kernels run now).  `model`: the ONNX model, where it was not opened from a file.
        """
        return against(self, by_name(inputs, "against(inputs)", "E-RUN-INPUT", '{"x": array, ...}'), threads, model)

    @with_progress
    def check_numerics(
        self, inputs: Mapping[str, Any], tolerance: float = 1e-3, find: str = "all", seconds: float = 600.0
    ) -> NumericsReport:
        """Compare the program after every step with the imported one; name the first step that is wrong.

        Graph steps are interpreted, kernels run in a child process on the inputs that they get in the network.
        `find="first"` looks for the first wrong step by bisection.  `seconds` is the most wall time spent.

            report = s.check_numerics({"x": photo})
            report.first_wrong, report.tensor      # the step, and the tensor with index, found, expected, ulp
            report.save_test("test_it.py")         # the smallest failing piece, when something is wrong
        """
        return check_numerics(self, inputs, tolerance, find, seconds)

    def check(
        self, inputs: Mapping[str, Any], tolerance: float = 1e-3, native: bool = True, seconds: float = 600.0
    ) -> BackgroundCheck:
        """The same beside the cells: answers at once, a badge for each step follows; see `driver.checking`.

            check = s.check({"x": photo})
            check.wait().first_wrong, check.narrow()    # the step, and the first wrong rewrite in it

        `native`: also compile, and run the native code.  `seconds` is the most wall time of one step.
        """
        return BackgroundCheck(self, inputs, tolerance, native, seconds)

    @with_progress
    def ablation(self, inputs: Mapping[str, Any] | None = None) -> Ablation:
        """What each pass of the graph does: operators, kernels, bytes and time of the program without it.

        Time is estimated by the cost model; with `inputs` every variant is compiled and also measured.
        """
        return ablation(self, inputs)

    # --- provenance ---

    def origins(self, thing: Any, call: int | None = None) -> tuple[Any, ...]:
        """What `thing` (a node of some step's program) came from, back to the model's own nodes.

        `call`: for what lies in a shared kernel, the number of one call of it in the entry.
        """
        return origins(self, thing, call)

    def became(self, thing: Any) -> dict[str, tuple[Any, ...]]:
        """What `thing` became, by step."""
        return became(self, thing)

    @property
    def provenance(self) -> Provenance:
        """The whole chain, down to lines of assembly and back: ``s.provenance.line("fused_nn_dense", 41).onnx``."""
        made = self._provenance.get("made")
        if made is None or not made.holds():  # what users' operators and rules made may be another program by now
            made = self._provenance["made"] = Provenance(self)
        return made

    @cached_property
    def _provenance(self) -> dict[str, Provenance]:
        """What has been asked of `provenance`."""
        return {}

    def llvm_passes(self, kernel: str) -> LlvmPasses:
        """LLVM's own passes on one kernel, as steps: ``s.llvm_passes("fused_nn_dense").changed[3].diff()``.

        They are recorded in a child process.  Raises `WorkbenchError` for an unknown kernel, and when the record
        would be longer than `limits.llvm_seconds` or `limits.llvm_bytes`.
        """
        return llvm_passes(self, kernel)

    # --- saving and showing ---

    def save(self, path: str) -> None:
        """Write the session (program, plan, edits) to one JSON file that `wb.open` reads."""
        save(self, path)

    @with_progress
    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write its screen to one file that a browser plays from disk, offline: to look, select and step through.

        Everything is computed for it, down to the assembly.  What would make it larger than 3 MB is left out, and the
        page says so.
        """
        return save_page(self, path)

    def to_python(self) -> str:
        """The Python lines that make this session again."""
        return to_python(self)

    def show(self, at: str = "") -> Any:
        """The screen in a notebook, at the place that its tab "Share" wrote down; a summary elsewhere."""
        return views().show_session(self, at)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().session_bundle(self)

    @property
    def heading(self) -> str:
        """What was opened; of a session from a file also which outside functions it may call."""
        return self.source if self.history.guard is None else f"{self.source} ({self.history.guard})"

    def __repr__(self) -> str:
        trust = "" if self.history.guard is None else f", {self.history.guard}"
        return f"Session({self.source!r}, {len(self)} steps, target {str(self.target)!r}{trust})"
