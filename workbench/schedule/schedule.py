"""The classic `tir.Schedule`: a thin handle on an immutable state, with one method for each entry of the table.

    sch = Schedule(func)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    outer, inner = sch.split(j, factors=[None, 8])
    sch.why_not("vectorize", k)               # None, or the ScheduleError that it would raise
    print(sch.code())                         # the Python that leads here

Invariant: a refused primitive leaves the state as it was, fingerprint included; `undo` and `redo` walk the states.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._lazy import measure, sweep, views
from ..analysis.summary import facts
from ..core.errors import nearest
from ..core.module import IRModule, key_name
from ..core.node import FrozenMap
from ..target.target import Target
from ..tir import nodes as t
from ..tir.by_hand import is_by_hand, note_by_hand
from ..tir.script import script
from .arguments import Factor, checked
from .bulk import drop_targets, legal_moves
from .changing import change, leave_out
from .classic import ClassicSchedule, Settings
from .errors import ScheduleError, refuse, require
from .history import Branches, History
from .moves import Moves
from .rebase import Rebased, rebased
from .references import BlockRV, ExprRV, LoopRV, Reference, make_reference
from .registry import PRIMITIVES, Primitive, accepted
from .running import bound, replayed, run
from .state import ScheduleState
from .suggest import suggest
from .trace import Step, Trace

if TYPE_CHECKING:
    from .bulk import DropTarget, LoopMoves
    from .suggest import Suggestion

_TRIES = 64
"""How many combinations of suggested arguments `applicable` looks at for one primitive."""


class Schedule(ClassicSchedule):
    """See the module's header.  Primitives are methods: `dir(sch)`, `help(sch.split)`.

    Every primitive also takes ``unsafe=True``: what legality refuses is then done all the same, noted in `notes`, and
    the function is marked with the attribute "unsafe", so that what is built of it runs in a process of its own.
    """

    def __init__(
        self,
        mod: t.PrimFunc | IRModule | ScheduleState,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        """`mod` is a function, a module (working on "main" or its first function), or a state.

        Samplers draw by `seed` (the same numbers again for None).  `debug_mask` other than "none" verifies the
        function after each step; `error_render_level` "fast" or "none" shortens refusals.  Legality is always
        checked, whatever `enable_check` says.
        """
        self._settings = Settings.of(debug_mask, error_render_level)
        self._history = History(mod if isinstance(mod, ScheduleState) else _first_state(mod))
        self._target: Target | None = None
        if seed is not None:
            self.seed(seed)

    # --- reading ---

    @property
    def func(self) -> t.PrimFunc:
        """The function worked on, as it is now."""
        return self.state.func

    @property
    def func_working_on(self) -> str:
        return self.state.working

    @property
    def target(self) -> Target | None:
        """What it is compiled for, where it is of a session; None for a schedule of its own."""
        own = self.func.attrs.get("target")
        return self._target or (own if isinstance(own, Target) else None)

    def retarget(self, target: Target) -> Schedule:
        """Make this handle that of a session which compiles for `target`; itself, no copy."""
        self._target = target
        return self

    @property
    def mod(self) -> IRModule:
        """The functions as a module."""
        return IRModule(dict(self.state.functions))

    @property
    def trace(self) -> Trace:
        return Trace(self.state.steps, self.state.working)

    @property
    def notes(self) -> dict[int, tuple[str, ...]]:
        """Remarks on legality ("sums are reassociated"), by the number of the step."""
        return {int(number): found for number, found in self.state.notes.items()}

    @property
    def relaid_parameters(self) -> tuple[tuple[int, str], ...]:
        """The numbers of the function's parameters whose elements callers must keep in other places, with the maps."""
        return tuple((number, text) for name, number, text in self.state.relaid if name == self.func_working_on)

    def fingerprint(self) -> str:
        return self.state.fingerprint

    def code(self, handle: str = "sch") -> str:
        """The lines of Python that lead from the unscheduled function here; a comment says if that was edited."""
        began = f"# {handle} begins with an edited program: {handle}.first_state.func\n" if self._history.root else ""
        return began + self.trace.as_python(handle)

    def script(self) -> str:
        """The text of the function worked on."""
        return script(self.func)

    @property
    def first_state(self) -> ScheduleState:
        """The state that the schedule began with."""
        return self._history.first

    @property
    def states(self) -> tuple[ScheduleState, ...]:
        """What led here, the state that the schedule began with first."""
        return tuple(self._history[number] for number in self._history.chain(self._history.here))

    def show(self, picture: str = "") -> Any:
        """The schedule editor in a notebook; the text of the function elsewhere.

        `picture` shows one static picture instead: "tree", "dataflow", "relations", "iterations", "footprints",
        "cache", "reuse" or "roofline".
        """
        return views().show_picture(self, picture) if picture else views().show_schedule(self)

    def facts(self, target: Any = None, sizes: Mapping[str, int] | None = None) -> Any:
        """What the program touches, computes and needs, for `target`: see `workbench.analysis.facts`.

        Left out, `target` is what the session compiles for that the schedule is of; else the current one, else this
        machine.
        """
        return facts(self, target, sizes)

    def sweep(
        self,
        parameters: Mapping[Any, Sequence[Any]],
        measure: Any = "cycles",
        target: Any = None,
        names: Mapping[str, LoopRV] | None = None,
    ) -> Any:
        """Variants with other split factors, measured: ``sch.sweep({ji: [8, 16, 32]})``; see `driver.sweep`.

        `names` gives loops names of one's own: ``sch.sweep({"ji": [8, 16]}, names={"ji": ji})``.
        """
        return sweep(self, parameters, measure, target, names)

    def measure(self, target: Any = None) -> Any:
        """Its time on this machine, as built for its session's target, its rate, its share; see `driver.measure`."""
        return measure(self, target)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().schedule_bundle(self)

    def get(self, reference: Reference) -> Any:
        """The `For` or `Block` that a reference stands for now, or the number that was drawn."""
        if isinstance(reference, ExprRV):
            return self.state.number(reference)
        known = checked(reference, LoopRV | BlockRV, "get(reference)", lambda value: None)
        if isinstance(known, LoopRV):
            return self.state.loop(known)
        return self.state.block(known).block

    def __repr__(self) -> str:
        return f"Schedule({self.state.working}, {len(self.state.steps)} steps)"

    # --- moving ---

    def copy(self) -> Schedule:
        """Another handle on the same state and history; references serve both."""
        history = self._history.copy()
        made = Schedule(history.state)
        made._settings, made._target = self._settings, self._target
        made._history = history
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Schedule:
        return self.copy()

    def __reduce__(self) -> Any:
        """By the program it began with and its trace: references name nodes, which another process has not."""
        first = self._history.first
        by_hand = tuple(name for name, func in first.functions.items() if is_by_hand(func))
        module = IRModule(dict(first.functions))
        return _unpickled, (module, self.state.working, self.trace.as_json(), self._target, by_hand)

    def work_on(self, func_name: str) -> None:
        """Choose the function that primitives work on."""
        functions = self.state.functions
        func_name = checked(func_name, str, "work_on(func_name)", lambda value: None)
        require(
            func_name in functions and isinstance(functions[func_name], t.PrimFunc),
            "E-SCHEDULE-FUNCTION",
            f"the module has no loop function {func_name!r}",
            found=f"functions: {', '.join(functions)}",
            fix=nearest(func_name, functions),
        )
        with self.alone():
            self._commit(replace(self.state, working=func_name))

    def undo(self, steps: int = 1) -> bool:
        """Go back; False if there are not so many steps."""
        return self._history.undo(checked(steps, Factor, "undo(steps)", lambda value: None))

    def redo(self, steps: int = 1) -> bool:
        """Go forward again, along the branch last visited; False if there are not so many steps."""
        return self._history.redo(checked(steps, Factor, "redo(steps)", lambda value: None))

    def restart(self) -> None:
        """Go back to the state that the schedule began with; `redo` and the branches keep what was done."""
        self._history.step_to(self._history.root)

    @property
    def branches(self) -> Branches:
        """Every branch that undoing and going another way has made, oldest first; printed, a tree."""
        return Branches(self._history)

    def switch(self, number: int) -> None:
        """Go to the end of a branch, by its number in `branches`."""
        with self.alone():
            _ = self.branches[number]
            self._history.go_to(self._history.ends()[number])

    def rebase(self, onto: Schedule | int) -> Rebased:
        """This schedule's own steps on top of another schedule, or of the branch of that number.

        Answers what applies and what does not any more, with a reason for each; `report.schedule` is the new
        schedule, this one and the other stay as they are.
        """
        if isinstance(onto, int):
            other = self.copy()
            other.switch(onto)
            onto = other
        return rebased(self, onto, replayed)

    def change(self, number: int, **arguments: Any) -> None:
        """Do step `number` (from 1, as `trace` prints them) with other arguments, and every later step after it.

        ``sch.change(4, factors=[None, 16])``.  What the schedule was stays a branch.  Raises `ScheduleError` naming
        the first step that is refused; nothing is changed then.
        """
        with self.alone():
            change(self, checked(number, int, "change(number)", lambda value: None), arguments)

    def leave_out(self, number: int) -> None:
        """Be without step `number` (from 1, as `trace` prints them), with every later step done again.

        What the schedule was stays a branch.  Raises `ScheduleError` naming the first later step that needs it.
        """
        with self.alone():
            leave_out(self, checked(number, int, "leave_out(number)", lambda value: None))

    @property
    def moves(self) -> Moves:
        """The history as a person reads it: the primitives that changed the program, taken back and done again."""
        return Moves(self._history)

    def follow(self, made: Schedule) -> None:
        """Do what `made`, a copy of this schedule, has done since it was copied."""
        self._history.follow(made._history)

    def watch(self, method: Callable[[], None]) -> None:
        """Call a bound method whenever this schedule moves, as long as the method's object is alive."""
        self._history.watch(method)

    def alone(self, at_once: bool = False) -> AbstractContextManager[None]:
        """`with sch.alone():` no other thread moves it meanwhile: a screen's command waits for a cell, and it for that.

        Who watches is told of moves at the end; `at_once`: when they are made.
        """
        return self._history.alone(at_once)

    def _commit(self, state: ScheduleState) -> None:
        self._history.commit(state)

    # --- primitives ---

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        entry = PRIMITIVES.get(name)
        if entry is None:
            hint = nearest(name, PRIMITIVES)
            raise AttributeError(f"a schedule has no primitive {name!r}{'; ' + hint if hint else ''}")
        return _method(self, entry)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *PRIMITIVES]

    def why_not(self, name: str, *args: Any, **options: Any) -> ScheduleError | None:
        """Why a primitive cannot be applied with these arguments: its `ScheduleError`, or None if it can.

        Raises `WorkbenchError` for an unknown primitive or wrong arguments' names.
        """
        entry = PRIMITIVES[name]
        try:
            run(self.state, entry, bound(entry, args, options))
        except ScheduleError as error:
            return error
        return None

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Whether `decompose_padding(block, loop)` would be legal; changes nothing and is no step of the trace."""
        return self.why_not("decompose_padding", block, loop) is None

    def applicable(self, selection: Reference) -> dict[str, ScheduleError | None]:
        """For each primitive that takes `selection` first: None if some arguments work, else the first refusal."""
        found: dict[str, ScheduleError | None] = {}
        for name, entry in PRIMITIVES.items():
            if entry.category not in ("get", "sample") and entry.selects(type(selection)):
                found[name] = self.first_refusal(entry, selection)
        return found

    def legal_moves(self, block: BlockRV | str) -> list[LoopMoves]:
        """For each loop around a block: may it be parallel, vectorized, unrolled, swapped with the next one inside?

        All are decided from one dependence relation; each answer is None or the `ScheduleError`.
        """
        return legal_moves(self.state, self._block_name(block))

    def drop_targets(self, block: BlockRV | str) -> list[DropTarget]:
        """For each loop of other blocks: may `block` be moved there by compute_at, by reverse_compute_at?

        Each answer is None or the `ScheduleError`.
        """
        return drop_targets(self.state, self._block_name(block))

    def _block_name(self, block: BlockRV | str) -> str:
        return block if isinstance(block, str) else self.state.block(block).name

    def first_refusal(self, entry: Primitive, selection: Reference) -> ScheduleError | None:
        """None if some arguments worth trying work at `selection`, else the first refusal."""
        first: ScheduleError | None = None
        for arguments in itertools.islice(self.candidates(entry, selection), _TRIES):
            try:
                run(self.state, entry, arguments)
                return None
            except ScheduleError as error:
                first = first or error
        return first or refuse(
            "E-SCHEDULE-SELECTION",
            f"there is nothing to {entry.name} {selection.name} with",
            expected="another loop or block to go with it",
            fix="split a loop first",
        )

    def candidates(self, entry: Primitive, selection: Reference) -> Iterator[dict[str, Any]]:
        """Arguments worth trying: `selection` first, the rest by kind and by what the primitive suggests."""
        columns: list[list[Any]] = []
        for position, item in enumerate(entry.parameters):
            if position == 0:
                if item.kind is item.VAR_POSITIONAL:
                    columns.append([(selection, other) for other in self._others(selection, LoopRV)])
                else:
                    columns.append([selection])
            elif values := entry.values_for(item.name):
                columns.append(list(values))
            elif item.default is item.empty and item.kind is not item.VAR_POSITIONAL:
                columns.append(
                    [
                        other
                        for kind in accepted(entry.annotations[item.name])
                        for other in self._others(selection, kind)
                    ]
                )
            else:
                columns.append([...])
        for values in itertools.product(*columns):
            pairs = zip(entry.parameters, values, strict=True)
            yield {item.name: value for item, value in pairs if value is not ...}

    def _others(self, selection: Reference, kind: type) -> list[Reference]:
        """The live references of a kind besides `selection`, each target once."""
        found: dict[Any, Reference] = {}
        for name, target in self.state.named.items():
            if name not in self.state.consumed and target is not selection.target:
                key = target if isinstance(target, str) else id(target)
                reference = make_reference(name, target)
                if isinstance(reference, kind):
                    found.setdefault(key, reference)
        return list(found.values())

    def suggest(self, error: ScheduleError, limit: int = 3) -> list[Suggestion]:
        """Legal alternatives to what `error` refused, each found by trying, the nearest first; see `suggest`.

        for suggestion in sch.suggest(sch.why_not("vectorize", k)):
            print(suggestion.text, suggestion.steps)
        """
        return suggest(error, limit)

    # --- replaying ---

    def do(self, steps: Sequence[Step]) -> None:
        """Do steps that name results of this schedule and of one another, all or none.  Raises `ScheduleError`."""
        with self.alone():
            live = {name: make_reference(name, target) for name, target in self.state.named.items()}
            self._do(steps, live)

    def replay(self, trace: Trace, *, resample: bool = False) -> None:
        """Do the steps of `trace` from here, all or none.

        With `resample`, a sampler whose decision does not fit draws again.  Raises the `ScheduleError` of the first
        step that is refused, with the step's number in `where`.
        """
        trace = checked(trace, Trace, "replay(trace)", lambda value: None)
        self._do(trace.steps, {}, resample)

    def _do(self, steps: Sequence[Step], names: dict[str, Reference], resample: bool = False) -> None:
        states: list[ScheduleState] = []
        with self.alone():
            state = self.state
            for number, step in enumerate(steps, 1):
                try:
                    state, made = replayed(state, step, names, resample)
                except ScheduleError as error:
                    error.where = f"step {number} of the trace: {step.line()}"
                    error.kept = "nothing of the trace was applied"
                    raise
                states.append(state)
                names.update(zip(step.results, made, strict=True))
            self._history.commit(*states)


def _unpickled(
    mod: IRModule, working: str, trace: str, target: Target | None = None, by_hand: tuple[str, ...] = ()
) -> Schedule:
    note_by_hand(mod[name] for name in by_hand)
    made = Schedule(mod)
    made._target = target
    Trace.from_json(trace, allow_code=True).apply_to(made)
    made.work_on(working)
    return made


def _first_state(program: t.PrimFunc | IRModule) -> ScheduleState:
    if isinstance(program, IRModule):
        loops = [name for name, function in program.items() if isinstance(function, t.PrimFunc)]
        require(bool(loops), "E-SCHEDULE-FUNCTION", "the module has no loop function", found=repr(program))
        return ScheduleState(program.functions, "main" if "main" in loops else loops[0])
    require(
        isinstance(program, t.PrimFunc),
        "E-SCHEDULE-FUNCTION",
        "a schedule is of a loop function or a module of them",
        found=type(program).__name__,
        fix="lower the program first, or hand over te.create_prim_func([...])",
    )
    name = key_name(str(program.attrs.get("global_symbol", "main")))
    return ScheduleState(FrozenMap({name: program}), name)


def _method(schedule: Schedule, entry: Primitive) -> Callable[..., Any]:
    """A primitive as a method of one schedule, with the primitive's own signature and docstring."""

    # The signature of the table's entry decides what is passed; it is bound strictly before anything runs.
    def method(*args: Any, **named: Any) -> Any:
        with schedule.alone():
            try:
                state, results = run(schedule.state, entry, bound(entry, args, named))
            except ScheduleError as error:
                raise schedule._settings.rendered(error) from None
            schedule._settings.check(state.func)
            schedule._commit(state)
        return results

    method.__name__ = entry.name
    method.__qualname__ = f"Schedule.{entry.name}"
    method.__doc__ = entry.doc
    method.__signature__ = entry.signature  # type: ignore[attr-defined]
    return method
