"""Expressions as Python code.

Each expression becomes a `Value`: code, and for integers the interval it lies in, which spares wrapping and bounds
checks that cannot fail.  Code that would nest too deeply, and parts used more than once, get lines of their own
before the statement; an arm of ``if_then_else`` keeps its lines to itself, since it may not run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from ...arith import nodes as n
from ...arith.effects import is_effect
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.trampoline import Task, run
from .. import nodes as t
from ..scopes import parts
from . import numbers
from .machine import Site

HEIGHT_LIMIT: Final = 24


class Value(NamedTuple):
    """Python code of an expression; `low` and `high` bound an integer."""

    code: str
    low: int = 0
    high: int = 0
    height: int = 0

    @property
    def constant(self) -> int | None:
        return self.low if self.low == self.high and self.code.lstrip("-").isdigit() else None


@dataclass
class Lines:
    """Lines to run before a statement (or an arm), and the parts they have computed."""

    lines: list[str] = field(default_factory=list[str])
    known: dict[int, Value] = field(default_factory=dict[int, Value])


@dataclass
class Place:
    """Where a buffer lives in the code: the list of its cells, its storage, its geometry."""

    cells: str
    storage: str
    offset: str
    extents: tuple[Value, ...]
    strides: tuple[Value, ...]
    is_row_major: bool
    may_be_unwritten: bool

    @property
    def shape(self) -> str:
        """Code of the extents, to name elements by; empty where positions do not follow from them."""
        compact = not self.offset and self.is_row_major
        return f"({''.join(extent.code + ', ' for extent in self.extents)})" if compact else "()"


class ExprCompiler:
    """Code for expressions; what statements add is in `statements.Compiler`."""

    compilers: ClassVar[Mapping[type, Callable[..., Task]]] = {}
    """What compiles each class of node (`expressions.COMPILERS`)."""

    def __init__(self, function: str, regions: bool, races: bool) -> None:
        self.function = function
        self.check_regions = regions
        self.check_races = races
        self.names: dict[int, Value] = {}
        self.places: dict[int, Place] = {}
        self.loops: list[n.Var] = []
        self.blocks: list[Any] = []
        self.namespace: dict[str, Any] = {"np": np, "floor_divide": numbers.floor_divide, "select": numbers.select}
        self.contexts: list[Lines] = []
        self.uses: Counter[int] = Counter()
        self.ordered = False
        """Whether the statement calls what has effects: then loads and calls stand on lines of their own, in order."""
        self.effects = 0
        """How many calls with effects have been compiled."""
        self.statement: Any = None
        self._numbers: Counter[str] = Counter()
        self._bound: dict[Any, str] = {}

    # --- names ---

    def fresh(self, prefix: str) -> str:
        self._numbers[prefix] += 1
        return f"{prefix}{self._numbers[prefix]}"

    def bind(self, prefix: str, thing: Any, key: Any = None) -> str:
        """A name for an object that the code uses; the same name for the same `key`."""
        if key is not None and key in self._bound:
            return self._bound[key]
        name = self.fresh(prefix)
        self.namespace[name] = thing
        if key is not None:
            self._bound[key] = name
        return name

    def site(self, buffer: t.Buffer | None = None) -> str:
        """A name for the place being compiled."""
        loops = tuple(variable.name for variable in self.loops)
        key = ("site", id(self.statement), id(buffer), loops)
        return self.bind("s", Site(self.function, self.statement, buffer, loops), key)

    def loop_values(self) -> str:
        return f"({''.join(self.names[id(variable)].code + ', ' for variable in self.loops)})"

    # --- the walk ---

    def begin(self, statement: Any, *roots: Any) -> Lines:
        """Start the expressions of a statement; answers where its lines go."""
        self.statement = statement
        self.uses, self.ordered = _uses([root for root in roots if root is not None])
        made = Lines()
        self.contexts = [made]
        return made

    def value(self, expr: n.PrimExpr) -> Value:
        return run(self.expr(expr))

    def expr(self, node: n.PrimExpr) -> Task:
        """The value of an expression, as a task of `core.trampoline`."""
        for context in reversed(self.contexts):
            if id(node) in context.known:
                return context.known[id(node)]
        compiler = self.compilers.get(type(node))
        if compiler is None:
            raise WorkbenchError("E-TIR-INTERPRET", f"the interpreter knows no {type(node).__name__}", nodes=(node,))
        before = self.effects
        made: Value = yield compiler(self, node)
        if self.ordered and isinstance(node, (t.BufferLoad, n.Call)) and made.code != "None":
            made = self.hoisted(made)
            if is_effect(node):
                self.effects += 1
                for context in self.contexts:
                    context.known.clear()
        if before != self.effects:  # a part of it: at another place it is done again
            return made
        shared = self.uses[id(node)] > 1 and len(parts(node)) > 0
        if made.height > HEIGHT_LIMIT or shared:
            made = self.hoisted(made)
            self.contexts[-1].known[id(node)] = made
        return made

    def hoisted(self, value: Value) -> Value:
        """`value` computed on a line of its own."""
        name = self.fresh("t")
        self.contexts[-1].lines.append(f"{name} = {value.code}")
        return Value(name, value.low, value.high)

    def integer(self, code: str, low: int, high: int, dtype: DataType, height: int) -> Value:
        """An integer result, wrapped unless it fits."""
        least, most = dtype.limits()
        if least <= low and high <= most:
            return Value(code, low, high, height)
        if dtype.is_vector:  # NumPy wraps by itself
            return Value(code, least, most, height)
        name = self.bind("wrap_", numbers.wrapper(dtype.element_of), ("wrap", dtype.element_of))
        return Value(f"{name}({code})", least, most, height + 1)

    # --- buffers ---

    def position(self, buffer: t.Buffer, indices: list[Value], vector: bool, kind: str) -> tuple[str, int]:
        """Code of an element's place in the storage, with its checks; and its height."""
        place = self.places.get(id(buffer))
        if place is None:
            raise WorkbenchError(
                "E-TIR-UNDEFINED", f"buffer {buffer.name} is neither a parameter nor allocated", nodes=(buffer,)
            )
        if len(indices) != len(place.extents):
            raise WorkbenchError("E-TIR-RANK", f"buffer {buffer.name} has {len(place.extents)} axes", nodes=(buffer,))
        site, loops = self.site(buffer), self.loop_values()
        height = max((index.height for index in indices), default=0) + 2
        codes = [
            self._checked(index, extent, axis, site, loops, vector and axis == len(indices) - 1)
            for axis, (index, extent) in enumerate(zip(indices, place.extents, strict=True))
        ]
        prefix, codes = self._region_check(buffer, codes, kind, site, loops)
        terms = [_times(code, stride) for code, stride in zip(codes, place.strides, strict=True)]
        flat = " + ".join(term for term in [place.offset, *terms] if term not in ("", "0")) or "0"
        flat = f"({prefix}{flat})" if prefix else flat
        if self.check_races:
            note = "note_read" if kind == "reads" else "note_write"
            flat = f"m.{note}({site}, {place.storage}, {place.shape}, {flat})"
        return flat, height

    def _checked(self, index: Value, extent: Value, axis: int, site: str, loops: str, vector: bool) -> str:
        most = extent.constant
        if most is not None and index.low >= 0 and index.high < most:
            return index.code
        if vector:
            return f"m.vector_bounds({site}, {axis}, {index.code}, {extent.code}, {loops})"
        name = self.fresh("t")
        failure = f"m.bounds({site}, {axis}, {name}, {extent.code}, {loops})"
        return f"({name} if 0 <= ({name} := {index.code}) < {extent.code} else {failure})"

    def _region_check(
        self, buffer: t.Buffer, codes: list[str], kind: str, site: str, loops: str
    ) -> tuple[str, list[str]]:
        """Code that checks the access against the enclosing blocks, to stand before the place with an ``or``."""
        if not self.check_regions:
            return "", codes
        checks = [block[id(buffer), kind] for block in self.blocks if (id(buffer), kind) in block]
        checks += [
            "()" for block in self.blocks if (id(buffer), kind) not in block and id(buffer) not in block["inside"]
        ]
        if not checks:
            return "", codes
        names = [self.fresh("t") for _ in codes]
        assigned = "".join(f"({name} := {code}), " for name, code in zip(names, codes, strict=True))
        again = "".join(f"{name}, " for name in names)
        calls = [
            f"m.region({site}, {kind!r}, {allowed}, ({assigned if index == 0 else again}), {loops})"
            for index, allowed in enumerate(checks)
        ]
        return " or ".join([*calls, ""]), names


def _times(code: str, stride: Value) -> str:
    if stride.constant == 1:
        return code
    if code == "0" or stride.constant == 0:
        return "0"
    return f"{code} * {stride.code}"


def _uses(roots: list[Any]) -> tuple[Counter[int], bool]:
    """How often each part is used inside `roots`, and whether one of them has effects."""
    uses: Counter[int] = Counter()
    effects = False
    stack = list(roots)
    while stack:
        node = stack.pop()
        uses[id(node)] += 1
        if uses[id(node)] == 1:
            effects = effects or is_effect(node)
            stack.extend(parts(node))
    return uses, effects
