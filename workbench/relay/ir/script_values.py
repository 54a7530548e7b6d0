"""The plain parts of relay's script: names, types, constants and attribute values, each as one line of Python.

What is written here `script_read` reads back to the identical value.
"""

from __future__ import annotations

import enum
import keyword
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from ...arith.nodes import PrimExpr
from ...arith.nodes import Var as DimensionVar
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.node import FrozenMap, Node
from ...core.tensor import Tensor
from ...core.trampoline import Task, run
from . import types as t
from .dimension import dimension_text

INLINE_ELEMENTS = 8
"""Constants of at most so many elements are written out."""

RESERVED = frozenset({"R", "G", "T", "I", "_", "True", "False", "None"})


class Names:
    """Identifiers for variables of all kinds: unique, near to what the program calls them."""

    def __init__(self, wishes: Mapping[int, str] | None = None, spared: Collection[str] = ()) -> None:
        """`wishes` are names of values by identity, given where they are free; no number gives a name of `spared`."""
        self._wishes = wishes or {}
        self._spared = spared
        self._taken: set[str] = set(RESERVED)
        self._counts: dict[str, int] = {}
        self._chosen: dict[int, str] = {}

    def inside(self) -> Names:
        """Names for a part that sees nothing of what surrounds it but what is named so far."""
        inner = Names()
        inner._chosen = self._chosen
        inner._taken = set(self._taken)
        return inner

    def __getitem__(self, thing: Any) -> str:
        return self._chosen[id(thing)]

    def __contains__(self, thing: Any) -> bool:
        return id(thing) in self._chosen

    def choose(self, thing: Any, hint: str) -> str:
        """The identifier of `thing`, made from `hint` the first time."""
        known = self._chosen.get(id(thing))
        if known is None:
            hint = self._wishes.get(id(thing), hint)
            known = self._chosen[id(thing)] = self._unique(identifier(hint))
        return known

    def number(self, thing: Any, prefix: str = "v") -> str:
        """The identifier of something that has no name: as is wished, else v0, v1, ..."""
        if id(thing) in self._wishes:
            return self.choose(thing, prefix)
        while True:
            count = self._counts.get(prefix, 0)
            self._counts[prefix] = count + 1
            name = f"{prefix}{count}"
            if name not in self._taken and name not in self._spared:
                break
        return self.choose(thing, name)

    @property
    def known(self) -> Mapping[int, str]:
        """The names given so far, by identity."""
        return self._chosen

    def _unique(self, name: str) -> str:
        unique, count = name, self._counts.get(f"{name}_", 0)
        while unique in self._taken:
            count += 1
            unique = f"{name}_{count}"
        self._counts[f"{name}_"] = count
        self._taken.add(unique)
        return unique


def identifier(hint: str) -> str:
    """`hint` itself if Python allows it as a name, else something close."""
    if is_identifier(hint):
        return hint
    name = re.sub(r"\W", "_", hint, flags=re.ASCII)[:60] or "x"
    name = f"x_{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def is_identifier(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)) and not keyword.iskeyword(name) and name not in RESERVED


def global_text(*path: str) -> str | None:
    """``G.name`` or ``G.List.Cons``; None when a part is not an identifier."""
    return f"G.{'.'.join(path)}" if all(is_identifier(part) for part in path) else None


# --- types --------------------------------------------------------------------------------------------------------


def type_script(found: Node, names: Names) -> str:
    """A type as an expression: ``R.Tensor((1, n), "float32")``."""
    return run(_type(found, names))


def _type(found: Node, names: Names) -> Task:
    if isinstance(found, t.TensorType):
        return f'R.Tensor({tuple_text([dimension_script(extent, names) for extent in found.shape])}, "{found.dtype}")'
    if isinstance(found, (t.TypeVar, t.IncompleteType)):
        return names[found]
    if isinstance(found, t.GlobalTypeVar):
        if found.kind is not t.Kind.ADT_HANDLE:
            return f'R.adt({quoted(found.name_hint)}, "{found.kind.name}")'
        return global_text(found.name_hint) or f"R.adt({quoted(found.name_hint)})"
    if isinstance(found, t.TupleType):
        return f"R.Tuple({', '.join((yield _types(found.fields, names)))})"
    if isinstance(found, t.RefType):
        return f"R.Ref({(yield _type(found.value, names))})"
    if isinstance(found, t.TypeCall):
        arguments = yield _types(found.args, names)
        return f"{(yield _type(found.function, names))}[{', '.join(arguments) or '()'}]"
    if isinstance(found, t.FuncType):
        arguments = yield _types(found.arg_types, names)
        result = yield _type(found.ret_type, names)
        params = [names[param] for param in found.type_params]
        extra = f", type_params={tuple_text(params)}" if params else ""
        return f"R.Func({tuple_text(arguments)}, {result}{extra})"
    raise WorkbenchError("E-RELAY-SCRIPT", f"a {type(found).__name__} has no text here", found=repr(found))


def _types(items: tuple[t.Type, ...], names: Names) -> Task:
    texts: list[str] = []
    for item in items:
        texts.append((yield _type(item, names)))
    return texts


