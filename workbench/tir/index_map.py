"""Index maps: how the indices of a buffer or the iterators of a block are given new coordinates.

An `IndexMap` takes some indices to others, ``lambda i, j: (i // 4, j, i % 4)``.  It is made of a Python function, or of
its text, which `IndexMap.parse` reads without running anything; `text` writes it, and reads back the same map.

>>> split = IndexMap.from_func(lambda i, j: (i // 4, j, i % 4))
>>> split.text
'lambda i, j: (i // 4, j, i % 4)'
>>> [str(extent.value) for extent in split.map_shape([8, 3])]
['2', '3', '4']
>>> split.inverse([8, 3]).text
'lambda y0, y1, y2: (y0 * 4 + y2, y1)'

Invariant: the outputs are integer expressions of the inputs alone.  `separators` are positions among the outputs
before which an ``AXIS_SEPARATOR`` stood.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

import numpy as np

from ..arith import build
from ..arith import nodes as n
from ..arith.iter_map import IterMap, IterMark, IterSplit, detect
from ..arith.nodes import PrimExpr, Var
from ..arith.simplify import Simplifier
from ..core.errors import WorkbenchError
from ..core.node import pre_order, substitute
from . import array_values
from .script import script
from .text.names import sanitized

CODE: Final = "E-TIR-INDEX-MAP"
TEXT_LIMIT: Final = 4_000
"""Longest text of a map, in characters."""
POINTS_LIMIT: Final = 1 << 22
"""Most points at which a map is tried out."""


class _Separator:
    """Stands among a map's outputs between axes that a target addresses apart."""

    def __repr__(self) -> str:
        return "IndexMap.AXIS_SEPARATOR"


AXIS_SEPARATOR: Final = _Separator()
_OUTPUTS: Final = (n.Add, n.Sub, n.Mul, n.FloorDiv, n.FloorMod, n.Min, n.Max)
"""What outputs are made of, besides inputs and numbers."""


