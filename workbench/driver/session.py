"""Sessions: a compilation as a value, with its steps by name and the commands that make other sessions of it.

    s = wb.open("model.onnx", shape={"x": (1, 3, 224, 224)})
    s["FoldScaleAxis"].diff()
    nofuse = s.rerun(disabled_pass=["FuseOps"])
    s.run({"x": photo})

Commands return new sessions; history is shared, so nothing is computed twice and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._lazy import views
from ..codegen.backend import building_for
from ..core.errors import WorkbenchError, nearest
from ..core.module import IRModule
from ..core.transform import PASSES, Pass
from ..target import Target
from . import actions, pipeline
from .edit_check import require_sound
from .history import Action, History, Step
from .progress import with_progress
from .text import constants_in, parse, parse_function, script, texts_of
from .view import ProgramView, StepHandle

if TYPE_CHECKING:
    from ..schedule import Schedule
    from .llvm_passes import LlvmPasses
    from .numerics import NumericsReport
    from .trails import Provenance


@dataclass(frozen=True)
class Session:
    """One path through a history; see the module's header.  Equal plans on one history share all their steps."""

    history: History
    plan: tuple[Action, ...]
    target: Target
    source: str
    """What was opened: a file's name or the class of the object."""

    def __post_init__(self) -> None:
        self.history.note(self.plan)

    # --- steps ---

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all steps, in order; a name that occurs again is numbered ("FoldConstant#2")."""
        counts: dict[str, int] = {}
        found: list[str] = []
        for action in self.plan:
            counts[action.name] = count = counts.get(action.name, 0) + 1
            found.append(action.name if count == 1 else f"{action.name}#{count}")
        return tuple(found)

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, which: str | int) -> StepHandle:
        """A step by name or position; it and those before it are computed now."""
        return StepHandle(self, self._index(which))

    def _index(self, which: str | int) -> int:
        if isinstance(which, str):
            if which not in self.labels:
                raise WorkbenchError(
                    "E-STEP-UNKNOWN",
                    f"there is no step named {which!r}",
                    found=", ".join(self.labels),
                    fix=nearest(which, self.labels),
                )
            return self.labels.index(which)
        if not -len(self.plan) <= which < len(self.plan):
            raise WorkbenchError("E-STEP-UNKNOWN", f"there is no step {which}", expected=f"0 to {len(self.plan) - 1}")
        return which % len(self.plan)

    @property
    def steps(self) -> tuple[StepHandle, ...]:
        """All steps."""
        return tuple(StepHandle(self, index) for index in range(len(self.plan)))

    @with_progress
    def step(self, index: int) -> Step:
        return self.history.step(self.plan, index)

    def _last(self, level: str) -> int:
        """The position of the last step of an IR level."""
        found = [index for index, action in enumerate(self.plan) if action.level == level]
        if not found:
            raise WorkbenchError("E-SESSION-LEVEL", f"this session has no {level} stage", found=", ".join(self.labels))
        return found[-1]

    # --- stages ---

    @property
    def relay(self) -> ProgramView:
        """The graph after the last relay step."""
        return StepHandle(self, self._last("relay")).program

    @property
    def tir(self) -> ProgramView:
        """The scheduled kernels and the entry, before the loop passes."""
        named = [index for index, action in enumerate(self.plan) if action.kind == "schedule"]
        edits = [index for index, action in enumerate(self.plan) if action.kind == "edit" and action.level == "tir"]
        last = max([*named, *edits], default=0)
        return StepHandle(self, last).program

    @property
    def codegen(self) -> ProgramView:
        """The kernels as they are handed to code generation; `show("asm")`, `show("ll")` give native text."""
        return StepHandle(self, self._last("native")).program

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels."""
        lowered = self._required(pipeline.LOWER).stage.lowered
        return tuple(kernel.name for kernel in lowered.kernels) if lowered is not None else ()

    def schedule(self, kernel: str, default: bool = True) -> Schedule:
        """The schedule of a kernel: a handle on an immutable state, so that changing it leaves the session alone.

        Hand it back with `edit(schedule={kernel: schedule})`.  Without `default` it is an empty one, on the kernel as
        it was before any choice.
        """
        step = self._required(pipeline.SCHEDULE)
        schedules = step.stage.schedules
        if kernel not in schedules:
            raise WorkbenchError("E-KERNEL-UNKNOWN", f"there is no kernel {kernel!r}", fix=nearest(kernel, schedules))
        if default:
            return schedules[kernel].copy()
        from ..schedule import Schedule

        assert step.previous is not None
        return Schedule(step.previous.stage.module[kernel])

    def _required(self, name: str) -> Step:
        """A computed step whose failure is the caller's."""
        step = self.step(self._index(name))
        if step.error is not None:
            raise step.error
        return step

    # --- commands: each gives another session ---

    def rerun(
        self,
        disabled_pass: Sequence[str] | None = None,
        passes: Sequence[str | Pass] | None = None,
        target: Target | str | None = None,
        replace: Mapping[str, str | Pass] | None = None,
        insert: Mapping[str, str | Pass] | None = None,
    ) -> Session:
        """The same input through another pipeline.

        `disabled_pass`: names left out.  `passes`: the relay passes to run instead (names or pass objects).
        `replace`: passes of any level by the label of the step whose place they take; `insert`: passes by the label of
        the step after which they run.  The default target is this session's.
        """
        from .open import plan_for

        chosen = building_for(target) if target is not None else self.target
        if passes is not None or target is not None:
            relay = tuple(passes) if passes is not None else tuple(self._relay_passes())
            plan = plan_for(self.plan[0], chosen, relay)
        else:
            plan = self.plan
        plan = Session(self.history, plan, chosen, self.source)._with_passes(replace or {}, insert or {})
        for name in disabled_pass or ():
            if not any(action.name == name for action in plan):
                raise WorkbenchError(
                    "E-PASS-UNKNOWN", f"the pipeline has no pass {name!r}", fix=nearest(name, self.labels)
                )
        left_out = set(disabled_pass or ())
        kept = tuple(action for action in plan if action.kind != "pass" or action.name not in left_out)
        return Session(self.history, kept, chosen, self.source)

    def without(self, step: str | int) -> Session:
        """The session without one step: a pass or an edit."""
        index = self._index(step)
        if self.plan[index].kind not in ("pass", "edit"):
            raise WorkbenchError(
                "E-PASS-UNKNOWN",
                f"step {self.labels[index]!r} cannot be left out",
                found=f"a step of kind {self.plan[index].kind}",
                expected="a pass or an edit",
            )
        return Session(self.history, (*self.plan[:index], *self.plan[index + 1 :]), self.target, self.source)

    def reload(self) -> Session:
        """The same plan with the passes as they are defined now.

        A pass whose cell was run again with other code is run again, and everything after it; what comes before is
        taken from the history.
        """
        plan = tuple(
            actions.pass_action(action.name, self.target, action.level, action.arguments)
            if action.kind == "pass" and action.name in PASSES
            else action
            for action in self.plan
        )
        return Session(self.history, plan, self.target, self.source)

    def _with_passes(self, replace: Mapping[str, str | Pass], insert: Mapping[str, str | Pass]) -> tuple[Action, ...]:
        """The plan with other passes at the steps of these labels, and further ones after them."""
        plan = list(self.plan)
        for label, made in replace.items():
            index = self._index(label)
            if plan[index].kind != "pass":
                raise WorkbenchError(
                    "E-PASS-UNKNOWN", f"step {label!r} is no pass", found=f"a step of kind {plan[index].kind}"
                )
            plan[index] = actions.pass_action(made, self.target, plan[index].level)
        for label, made in sorted(insert.items(), key=lambda item: -self._index(item[0])):
            index = self._index(label)
            if plan[index].kind == "codegen":
                raise WorkbenchError("E-PASS-PLACE", "no pass runs after code generation", found=label)
            plan.insert(index + 1, actions.pass_action(made, self.target, plan[index].level))
        return tuple(plan)

    def _relay_passes(self) -> list[str]:
        return [action.name for action in self.plan if action.kind == "pass" and action.level == "relay"]

    def edit(
        self,
        relay: Any = None,
        te: Mapping[str, Any] | None = None,
        tir: Any = None,
        schedule: Mapping[str, Schedule] | None = None,
        at: str | None = None,
    ) -> Session:
        """A session with something changed by hand; everything after it is computed anew.

        `relay`, `tir`: a whole script, an IRModule, or functions (or their texts) by name; put after the step `at`
        (default: the last relay step; the schedules).  `te`: kernels by name, as te tensors or unscheduled
        PrimFuncs.  `schedule`: schedules by kernel.
        """
        made = self
        if relay is not None:
            made = made._edited("relay", relay, at or made.labels[made._last("relay")])
        if te is not None:
            made = made._edited("tir", _as_kernels(te), pipeline.LOWER)
        if schedule is not None:
            made = made._rescheduled(schedule)
        if tir is not None:
            made = made._edited("tir", tir, at or pipeline.SCHEDULE)
        return made

    def _edited(self, level: str, change: Any, at: str) -> Session:
        index = self._index(at)
        program = self.step(index).stage.module
        functions = _functions_of(change, program)
        require_sound({name: made for name, made in functions.items() if name in program}, program, texts_of(change))
        if self.history.guard is not None:
            self.history.guard.note_typed(functions, program)
        texts = {name: script(function) for name, function in functions.items()}
        action = actions.edit_action(functions, level, texts)
        return Session(
            self.history, (*self.plan[: index + 1], action, *self.plan[index + 1 :]), self.target, self.source
        )

    def _rescheduled(self, schedules: Mapping[str, Schedule]) -> Session:
        index = self._index(pipeline.SCHEDULE)
        earlier = self.step(index).stage.schedules
        previous = self.plan[index].arguments
        chosen = {name: earlier[name] for name in previous} | dict(schedules)
        action = actions.schedule_action(chosen)
        return Session(self.history, (*self.plan[:index], action, *self.plan[index + 1 :]), self.target, self.source)

    # --- looking inside a step ---

    def debug(self, step: str | int, rule: str | None = None, node: Any = None, action: Any = "keep") -> Any:
        """Run a step again with a breakpoint on a rule, on the nodes rewritten, or on both.

        `rule`: a rule's name, `*` and `?` as in file names.  `node`: a node of the program before, an operator's name
        ("nn.conv2d"), a class's name ("TupleGetItem"), or a function of a node.  `action`: "keep" only collects the
        stops; "debug" opens the Python debugger inside the rule; a function is called with each stop.
        """
        from .debugging import debug

        return debug(self._required(self.labels[self._index(step)]), rule, node, action)

    @property
    def branches(self) -> Any:
        """All sessions that were made from the same import, as a tree: print it, or take one with `[number]`."""
        from .branches import Branches

        return Branches(self)

    # --- running ---

    def build(self) -> Any:
        """The compiled model: a `runtime` factory module (``lib["default"](dev)``, `export_library`)."""
        return self._required(pipeline.CODEGEN).stage.compiled

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run the native code on arrays by input name; outputs by name."""
        return self.build().run(inputs)

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
        from .numerics import check_numerics

        return check_numerics(self, inputs, tolerance, find, seconds)

    # --- provenance ---

    def origins(self, thing: Any, call: int | None = None) -> tuple[Any, ...]:
        """What `thing` (a node of some step's program) came from, back to the model's own nodes.

        `call`: for what lies in a shared kernel, the number of one call of it in the entry.
        """
        from .provenance import origins

        return origins(self, thing, call)

    def became(self, thing: Any) -> dict[str, tuple[Any, ...]]:
        """What `thing` became, by step."""
        from .provenance import became

        return became(self, thing)

    @cached_property
    def provenance(self) -> Provenance:
        """The whole chain, down to lines of assembly and back: ``s.provenance.line("fused_nn_dense", 41).onnx``."""
        from .trails import Provenance

        return Provenance(self)

    def llvm_passes(self, kernel: str) -> LlvmPasses:
        """LLVM's own passes on one kernel, as steps: ``s.llvm_passes("fused_nn_dense").changed[3].diff()``.

        They are recorded in a child process.  Raises `WorkbenchError` for an unknown kernel, and when the record
        would be longer than `limits.llvm_seconds` or `limits.llvm_bytes`.
        """
        from .llvm_passes import llvm_passes

        return llvm_passes(self, kernel)

    # --- saving and showing ---

    def save(self, path: str) -> None:
        """Write the session (program, plan, edits) to one JSON file that `wb.open` reads."""
        from .saving import save

        save(self, path)

    def to_python(self) -> str:
        """The Python lines that make this session again."""
        from .saving import to_python

        return to_python(self)

    def show(self) -> Any:
        """The pipeline screen in a notebook; a summary elsewhere."""
        return views().show_session(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().session_bundle(self)

    @property
    def heading(self) -> str:
        """What was opened; of a session from a file also which outside functions it may call."""
        return self.source if self.history.guard is None else f"{self.source} ({self.history.guard})"

    def __repr__(self) -> str:
        trust = "" if self.history.guard is None else f", {self.history.guard}"
        return f"Session({self.source!r}, {len(self.plan)} steps, target {str(self.target)!r}{trust})"


def _functions_of(change: Any, program: IRModule) -> dict[str, Any]:
    """The functions that an edit replaces, parsed where they are text; unchanged ones are left out."""
    constants = constants_in(program)
    if isinstance(change, str):
        change = parse(change, constants)
    if isinstance(change, IRModule):
        change = dict(change.functions)
    if not isinstance(change, Mapping):
        raise WorkbenchError(
            "E-EDIT-KIND",
            "an edit is a script, an IRModule, or functions by name",
            found=type(change).__name__,
        )
    parsed = {
        name: parse_function(value, constants) if isinstance(value, str) else value for name, value in change.items()
    }
    from ..core.equal import same

    return {name: value for name, value in parsed.items() if name not in program or not same(value, program[name])}


def _as_kernels(change: Mapping[str, Any]) -> dict[str, Any]:
    from ..te import create_prim_func
    from ..tir.nodes import PrimFunc

    return {
        name: value if isinstance(value, PrimFunc) else create_prim_func(list(value), name=name)
        for name, value in change.items()
    }
