"""The history of a compilation: steps over immutable programs, shared between sessions, computed once when looked at.

A plan stands for a tuple of `Action`s.  The history is a tree: the state after the first n actions is a `Step`, found
by the keys of these actions, so two sessions that agree on a prefix share its steps, and the same command on the
same state gives the same step.  Nothing in here knows what the actions do.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Protocol
from weakref import WeakSet

from ..core import origin, progress, reliance, rewrite
from ..core.errors import WorkbenchError
from ..core.limits import limits
from ..core.module import HeldModule
from ..core.node import traced_in
from ..lower.entry import Lowered
from ..lower.kept import kept
from ..lower.kernel import Kernel
from ..lower.provider import default_provider
from ..schedule.schedule import Schedule
from ..target.target import Target
from ..tir.by_hand import hand_on
from ..tir.nodes import PrimFunc
from ..tir.outside import Guard
from .contents import Contents, OfTheMoment
from .plan import CompilePlan


@dataclass(frozen=True)
class AsSaved:
    """What was read of users' code when a session was saved, by name: a history that was loaded holds to it."""

    steps: Mapping[str, Mapping[str, str]]
    """By the id of a step: all that it read."""
    names: Mapping[str, str]
    """All that any step read, which counts for steps of changed plans too."""

    def require(self, identity: str, now: Mapping[str, str]) -> None:
        """Raise `OfTheMoment` where a step has read something else than when the session was saved."""
        read = self.steps.get(identity)
        then = {name: key for name, key in self.names.items() if name in now} if read is None else read
        for name in sorted({*then, *(now if read is not None else then)}):
            if then.get(name) != now.get(name):
                raise OfTheMoment(
                    "E-SAVED-DIFFERS", f"the {name} is not the one that the session was saved with",
                    found=f"the code {now[name]}" if name in now else "none that is not the workbench's own",
                    expected=f"the code {then[name]}" if name in then else "none but the workbench's own",
                    fix="define it as it was then, and open the session again; or take it as it is now: s.reload()",
                    kept="the steps before it",
                )  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """What flows from step to step: the program, and what later stages need to know of earlier ones."""

    module: HeldModule = HeldModule()  # noqa: RUF009 (a descriptor)
    lowered: Lowered | None = None
    schedules: Mapping[str, Any] = field(default_factory=dict)
    """Schedules by kernel name, after the Schedule step."""
    compiled: Any = None
    """Native code, after the Codegen step."""

    def kernels(self, target: Target) -> dict[str, Kernel]:
        """What can be scheduled, by name: the kernels of a lowered graph, else the functions of a loop program."""
        if self.lowered is not None:
            return {kernel.name: kernel for kernel in self.lowered.kernels}
        functions = {name: item for name, item in self.module.functions.items() if isinstance(item, PrimFunc)}
        return {name: Kernel(name, function, target, None, "") for name, function in functions.items()}

    def default_schedule(self, kernel: Kernel) -> Schedule:
        """The schedule that a kernel gets where nobody made one: the rules'; a function of a loop program has none."""
        return kept(kernel).default(default_provider) if self.lowered is not None else kept(kernel).bare()


@dataclass(frozen=True)
class Action:
    """A named, replayable change: `run(stage, context) -> stage`.

    Equal keys mean equal actions; `arguments` are shown and saved.  `level` says which IR it works on.
    """

    name: str
    kind: str
    """import, pass, lower, schedule, edit, codegen"""
    level: str
    """relay, tir or native"""
    arguments: Mapping[str, Any]
    key: str
    run: Callable[[Stage | None], Stage]
    code: str = ""
    """The key of a pass's code."""


@dataclass(frozen=True)
class Step:
    """One action carried out."""

    id: str
    label: str
    """The action's name, numbered when it occurs again: "FoldConstant", "FoldConstant#2"."""
    action: Action
    previous: Step | None
    stage: Stage
    milliseconds: float
    origins: origin.OriginTable
    firings: tuple[Any, ...]
    error: WorkbenchError | None = None
    relied: reliance.Reliance = reliance.NOTHING
    """What it read of tables that users add to: it is computed anew when these say something else."""
    memo: dict[str, Any] = field(default_factory=dict[str, Any], init=False, compare=False, repr=False)
    """What others have found out about it, kept as long as it is."""

    @property
    def state(self) -> str:
        """The id, with what was read from outside of the plan: steps of one state hold the same program."""
        keys = [key for step in self.path for key in step.relied.keys.values()]
        return f"{self.id}-{key_of(*keys)}" if keys else self.id

    @property
    def path(self) -> tuple[Step, ...]:
        """The steps up to this one, the import first."""
        found: list[Step] = [self]
        while (before := found[-1].previous) is not None:
            found.append(before)
        return tuple(reversed(found))

    @cached_property
    def existing(self) -> origin.OriginTable:
        """A table that knows all nodes of the program after it, which a step on it begins with."""
        return origin.OriginTable(traced_in(self.stage.module.functions.values()))

    @property
    def changed(self) -> bool:
        """Whether the program differs from the one before (identity of functions decides)."""
        if self.previous is None:
            return True
        before, after = self.previous.stage.module.functions, self.stage.module.functions
        return list(before) != list(after) or any(before[name] is not after[name] for name in after)


