"""A key for what a function does: its code, and everything of the user's that the code reads.

Two definitions of the same source have the same key, wherever they lie.  It changes with the function itself, and with
the values it closes over, its defaults, and the globals it names: numbers, containers, arrays, classes with their
methods, instances with their state, functions with their attributes, helpers in this or another module of the user,
attributes of such modules.  What a library brings (Python, installed packages, the workbench) counts by name, and so
do functions and classes in its modules; but numbers and texts there, and what a user has put there or among Python's
own names, count as they are, and so do `wb.limits` and variables of the environment that the code names; of what may
read any of them, `reads_environment` says so.  An object of a library says itself what it consists of (`Keyed`), or by
the way in which it is copied.

>>> code_key(lambda x: x + 1) == code_key(lambda x: x + 1)
True
>>> code_key(lambda x: x + 1) == code_key(lambda x: x + 2)
False

What cannot be told apart in this way (an open file, a lock) makes the key a new one at each call, so that nothing is
shared by mistake; `without_key` names it.  Not seen is what code finds by a text: `globals()["x"]`, `getattr`;
nor what libraries read of the environment, lists and dictionaries in their modules, files, the clock.
"""

from __future__ import annotations

import abc
import copyreg
import functools
import hashlib
import os
import uuid
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final, Generic, Protocol

import numpy as np

from . import code_names, environment
from .code_names import Keyed, is_own
from .equal import fingerprint
from .node import Node
from .tensor import Tensor

MOST_VALUES: Final = 200_000
"""Of more values than this the key is a new one each time: to look through them takes longer than the pass."""
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented))
_CONTAINERS: Final = (dict, MappingProxyType, tuple, list, set, frozenset)
_STATELESS: Final = (object, abc.ABC, Generic, Protocol)
_OF_EVERY_CLASS: Final = frozenset({"__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__", "_abc_impl"})
_Container = dict[Any, Any] | MappingProxyType[Any, Any] | tuple[Any, ...] | list[Any] | set[Any] | frozenset[Any]
Taken = tuple[str, Iterable[Any]]
"""What identifies a value by itself, and the values that it consists of."""


class _NoKey(Exception):
    """The value cannot be told apart."""


def code_key(function: Any) -> str:
    """The key of a function, a bound method or another callable."""
    return _Walk(function).key


@dataclass(frozen=True)
class HeldKey:
    """A key that goes by identity where nothing else tells a value from others; it holds such values."""

    key: str
    held: tuple[Any, ...]
    reads_environment: bool = False
    """Whether variables count that are not in the key."""


def held_key(value: Any) -> HeldKey:
    """The key of a value among those of this process: one that cannot be told apart counts by its identity."""
    walk = _Walk(value, by_identity=True)
    told = f" (reads {walk.nameless[0]}, which cannot be compared)" if walk.nameless else ""
    return HeldKey(walk.key + told, tuple(walk.unkeyed), walk.reads_environment)


def reads_environment(function: Any) -> bool:
    """Whether a function may read any variable of the environment: the key counts only those that its code names."""
    return _Walk(function).reads_environment


def without_key(function: Any) -> tuple[str, ...]:
    """What a function reads that has no key, so that `code_key` gives a new one at each call."""
    return tuple(_Walk(function).nameless)


class _Walk:
    """Everything that belongs to a value, met in an order that depends on nothing but what it is."""

    def __init__(self, root: Any, by_identity: bool = False) -> None:
        self.nameless: list[str] = []
        self.unkeyed: list[Any] = []
        self.reads_environment = False
        self._digest = hashlib.sha256()
        self._numbers: dict[int, int] = {}
        self._held: list[Any] = []  # so that no other value gets the identity of one met before
        self._stack: list[Any] = [root]
        while self._stack:
            self._visit(self._stack.pop())
        if by_identity:
            self._say(" ".join(str(id(value)) for value in self.unkeyed))
        elif self.nameless:
            self._digest.update(uuid.uuid4().bytes)
        self.key = self._digest.hexdigest()[:24]

    def _visit(self, value: object) -> None:
        if type(value) in _PLAIN:
            self._say(f"{type(value).__name__} {value!r}")
            return
        if id(value) in self._numbers:
            self._say(f"again {self._numbers[id(value)]}")
            return
        self._numbers[id(value)] = len(self._numbers)
        self._held.append(value)
        try:
            if len(self._held) > MOST_VALUES:
                self._stack.clear()
                value = self._held[0]
                raise _NoKey(f"more than {MOST_VALUES:,} values")
            self.reads_environment |= isinstance(value, type(os.environ))
            name, take = _way(type(value))
            text, parts = take(value)
        except _NoKey as reason:
            self.nameless.append(str(reason))
            self.unkeyed.append(value)
            return
        found = list(parts)
        self._say(f"{name} {len(found)} {text}")
        self._stack.extend(reversed(found))

    def _say(self, text: str) -> None:
        self._digest.update(f"{text}\x1f".encode("utf-8", "surrogatepass"))


