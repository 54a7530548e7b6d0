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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from ..arith import build
from ..arith import nodes as n
from ..arith.iter_map import IterMap, detect
from ..arith.nodes import PrimExpr, Var
from ..arith.scope import Scope
from ..arith.simplify import Simplifier
from ..core.errors import WorkbenchError
from ..core.node import EMPTY, pre_order, substitute
from ..core.walks import flattened
from . import array_values
from .index_map_parts import Digits, are_places, constant, greatest
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
    def from_func(
        mapping_function: Callable[..., Any], ndim: int | None = None, sizes: Collection[Var] = ()
    ) -> IndexMap:
        """The map that a Python function of indices describes; ``*args`` need `ndim` to say how many there are.

        Outputs may be nested in tuples, and may use the variables `sizes`.  Raises `WorkbenchError` E-TIR-INDEX-MAP if
        it is none.
        """
        names = _parameter_names(mapping_function, ndim)
        variables = tuple(Var(sanitized(name)) for name in names)
        try:
            answered = mapping_function(*variables)
        except WorkbenchError:
            raise
        except Exception as error:
            raise _wrong("the function fails on index variables", f"{type(error).__name__}: {error}"[:80]) from None
        return index_map_of(variables, list(flattened(answered)), sizes)

    @staticmethod
    def parse(text: str, sizes: Mapping[str, Var] | None = EMPTY) -> IndexMap:
        """The map of a text like ``lambda i, j: (j, i)``.  Runs nothing; raises `ParseError` E-TIR-INDEX-MAP.

        `sizes`: variables that the outputs may use by name; None where any name may be one.
        """
        from .text.index_map_text import parsed

        return parsed(text, sizes)

    @cached_property
    def sizes(self) -> tuple[Var, ...]:
        """The variables in the outputs that are no inputs: sizes, which are not negative."""
        inputs = {id(var) for var in self.initial_indices}
        found = {id(node): node for output in self.final_indices for node in pre_order(output) if isinstance(node, Var)}
        return tuple(var for key, var in found.items() if key not in inputs)

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
        given = self._extents(shape)
        extents = [build.cast(build.INDEX, extent) for extent in given.values()]
        simplifier = self._simplifier(extents)
        return [
            given[output] if isinstance(output, Var) and output in given else self._extent(number, extents, simplifier)
            for number, output in enumerate(self.final_indices)
        ]

    def _extent(self, number: int, extents: Sequence[PrimExpr], simplifier: Simplifier) -> PrimExpr:
        output = self.final_indices[number]
        bound = simplifier.bound(output)
        most = self._simplifier(extents, sizes=False).bound(output).high
        if bound.low < 0 and not simplifier.can_prove(build.greater_equal(output, 0)):
            raise _wrong(f"output {number} may be negative", self.text, f"{self.text}: outputs from 0 on")
        if most < 1 << 60 and not self.sizes:
            return build.const(int(most) + 1)
        ends = {var: build.subtract(extent, 1) for var, extent in zip(self.initial_indices, extents, strict=True)}
        most_of_it = greatest(output, ends)
        if most_of_it is None:
            raise _wrong(f"output {number} has no bound", self.text, "sums, quotients and remainders of the indices")
        return simplifier.simplify(build.add(most_of_it, 1))

    def _simplifier(self, extents: Sequence[PrimExpr], sizes: bool = True) -> Simplifier:
        """`sizes`: what a symbolic extent is at most, by its dtype, bounds its index."""
        made = Scope()
        for var in self.sizes:
            made.bind(var, 0, None if var.dtype == build.INDEX else var.dtype.limits()[1])
        for var, extent in zip(self.initial_indices, extents, strict=True):
            if sizes or isinstance(extent, n.IntImm):
                made.bind_range(var, build.const(0), extent)
            else:
                made.bind(var, 0, None)
        return made

    def _check_rank(self, values: Sequence[Any], what: str) -> None:
        if len(values) != len(self.initial_indices):
            raise _wrong(f"the map takes {len(self.initial_indices)} indices", f"{len(values)} {what}", f"{self.text}")

    # --- one to one ---

    def is_injective(self, shape: Sequence[Any]) -> bool | None:
        """Whether no two points of a box from 0 on go to one; None if neither is shown.

        Exact for boxes of constant extents up to 4 million points, and for mixed-radix maps of any size.
        """
        if self._digits(shape) is not None or self._padded(shape) is not None or self._are_places(shape):
            return True
        table = self._table(shape)
        return None if table is None else len(np.unique(table, axis=0)) == len(table)

    def is_bijective(self, shape: Sequence[Any]) -> bool | None:
        """Whether every point of `map_shape(shape)` is met exactly once; None if neither is shown."""
        sizes = [constant(extent) for extent in (*shape, *self.map_shape(shape))]
        if any(size is None for size in sizes):
            return True if self._digits(shape) is not None or self._are_places(shape) else None
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
        simplifier = _knowing(inverted.initial_indices, self.map_shape(shape))
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

    def _are_places(self, shape: Sequence[Any]) -> bool:
        return are_places(self.final_indices, self._extents(shape))

    def _digits(self, shape: Sequence[Any]) -> IterMap | None:
        """The map's digits, where they are all there, each once."""
        ranges = {var: (0, extent) for var, extent in zip(self.initial_indices, shape, strict=True)}
        found = detect(self.final_indices, ranges, bijective=True)
        return found if isinstance(found, IterMap) else None

    def _extents(self, shape: Sequence[Any]) -> dict[Var, PrimExpr]:
        return {var: build.convert(extent) for var, extent in zip(self.initial_indices, shape, strict=True)}

    def _padded(self, shape: Sequence[Any]) -> tuple[IterMap, dict[Var, PrimExpr]] | None:
        """The map's digits over a box whose extents are rounded up to what divisors and remainders ask for.

        An index of symbolic extent is taken apart in two for that, as the second answer says: i is i_o * 16 + i_i.
        """
        ranges: dict[Var, tuple[Any, Any]] = {}
        parts: dict[Var, PrimExpr] = {}
        for var, extent in zip(self.initial_indices, shape, strict=True):
            step = self._step(var)
            size = constant(extent)
            if step == 1:
                ranges[var] = (0, extent)
            elif size is not None:
                ranges[var] = (0, -(-size // step) * step)
            else:
                outer, inner = Var(f"{var.name}.o"), Var(f"{var.name}.i")  # no index has such a name
                parts[var] = build.add(build.multiply(outer, step), inner)
                ranges[outer] = (0, build.floordiv(build.add(build.cast(build.INDEX, extent), step - 1), step))
                ranges[inner] = (0, step)
        found = detect([substitute(output, parts) for output in self.final_indices], ranges, bijective=True)
        return (found, parts) if isinstance(found, IterMap) else None

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
        found, parts = self._digits(shape), dict[Var, PrimExpr]()
        if found is None:
            padded = self._padded(shape)
            if padded is None:
                return self._solved(shape)
            found, parts = padded
        outputs = tuple(Var(f"y{number}") for number in range(len(self.final_indices)))
        made_of = [parts.get(var, var) for var in self.initial_indices]
        own = [node for expr in made_of for node in pre_order(expr) if isinstance(node, Var)]
        known_digits = Digits(found, outputs).values([var.name for var in own])
        values = [substitute(expr, dict(zip(own, known_digits, strict=True))) for expr in made_of]
        known = self._simplifier([build.convert(extent) for extent in shape])
        natural = all(known.bound(output).low >= 0 for output in self.final_indices)
        simplifier = _knowing(outputs, self.map_shape(shape)) if natural else Simplifier()
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
        values = [found.get(number, build.const(0) if constant(size) == 1 else None) for number, size in pairs]
        known = tuple(value for value in values if value is not None)
        return IndexMap(outputs, known) if len(known) == len(values) else None

    def _table(self, shape: Sequence[Any]) -> np.ndarray | None:
        """The outputs at all points of a box, one row a point; None if it is too large or symbolic."""
        if self.sizes:
            return None
        sizes = [constant(extent) for extent in shape]
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


def _knowing(variables: Sequence[Var], extents: Sequence[PrimExpr]) -> Simplifier:
    """A simplifier that knows the extents of variables from 0 on."""
    made = Simplifier()
    for var, extent in zip(variables, extents, strict=True):
        made.bind_range(var, build.const(0), extent)
    return made


def table(index_map: IndexMap, sizes: Sequence[int]) -> np.ndarray:
    """The outputs of a map at all points of a box of constant extents, one row a point, in row-major order."""
    count = math.prod(sizes)
    grids: Sequence[Any] = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij") if sizes else []
    known = {id(var): grid.reshape(-1) for var, grid in zip(index_map.initial_indices, grids, strict=True)}
    columns = [np.broadcast_to(array_values.values(output, known), (count,)) for output in index_map.final_indices]
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0), "int64")


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