def dimension_script(extent: Any, names: Names) -> str:
    return dimension_text(extent, lambda variable: names[variable], "R.Any()")


def tuple_text(items: list[str]) -> str:
    """Items as a Python tuple."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


# --- constants ----------------------------------------------------------------------------------------------------


def constant_script(data: Tensor) -> str:
    """A constant: written out when small, by value when lazy, else by fingerprint."""
    extents = tuple_text([str(extent) for extent in data.shape])
    if data.fill_value is not None and _exactly(_nested(np.asarray(data.fill_value)), data.fill_value):
        return f'R.filled({extents}, {_scalar(data.fill_value)}, "{data.dtype}")'
    if 0 < data.size <= INLINE_ELEMENTS:
        listed = _nested(data.numpy())
        if _exactly(listed, data.numpy()):
            return f'R.const({_listed(listed)}, "{data.dtype}")'
    return f'R.constant("{data.fingerprint}", {extents}, "{data.dtype}")'


def _exactly(listed: Any, array: np.ndarray) -> bool:
    """Whether the numbers, read back, have the same bits (a NaN of unusual bits has no text)."""
    made = np.array(listed, array.dtype)
    if (made != made).any():
        made[made != made] = float("nan")
    return made.tobytes() == np.ascontiguousarray(array).tobytes()


def _nested(array: np.ndarray) -> Any:
    """Nested lists of Python numbers."""
    wide = array.astype(np.float64) if array.dtype.kind not in "biuf" else array
    if array.dtype == np.float32:
        wide = np.vectorize(_shortest, otypes=[np.float64])(array)
    return wide.tolist()


def _shortest(value: np.float32) -> float:
    """The double with the fewest digits that rounds to a float32."""
    short = float(str(np.float32(value)))
    return short if np.float32(short) == value else float(value)


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_listed, value))}]"  # pyright: ignore[reportUnknownArgumentType]
    return number_text(value)


def _scalar(value: np.ndarray) -> str:
    return number_text(_nested(np.asarray(value)))


def number_text(value: Any) -> str:
    """A Python number, exactly; infinities and NaN as ``R.float("inf")``."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'R.float("{value}")'
    return repr(value)


def quoted(text: str) -> str:
    """A text as a Python literal, in double quotes where that needs no escape."""
    literal = repr(text)
    plain = literal[0] == "'" and '"' not in text and "\\'" not in literal
    return f'"{literal[1:-1]}"' if plain else literal


# --- attribute values ---------------------------------------------------------------------------------------------


def value_script(value: Any, names: Names) -> str:
    """An attribute value.  Raises `WorkbenchError` for a kind of value that text cannot hold."""
    for kind, writer in _WRITERS.items():
        if isinstance(value, kind):
            return writer(value, names)
    raise WorkbenchError(
        "E-RELAY-SCRIPT",
        f"an attribute value of class {type(value).__name__} has no text",
        found=repr(value)[:120],
        expected="numbers, text, dtypes, tuples, maps, tensors, types, dimensions",
    )


def _map(value: FrozenMap, names: Names) -> str:
    return f"{{{', '.join(f'{quoted(key)}: {value_script(item, names)}' for key, item in value.items())}}}"


def _generic(value: np.generic, names: Names) -> str:
    return f'R.scalar({number_text(_nested(np.asarray(value)))}, "{value.dtype.name}")'


_WRITERS: dict[type, Callable[[Any, Names], str]] = {
    enum.Enum: lambda value, names: f'R.enum("{type(value).__name__}", "{value.name}")',
    np.generic: _generic,
    bool: lambda value, names: repr(value),
    type(None): lambda value, names: "None",
    int: lambda value, names: repr(value),
    float: lambda value, names: number_text(value),
    DataType: lambda value, names: f'R.dtype("{value}")',
    str: lambda value, names: quoted(value),
    bytes: lambda value, names: repr(value),
    tuple: lambda value, names: tuple_text([value_script(item, names) for item in value]),
    FrozenMap: _map,
    Tensor: lambda value, names: f"R.tensor({constant_script(value)})",
    t.Type: type_script,
    t.Any: lambda value, names: "R.Any()",
    PrimExpr: lambda value, names: f"R.dim({dimension_script(value, names)})",
}


def declarations(parts: list[Node], names: Names) -> list[str]:
    """Lines that declare dimensions and type variables, naming each (in order of first use)."""
    lines: list[str] = []
    for part in parts:
        if part in names:
            continue
        if isinstance(part, DimensionVar):
            chosen = names.choose(part, part.name)
            lines.append(f'{chosen} = R.dim_var("{part.dtype}"{_own_name(chosen, part.name)})')
        elif isinstance(part, t.TypeVar):
            chosen = names.choose(part, part.name)
            lines.append(f'{chosen} = R.type_var("{part.kind.name}"{_own_name(chosen, part.name)})')
        elif isinstance(part, t.IncompleteType):
            lines.append(f'{names.number(part, "unknown")} = R.incomplete("{part.kind.name}")')
    return lines


def _own_name(chosen: str, name: str) -> str:
    return "" if chosen == name else f", name={quoted(name)}"
