"""A key for what a function does: its code, the values it closes over, and the functions of its module that it uses.

Two definitions of the same source have the same key, wherever they lie; an edit of the function or of a helper beside
it changes the key.

>>> code_key(lambda x: x + 1) == code_key(lambda x: x + 1)
True
>>> code_key(lambda x: x + 1) == code_key(lambda x: x + 2)
False
"""

from __future__ import annotations

import hashlib
import inspect
from types import CodeType, FunctionType, MethodType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


def code_key(function: Any) -> str:
    """The key of a function, a bound method or another callable; objects of unknown kind count by identity."""
    digest = hashlib.sha256()
    seen: set[int] = set()
    stack: list[Any] = [function]
    while stack:
        current = stack.pop()
        if isinstance(current, _PLAIN):
            digest.update(f"{current!r}\x1f".encode())
            continue
        if id(current) in seen:
            continue
        seen.add(id(current))
        text, parts = _taken_apart(current)
        digest.update(f"{type(current).__name__}:{text}\x1f".encode())
        stack.extend(reversed(parts))
    return digest.hexdigest()[:24]


def _taken_apart(value: Any) -> tuple[str, list[Any]]:
    """What identifies a value by itself, and the values it consists of."""
    if isinstance(value, FunctionType):
        return _function_parts(value)
    if isinstance(value, MethodType):
        return "", [value.__func__, getattr(value.__self__, "__dict__", None)]
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()} {value.co_names} {value.co_varnames} {value.co_freevars}", list(value.co_consts)
    if isinstance(value, dict):
        return "", [item for pair in value.items() for item in pair]
    if isinstance(value, (tuple, list)):
        return str(len(value)), list(value)
    if isinstance(value, (set, frozenset)):
        return str(len(value)), sorted(value, key=repr)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}", []
    return str(id(value)), []


def _function_parts(function: FunctionType) -> tuple[str, list[Any]]:
    """A function wrapped by another stands for both; helpers count when they are of the same module."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    used = (function.__globals__.get(name) for name in function.__code__.co_names)
    helpers = [made for made in used if isinstance(made, FunctionType) and made.__module__ == function.__module__]
    inner = inspect.unwrap(function)
    wrapped = [inner] if inner is not function else []
    return "", [function.__code__, function.__defaults__, function.__kwdefaults__, *cells, *helpers, *wrapped]


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (an empty cell raises)
    except ValueError:
        return False
    return True