@dataclass(frozen=True, eq=False)
class IndexMap:
    """See the module's header."""

    initial_indices: tuple[Var, ...]
    final_indices: tuple[PrimExpr, ...]
    separators: tuple[int, ...] = ()

    AXIS_SEPARATOR = AXIS_SEPARATOR

    # --- making ---

    @staticmethod
    def from_func(mapping_function: Callable[..., Any], ndim: int | None = None) -> IndexMap:
        """The map that a Python function of indices describes; ``*args`` need `ndim` to say how many there are.

        Outputs may be nested in tuples.  Raises `WorkbenchError` E-TIR-INDEX-MAP if it is none.
        """
        names = _parameter_names(mapping_function, ndim)
        variables = tuple(Var(sanitized(name)) for name in names)
        try:
            answered = mapping_function(*variables)
        except WorkbenchError:
            raise
        except Exception as error:
            raise _wrong("the function fails on index variables", f"{type(error).__name__}: {error}"[:80]) from None
        return index_map_of(variables, list(_flattened(answered)))

    @staticmethod
    def parse(text: str) -> IndexMap:
        """The map of a text like ``lambda i, j: (j, i)``.  Runs nothing; raises `ParseError` E-TIR-INDEX-MAP."""
        from .text.index_map_text import parsed

        return parsed(text)

    @cached_property
    def text(self) -> str:
        """``lambda i, j: (j, i)``; `parse` reads it back."""
        from .text.index_map_text import written

        return written(self)

    def __repr__(self) -> str:
        return f"IndexMap({self.text})"

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        """Equal when written equally."""
        return isinstance(other, IndexMap) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    # --- mapping ---

    def map_indices(self, indices: Sequence[Any]) -> list[PrimExpr]:
        """The outputs at `indices`.  Raises `WorkbenchError` if there are not as many as inputs."""
        self._check_rank(indices, "indices")
        values = {
            var: build.cast(var.dtype.with_lanes(made.dtype.lanes), made)  # looked-up indices may be of another dtype
            for var, value in zip(self.initial_indices, indices, strict=True)
            for made in [build.convert(value)]
        }
        return [substitute(output, values) for output in self.final_indices]

    def map_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """Extents that hold the outputs for all indices in a box from 0 on with extents `shape`.

        Raises `WorkbenchError` if an output may be negative or has no bound.
        """
        self._check_rank(shape, "extents")
        extents = [build.convert(extent) for extent in shape]
        simplifier = self._simplifier(extents)
        return [self._extent(number, extents, simplifier) for number in range(len(self.final_indices))]

    def _extent(self, number: int, extents: Sequence[PrimExpr], simplifier: Simplifier) -> PrimExpr:
        output = self.final_indices[number]
        bound = simplifier.bound(output)
        if bound.low < 0 and not simplifier.can_prove(build.greater_equal(output, 0)):
            raise _wrong(f"output {number} may be negative", self.text, f"{self.text}: outputs from 0 on")
        if bound.high < 1 << 60:
            return build.const(int(bound.high) + 1)
        ends = {var: build.subtract(extent, 1) for var, extent in zip(self.initial_indices, extents, strict=True)}
        greatest = _greatest(output, ends)
        if greatest is None:
            raise _wrong(f"output {number} has no bound", self.text, "sums, quotients and remainders of the indices")
        return simplifier.simplify(build.add(greatest, 1))

    def _simplifier(self, extents: Sequence[PrimExpr]) -> Simplifier:
        made = Simplifier()
        for var, extent in zip(self.initial_indices, extents, strict=True):
            made.bind_range(var, build.const(0), extent)
        return made

    def _check_rank(self, values: Sequence[Any], what: str) -> None:
        if len(values) != len(self.initial_indices):
            raise _wrong(f"the map takes {len(self.initial_indices)} indices", f"{len(values)} {what}", f"{self.text}")

    # --- one to one ---

    def is_injective(self, shape: Sequence[Any]) -> bool | None:
        """Whether no two points of a box from 0 on go to one; None if neither is shown.

        Exact for boxes of constant extents up to 4 million points, and for mixed-radix maps of any size.
        """
        found = self._detected(shape)
        if isinstance(found, IterMap) and found.bijective:
            return True
        if self._padded(shape) is not None:
            return True
        table = self._table(shape)
        return None if table is None else len(np.unique(table, axis=0)) == len(table)

    def is_bijective(self, shape: Sequence[Any]) -> bool | None:
        """Whether every point of `map_shape(shape)` is met exactly once; None if neither is shown."""
        sizes = [_constant(extent) for extent in (*shape, *self.map_shape(shape))]
        if any(size is None for size in sizes):
            found = self._detected(shape)
            return True if isinstance(found, IterMap) and found.bijective else None
        before, after = sizes[: len(shape)], sizes[len(shape) :]
        if math.prod(before) != math.prod(after):  # type: ignore[arg-type]
            return False
        return self.is_injective(shape)

    def inverse(self, shape: Sequence[Any]) -> IndexMap:
        """The map back, for indices in a box of extents `shape`.  Raises `WorkbenchError` if it is no bijection."""
        inverted = self.inverted(shape)
        if inverted is None or self.is_bijective(shape) is not True:
            raise _wrong(
                "the map has no inverse on this box",
                f"{self.text} on ({', '.join(map(_shown, shape))})",
                "outputs that take each point of a box once",
            )
        return inverted

    def non_surjective_inverse(self, shape: Sequence[Any]) -> tuple[IndexMap, PrimExpr]:
        """(the map back, where it does not apply): the second is true for outputs that no indices in `shape` have.

        The condition is over the inverse's inputs, which lie in `map_shape(shape)`.  Raises `WorkbenchError` if there
        is no map back of a simple form.
        """
        inverted = self.inverted(shape)
        if inverted is None:
            raise _wrong(
                "the map cannot be inverted", f"{self.text} on ({', '.join(map(_shown, shape))})",
                "a mixed-radix map: digits (i // a) % b that share an index out",
            )  # fmt: skip
        simplifier = Simplifier()
        for var, extent in zip(inverted.initial_indices, self.map_shape(shape), strict=True):
            simplifier.bind_range(var, build.const(0), extent)
        missing: list[PrimExpr] = []
        for value, extent in zip(inverted.final_indices, shape, strict=True):
            outside = simplifier.simplify(build.any_of(build.less(value, 0), build.greater_equal(value, extent)))
            if not (isinstance(outside, n.IntImm) and not outside.value):
                missing.append(outside)
        for var, output in zip(inverted.initial_indices, self.map_indices(inverted.final_indices), strict=True):
            elsewhere = simplifier.simplify(build.not_equal(output, var))
            if not (isinstance(elsewhere, n.IntImm) and not elsewhere.value):
                missing.append(elsewhere)
        return inverted, build.any_of(*missing) if missing else build.const(False)

    def _detected(self, shape: Sequence[Any]) -> IterMap | str:
        ranges = {var: (0, extent) for var, extent in zip(self.initial_indices, shape, strict=True)}
        return detect(self.final_indices, ranges)

    def _padded(self, shape: Sequence[Any]) -> IterMap | None:
        """The map's digits over a box whose extents are rounded up to what divisors and remainders ask for."""
        rounded: list[Any] = []
        for var, extent in zip(self.initial_indices, shape, strict=True):
            step = self._step(var)
            size = _constant(extent)
            if step == 1 or (size is None and step == 0):
                rounded.append(extent)
            elif size is None:
                return None
            else:
                rounded.append(-(-size // step) * step)
        found = self._detected(rounded)
        return found if isinstance(found, IterMap) and found.bijective else None

    def _step(self, var: Var) -> int:
        """The least common multiple of the constants by which a map divides expressions of an index."""
        step = 1
        for output in self.final_indices:
            for node in pre_order(output):
                if isinstance(node, (n.FloorDiv, n.FloorMod)) and isinstance(node.b, n.IntImm) and node.b.value > 0:
                    if any(part is var for part in pre_order(node.a)):
                        step = math.lcm(step, node.b.value)
        return step if step < 1 << 40 else 1

    def inverted(self, shape: Sequence[Any]) -> IndexMap | None:
        """The map back, right for the outputs of indices in a box of extents `shape`; None for forms not understood.

        Understood are mixed-radix digits, and outputs of one index each, times a number: ``7 - i``, ``i * 2 + 1``.
        """
        found = self._detected(shape)
        if not (isinstance(found, IterMap) and found.bijective):
            found = self._padded(shape)
        if found is None:
            return self._solved(shape)
        outputs = tuple(Var(f"y{number}") for number in range(len(self.final_indices)))
        values = _Digits(found, outputs).values([var.name for var in self.initial_indices])
        if values is None:
            return None
        simplifier = Simplifier()
        known = self._simplifier([build.convert(extent) for extent in shape])
        if all(known.bound(output).low >= 0 for output in self.final_indices):
            for var, extent in zip(outputs, self.map_shape(shape), strict=True):
                simplifier.bind_range(var, build.const(0), extent)
        return IndexMap(outputs, tuple(simplifier.simplify(value) for value in values))

    def _solved(self, shape: Sequence[Any]) -> IndexMap | None:
        """The map back where every index that varies stands alone in some output."""
        simplifier = Simplifier()
        outputs = tuple(Var(f"y{number}") for number in range(len(self.final_indices)))
        found: dict[int, PrimExpr] = {}
        for output, value in zip(self.final_indices, outputs, strict=True):
            form = simplifier.form(output)
            if form is not None and len(form.terms) == 1:
                ((atom, factor),) = form.terms.items()
                rest = build.subtract(value, form.offset) if factor > 0 else build.subtract(form.offset, value)
                found.setdefault(atom, build.floordiv(rest, abs(factor)))
        numbers = [simplifier.atoms.variable_number(var) for var in self.initial_indices]
        pairs = zip(numbers, shape, strict=True)
        values = [found.get(number, build.const(0) if _constant(size) == 1 else None) for number, size in pairs]
        known = tuple(value for value in values if value is not None)
        return IndexMap(outputs, known) if len(known) == len(values) else None

    def _table(self, shape: Sequence[Any]) -> np.ndarray | None:
        """The outputs at all points of a box, one row a point; None if it is too large or symbolic."""
        sizes = [_constant(extent) for extent in shape]
        if any(size is None for size in sizes) or math.prod(sizes) > POINTS_LIMIT:  # type: ignore[arg-type]
            return None
        return table(self, sizes)  # type: ignore[arg-type]

    def is_equivalent_to(self, other: IndexMap) -> bool:
        """Whether both give the same outputs, up to names and simplification."""
        if len(self.initial_indices) != len(other.initial_indices):
            return False
        if len(self.final_indices) != len(other.final_indices) or self.separators != other.separators:
            return False
        simplifier = Simplifier()
        for var in self.initial_indices:
            simplifier.bind(var, 0, None)
        pairs = zip(self.final_indices, other.map_indices(self.initial_indices), strict=True)
        return all(simplifier.can_prove(build.equal(one, two)) for one, two in pairs)


def table(index_map: IndexMap, sizes: Sequence[int]) -> np.ndarray:
    """The outputs of a map at all points of a box of constant extents, one row a point, in row-major order."""
    count = math.prod(sizes)
    grids: Sequence[Any] = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij") if sizes else []
    known = {id(var): grid.reshape(-1) for var, grid in zip(index_map.initial_indices, grids, strict=True)}
    columns = [np.broadcast_to(array_values.values(output, known), (count,)) for output in index_map.final_indices]
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0), "int64")


