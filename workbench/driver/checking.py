"""A check that runs beside the cells: a badge for each step, as it becomes known.

    check = session.check({"x": photo})       # at once; a process of its own computes
    print(check)                              # what is known so far
    check.wait().first_wrong                  # the label of the first wrong step, or None
    check.narrow()                            # the first wrong rewrite in it: rule, file and line, before and after
    check.save_test("test_it.py")             # the smallest piece that fails
    check.cancel()

Graph steps are compared with the imported program in float64; a step after a wrong one is compared with what that made,
so that each badge speaks of its own step.  Steps of loops are covered by running the native code that they lead to:
where that is right, they are; where it is not, the last badge says from which step on (`Badge.since`).
`Session.check_numerics` looks at each of them, and takes longer.  Loop functions that were opened as such are run after
each step, and compared with the imported ones.

Invariant: the caller's thread does nothing but start, look and stop.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .._lazy import views
from ..codegen.llvm.contained import Contained
from ..codegen.llvm.fitting import require_fitting
from ..core.arguments import number
from ..core.child import ChildFailure
from ..core.errors import WorkbenchError
from .given_inputs import arranged, given_inputs, own_copies
from .narrowing import Narrowed, narrowed, narrowed_below
from .numerics import piece
from .numerics.check import Checker
from .numerics.compare import Gap, WrongTensor
from .numerics.kernels import brief, compiled_unit
from .numerics.reference import Reference
from .numerics.whole import run_entry

if TYPE_CHECKING:
    from .session import Session

IDLE_SECONDS: Final = 120.0
"""How long the reference process waits for a question about a wrong step."""
BAD: Final = frozenset({"wrong", "failed"})
_OF_STEPS: Final = {"unchanged": "same", "crashed": "failed", "hangs": "failed", "not run": "not checked"}
"""What a badge calls the verdicts of `check_numerics`."""
_OPEN: Final = frozenset({"waiting", "running", "not checked"})


@dataclass(frozen=True)
class Badge:
    """What is known of one step.

    `verdict`: "waiting", "running", "right", "same" (it changed nothing), "carried" (it keeps what a step before it got
    wrong), "covered" (native code after it is right), "wrong", "failed", "not checked".
    """

    step: str
    verdict: str = "waiting"
    absolute: float = 0.0
    relative: float = 0.0
    part: float = 0.0
    """Greatest part of its tolerance that an element uses up; above 1 it is wrong."""
    note: str = ""
    tensor: WrongTensor | None = None
    milliseconds: float = 0.0
    since: str = ""
    """Of a wrong step after others that were not looked at: the first of these, from which on something is wrong."""
    suspects: tuple[str, ...] = ()
    """The steps among these that a person made."""

    @property
    def bad(self) -> bool:
        return self.verdict in BAD

    def __str__(self) -> str:
        said = f"{self.step:<24}{self.verdict:<13}"
        said += f"{self.absolute:>10.2e}" if self.verdict in ("right", "wrong", "carried") else f"{'':>10}"
        told = f"{self.note}: {self.tensor}" if self.since else self.tensor or self.note
        return f"{said}  {told}".rstrip()


class BackgroundCheck:
    """See the module's header; made by `Session.check`."""

    def __init__(
        self, session: Session, inputs: Mapping[str, Any], tolerance: float, native: bool, seconds: float
    ) -> None:
        self.session = session
        self.tolerance = number(tolerance, "check(tolerance=...)", "E-NUMERICS-NUMBER", "0.001")
        self.seconds = number(seconds, "check(seconds=...)", "E-NUMERICS-NUMBER", "600", infinite=True)
        root = session.history.step(session.actions, 0).stage.module
        self.inputs = own_copies(given_inputs(root, inputs, "check(inputs)"))
        self.error: WorkbenchError | None = None
        """Why the check as a whole has failed, if it has."""
        self.narrowings: dict[str, Narrowed] = {}
        self._badges = [Badge(label) for label in session.labels]
        self._state = "running"
        self._native = native
        self._watching: list[Callable[[], None]] = []
        self._asking = threading.RLock()
        """Held by whoever talks to the reference."""
        self._reference = Reference(root, self.inputs, self.tolerance, seconds=self.seconds)
        self._contained: Contained | None = None
        self._bases: list[int] = [0]
        """The steps whose programs the reference has measured against, the last one now."""
        self._begun_anew = False
        """Whether the reference is another process than that of the check, which knows no bases."""
        self._reports: dict[str, Any] = {}
        self._idle: threading.Timer | None = None
        self.mebibytes = 0
        """The most memory that the reference process has used."""
        self._thread = threading.Thread(target=self._run, name="check of a session", daemon=True)
        self._thread.start()

    # --- looking ---

    @property
    def state(self) -> str:
        """One of "running", "done", "cancelled", "failed"."""
        return self._state

    @property
    def badges(self) -> tuple[Badge, ...]:
        """What is known of each step, in order."""
        return tuple(self._badges)

    @property
    def looked_at(self) -> int:
        """How many steps have a verdict that was found out."""
        return sum(badge.verdict not in _OPEN for badge in self.badges)

    @property
    def first_wrong(self) -> str | None:
        """The label of the first step that is wrong or failed, as far as is known."""
        return next((badge.step for badge in self.badges if badge.bad), None)

    def wait(self, seconds: float | None = None) -> BackgroundCheck:
        """Wait until all is known, at most so long."""
        self._thread.join(seconds)
        return self

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever something has become known: from the check's own thread."""
        self._watching.append(changed)

    def cancel(self) -> None:
        """Stop; what is known stays."""
        if self._state == "running":
            self._state = "cancelled"
        self._reference.kill()
        if self._contained is not None:
            self._contained.kill()
        self._tell()

    def __bool__(self) -> bool:
        return self._state == "done" and self.first_wrong is None

    def __str__(self) -> str:
        head = f"check of {self.session.source}: {self._state}, {self.looked_at} of {len(self.badges)} steps"
        rows = [head, *map(str, self.badges)]
        rows += ["check.narrow() looks for what is wrong"] if self.first_wrong and not self.narrowings else []
        rows += [str(self.error)] if self.error is not None else []
        return "\n".join([*rows, *map(str, self.narrowings.values())])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().check_bundle(self)

    def show(self) -> Any:
        """The badges as they become known, in a notebook; what is known now elsewhere."""
        return views().show_check(self)

    # --- the check's own thread ---

    def _run(self) -> None:
        try:
            with self._asking:
                if self.session.actions[0].level == "relay":
                    self._graph_steps()
                    self._loop_steps()
                else:
                    self._function_steps()
            self._state = "done" if self._state == "running" else self._state
        except ChildFailure as failure:
            if self._state == "running":
                self._fail(WorkbenchError("E-CHECK-PROCESS", f"the reference process {failure}", kept="the session"))
        except WorkbenchError as error:
            self._fail(error)
        except Exception as error:  # a bug of the workbench must not end in a thread that nobody hears of
            said = f"{type(error).__name__}: {error}"
            self._fail(WorkbenchError("E-INTERNAL", "the check itself failed", found=said))
        self._settle()

    def _fail(self, error: WorkbenchError) -> None:
        self._state, self.error = "failed", error

    def _settle(self) -> None:
        """Nothing runs any more: what is not known stays so, and the process waits only if it may be asked."""
        for index, badge in enumerate(self._badges):
            if badge.verdict in ("waiting", "running"):
                note = badge.note or ("" if self._state == "done" else self._state)
                self._badges[index] = replace(badge, verdict="not checked", note=note)
        if self.first_wrong is None:
            self._reference.close()
        else:
            self._rest()
        self._tell()

    def _rest(self) -> None:
        """Let the process go after a while without questions."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = threading.Timer(IDLE_SECONDS, self._reference.kill)
        self._idle.daemon = True
        self._idle.start()

    def _tell(self) -> None:
        for changed in self._watching:
            changed()

    def _note(self, index: int, verdict: str, gap: Gap | None = None, note: str = "", begun: float = 0.0) -> None:
        spent = (time.perf_counter() - begun) * 1000 if begun else 0.0
        gap = gap or Gap()
        self._badges[index] = Badge(
            self._badges[index].step, verdict, gap.absolute, gap.relative, gap.part, note, gap.tensor, spent
        )
        self.mebibytes = self._reference.mebibytes
        self._tell()

    def _graph_steps(self) -> None:
        session = self.session
        for index, action in enumerate(session.actions):
            if action.level != "relay" or self._state != "running":
                return
            self._note(index, "running")
            begun = time.perf_counter()
            step = session.history.step(session.actions, index)
            if step.error is not None:
                self._note(index, "failed", note=brief(step.error))
                return
            if index and not step.changed:
                self._note(index, "same")
                continue
            try:
                gap = self._reference.step(step) if index else self._reference.begin()
            except WorkbenchError as error:
                self._note(index, "not checked", note=brief(error))
                continue
            rounds = "in float64; float32 rounds more than the tolerance allows" if gap.rounds else ""
            carried = len(self._bases) > 1
            self._note(index, ("carried" if carried else "right") if gap.right else "wrong", gap, rounds, begun)
            if not gap.right:
                self._reference.rebase()
                self._bases.append(index)

    def _loop_steps(self) -> None:
        """Steps after the graph's: computed, and judged by the native code that they lead to."""
        session = self.session
        below = [index for index, action in enumerate(session.actions) if action.level != "relay"]
        if not below or self._state != "running" or any(badge.verdict == "failed" for badge in self._badges):
            return
        if not self._native:
            for index in below:
                self._note(index, "not checked", note="native code was not asked for")
            return
        if not self._fitting(below):
            return
        for index in below:
            if self._state != "running":
                return
            self._note(index, "running")
            step = session.history.step(session.actions, index)
            if step.error is not None:
                self._note(index, "failed", note=brief(step.error))
                return
            self._note(index, "waiting")
        self._native_code(below)

    def _fitting(self, steps: Sequence[int]) -> bool:
        """Whether code of these steps runs on this machine; where not, they are not checked."""
        try:
            require_fitting(self.session.target)
        except WorkbenchError as error:
            for index in steps:
                self._note(index, "not checked", note=error.message)
            return False
        return True

    def _function_steps(self) -> None:
        """Of loop functions that were opened as such: the program after each step is run, up to the first wrong one."""
        session, steps = self.session, range(len(self.session.actions))
        if not self._fitting(steps):
            return
        with Contained() as child:
            self._contained = child
            checker = Checker(session, self.inputs, self.tolerance, self.seconds, child)
            for index in steps:
                if not self._native and session.actions[index].kind == "codegen":
                    self._note(index, "not checked", note="native code was not asked for")
                    continue
                self._note(index, "running")
                begun = time.perf_counter()
                found = checker.verdict(index)
                if self._state != "running":
                    return
                gap = Gap(not found.bad, found.absolute, found.relative, found.part, found.tensor)
                self._note(index, _OF_STEPS.get(found.verdict, found.verdict), gap, found.note, begun)
                if found.bad:
                    return

    def _native_code(self, below: list[int]) -> None:
        """Run the native code of the last step in a process that holds nothing of ours."""
        session, last = self.session, below[-1]
        step = session.history.step(session.actions, last)
        lowered = step.stage.lowered
        if step.stage.compiled is None or lowered is None:
            return
        self._note(last, "running")
        begun = time.perf_counter()
        graph = session.history.step(session.actions, below[0] - 1).stage.module
        unit = compiled_unit(step.stage.compiled, step.stage.module)
        self._reference.trim()
        self._contained = Contained()
        answer = run_entry(self._contained, unit, lowered, arranged(graph, self.inputs), "native")
        if answer.error is not None:
            self._note(last, "failed", note=brief(answer.error), begun=begun)
            return
        gap = self._reference.outputs(answer.outputs, "the native model")
        for index in below[:-1] if gap.right else ():
            self._note(index, "covered", note="the native code that it leads to is right")
        right = "carried" if len(self._bases) > 1 else "right"
        self._note(last, right if gap.right else "wrong", gap, begun=begun)
        if not gap.right:
            self._suspected(below)

    def _suspected(self, below: list[int]) -> None:
        """Native code is wrong: any of the steps that led to it may be, those that a person made first of all."""
        labels = self.session.labels
        suspects = tuple(labels[index] for index in below if self.session.actions[index].kind == "edit")
        first, last = labels[below[0]], labels[below[-1]]
        note = f"the steps from {first} to {last} were not looked at one by one"
        note += f"; made by hand, so look there first: {', '.join(suspects)}" if suspects else ""
        self._badges[below[-1]] = replace(self._badges[below[-1]], note=note, since=first, suspects=suspects)
        self._tell()

    # --- what is wrong ---

    def narrow(self, step: str | None = None) -> Narrowed:
        """What is wrong in a step (by default the first wrong one): the rewrite, or the pass; takes a few seconds.

        Raises `WorkbenchError`: E-CHECK-RIGHT where nothing is known to be wrong.
        """
        label = self.first_wrong if step is None else step
        if not isinstance(label, str) or label not in self.narrowings:
            index = self._wrong(step)
            label = self._badges[index].step
            with self._asking:
                self.narrowings[label] = self._narrowed(index)
                self._rest()
            self._tell()
        return self.narrowings[label]

    def _narrowed(self, index: int) -> Narrowed:
        if self.session.actions[index].level == "relay":
            with _as_error():
                self._measure_before(index)
                return narrowed(self.session, index, self._reference)
        found, report = narrowed_below(self.session, self.inputs, self.tolerance, self.seconds)
        at = self.session.labels.index(found.step)
        for place in {index, at}:
            self._reports[self._badges[place].step] = report
        self.narrowings[found.step] = found
        if at != index:
            self._note(at, "wrong", Gap(False, found.error, tensor=found.tensor), found.why)
            self._note(index, "not checked", note=f"what {found.step} gets wrong comes out here")
        return found

    def _measure_before(self, index: int) -> None:
        """Have the reference measure as when the step was checked; a process that is gone begins with that program."""
        base = max(place for place, step in enumerate(self._bases) if step < index)
        if self._reference.alive and not self._begun_anew:
            self._reference.measure(base)
            return
        self._begun_anew = True
        self._reference.close()
        program = self.session.history.step(self.session.actions, self._bases[base]).stage.module
        self._reference = Reference(program, self.inputs, self.tolerance, seconds=self.seconds)
        self._reference.begin()

    def save_test(self, path: str | Path, step: str | None = None) -> Path:
        """Write the smallest failing piece of a wrong step as a pytest file: it fails now, and passes once it is right.

        Raises `WorkbenchError`: E-CHECK-RIGHT where nothing is known to be wrong.
        """
        index = self._wrong(step)
        badge = self._badges[index]
        if self.session.actions[index].level != "relay":
            self.narrow(badge.step)
            return self._reports[badge.step].save_test(path)
        with Contained() as child:
            checker = Checker(self.session, self.inputs, self.tolerance, self.seconds, child)
            what = f"{badge.verdict}: {badge.tensor or badge.note}"
            return piece.write(piece.find(checker, index, what), Path(path))

    def _wrong(self, step: str | None) -> int:
        label = self.first_wrong if step is None else step
        bad = [place for place, badge in enumerate(self._badges) if badge.bad]
        index = next((at for at in bad if isinstance(label, str) and self._badges[at].step == label), None)
        if index is None or self._badges[index].verdict != "wrong":
            raise WorkbenchError(
                "E-CHECK-RIGHT", "no such step is known to be wrong",
                found="nothing wrong" if step is None else repr(step)[:80],
                expected=", ".join(self._badges[at].step for at in bad if self._badges[at].verdict == "wrong")
                or "the name of a wrong step",
                fix="wait for the check: check.wait()" if self._state == "running" else "",
            )  # fmt: skip
        return index


@contextlib.contextmanager
def _as_error() -> Any:
    """A process that fails is the caller's `WorkbenchError`."""
    try:
        yield
    except ChildFailure as failure:
        raise WorkbenchError("E-CHECK-PROCESS", f"the reference process {failure}", kept="the session") from None