_OF_THIS_PROCESS: Final = ("pass", "lower", "schedule", "codegen")
"""Kinds of actions whose programs are made by code of this process; what others bring in may be a stranger's."""


_PASSING_CODES: Final = ("E-TIME-LIMIT", "E-TIR-MEMORY")
_UNDER: Final = "limits"
"""In a failed step's memo: the limits under which it failed."""


def _passes_away(error: WorkbenchError) -> bool:
    """Whether an error is of the moment: of the caller's time, of this machine's memory and files, not of the step."""
    of_the_machine = isinstance(error.__cause__, (MemoryError, OSError))
    return isinstance(error, OfTheMoment) or error.code in _PASSING_CODES or of_the_machine


class Watcher(Protocol):
    """What is told of branches that are made, as long as it is held by others."""

    def branch_made(self, history: History) -> None:
        """A plan was noted that no session had before; in whichever thread made the session."""
        ...


class History:
    """Steps by path.  Shared by all sessions that stem from one import."""

    def __init__(self, root: Action | None = None, contents: Contents | None = None) -> None:
        """`root` imports the program; `contents` is what stands behind the plans' data."""
        self._root = root
        self.contents = contents if contents is not None else Contents()
        self._steps: dict[str, Step] = {}
        self._plans: dict[str, tuple[CompilePlan, tuple[Action, ...]]] = {}
        """By the id of their last step, with what they stand for."""
        self.parted: dict[int, str] = {}
        """How the branches after the first part from earlier ones, as far as that was told (`driver.branches`)."""
        self.telling = threading.Lock()
        """Held by who adds to `parted`."""
        self._running: dict[str, threading.RLock] = {}
        """Of the steps that are being computed: a second thread waits for the first one's."""
        self._lock = threading.Lock()
        self.as_saved = AsSaved({}, {})
        """What steps read of users' code when the session was saved from which this history was loaded."""
        self._watchers = WeakSet[Watcher]()
        self.known: dict[str, Any] = {}
        """Origins by step, filled by `origin_index` when they are asked for."""
        self._models: dict[str, tuple[int, Any]] = {}
        """By a program's last step, which is not computed: when (`reliance.moment`) and what was built without it."""
        self._building: dict[str, threading.RLock] = {}
        """Of the models that are being built: a second thread waits for the first one's."""
        self.compiled_apart: dict[str, set[str]] = {}
        """By a program's last step: kernels of it that were compiled by themselves, to be looked at or measured."""

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def guard(self) -> Guard | None:
        """What the programs may call, where they came from a file."""
        return self.contents.guard

    @property
    def root(self) -> Action:
        """What imports the program.  Raises `WorkbenchError` for a history of nothing."""
        if self._root is None:
            raise WorkbenchError("E-HISTORY-EMPTY", "this history has no program", fix="wb.open(...)")
        return self._root

    def note(self, plan: CompilePlan, actions: Sequence[Action]) -> None:
        """Remember a session's plan as a branch."""
        if not actions:
            return
        made = identities(actions)[-1]
        with self._lock:
            watchers = () if made in self._plans else tuple(self._watchers)
            self._plans.setdefault(made, (plan, tuple(actions)))
        for watcher in watchers:
            watcher.branch_made(self)

    def watch(self, watcher: Watcher) -> None:
        """Tell a watcher of branches that are made from now on."""
        with self._lock:
            self._watchers.add(watcher)

    @property
    def plans(self) -> tuple[CompilePlan, ...]:
        """The plans of all sessions on this history, in the order in which they were made."""
        return tuple(plan for plan, _ in tuple(self._plans.values()))

    @property
    def branches(self) -> tuple[tuple[Action, ...], ...]:
        """What the plans stand for, in their order."""
        return tuple(actions for _, actions in tuple(self._plans.values()))

    def step(self, actions: Sequence[Action], index: int) -> Step:
        """The step of `actions[index]`; it and those before it are computed if need be."""
        found: Step | None = None
        now = reliance.Now()
        labels: dict[str, int] = {}
        named = list(zip(actions, identities(actions[: index + 1]), strict=False))
        for action, identity in progress.track(named, "pipeline", lambda pair: pair[0].name):
            labels[action.name] = count = labels.get(action.name, 0) + 1
            label = action.name if count == 1 else f"{action.name}#{count}"
            found = self._known(identity, found, now) or self._computed(identity, label, action, found, now)
        if found is None:
            raise WorkbenchError("E-HISTORY-EMPTY", "a session has no steps")
        return found

    def _known(self, identity: str, previous: Step | None, now: reliance.Now) -> Step | None:
        """The step if it has been computed on `previous`, and would be the same again."""
        step = self._steps.get(identity)
        if step is None or step.previous is not previous or not step.relied.holds(now):
            return None
        return step if step.error is None or step.memo[_UNDER] == str(limits) else None

    def _computed(self, identity: str, label: str, action: Action, previous: Step | None, now: reliance.Now) -> Step:
        """The step, computed by one thread; others that want it wait."""
        with self._lock:
            running = self._running.setdefault(identity, threading.RLock())
        with running:
            known = self._known(identity, previous, now)
            if known is None:
                under = str(limits)
                known = self._run(identity, label, action, previous)
                if known.error is None or not _passes_away(known.error):
                    known.memo[_UNDER] = under
                    self._steps[identity] = known
        with self._lock:
            self._running.pop(identity, None)
        return known

    def model(self, identity: str) -> Any:
        """The native code that was built without the step of that id; None where there is none that holds still.

        The step is what counts as soon as it is computed, and so it is after users have changed a table.
        """
        moment, model = self._models.get(identity, (0, None))
        if model is not None and (identity in self._steps or moment != reliance.moment()):
            self._models.pop(identity, None)
            return None
        return model

    def note_model(self, identity: str, model: Any) -> None:
        """Keep what was built without the step of that id."""
        self._models[identity] = reliance.moment(), model

    @contextmanager
    def building(self, identity: str) -> Generator[None]:
        """Have only one thread at a time build the step of that id."""
        with self._lock:
            lock = self._building.setdefault(identity, threading.RLock())
        with lock:
            yield

    def forget_failures(self) -> None:
        """Have steps that failed computed anew: what they read from files or from the machine may be another by now."""
        for identity, step in list(self._steps.items()):
            if step.error is not None:
                self._steps.pop(identity, None)

    def peek(self, actions: Sequence[Action], index: int) -> Step | None:
        """The step if it has been computed already."""
        found = self.computed(actions[: index + 1])
        return found[index] if len(found) > index else None

    def computed(self, actions: Sequence[Action]) -> list[Step]:
        """The first steps, as far as they have been computed already and would be the same again."""
        now = reliance.Now()
        found: list[Step] = []
        for identity in identities(actions):
            step = self._known(identity, found[-1] if found else None, now)
            if step is None:
                break
            found.append(step)
        return found

    def users_keys(self, actions: Sequence[Action]) -> list[dict[str, str]]:
        """By step: the keys of what it read from outside of the plan, as far as that is known."""
        known = [dict(step.relied.users) for step in self.computed(actions)]
        for identity in identities(actions)[len(known) :]:
            if identity not in self.as_saved.steps:
                break
            known.append(dict(self.as_saved.steps[identity]))
        return known

    def _run(self, identity: str, label: str, action: Action, previous: Step | None) -> Step:
        if previous is not None and previous.error is not None:
            table = origin.OriginTable()
            return Step(identity, label, action, previous, previous.stage, 0.0, table, (), previous.error)
        before = previous.stage if previous is not None else None
        error: WorkbenchError | None = None
        with origin.recording() as origins, rewrite.logging() as log, reliance.recording() as recorded:
            if previous is not None:
                origins.share_old(previous.existing)
            started = time.perf_counter()
            try:
                stage = action.run(before)
                if before is not None:
                    hand_on(before.module.functions, stage.module.functions)
                self.as_saved.require(identity, recorded.settled().users)
                if self.guard is not None and action.kind not in _OF_THIS_PROCESS:
                    stage = _marked(stage, self.guard)
            except WorkbenchError as raised:
                if before is None:
                    raise
                stage, error = before, raised.located(f"step {label}")
            spent = (time.perf_counter() - started) * 1000
        return Step(
            identity, label, action, previous, stage, spent, origins, tuple(log), error, recorded.settled()
        )  # fmt: skip


def _marked(stage: Stage, guard: Guard) -> Stage:
    """A stage with what is refused written into its programs: the module, and the kernels that wait to be scheduled."""
    module, lowered = guard.marked(stage.module), stage.lowered
    if lowered is not None:
        kernels = tuple(replace(kernel, func=guard.mark(kernel.name, kernel.func)) for kernel in lowered.kernels)
        lowered = replace(lowered, kernels=kernels)
    return replace(stage, module=module, lowered=lowered)


def identities(actions: Sequence[Action]) -> list[str]:
    """The ids of the steps of actions in order, computed or not."""
    return list(_identities(tuple(action.key for action in actions)))


@lru_cache(maxsize=1024)
def _identities(keys: tuple[str, ...]) -> tuple[str, ...]:
    made: list[str] = []
    for key in keys:
        earlier = made[-1] if made else ""
        made.append(hashlib.sha256(f"{earlier}/{key}".encode()).hexdigest()[:16])
    return tuple(made)


def key_of(*parts: Any) -> str:
    """A short key for the parts that make an action what it is."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()[:24]