class _Digits:
    """The inputs of a map put together again from its outputs, digit by digit."""

    def __init__(self, found: IterMap, outputs: Sequence[Var]) -> None:
        self.splits: list[tuple[IterSplit, PrimExpr]] = []
        for item, output in zip(found.sums, outputs, strict=True):
            self._take(item.splits, build.subtract(output, item.base))
        self.values_of: dict[int, PrimExpr | None] = {}

    def _take(self, splits: Sequence[IterSplit], value: PrimExpr) -> None:
        """Note what each digit of a sum is, given the sum."""
        for position, split in enumerate(splits):
            digit = build.floordiv(value, split.scale)
            if split.extent is not None and _constant(split.extent) == 1:
                digit = build.const(0)  # whatever stands beside it may be longer than its scale
            elif position and split.extent is not None:
                digit = build.floormod(digit, split.extent)
            self.splits.append((split, digit))

    def values(self, names: Sequence[str]) -> list[PrimExpr] | None:
        """The inputs by name; None if one is not made up."""
        self._open_fused()
        by_name: dict[str, PrimExpr] = {}
        for mark in {id(split.mark): split.mark for split, _ in self.splits}.values():
            if not mark.parts:
                by_name[mark.name] = self._value(mark)
        # An index of one value needs no digit.
        return [by_name.get(name, build.const(0)) for name in names]

    def _open_fused(self) -> None:
        """Digits of fused marks give the marks, whose values give the digits of what they are made of."""
        opened: set[int] = set()
        while True:
            fused = [split.mark for split, _ in self.splits if split.mark.parts and id(split.mark) not in opened]
            if not fused:
                return
            opened.add(id(fused[0]))
            self._take(fused[0].parts, self._value(fused[0]))

    def _value(self, mark: IterMark) -> PrimExpr:
        value: PrimExpr = build.const(0)
        own = [(split, digit) for split, digit in self.splits if split.mark is mark]
        for split, digit in sorted(own, key=lambda pair: -pair[0].lower):
            value = build.add(value, build.multiply(digit, split.lower))
        return value


