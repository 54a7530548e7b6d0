"""Which names the code of a function reads, and whose they are: the user's, or a library's.

of_user(function, cells)      # ["SCALE", 2.0, "helper", <function helper>, ...]
"""

from __future__ import annotations

import builtins
import dis
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from . import environment
from .limits import limits

_OWN: Final = __name__.partition(".")[0]
_CYTHON: Final = "_cython_"
"""How the modules begin in which extensions keep the classes that they share; they lie in no file."""
_KINDS: Final = {
    "LOAD_GLOBAL": "read",
    "LOAD_NAME": "read",
    "LOAD_ATTR": "asked",
    "LOAD_METHOD": "asked",
    "IMPORT_FROM": "asked",
    "IMPORT_NAME": "imported",
}


class Keyed:
    """The base of the workbench's objects that change while a process runs and say what they consist of."""

    __slots__ = ()

    def key_parts(self) -> tuple[Any, ...]:
        """Values that have a key; objects of equal parts do the same."""
        raise NotImplementedError


def is_own(module: object) -> bool:
    """Whether a module is part of this package, not a user's; code that is executed by itself has none."""
    return isinstance(module, str) and module.partition(".")[0] == _OWN


def is_users(module: object) -> bool:
    """Whether a module, by its name, is the user's own: not Python's, not of an installed package, not the workbench's.

    Code without a module is the user's.  A class written in C may have a descriptor as its `__module__` and no name; it
    is a library's.
    """
    if not isinstance(module, str):
        return module is None
    top = module.partition(".")[0]
    if top == "__main__":
        return True
    if top.startswith(_CYTHON):
        return False
    return not (is_own(module) or top in sys.stdlib_module_names or _is_installed(module, _file_of(module)))


def is_users_file(file: str) -> bool:
    """Whether a file is neither Python's nor an installed package's, or is none at all (a cell, a text)."""
    return not file.startswith("<frozen ") and not _is_installed("", file)


def _file_of(module: str) -> str:
    return str(getattr(sys.modules.get(module), "__file__", None) or "")


@cache
def _is_installed(module: str, file: str) -> bool:
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    parents: set[str] = {str(parent) for parent in Path(file).parents} if file else set()
    return bool(parents & places) or any(name in ("site-packages", "dist-packages") for name in Path(file).parts)


def of_user(function: FunctionType, cells: Sequence[Any]) -> list[Any]:
    """Names and values of the globals that a function reads, those of the functions within it too.

    Of modules of the user's, also of those in its cells, the attributes count that the code asks for.  Of those of
    libraries, and of Python's own names, what a user has set counts, and numbers and texts; `wb.limits`, and what is
    read of the environment (`core.environment`).
    """
    read, asked, imports = _names_in(function.__code__)
    values = {name: function.__globals__[name] for name in read if name in function.__globals__}
    routes, variables = environment.read_by(function)
    found = [part for name, value in values.items() if name not in routes for part in (name, value)]
    for name in read:
        if name not in values and _may_change(vars(builtins).get(name)):
            found += [name, vars(builtins)[name]]
    modules = [item for item in (*cells, *found, *map(sys.modules.get, imports)) if isinstance(item, ModuleType)]
    for module in modules:
        take = _attributes if is_users(module.__name__) else _changed_attributes
        found += [part for item in take(module, asked) for part in item]
    if "limits" in asked and any(is_own(module.__name__) for module in modules):
        found.append(limits)
    return found + variables


def _may_change(value: object) -> bool:
    """Whether a value in a library's module counts: a number or a text, or what is a user's."""
    if type(value) in (bool, int, float, complex, str, bytes):
        return True
    if isinstance(value, FunctionType):
        return is_users(value.__globals__.get("__name__"))
    kind = value if isinstance(value, type) else type(value)
    return not isinstance(value, ModuleType) and is_users(kind.__module__)


def _changed_attributes(module: ModuleType, asked: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The attributes of a library's module, and of modules in it, that are asked for and may change."""
    waiting, seen = [module], {id(module)}
    while waiting:
        held = vars(waiting.pop())
        for name in asked:
            value = held.get(name)
            if isinstance(value, ModuleType) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)
            elif _may_change(value):
                yield name, value


def _attributes(module: ModuleType, asked: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The attributes of a module, and of the user's modules in it, that are asked for."""
    waiting, seen = [module], {id(module)}
    while waiting:
        for name, value in sorted(vars(waiting.pop()).items()):
            if name not in asked:
                continue
            yield name, value
            if isinstance(value, ModuleType) and is_users(value.__name__) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)


def of_workbench(function: FunctionType) -> list[Any]:
    """What a function of the workbench reads that may change while the process runs, also by its helpers.

    These are `Keyed` objects (tables of rules); helpers are the functions of its own module.
    """
    names = function.__globals__
    values = [names[name] for name in function.__code__.co_names if name in names]
    return [
        value
        for value in values
        if isinstance(value, Keyed) or (isinstance(value, FunctionType) and value.__globals__ is names)
    ]


@lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The globals that code reads, the attributes it asks for, the modules it imports; nested code counts."""
    found: dict[str, set[str]] = {"read": set(), "asked": set(), "imported": set()}
    for step in (step for current in environment.with_nested(code) for step in dis.get_instructions(current)):
        if step.opname in _KINDS:
            found[_KINDS[step.opname]].add(str(step.argval))
    return tuple(sorted(found["read"])), tuple(sorted(found["asked"])), tuple(sorted(found["imported"]))