def _name_of(kind: type) -> str:
    """Where a user's class is defined makes no difference: it is looked into."""
    return kind.__qualname__ if code_names.is_users(kind.__module__) else f"{kind.__module__}.{kind.__qualname__}"


@lru_cache(maxsize=1024)
def _way(kind: type) -> tuple[str, Callable[[Any], Taken]]:
    """What the values of a class are called in a key, and how they are taken apart."""
    for kinds, take in _TAKE:
        if issubclass(kind, kinds):
            return _name_of(kind), take
    return _name_of(kind), _instance if code_names.is_users(kind.__module__) else _as_copied


# --- code ---------------------------------------------------------------------------------------------------------


def _function(function: FunctionType) -> Taken:
    """Its code with what this names; of a library's function, what it closes over and the tables that it reads."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _has_contents(cell)]
    given = [function.__defaults__, function.__kwdefaults__, vars(function).get("__wrapped__"), *cells]
    module = str(function.__globals__.get("__name__", ""))
    if code_names.is_users(module):
        return "", [function.__code__, *given, *code_names.of_user(function, cells), *_held_by(function)]
    if is_own(module):
        return "", [function.__code__, *given, *code_names.of_workbench(function)]
    return f"{module}.{function.__qualname__}", [*given, os.environ] if environment.is_route(function) else given


def _code(code: CodeType) -> Taken:
    return _digest_of(code), ()


@lru_cache(maxsize=8192)
def _digest_of(code: CodeType) -> str:
    """A code object never changes, nor do its constants: it is looked through once, however often it is asked for."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    constants = _Walk(code.co_consts).key
    return f"{code.co_code.hex()} {code.co_exceptiontable.hex()} {counts} {names} {constants}"


