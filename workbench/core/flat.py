"""Flat tables: programs as lists, for pickling and saving, without recursion and with sharing kept.

`flatten(root)` lists the nodes children first; a row is ``(class name, encoded field values)`` and a reference to an
earlier row is `Ref(row)`.  `unflatten` builds them again.  Only classes known to `NODE_CLASSES` are made, so a
table from a file runs no code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .errors import WorkbenchError
from .node import NODE_CLASSES, FieldValue, FrozenMap, Node, class_key, node, post_order


class Ref(NamedTuple):
    """The node of an earlier row."""

    row: int


class MapOf(NamedTuple):
    """The items of a `FrozenMap`."""

    items: tuple[tuple[str, Any], ...]


@node
class Bundle(Node):
    """A module's state as one root, so that sharing between functions is kept."""

    functions: FrozenMap
    types: FrozenMap
    attrs: FrozenMap


Row = tuple[str, tuple[Any, ...]]


def flatten(root: Node) -> tuple[Row, ...]:
    """All nodes under `root`, children first; `root` is the last row."""
    return flatten_all((root,))[0]


def flatten_all(roots: Iterable[Node]) -> tuple[tuple[Row, ...], list[int]]:
    """All nodes under several roots, children first, each once; and the rows of the roots."""
    numbers: dict[int, int] = {}
    rows: list[Row] = []
    every = tuple(roots)
    for current in post_order(every):
        encoded = tuple(_encode(getattr(current, name), numbers) for name in current.field_names)
        numbers[id(current)] = len(rows)
        rows.append((class_key(type(current)), encoded))
    return tuple(rows), [numbers[id(root)] for root in every]


def unflatten(rows: tuple[Row, ...]) -> Node:
    """The program of a table made by `flatten`.  Raises `WorkbenchError` for a class that is not a node."""
    return unflatten_all(rows, [-1])[0]


def unflatten_all(rows: Iterable[Row], roots: Iterable[int]) -> list[Node]:
    """The programs of a table made by `flatten_all`, by the rows of their roots."""
    made: list[Node] = []
    for name, encoded in rows:
        cls = NODE_CLASSES.get(name)
        if cls is None:
            raise WorkbenchError("E-SAVED-CLASS", f"a saved program names {name!r}, which is not a node class")
        made.append(cls(*(_decode(value, made) for value in encoded)))
    return [made[root] for root in roots]


def unflatten_module(rows: tuple[Row, ...]) -> Any:
    """The `IRModule` of a flattened `Bundle`."""
    from .module import IRModule, ModuleState

    bundle: Any = unflatten(rows)
    return IRModule.from_state(ModuleState(bundle.functions, bundle.types, bundle.attrs))


def _encode(value: FieldValue, numbers: dict[int, int]) -> Any:
    if isinstance(value, Node):
        return Ref(numbers[id(value)])
    if type(value) is tuple:
        return tuple(_encode(item, numbers) for item in value)
    if isinstance(value, FrozenMap):
        return MapOf(tuple((key, _encode(item, numbers)) for key, item in value.items()))
    return value


def _decode(value: FieldValue, made: list[Node]) -> Any:
    if isinstance(value, Ref):
        return made[value.row]
    if isinstance(value, MapOf):
        return FrozenMap((key, _decode(item, made)) for key, item in value.items)
    if type(value) is tuple:
        return tuple(_decode(item, made) for item in value)
    return value
