"""What a function reads of the environment: variables that its code names, or the whole of it.

    read_by(function)       # {"environ"}, ["WB_SCALE", "2"]: the globals through which it does, and what it reads

One variable counts where the code names it as a constant, in the access itself: ``os.environ["X"]``, `"X" in environ`,
``g("X", 1)`` where `g` is `os.getenv`.  After any other access (a name that is computed or handed over, a function
within one that is given `environ`) it may read anything: that is no part of what the function is, since other
variables change at any time and from process to process, but a result of it is used again only while the whole
environment is what it was (`core.reliance`): too much only runs a pass again.
"""

from __future__ import annotations

import builtins
import dis
import os
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

from .walks import parents_first

_ROUTES: Final = frozenset({"environ", "environb", "getenv", "getenvb"})
_GLOBALS: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_ATTRIBUTES: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})
_SUBSCRIPTS: Final = frozenset({"BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR"})
_METHODS: Final = frozenset({"get", "pop", "setdefault"})
_SIMPLE: Final = frozenset({"LOAD_CONST", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_SMALL_INT", *_GLOBALS})
"""Instructions that put one value on the stack and take none."""
_NOTHING: Final = frozenset({"NOP", "PUSH_NULL", "PRECALL", "EXTENDED_ARG", "CACHE"})
Access = tuple[bool, str, str | None]
"""Through a global or an attribute, its name, and the variable; None: whatever variables."""


def is_route(value: object) -> bool:
    """Whether a value is the environment itself, or a function of `os` that looks into it."""
    return any(value is vars(os).get(name) for name in _ROUTES)


def read_by(function: FunctionType) -> tuple[set[str], list[Any]]:
    """The globals that are routes to the environment, and what counts of it: names and values, or `os.environ`."""
    routes: set[str] = set()
    variables: set[str | None] = set()
    for through_global, name, variable in _accesses(function.__code__):
        if through_global and not is_route(function.__globals__.get(name, vars(builtins).get(name))):
            continue
        if through_global:
            routes.add(name)
        variables.add(variable)
    if None in variables:
        return routes, [os.environ]
    names = sorted(name for name in variables if name is not None)
    return routes, [part for name in names for part in (name, os.environ.get(name))]


def with_nested(code: CodeType) -> Iterator[CodeType]:
    """Code, and that of the functions written in it."""
    return parents_first([code], lambda one: [item for item in one.co_consts if isinstance(item, CodeType)])


@lru_cache(maxsize=4096)
def _accesses(code: CodeType) -> tuple[Access, ...]:
    """Every read of a global, and of an attribute that is called like a route; those of nested code too."""
    found: dict[Access, None] = {}
    for current in with_nested(code):
        steps = [step for step in dis.get_instructions(current) if step.opname not in _NOTHING]
        for at, step in enumerate(steps):
            through_global = step.opname in _GLOBALS
            if through_global or (step.opname in _ATTRIBUTES and step.argval in _ROUTES):
                found[through_global, str(step.argval), _variable(steps, at, through_global)] = None
    return tuple(found)


def _variable(steps: list[dis.Instruction], at: int, through_global: bool) -> str | None:
    """The constant that is looked up in what instruction `at` loads, where that is certain."""
    after = steps[at + 1 : at + 5]
    if after and after[0].opname == "CONTAINS_OP":
        first = at - 1 if through_global else at - 2  # before what loads the route, or the module that it is asked of
        between = steps[max(first, 0) + 1 : at + 2]
        known = first >= 0 and (through_global or between[0].opname in _SIMPLE)
        return _text(steps[first], between) if known else None
    if len(after) > 1 and _is_subscript(after[1]):
        return _text(after[0], after[:2])
    if after and after[0].opname in _ATTRIBUTES and after[0].argval in _METHODS:
        after = after[1:]
    for count in (1, 2):
        if len(after) > count and after[count].opname == "CALL" and after[count].arg == count:
            return _text(after[0], after[: count + 1]) if after[count - 1].opname in _SIMPLE else None
    return None


def _is_subscript(step: dis.Instruction) -> bool:
    return step.opname in _SUBSCRIPTS or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def _text(step: dis.Instruction, between: list[dis.Instruction]) -> str | None:
    """A constant's text; None for another value, and where another way leads into the instructions after it."""
    if step.opname != "LOAD_CONST" or any(one.is_jump_target for one in between):
        return None
    return os.fsdecode(step.argval) if isinstance(step.argval, (str, bytes)) else None