def _has_contents(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (an empty cell raises)
    except ValueError:
        return False
    return True


def _class(value: type) -> Taken:
    """A user's class: its bases and all that its body defines; a library's counts by name."""
    if not code_names.is_users(value.__module__):
        return _name_of(value), ()
    own = [item for item in sorted(vars(value).items()) if item[0] not in _OF_EVERY_CLASS]
    made_by = [type(value)] if code_names.is_users(type(value).__module__) else []
    return value.__qualname__, [*made_by, *value.__bases__, *(part for item in own for part in item)]


def _module(value: ModuleType) -> Taken:
    return value.__name__, ()


def _method(value: MethodType) -> Taken:
    return "", (value.__func__, value.__self__)


def _builtin(value: BuiltinFunctionType) -> Taken:
    owner = value.__self__
    return value.__qualname__, () if owner is None or isinstance(owner, ModuleType) else (owner,)


def _property(value: property) -> Taken:
    return "", (value.fget, value.fset, value.fdel, *_added(value))


def _static(value: Any) -> Taken:
    return "", (value.__func__, *_added(value))


def _cached(value: Any) -> Taken:
    """What `functools.cache` holds already makes no difference."""
    if isinstance(value, functools.cached_property):
        return "", (value.func, *_added(value))
    return "", (value.__wrapped__, *_held_by(value))


def _held_by(function: object) -> list[Any]:
    """The attributes that were put on a function."""
    return [part for item in sorted(vars(function).items()) if item[0] != "__wrapped__" for part in item]


def _environment(value: Any) -> Taken:
    """What it says is no part of what reads it: `reads_environment`."""
    return "", ()


def _slot(value: Any) -> Taken:
    return value.__name__, ()


# --- data ---------------------------------------------------------------------------------------------------------


def _container(value: _Container) -> Taken:
    """A list, a dictionary or a set (in an order of its elements' keys); subclasses with what they add."""
    if isinstance(value, (dict, MappingProxyType)):
        parts = [part for item in value.items() for part in item]
    else:
        parts = list(value) if isinstance(value, (tuple, list)) else sorted(value, key=lambda item: _Walk(item).key)
    if code_names.is_users(type(value).__module__):
        return "", [*parts, *_added(value)]
    return ("", parts) if type(value) in _CONTAINERS else _as_copied(value)


def _array(value: np.ndarray[Any, Any]) -> Taken:
    more = _added(value)
    if isinstance(value, np.ma.MaskedArray):
        more += [np.ma.getmaskarray(value), value.fill_value]
        value = value.data
    if value.dtype.hasobject:
        return str(value.shape), [*value.reshape(-1).tolist(), *more]
    contents = hashlib.sha256(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"").hexdigest()
    return f"{value.dtype.descr if value.dtype.names else value.dtype.str} {value.shape} {contents}", more


def _bytes(value: Any) -> Taken:
    if isinstance(value, bytearray):
        return hashlib.sha256(value).hexdigest(), _added(value)
    try:
        return f"{value.format} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}", ()
    except ValueError as error:  # it was released
        raise _NoKey(f"a memoryview: {error}") from None


def _plain(value: Any) -> Taken:
    """A number or a text of a class of its own (an enumeration's member, say)."""
    text = str(next(kind for kind in _PLAIN if isinstance(value, kind)).__repr__(value))
    return text, _added(value)


def _tensor(value: Tensor) -> Taken:
    return value.fingerprint, ()


def _node(value: Node) -> Taken:
    return fingerprint(value), ()


def _keyed(value: Keyed) -> Taken:
    return "", value.key_parts()


def _reference(value: Any) -> Taken:
    return "", (value(),)


def _instance(value: Any) -> Taken:
    return "", _added(value)


def _added(value: Any) -> list[Any]:
    """What an object of a user's class has beyond what a library's class is taken apart into; nothing for others.

    What classes of a library hold for it (a deque's elements, an error's arguments) is not among its attributes.
    """
    if not code_names.is_users(type(value).__module__):
        return []
    taken: list[tuple[Any, ...]] = [kinds if type(kinds) is tuple else (kinds,) for kinds, _ in _TAKE]
    known: tuple[Any, ...] = (*_STATELESS, *(kind for kinds in taken for kind in kinds))
    others = [kind for kind in type(value).__mro__ if kind not in known and not code_names.is_users(kind.__module__)]
    text, inherited = _as_copied(value) if others else ("", ())
    # An object without attributes has an empty dictionary of them as soon as it was asked for one.
    held: list[Any] = [part for part in inherited if part is not None and (type(part) is not dict or part)]
    return [type(value), text, *_attributes(value), *held]


def _attributes(value: Any) -> list[Any]:
    slots = [name for kind in type(value).__mro__ for name in _slots_of(kind) if hasattr(value, name)]
    held: dict[str, Any] = dict(getattr(value, "__dict__", {})) | {name: getattr(value, name) for name in slots}
    return [part for item in held.items() for part in item]


def _slots_of(kind: type) -> list[str]:
    return [name for name, found in vars(kind).items() if isinstance(found, MemberDescriptorType)]


def _as_copied(value: object) -> Taken:
    """An object of a library, as `copy` would take it apart."""
    try:
        registered = copyreg.dispatch_table.get(type(value))
        made: Any = registered(value) if registered is not None else value.__reduce_ex__(4)
    except Exception as error:  # a library's own; whatever it raises, there is no key
        raise _NoKey(f"a {type(value).__module__}.{type(value).__qualname__}: {error}") from None
    if isinstance(made, str):
        return made, ()
    rest = [list(part) if part is not None and index > 2 else part for index, part in enumerate(made)]
    return "", rest


_TAKE: Final[tuple[tuple[Any, Callable[[Any], Taken]], ...]] = (
    (FunctionType, _function),
    (CodeType, _code),
    (type, _class),
    (ModuleType, _module),
    (MethodType, _method),
    (BuiltinFunctionType, _builtin),
    (property, _property),
    ((staticmethod, classmethod), _static),
    ((functools.cached_property, type(functools.cache(len))), _cached),
    ((GetSetDescriptorType, MemberDescriptorType), _slot),
    (type(os.environ), _environment),
    (_PLAIN, _plain),
    (_CONTAINERS, _container),
    ((bytearray, memoryview), _bytes),
    (weakref.ReferenceType, _reference),
    (Node, _node),
    (Keyed, _keyed),
    (Tensor, _tensor),
    (np.ndarray, _array),
)
