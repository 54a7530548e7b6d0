"""Comparing programs: `same` (exact), `structural_equal` (up to renaming) and fingerprints.

`same` is what a round trip through text must give: equal classes, fields, names and sharing.  `structural_equal`
ignores the spelling of names; variables correspond by a bijection built at their binders, and a free variable equals
only itself unless `map_free_variables`.  A fingerprint is the SHA-256 of a canonical listing, equal for programs
that are structurally equal.  All are iterative and visit each pair of nodes once.
"""

from __future__ import annotations

import hashlib
from typing import Any

from .node import FieldValue, FrozenMap, Node, nodes_in, pre_order


def same(left: Any, right: Any) -> bool:
    """Exact equality, names included."""
    return first_difference(left, right, names=True, map_free_variables=True) is None


def structural_equal(left: Any, right: Any, map_free_variables: bool = False) -> bool:
    """Equality up to the names of variables."""
    return first_difference(left, right, names=False, map_free_variables=map_free_variables) is None


_Path = tuple[Any, str] | None
"""A place as (the place around it, the last step), so that long chains cost one step each."""


def _path_text(path: _Path) -> str:
    steps: list[str] = []
    while path is not None:
        steps.append(path[1])
        path = path[0]
    return "".join(reversed(steps)).lstrip(".") or "the root"


class _Comparison:
    """The state of one lockstep walk."""

    def __init__(self, names: bool, map_free_variables: bool) -> None:
        self.names = names
        self.map_free = map_free_variables
        self.partner: dict[int, int] = {}
        self.partner_back: dict[int, int] = {}
        self.visited: set[tuple[int, int]] = set()
        self.stack: list[tuple[Any, Any, bool, _Path]] = []

    def pair_up(self, left: Node, right: Node) -> bool | None:
        """True: corresponding already.  False: cannot correspond.  None: not met yet."""
        if id(left) in self.partner or id(right) in self.partner_back:
            return self.partner.get(id(left)) == id(right)
        return None

    def bind(self, left: Node, right: Node) -> None:
        self.partner[id(left)] = id(right)
        self.partner_back[id(right)] = id(left)


def first_difference(left: Any, right: Any, *, names: bool, map_free_variables: bool) -> str | None:
    """The path of the first place where two programs differ (``body.value.a``), or None."""
    walk = _Comparison(names, map_free_variables)
    walk.stack.append((left, right, False, None))
    while walk.stack:
        one, other, binding, path = walk.stack.pop()
        if not _step(walk, one, other, binding, path):
            return _path_text(path)
    return None


def _step(walk: _Comparison, one: FieldValue, other: FieldValue, binding: bool, path: _Path) -> bool:
    if isinstance(one, Node):
        return isinstance(other, Node) and _step_node(walk, one, other, binding, path)
    if type(one) is tuple:
        if type(other) is not tuple or len(one) != len(other):
            return False
        pairs = zip(range(len(one)), one, other, strict=True)
        walk.stack.extend((a, b, binding, (path, f"[{i}]")) for i, a, b in reversed(list(pairs)))
        return True
    if isinstance(one, FrozenMap):
        if not isinstance(other, FrozenMap) or one.keys() != other.keys():
            return False
        walk.stack.extend((one[key], other[key], binding, (path, f"[{key!r}]")) for key in reversed(list(one)))
        return True
    return data_equal(one, other)


def _step_node(walk: _Comparison, one: Node, other: Node, binding: bool, path: _Path) -> bool:
    if type(one) is not type(other):
        return False
    if one.is_variable or one.is_graph:
        met = walk.pair_up(one, other)
        if met is not None:
            return met
        if one.is_variable and not binding and not walk.map_free and one is not other:
            return False
        walk.bind(one, other)
    elif (id(one), id(other)) in walk.visited:
        return True
    else:
        walk.visited.add((id(one), id(other)))
    skipped = () if walk.names else one.renameable
    for name in reversed(one.field_names):
        if name not in skipped:
            inner = binding if one.is_variable else name in one.binds
            walk.stack.append((getattr(one, name), getattr(other, name), inner, (path, f".{name}")))
    return True


def data_equal(one: Any, other: Any) -> bool:
    """Equality of plain data: same class, same value; floats by bits, so that NaN equals NaN and 0.0 is not -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one.hex() == other.hex()
    return bool(one == other)


def fingerprint(root: Any) -> str:
    """SHA-256 (hex) of a program up to the names of its variables."""
    digest = hashlib.sha256()
    numbers: dict[int, int] = {}
    alive: list[Any] = []
    stack: list[FieldValue] = [root]
    while stack:
        current = stack.pop()
        if isinstance(current, Node):
            if id(current) in numbers:
                digest.update(f"@{numbers[id(current)]};".encode())
                continue
            if current.is_variable or current.is_graph:
                numbers[id(current)] = len(numbers)
                alive.append(current)
            digest.update(f"{type(current).__name__}(".encode())
            if current.class_code is not None:
                digest.update(f"{current.class_code()}:".encode())
            names = [name for name in current.field_names if name not in current.renameable]
            stack.append(_CLOSE)
            stack.extend(getattr(current, name) for name in reversed(names))
        elif type(current) is tuple:
            digest.update(f"[{len(current)}:".encode())
            stack.extend(reversed(current))
        elif isinstance(current, FrozenMap):
            digest.update(f"{{{','.join(map(_key_text, current))}:".encode())
            stack.extend(current[key] for key in reversed(list(current)))
        else:
            digest.update(f"{type(current).__name__}:{_data_text(current)};".encode())
    return digest.hexdigest()


_CLOSE = object()


def _key_text(key: str) -> str:
    """A map's key in a fingerprint: in quotes where it holds what stands between keys, or what no text may hold."""
    plain = key.isprintable() and not any(mark in key for mark in ",:'\"\\")
    return key if plain and key else repr(key)


def _data_text(value: Any) -> str:
    if value is _CLOSE:
        return ")"
    if isinstance(value, float):
        return value.hex()
    own = getattr(value, "fingerprint", None)
    return own if isinstance(own, str) else repr(value)


def free_variables(root: Node) -> list[Node]:
    """Variables used in `root` that no node in it binds, in order of first use."""
    bound: set[int] = set()
    used: list[Node] = []
    for current in pre_order(root):
        if current.is_variable:
            used.append(current)
        for name in current.binds:
            bound.update(id(variable) for variable in nodes_in(getattr(current, name)))
    return [variable for variable in used if id(variable) not in bound]
