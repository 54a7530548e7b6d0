"""The check itself: which step is the first whose program computes something else?

Graph steps compare the outputs of the whole model with those of the imported one in float64.  Loop steps compare the
entry (calls, memory) and each kernel that changed; code generation the optimised kernels and the whole native model.
All that runs native code runs in a child.  A verdict that hangs on code generation is put to the interpreter on
smaller shapes before a step is named (`blame`).
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...codegen.llvm.contained import Contained
from ...codegen.llvm.fitting import require_fitting
from ...core import progress
from ...core.arguments import number
from ...core.errors import WorkbenchError
from ...core.host import give_back_memory
from ...core.module import IRModule
from ...core.pass_context import INDEX_CODE
from ...lower.entry import input_names
from ..given_inputs import arranged, entry_name, given_inputs, own_copies
from ..native import with_own_outputs
from . import piece
from .blame import Culprit, culprit, interpreted_check, reason
from .compare import Gap, WrongTensor, compare
from .entry import EntryMachine, EntryRun, NotStraight, first_difference
from .functions import Functions
from .graph import Memory, first_wrong, relay_values
from .kernels import KernelChecker, brief, compiled_unit
from .report import BAD, KernelCheck, NumericsReport, StepCheck
from .shrink import SmallKernel
from .suspects import from_edits
from .whole import entry_unit, run_entry
from .yardstick import Yardstick

if TYPE_CHECKING:
    from ..history import Step
    from ..session import Session

WALL_SECONDS = 600.0
"""Wall time that a check takes at most; what it does not reach is reported as not run."""
_Way: TypeAlias = "Callable[[Checker], list[StepCheck]]"


class Checker:
    """One check of one session on one set of inputs."""

    def __init__(
        self, session: Session, inputs: Mapping[str, Any], tolerance: float, seconds: float, child: Contained
    ) -> None:
        self.session, self.tolerance, self.child = session, tolerance, child
        self.deadline = time.monotonic() + seconds
        self.memory = Memory()
        self.labels = session.labels
        self.root = session.step(0).stage.module
        self.notes: list[str] = []
        self.given = own_copies(self._given(inputs))
        self.arrays = list(self.given.values())
        """In the order of the imported program's parameters."""
        self._entry_error: WorkbenchError | None = None
        """What is wrong with the first lowered entry."""
        self.machine: EntryMachine | None = None
        self.kernels: KernelChecker | None = None
        self._runs: dict[int, EntryRun] = {}
        self.yardstick = Yardstick(self.root, self.given, tolerance, self.memory)
        self.functions: Functions | None = None
        """Of a session of loop functions that were opened as such."""
        self.culprits: dict[int, Culprit] = {}
        self._suspects: dict[str, SmallKernel] = {}
        """Kernels whose native code is wrong through no fault of their loop steps: these are interpreted."""
        self._shifted: dict[int, KernelCheck] = {}
        self._known: dict[int, StepCheck] = {}
        self._checks: dict[tuple[int, str], KernelCheck] = {}

    def _given(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The inputs by the names of the imported program; those that `run` takes will do where a step renames some."""
        graph = self._last_graph()
        if graph is None:
            return given_inputs(self.root, inputs, "check_numerics(inputs)")
        first, last = (input_names(module[entry_name(module)]) for module in (self.root, graph))
        renamed = [name for name in last if name not in first]
        if not renamed or len(first) != len(last):
            return given_inputs(self.root, inputs, "check_numerics(inputs)")
        was = dict(zip(renamed, [name for name in first if name not in last], strict=True))
        told = ", ".join(f"{old} is {new}" for new, old in was.items())
        self.notes.append(f"inputs that steps rename are taken in their order: {told}")
        if isinstance(inputs, Mapping) and set(inputs) == set(last):
            inputs = {was.get(name, name): value for name, value in inputs.items()}
        return given_inputs(self.root, inputs, "check_numerics(inputs)")

    def _last_graph(self) -> IRModule | None:
        """The program after the last graph step; None for a session of loop functions."""
        if self.session.actions[0].level != "relay":
            return None
        return self.step(max(self.first_loop_step - 1, 0)).stage.module

    @cached_property
    def loop_arrays(self) -> list[np.ndarray]:
        """The inputs in the order in which the entry takes them."""
        graph = self._last_graph()
        return self.arrays if graph is None else arranged(graph, self.given)

    def step(self, index: int) -> Step:
        return self.session.step(index)

    @property
    def first_loop_step(self) -> int:
        """The position of the first step after the graph passes."""
        return next((i for i, action in enumerate(self.session.actions) if action.level != "relay"), len(self.labels))

    # --- between the check and the test that a report writes ---

    def release(self) -> None:
        """Keep the verdicts alone: a report that lies about in a notebook held a hundred megabytes of tensors."""
        self.memory.clear()
        self.machine = self.kernels = None
        self._runs.clear()
        self.functions = None
        self.yardstick = Yardstick(self.root, self.given, self.tolerance, self.memory)
        give_back_memory()

    def resume(self, child: Contained, seconds: float, index: int) -> None:
        """Be ready for further questions about a step."""
        self.child, self.deadline = child, time.monotonic() + seconds
        if self.session.actions[0].level == "relay" and self.first_loop_step <= index:
            self._ready()

    # --- the two ways to go through the steps ---

    def all(self) -> list[StepCheck]:
        """Every step in order, up to the first bad one."""
        checks: list[StepCheck] = []
        for index in progress.track(range(len(self.labels)), "check numbers", lambda index: self.labels[index]):
            if index == self.first_loop_step and index < len(self.labels):
                self._sweep(index)
            checks.append(self.verdict(index))
            if checks[-1].bad:
                checks[-1] = self._located(index)
                break
        return checks

    def bisected(self) -> list[StepCheck]:
        """The first bad step, by halving: a wrong program stays wrong."""
        last = len(self.labels) - 1
        ran: dict[int, StepCheck] = {last: self.verdict(last, alone=True)}
        if not ran[last].bad and self.step(last).action.kind == "codegen":
            # Native code does not tell an access outside of its memory; the checked form before it does.
            last -= 1
            ran[last] = self.verdict(last, alone=True)
            last += not ran[last].bad
        if ran[last].bad:
            low, high = 0, last  # the first bad step lies in low ... high
            while low < high:
                middle = (low + high) // 2
                ran[middle] = self.verdict(middle, alone=True)
                low, high = (low, middle) if ran[middle].bad else (middle + 1, high)
            ran[low] = self.verdict(low, alone=True)
            ran[low] = self._located(low)
            last = low
        self.notes.append(f"by bisection: {len(ran)} of {len(self.labels)} steps were run")
        return [ran.get(index, StepCheck(self.labels[index], "not run")) for index in range(last + 1)]

    def _sweep(self, begin: int) -> None:
        """Check kernel after kernel through all loop steps, so that the child holds one kernel's arrays at a time."""
        if not self._ready() or self.kernels is None or self.machine is None:
            return
        limit = len(self.labels)
        for index in range(begin, limit):
            if self.step(index).error is not None or self._entry(index).verdict in BAD:
                limit = index + 1
                break
        for kernel in progress.track(list(self.machine.captured), "kernels", str):
            if limit == begin + 1:
                return  # no kernel can be wrong at an earlier step
            for index in range(begin, limit):
                changed = self.step(index).action.kind != "codegen" and self._changed(index, kernel)
                if changed and self._kernel(index, kernel).verdict in BAD:
                    limit = index + 1
                    break

    # --- one step ---

    def verdict(self, index: int, alone: bool = False) -> StepCheck:
        """The verdict on the program after a step; `alone`: also where the step itself changed nothing."""
        if index not in self._known:
            found = self._verdict(index, alone)
            if index in self._shifted and not found.bad:
                found = _joined(replace(found, verdict="right"), [self._shifted[index]])
            self._known[index] = found
        return self._known[index]

    def _verdict(self, index: int, alone: bool) -> StepCheck:
        step, label = self.step(index), self.labels[index]
        if step.error is not None:
            return StepCheck(label, "failed", note=brief(step.error))
        if not step.changed and step.action.kind != "codegen" and not alone:
            return StepCheck(label, "unchanged")
        if time.monotonic() > self.deadline:
            return StepCheck(label, "not run", note="the time is spent")
        try:
            if self.session.actions[0].level != "relay":
                return _step_check(label, self._functions().gap(step, self.child))
            if step.action.level == "relay":
                return self._graph_step(step, label)
            give_back_memory()  # of the step that was just computed, and of the kernels at the step before
            return self._loop_step(step, index, label, alone)
        except WorkbenchError as error:
            return StepCheck(label, "failed", note=brief(error))

    def _functions(self) -> Functions:
        if self.functions is None:
            self.functions = Functions(self.step(0), self.given, self.tolerance)
            self.notes.append("loop functions are compared with the first step's results, in their own precision")
        return self.functions

    # --- graph steps ---

    def _graph_step(self, step: Step, label: str) -> StepCheck:
        module = step.stage.module
        gap = self.yardstick.gap_of(module)
        note = "in float64; float32 rounds more than the tolerance allows" if gap.right and gap.rounds else ""
        return replace(_step_check(label, gap), note=note)

    def _located(self, index: int) -> StepCheck:
        """The verdict on a step; that on a wrong graph step names the tensor with which the wrong result begins.

        All tensors of both programs are held for that, so it is asked of the first wrong step alone, and what loop
        steps need is given up before (`_ready` makes it again).
        """
        found, step = self._known[index], self.step(index)
        if found.verdict != "wrong" or index >= self.first_loop_step or step.previous is None:
            return found
        self.machine = self.kernels = None
        before, after = step.previous.stage.module, step.stage.module
        try:
            tensor = first_wrong(before, after, self.given, self.memory, self.tolerance, step.origins)[0]
            self._known[index] = replace(found, tensor=tensor or found.tensor)
        except WorkbenchError as error:
            self._known[index] = StepCheck(found.step, "failed", note=brief(error))
        return self._known[index]

    # --- loop steps ---

    def knows_kernels(self) -> bool:
        """Whether kernels can be looked at one by one, each on its inputs in the network."""
        return self.session.actions[0].level == "relay" and self._ready() and self.kernels is not None

    def is_right(self, index: int, kernel: str) -> bool:
        """Whether a kernel is right as it stands after a step."""
        return self._kernel(index, kernel).verdict not in BAD

    def _ready(self) -> bool:
        """Run the first lowered entry, whose calls give the kernels their inputs; False where that cannot be."""
        if self.machine is not None:
            return self.kernels is not None
        first = self.first_loop_step
        stage = self.step(first).stage
        if self.step(first).error is not None or stage.lowered is None:
            return False
        self.machine = EntryMachine(stage.lowered, self.memory)
        try:
            self._runs[first] = self.machine.run(stage.module, self.loop_arrays, capture=True)
        except NotStraight as reason:
            self.notes.append(f"the entry is more than calls of kernels ({reason}): whole programs are compared")
            return False
        except WorkbenchError as error:  # running it natively would read and write where it should not
            self._entry_error = error
            return False
        give_back_memory()
        self.kernels = KernelChecker(self.machine, self.child, self.tolerance, self.deadline)
        shared = sum(count - 1 for count in self.machine.calls.values())
        if shared:
            self.notes.append(
                f"{len(self.machine.calls)} kernels stand for {sum(self.machine.calls.values())} calls: each is "
                "checked on the inputs of its first one"
            )
        rounding = {name: meaning.rounding for name, meaning in self.machine.meanings.items() if meaning.rounding > 1.0}
        if rounding:
            self.notes.append(
                f"roundings up to {max(rounding.values()):.0f} times those of the sums as written are allowed where an "
                f"operator is computed by another algorithm: {', '.join(rounding)}"
            )
        return True

    def _loop_step(self, step: Step, index: int, label: str, alone: bool) -> StepCheck:
        if not self._ready():
            if self._entry_error is not None:
                return StepCheck(label, "failed", note=brief(self._entry_error))
            return self._whole_step(step, label)
        if step.action.kind == "codegen":
            return self._native_step(step, label)
        entry = self._entry(index) if alone or self._changed(index, "main") else StepCheck(label, "right")
        if entry.bad:
            return entry
        assert self.machine is not None
        checks: list[KernelCheck] = []
        for name in self.machine.captured:
            if not alone and not self._changed(index, name):
                continue
            found = self._kernel(index, name)
            checks.append(self._blamed(index, found) if found.verdict in BAD else found)
            if checks[-1].verdict in BAD:
                break
        return _joined(entry, checks)

    def _blamed(self, index: int, bad: KernelCheck) -> KernelCheck:
        """A bad verdict that rests on native code, put to the interpreter: it may be another step's fault."""
        if bad.kernel in self._suspects:
            return bad
        guilty = culprit(self, index, bad)
        self.culprits.setdefault(guilty.index, guilty)
        if guilty.index != index and guilty.small is not None:
            self._suspects[bad.kernel] = guilty.small
            self._shifted.setdefault(guilty.index, bad)
            note = f"{bad.kernel} is right when interpreted (on smaller shapes), its native code is not: see "
            return replace(self._kernel(index, bad.kernel), note=note + self.labels[guilty.index])
        if not guilty.sure:
            return replace(bad, note=bad.note or f"by native code alone: {reason(self, index, bad.kernel)}")
        assert guilty.small is not None
        shapes = ", ".join(str(array.shape) for array in guilty.small.inputs)
        size = f" on inputs of shapes {shapes}" if guilty.small.shrunk else ""
        return replace(bad, note=guilty.check.note or bad.note or f"the interpreter agrees{size}")

    def _changed(self, index: int, name: str) -> bool:
        step = self.step(index)
        before = step.previous.stage.module.functions.get(name) if step.previous is not None else None
        return step.stage.module.functions.get(name) is not before

    def _kernel(self, index: int, kernel: str) -> KernelCheck:
        assert self.kernels is not None
        if kernel in self._suspects:
            small = self._suspects[kernel]
            return replace(interpreted_check(small, small.function(index), self.tolerance), kernel=kernel)
        if (index, kernel) not in self._checks:
            self._checks[index, kernel] = self.kernels.check(kernel, self.step(index))
        return self._checks[index, kernel]

    def _entry(self, index: int) -> StepCheck:
        """The entry after a step, its kernels replaced by what they mean."""
        assert self.machine is not None
        step, label = self.step(index), self.labels[index]
        if step.action.kind == "codegen" or not (self._changed(index, "main") or index not in self._runs):
            return StepCheck(label, "right")
        try:
            run = self._runs.get(index) or self.machine.run(step.stage.module, self.loop_arrays)
        except NotStraight as reason:
            self.notes.append(f"the entry after {label} is more than calls of kernels ({reason})")
            return StepCheck(label, "right", note="the entry was not run")
        except WorkbenchError as error:
            return StepCheck(label, "failed", note=brief(error))
        self._runs[index] = run
        gap = self.yardstick.gap(run.outputs, "the entry")
        if gap.right:
            return _step_check(label, gap)
        return replace(_step_check(label, gap), tensor=self._entry_tensor(index, gap))

    def _entry_tensor(self, index: int, gap: Gap) -> WrongTensor | None:
        """The first operand or result of a call that is another than in the entry before, or than relay says."""
        assert self.machine is not None
        earlier = max((known for known in self._runs if known < index), default=None)
        if earlier is None:
            return self._against_relay(index) or gap.tensor
        position, place, sentence = first_difference(self._runs[earlier], self._runs[index])
        if position < 0 or place < 0:
            return replace(gap.tensor, note=sentence) if gap.tensor else None
        old, new = (
            self.machine.run(self.step(at).stage.module, self.loop_arrays, watch={position}).watched[position][place]
            for at in (earlier, index)
        )
        record = self._runs[index].records[position]
        name = f"call {position}, of {record.kernel}"
        return compare(new, old, 0.0, None, name, record.names[place]).tensor or gap.tensor

    def _against_relay(self, index: int) -> WrongTensor | None:
        """The first call whose result is not what its relay call gives."""
        assert self.machine is not None
        lowered, module = self.machine.lowered, self.step(index).stage.module
        expected = relay_values(
            self.step(index - 1).stage.module, [call.relay_call for call in lowered.calls], self.loop_arrays
        )
        run = self.machine.run(module, self.loop_arrays, watch=set(range(len(lowered.calls))))
        for position, (record, call) in enumerate(zip(run.records, lowered.calls, strict=False)):
            name = f"call {position}, of {record.kernel}"
            if record.kernel != call.kernel:
                return WrongTensor(name, "kernel", (), record.kernel, call.kernel, np.nan, 1, 1)
            values = expected.get(id(call.relay_call), [])
            outputs = run.watched[position][len(record.inputs) :]
            for place, (found, value) in enumerate(zip(outputs, values, strict=False), start=len(record.inputs)):
                gap = compare(found, value.reshape(found.shape), self.tolerance, None, name, record.names[place])
                if gap.tensor is not None:
                    return gap.tensor
        return None

    def _whole_step(self, step: Step, label: str) -> StepCheck:
        """A loop step whose entry cannot be taken apart: the whole program, compiled."""
        lowered = step.stage.lowered
        assert lowered is not None
        codegen = step.action.kind == "codegen"
        unit = compiled_unit(step.stage.compiled, step.stage.module) if codegen else entry_unit(step.stage.module)
        answer = run_entry(self.child, unit, lowered, self.loop_arrays, label)
        if answer.error is not None:
            verdict = "failed" if answer.failure == "error" else answer.failure
            return StepCheck(label, verdict, note=brief(answer.error))
        return _step_check(label, self.yardstick.gap(answer.outputs, "the whole model"))

    def _native_step(self, step: Step, label: str) -> StepCheck:
        """The optimised kernels, each in the child; then the whole native model there."""
        assert self.machine is not None and self.kernels is not None
        unit = compiled_unit(step.stage.compiled, step.stage.module)
        checks: list[KernelCheck] = []
        for name in self.machine.captured:
            if name in unit.functions and not (checks and checks[-1].verdict in BAD):
                checks.append(self.kernels.run(name, "native", unit))
        self.kernels.forget()
        joined = _joined(StepCheck(label, "right"), checks)
        return joined if joined.bad else _joined(self._whole_step(step, label), checks)


def _step_check(label: str, gap: Gap) -> StepCheck:
    return StepCheck(label, "right" if gap.right else "wrong", gap.absolute, gap.relative, gap.part, "", gap.tensor)


def _joined(entry: StepCheck, kernels: Sequence[KernelCheck]) -> StepCheck:
    """A step's verdict from that on its entry and those on its kernels, the first bad kernel naming the tensor."""
    total = Gap(True, entry.absolute, entry.relative, entry.part, entry.tensor)
    for kernel in kernels:
        total = total.joined(kernel.gap)
    bad = next((kernel for kernel in kernels if kernel.verdict in BAD), None)
    left = sum(kernel.verdict == "not run" for kernel in kernels)
    said = next((kernel.note for kernel in kernels if kernel.note and kernel.verdict == "right"), "")
    note = bad.note if bad else entry.note or (f"{left} kernels not run" if left else said)
    verdict = bad.verdict if bad else entry.verdict
    tensor = bad.gap.tensor if bad else entry.tensor
    return StepCheck(entry.step, verdict, total.absolute, total.relative, total.part, note, tensor, tuple(kernels))


def processor_seconds() -> float:
    """Processor time of this process and of the children that ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _require_indices(session: Session, inputs: Mapping[str, Any]) -> None:
    """What is wrong with the inputs is no step's fault."""
    if session.plan.settings.context().checks_bounds:
        try:
            session.run(with_own_outputs(session.build(), inputs))
        except WorkbenchError as error:
            if error.code == INDEX_CODE:
                raise


def check_numerics(
    session: Session,
    inputs: Mapping[str, Any],
    tolerance: float = 1e-3,
    find: str = "all",
    seconds: float = WALL_SECONDS,
) -> NumericsReport:
    """Check the steps of a session on `inputs`; see `Session.check_numerics`.

    Raises `WorkbenchError`: E-RUN-FOREIGN for a target whose code does not run on this machine; in checked mode
    E-RUN-INDEX for inputs with which the program asks for an element that is not there.
    """
    ways: dict[str, _Way] = {"all": Checker.all, "first": Checker.bisected}
    if not isinstance(find, str) or find not in ways:
        raise WorkbenchError("E-NUMERICS-FIND", f"find={find!r:.40} means nothing", expected="'all' or 'first'")
    tolerance = number(tolerance, "check_numerics(tolerance=...)", "E-NUMERICS-NUMBER", "0.001")
    seconds = number(seconds, "check_numerics(seconds=...)", "E-NUMERICS-NUMBER", "600", infinite=True)
    return _checked(session, inputs, tolerance, ways[find], seconds)


def check_from_edits(session: Session, inputs: Mapping[str, Any], tolerance: float, seconds: float) -> NumericsReport:
    """As `find="first"`; an edit that is found wrong ends the search, see `suspects`."""
    return _checked(session, inputs, tolerance, from_edits, seconds)


def _checked(
    session: Session, inputs: Mapping[str, Any], tolerance: float, way: _Way, seconds: float
) -> NumericsReport:
    require_fitting(session.target)
    begun = processor_seconds()
    _require_indices(session, inputs)
    with Contained() as child:
        checker = Checker(session, inputs, tolerance, seconds, child)
        checks = way(checker)
        last = len(checks) - 1
        refused = piece.refusal(checker, last) if checks[last].bad else ""
    report = NumericsReport(tuple(checks), tuple(checker.notes), processor_seconds() - begun, no_test=refused)
    checker.release()
    return report if report or refused else replace(report, writer=piece.writer(checker, last, seconds))
