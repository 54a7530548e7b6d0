"""Programs as JSON, for another process of the same workbench: rows of nodes, children first, as in `flat`.

    told = packed([func, operator])
    func, operator = unpacked(told)

Only classes known to `NODE_CLASSES`, and the kinds of values that `VALUES` lists, are made: nothing that is read runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from .dtype import DataType
from .flat import MapOf, Ref, flatten_all, unflatten_all
from .node import Node

VALUES: Final[dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "dtype": (DataType, str, DataType),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
}
"""Kinds of values in fields beside numbers, texts and tuples: the class, what is told of one, and how it is made.

Layers above add theirs, when they are imported.
"""
_PLAIN: Final = (bool, int, float, str, type(None))
_KIND: Final = ":"
"""The key of what is no plain value."""


class CannotTell(Exception):
    """A program holds a value of a kind that is not in `VALUES`; the text names it."""


def packed(roots: Iterable[Node]) -> list[Any]:
    """Programs as plain data; what they share stays shared.  Raises `CannotTell`."""
    rows, ends = flatten_all(roots)
    return [[[name, _told(fields)] for name, fields in rows], ends]


def unpacked(told: Any) -> list[Node]:
    """The programs that `packed` told of."""
    rows, ends = told
    return unflatten_all(((name, _made(fields)) for name, fields in rows), ends)


def _told(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Ref):
        return {_KIND: "row", "value": value.row}
    if isinstance(value, MapOf):
        return {_KIND: "map", "value": [[key, _told(item)] for key, item in value.items]}
    if type(value) is tuple:
        return list(map(_told, cast("tuple[Any, ...]", value)))
    for kind, (cls, tell, _) in VALUES.items():
        if type(value) is cls:
            return {_KIND: kind, "value": tell(value)}
    raise CannotTell(f"{type(value).__module__}.{type(value).__qualname__}")


def _made(told: Any) -> Any:
    if isinstance(told, list):
        return tuple(map(_made, cast("list[Any]", told)))
    if not isinstance(told, dict):
        return told
    known = cast("dict[str, Any]", told)
    kind, value = str(known[_KIND]), known["value"]
    if kind == "row":
        return Ref(value)
    if kind == "map":
        return MapOf(tuple((key, _made(item)) for key, item in value))
    return VALUES[kind][2](value)
