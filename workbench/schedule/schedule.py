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

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._lazy import sweep, views
from ..arith.nodes import Var
from ..core import origin
from ..core.errors import nearest
from ..core.module import IRModule, key_name
from ..core.node import FrozenMap
from ..tir import nodes as t
from .arguments import UNSAFE, Factor, ResultName, checked, recorded
from .errors import Attempt, ScheduleError, refuse, require
from .history import Branches, History
from .rebase import Rebased, rebased
from .references import BlockRV, LoopRV, Reference, make_reference
from .registry import PRIMITIVES, Primitive, accepted
from .state import Change, ScheduleState
from .trace import Step, Trace

if TYPE_CHECKING:
    from .suggest import Suggestion

_TRIES = 64
"""How many combinations of suggested arguments `applicable` looks at for one primitive."""


class Schedule:
    """See the module's header.  Primitives are methods: `dir(sch)`, `help(sch.split)`.

    Every primitive also takes ``unsafe=True``: what legality refuses is then done all the same, noted in `notes`, and
    the function is marked with the attribute "unsafe", so that what is built of it runs in a process of its own.
    """

    def __init__(self, program: t.PrimFunc | IRModule | ScheduleState, seed: int | None = None) -> None:
        """`program` is a function, a module (working on "main" or its only function), or a state."""
        self._history = History(program if isinstance(program, ScheduleState) else _first_state(program))

    # --- reading ---

    @property
    def state(self) -> ScheduleState:
        """The immutable state that this handle points to."""
        return self._history.state

    @property
    def func(self) -> t.PrimFunc:
        """The function worked on, as it is now."""
        return self.state.func

    @property
    def func_working_on(self) -> str:
        return self.state.working

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

    def fingerprint(self) -> str:
        return self.state.fingerprint

    def code(self, handle: str = "sch") -> str:
        """The lines of Python that lead from the unscheduled function here."""
        return self.trace.as_python(handle)

    def script(self) -> str:
        """The text of the function worked on."""
        from ..tir.script import script

        return script(self.func)

    @property
    def first_state(self) -> ScheduleState:
        """The state that the schedule began with."""
        return self._history.first

    def show(self, picture: str = "") -> Any:
        """The schedule editor in a notebook; the text of the function elsewhere.

        `picture` shows one static picture instead: "tree", "dataflow", "iterations", "footprints", "cache", "reuse"
        or "roofline".
        """
        return views().show_picture(self, picture) if picture else views().show_schedule(self)

    def facts(self, target: Any = None, sizes: Mapping[str, int] | None = None) -> Any:
        """What the program touches, computes and needs, for `target`: see `workbench.analysis.facts`."""
        from ..analysis.summary import facts

        return facts(self, target, sizes)

    def sweep(self, parameters: Mapping[Any, Sequence[Any]], measure: Any = "cycles", target: Any = None) -> Any:
        """Variants with other split factors, measured: ``sch.sweep({"ji": [8, 16, 32]})``; see `driver.sweep`.

        A parameter may be called as the variable that holds the loop where this is called.
        """
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        names = dict(caller.f_locals) if caller is not None else {}
        return sweep(self, parameters, measure, target, {k: v for k, v in names.items() if isinstance(v, LoopRV)})

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views().schedule_bundle(self)

    def get(self, reference: Reference) -> Any:
        """The `For` or `Block` that a reference stands for now."""
        known = checked(reference, LoopRV | BlockRV, "get(reference)", lambda value: None)
        if isinstance(known, LoopRV):
            return self.state.loop(known)
        return self.state.block(known).block

    def __repr__(self) -> str:
        return f"Schedule({self.state.working}, {len(self.state.steps)} steps)"

    # --- moving ---

    def copy(self) -> Schedule:
        """Another handle on the same state and history; references serve both."""
        made = Schedule(self.state)
        made._history = self._history.copy()
        return made

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
        from dataclasses import replace

        self._commit(replace(self.state, working=func_name))

    def undo(self, steps: int = 1) -> bool:
        """Go back; False if there are not so many steps."""
        return self._history.undo(checked(steps, Factor, "undo(steps)", lambda value: None))

    def redo(self, steps: int = 1) -> bool:
        """Go forward again, along the branch last visited; False if there are not so many steps."""
        return self._history.redo(checked(steps, Factor, "redo(steps)", lambda value: None))

    @property
    def branches(self) -> Branches:
        """Every branch that undoing and going another way has made, oldest first; printed, a tree."""
        return Branches(self._history)

    def switch(self, number: int) -> None:
        """Go to the end of a branch, by its number in `branches`."""
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
        return rebased(self, onto, _replayed)

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
            run(self.state, entry, _bound(entry, args, options))
        except ScheduleError as error:
            return error
        return None

    def applicable(self, selection: Reference) -> dict[str, ScheduleError | None]:
        """For each primitive that takes `selection` first: None if some arguments work, else the first refusal."""
        found: dict[str, ScheduleError | None] = {}
        for name, entry in PRIMITIVES.items():
            if entry.category != "get" and entry.selects(type(selection)):
                found[name] = self.first_refusal(entry, selection)
        return found

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
            elif item.name in entry.suggest:
                columns.append(list(entry.suggest[item.name]))
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
                if isinstance(target, str) == (kind is BlockRV):
                    found.setdefault(key, make_reference(name, target))
        return list(found.values())

    def suggest(self, error: ScheduleError, limit: int = 3) -> list[Suggestion]:
        """Legal alternatives to what `error` refused, each found by trying, the nearest first; see `suggest`.

        for suggestion in sch.suggest(sch.why_not("vectorize", k)):
            print(suggestion.text, suggestion.steps)
        """
        from .suggest import suggest

        return suggest(error, limit)

    # --- replaying ---

    def do(self, steps: Sequence[Step]) -> None:
        """Do steps that name results of this schedule and of one another, all or none.  Raises `ScheduleError`."""
        live = {name: make_reference(name, target) for name, target in self.state.named.items()}
        self._do(steps, live)

    def replay(self, trace: Trace) -> None:
        """Do the steps of `trace` from here, all or none.

        Raises the `ScheduleError` of the first step that is refused, with the step's number in `where`.
        """
        trace = checked(trace, Trace, "replay(trace)", lambda value: None)
        self._do(trace.steps, {})

    def _do(self, steps: Sequence[Step], names: dict[str, Reference]) -> None:
        state = self.state
        states: list[ScheduleState] = []
        for number, step in enumerate(steps, 1):
            try:
                state, made = _replayed(state, step, names)
            except ScheduleError as error:
                error.where = f"step {number} of the trace: {step.line()}"
                error.kept = "nothing of the trace was applied"
                raise
            states.append(state)
            names.update(zip(step.results, made, strict=True))
        for state in states:
            self._commit(state)


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
        state, results = run(schedule.state, entry, _bound(entry, args, named))
        schedule._commit(state)
        return results

    method.__name__ = entry.name
    method.__qualname__ = f"Schedule.{entry.name}"
    method.__doc__ = entry.doc
    method.__signature__ = entry.signature  # type: ignore[attr-defined]
    return method