def _greatest(expr: PrimExpr, ends: Mapping[Var, PrimExpr]) -> PrimExpr | None:
    """An upper bound of a map's output at non-negative indices up to `ends`; None if its form is not monotone."""
    done: dict[int, PrimExpr | None] = {}
    stack: list[tuple[PrimExpr, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if isinstance(node, Var):
            done[id(node)] = ends.get(node)
        elif isinstance(node, n.IntImm):
            done[id(node)] = node
        elif not isinstance(node, n.BinaryExpr):
            done[id(node)] = None
        elif ready:
            done[id(node)] = _greatest_of(node, done[id(node.a)], done[id(node.b)])
        else:
            stack += [(node, True), (node.a, False), (node.b, False)]
    return done[id(expr)]


def _greatest_of(node: n.BinaryExpr, a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    constant = isinstance(node.b, n.IntImm) and node.b.value > 0
    if isinstance(node, n.FloorMod) and constant:
        return build.subtract(node.b, 1)
    if a is None or b is None:
        return None
    if isinstance(node, n.Add):
        return build.add(a, b)
    if isinstance(node, n.Mul) and (constant or (isinstance(node.a, n.IntImm) and node.a.value >= 0)):
        return build.multiply(a, b)
    return build.floordiv(a, b) if isinstance(node, n.FloorDiv) and constant else None


# --- making -------------------------------------------------------------------------------------------------------


def takes_any_number(function: Any) -> bool:
    """Whether a function takes any number of indices, ``lambda *indices: ...``; False for what is no function."""
    try:
        return any(item.kind is item.VAR_POSITIONAL for item in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False


def _parameter_names(function: Callable[..., Any], ndim: int | None) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise _wrong("an index map is a function of indices", repr(function)[:60], "lambda i, j: (j, i)") from None
    names: list[str] = []
    for item in parameters:
        if item.kind is item.VAR_POSITIONAL:
            if ndim is None:
                raise _wrong("how many indices the function takes is not known", f"*{item.name}", "ndim=...")
            names += [f"{item.name}_{number}" for number in range(ndim - len(names))]
        elif item.kind in (item.KEYWORD_ONLY, item.VAR_KEYWORD):
            raise _wrong("indices are given by position", item.name, "lambda i, j: (j, i)")
        else:
            names.append(item.name)
    if ndim is not None and len(names) != ndim:
        raise _wrong(f"{ndim} indices are wanted", f"a function of {len(names)}", f"a function of {ndim}")
    return names


def _flattened(value: Any) -> Iterable[Any]:
    """The outputs, nested tuples opened; iterative, since a function may answer any nesting."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, (list, tuple)):
            stack.extend(reversed(cast("Sequence[Any]", current)))
        else:
            yield current


def index_map_of(variables: Sequence[Var], outputs: Sequence[Any]) -> IndexMap:
    """A map of checked outputs."""
    expressions: list[PrimExpr] = []
    separators: list[int] = []
    for output in outputs:
        if output is AXIS_SEPARATOR:
            if not expressions or len(expressions) in separators:
                raise _wrong("a separator stands between two outputs", "one at the end or beside another", "i, SEP, j")
            separators.append(len(expressions))
            continue
        expressions.append(_checked_output(output, variables))
    if separators and separators[-1] == len(expressions):
        raise _wrong("a separator stands between two outputs", "one after the last", "lambda i, j: (i, SEP, j)")
    made = IndexMap(tuple(variables), tuple(expressions), tuple(separators))
    if len(made.text) > TEXT_LIMIT:
        raise _wrong("the map is too large to be written down", f"{len(made.text)} characters", f"{TEXT_LIMIT} at most")
    return made


def _checked_output(output: Any, variables: Sequence[Var]) -> PrimExpr:
    try:
        expr = build.cast(build.INDEX, output)
    except WorkbenchError:
        raise _wrong("an output is no index", repr(output)[:60], "integer expressions of the indices") from None
    for node in pre_order(expr):
        known = any(node is var for var in variables)
        if not (known or isinstance(node, n.IntImm) or isinstance(node, _OUTPUTS)) or node.dtype != build.INDEX:  # type: ignore[attr-defined]
            raise _wrong(
                "an output is no index",
                _node_text(node),
                "+, -, *, //, %, min and max of the indices and whole numbers",
            )
        if isinstance(node, (n.FloorDiv, n.FloorMod)) and not (isinstance(node.b, n.IntImm) and node.b.value > 0):
            raise _wrong("an index is divided by what is no positive number", _node_text(node), "a positive constant")
    return expr


def _node_text(node: Any) -> str:
    return f"{type(node).__name__} {script(node)}"[:60]


def _constant(extent: Any) -> int | None:
    value = extent.value if isinstance(extent, n.IntImm) else extent
    return value if isinstance(value, int) else None


def _shown(extent: Any) -> str:
    return str(extent) if not isinstance(extent, PrimExpr) else script(extent)


def _wrong(message: str, found: str, expected: str = "") -> WorkbenchError:
    return WorkbenchError(
        CODE, message, found=found, expected=expected, fix="write a map such as lambda i, j: (i // 4, j, i % 4)"
    )


__all__ = ["AXIS_SEPARATOR", "IndexMap", "index_map_of", "table"]
