"""Running a primitive on an immutable state: arguments bound and checked, the rewrite, the step, a refusal's place.

    state, results = run(state, PRIMITIVES["split"], {"loop": loop, "factors": [None, 4]})

Invariant: the state that is given stays as it is; a refusal carries the attempt, from which place and underlined text
are made when they are asked for.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from ..arith.nodes import Var
from ..core import origin
from ..tir import nodes as t
from ..tir.index_map import IndexMap, takes_any_number
from .aliasing import require_order_kept
from .arguments import UNSAFE, ResultName, checked, index_map_of, recorded, with_numbers
from .blocks import chosen_buffer
from .errors import Attempt, ScheduleError, refuse, require
from .inner_scopes import IN_A_LOOP_AROUND, IN_THE_BLOCK_AROUND, run_inside
from .references import BlockRV, ExprRV, LoopRV, Reference, make_reference
from .registry import DECISION, PRIMITIVES, Primitive, accepted
from .state import Change, ScheduleState
from .trace import Step


def bound(entry: Primitive, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
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
    if entry.name == "get_block" and len(state.functions) > 1:
        given.setdefault("func_name", state.working)
    base = state
    state, arguments = _checked(state, entry, given)
    working = state.working
    kept = [(item.name, recorded(arguments[item.name])) for item in entry.parameters if _is_given(item, arguments)]
    try:
        state = state.at_home(arguments.values())
        meant = {name: with_numbers(value, state.number) for name, value in arguments.items()}
        positional = [value for item in entry.parameters for value in _spread(item, meant)]
        named = {
            item.name: meant.get(item.name, item.default) for item in entry.parameters if item.kind is item.KEYWORD_ONLY
        }
        if unsafe:
            change = _unsafely(entry, state, positional, named)
            kept.append((UNSAFE, True))
        else:
            require_order_kept(state, entry)
            change = _done(entry, state, positional, named)
        made, names = state.advanced(entry.name, kept, change, entry.version)
    except ScheduleError as error:
        raise error.refused(Attempt(state, entry.name, arguments, error.nodes, base), _place) from None
    if change.func is not state.func:
        origin.derived(change.func, state.func)
    if made.working != working:
        made = replace(made, working=working)
    references = [make_reference(name, made.named[name]) for name in names]
    if not accepted(entry.results):
        return made, None
    return made, references[0] if entry.results in (LoopRV, BlockRV, ExprRV) else references


def _spread(item: inspect.Parameter, arguments: dict[str, Any]) -> tuple[Any, ...]:
    if item.kind is item.VAR_POSITIONAL:
        return tuple(arguments.get(item.name, ()))
    if item.kind is item.KEYWORD_ONLY:
        return ()
    return (arguments.get(item.name, item.default),)


def _is_given(item: inspect.Parameter, arguments: dict[str, Any]) -> bool:
    """Whether the trace records an argument: one that differs from its default."""
    if item.name not in arguments or item.name == DECISION:
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
            annotation, value = entry.annotations[item.name], given[item.name]
            wanted = list[annotation] if item.kind is item.VAR_POSITIONAL else annotation
            try:
                what = f"{entry.name}({item.name})"
                if annotation is IndexMap:
                    rank = _rank(holder[0], arguments) if takes_any_number(value) else None
                    value = index_map_of(value, what, rank, _sizes(holder[0].func))
                arguments[item.name] = checked(value, wanted, what, resolve)
            except ScheduleError as error:
                error.primitive = entry.name
                raise
    return holder[0], arguments


def _sizes(func: t.PrimFunc) -> dict[str, Var]:
    """The variables that are sizes of parameters, by name: index maps may use them."""
    shapes = [extent for item in func.params if isinstance(item, t.Buffer) for extent in item.shape]
    return {extent.name: extent for extent in shapes if isinstance(extent, Var)}


def _rank(state: ScheduleState, arguments: dict[str, Any]) -> int | None:
    """How many indices a map of the buffer among the arguments takes, else of the block's iterators."""
    block = arguments.get("block")
    if not isinstance(block, BlockRV):
        return None
    site = state.block(block)
    if "buffer" in arguments:
        return len(chosen_buffer(state, site, arguments["buffer"]).shape)
    return len(site.block.iter_vars)


def _done(entry: Primitive, state: ScheduleState, positional: list[Any], named: dict[str, Any]) -> Change[Any]:
    """What a primitive does, where it is legal: in the whole function, or in the body of a block or loop."""
    try:
        return entry.function(state, *positional, **named)
    except ScheduleError as error:
        if error.code not in IN_THE_BLOCK_AROUND and not (entry.in_loops and error.code in IN_A_LOOP_AROUND):
            raise
        given = [*positional, *named.values()]
        return run_inside(state, given, lambda inner: entry.function(inner, *positional, **named), error)


def _unsafely(entry: Primitive, state: ScheduleState, positional: list[Any], named: dict[str, Any]) -> Change[Any]:
    """What a primitive does when legality does not stop it; what it went over becomes notes, and marks the function."""
    try:
        require_order_kept(state, entry)
        return _done(entry, state, positional, named)
    except ScheduleError:
        pass  # it is done all the same
    working = state.unsafe()
    require_order_kept(working, entry)
    change: Change[Any] = entry.function(working, *positional, **named)
    waived = tuple(dict.fromkeys(working.waived or ()))
    if not waived:
        return change
    func = change.func.replace(attrs=change.func.attrs.set(UNSAFE, 1))
    return replace(change, func=func, notes=(*change.notes, *waived))


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


def replayed(
    state: ScheduleState, step: Step, names: dict[str, Reference], resample: bool = False
) -> tuple[ScheduleState, list[Reference]]:
    entry = PRIMITIVES[step.primitive]

    def meant(value: Any) -> Any:
        if isinstance(value, ResultName):
            return names[value.name]
        return tuple(meant(item) for item in value) if isinstance(value, tuple) else value

    given = {name: meant(value) for name, value in step.arguments}
    if step.decision is not None:
        given[DECISION] = step.decision
    try:
        made_state, results = run(state, entry, given)
    except ScheduleError as error:
        if not resample or error.code != "E-SCHEDULE-DECISION":
            raise
        del given[DECISION]
        made_state, results = run(state, entry, given)
    made: list[Reference] = [] if results is None else results if isinstance(results, list) else [results]
    require(
        len(made) == len(step.results),
        "E-TRACE-RESULTS",
        f"{step.primitive} answers {len(made)} here, the trace names {len(step.results)}",
        expected="a function of the same structure as the one the trace was made on",
        fix="replay on a function with the same blocks and loops",
    )
    return made_state, made