def index_map_of(variables: Sequence[Var], outputs: Sequence[Any], sizes: Collection[Var] = ()) -> IndexMap:
    """A map of checked outputs, which may use the variables `sizes` beside the indices."""
    expressions: list[PrimExpr] = []
    separators: list[int] = []
    for output in outputs:
        if output is AXIS_SEPARATOR:
            if not expressions or len(expressions) in separators:
                raise _wrong("a separator stands between two outputs", "one at the end or beside another", "i, SEP, j")
            separators.append(len(expressions))
            continue
        expressions.append(_checked_output(output, variables, sizes))
    if separators and separators[-1] == len(expressions):
        raise _wrong("a separator stands between two outputs", "one after the last", "lambda i, j: (i, SEP, j)")
    made = IndexMap(tuple(variables), tuple(expressions), tuple(separators))
    taken = next((var.name for var in made.sizes if any(var.name == index.name for index in variables)), None)
    if taken is not None:
        raise _wrong("an index has the name of a size of the program", taken, "another name for the index")
    if len(made.text) > TEXT_LIMIT:
        raise _wrong("the map is too large to be written down", f"{len(made.text)} characters", f"{TEXT_LIMIT} at most")
    return made


def _checked_output(output: Any, variables: Sequence[Var], sizes: Collection[Var]) -> PrimExpr:
    try:
        expr = build.cast(build.INDEX, output)
    except WorkbenchError:
        raise _wrong("an output is no index", repr(output)[:60], "integer expressions of the indices") from None
    for node in pre_order(expr):
        size = node.value if isinstance(node, n.Cast) and node.dtype == build.INDEX else node
        if any(size is var for var in sizes):
            continue
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


def _shown(extent: Any) -> str:
    return str(extent) if not isinstance(extent, PrimExpr) else script(extent)


def _wrong(message: str, found: str, expected: str = "") -> WorkbenchError:
    return WorkbenchError(
        CODE, message, found=found, expected=expected, fix="write a map such as lambda i, j: (i // 4, j, i % 4)"
    )


__all__ = ["AXIS_SEPARATOR", "IndexMap", "index_map_of", "table"]