def _bound(entry: Primitive, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name.  Raises `ScheduleError` if they do not fit the signature."""
    unsafe = {UNSAFE: named.pop(UNSAFE)} if UNSAFE in named else {}
    try:
        bound = entry.signature.bind(*args, **named)
    except TypeError as error:
        raise refuse(
            "E-SCHEDULE-ARGUMENT",
            f"{entry.name}: {error}",
            found=f"{len(args)} arguments by position; by name: {', '.join(named) or 'none'}",
            expected=f"{entry.name}{inspect.Signature(list(entry.parameters))}",
            fix=f"see help(sch.{entry.name})",
        ) from None
    return {**bound.arguments, **unsafe}


def run(state: ScheduleState, entry: Primitive, given: dict[str, Any]) -> tuple[ScheduleState, Any]:
    """The state after a primitive, and what its caller gets; ``unsafe=True`` among the arguments waives legality."""
    given = dict(given)
    unsafe = checked(given.pop(UNSAFE, False), bool, f"{entry.name}({UNSAFE})", lambda value: None)
    base = state
    state, arguments = _checked(state, entry, given)
    positional = [value for item in entry.parameters for value in _spread(item, arguments)]
    named = {
        item.name: arguments.get(item.name, item.default) for item in entry.parameters if item.kind is item.KEYWORD_ONLY
    }
    kept = [(item.name, recorded(arguments[item.name])) for item in entry.parameters if _is_given(item, arguments)]
    try:
        if unsafe:
            change = _unsafely(entry, state, positional, named)
            kept.append((UNSAFE, True))
        else:
            change = entry.function(state, *positional, **named)
        made, names = state.advanced(entry.name, kept, change, entry.version)
    except ScheduleError as error:
        raise error.refused(Attempt(state, entry.name, arguments, error.nodes, base), _place) from None
    if change.func is not state.func:
        origin.derived(change.func, state.func)
    references = [make_reference(name, made.named[name]) for name in names]
    if not accepted(entry.results):
        return made, None
    return made, references[0] if entry.results in (LoopRV, BlockRV) else references


def _spread(item: inspect.Parameter, arguments: dict[str, Any]) -> tuple[Any, ...]:
    if item.kind is item.VAR_POSITIONAL:
        return tuple(arguments.get(item.name, ()))
    if item.kind is item.KEYWORD_ONLY:
        return ()
    return (arguments.get(item.name, item.default),)


def _is_given(item: inspect.Parameter, arguments: dict[str, Any]) -> bool:
    """Whether the trace records an argument: one that differs from its default."""
    if item.name not in arguments:
        return False
    value = arguments[item.name]
    default = item.default
    return default is item.empty or type(value) is not type(default) or value != default


def _checked(state: ScheduleState, entry: Primitive, given: dict[str, Any]) -> tuple[ScheduleState, dict[str, Any]]:
    """Arguments checked by their annotations; a block given by name is asked for by a step of its own first."""
    holder = [state]

    def resolve(value: Any) -> Reference | None:
        if not isinstance(value, str):
            return None
        holder[0], made = run(holder[0], PRIMITIVES["get_block"], {"name": value})
        return made

    arguments: dict[str, Any] = {}
    for item in entry.parameters:
        if item.name in given:
            annotation = entry.annotations[item.name]
            wanted = list[annotation] if item.kind is item.VAR_POSITIONAL else annotation
            try:
                arguments[item.name] = checked(given[item.name], wanted, f"{entry.name}({item.name})", resolve)
            except ScheduleError as error:
                error.primitive = entry.name
                raise
    return holder[0], arguments


def _unsafely(entry: Primitive, state: ScheduleState, positional: list[Any], named: dict[str, Any]) -> Change[Any]:
    """What a primitive does when legality does not stop it; what it went over becomes notes, and marks the function."""
    working = state.unsafe()
    change: Change[Any] = entry.function(working, *positional, **named)
    waived = tuple(dict.fromkeys(working.waived or ()))
    if not waived:
        return change
    func = change.func.replace(attrs=change.func.attrs.set(UNSAFE, 1))
    return Change(func, change.made, (*change.notes, *waived))


def _place(attempt: Attempt) -> tuple[str, str]:
    """(where, the underlined text) of what was refused, in the printed function."""
    nodes = [node for node in attempt.nodes if not isinstance(node, Var)]
    if not nodes:
        return "", ""
    state: ScheduleState = attempt.state
    printed = state.printed
    lines = sorted({line for line in (printed.line_of(node) for node in nodes) if line is not None})
    if not lines:
        return "", ""
    first = printed.lines[lines[0] - 1].strip()
    return f"{state.working} line {', '.join(map(str, lines))}: {first}", printed.underlined(nodes)


def _replayed(state: ScheduleState, step: Step, names: dict[str, Reference]) -> tuple[ScheduleState, list[Reference]]:
    entry = PRIMITIVES[step.primitive]

    def meant(value: Any) -> Any:
        if isinstance(value, ResultName):
            return names[value.name]
        return tuple(meant(item) for item in value) if isinstance(value, tuple) else value

    made_state, results = run(state, entry, {name: meant(value) for name, value in step.arguments})
    made: list[Reference] = [] if results is None else results if isinstance(results, list) else [results]
    require(
        len(made) == len(step.results),
        "E-TRACE-RESULTS",
        f"{step.primitive} answers {len(made)} here, the trace names {len(step.results)}",
        expected="a function of the same structure as the one the trace was made on",
        fix="replay on a function with the same blocks and loops",
    )
    return made_state, made
