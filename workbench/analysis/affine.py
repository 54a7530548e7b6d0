"""Quasi-affine forms of index expressions: sums of integer multiples of variables and of floor divisions by constants.

Invariant: the form is canonical for what it understands.  `x % c` is kept as `x - c * (x // c)`, so that what a split
or a fuse took apart cancels when it is put together again; `grouped` finds the remainders for printing and ranges.
What is not affine (products of variables, loads, ...) stands in the form as an opaque atom.

>>> from workbench.arith.nodes import Var
>>> i, j = Var("i"), Var("j")
>>> ranges = {i: (0, 3), j: (0, 7)}
>>> form = Affine.of((i * 8 + j) // 8, Ranges.of(ranges))
>>> form.same_as(Affine.of(i, Ranges.of(ranges)))
True
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from math import gcd
from typing import Any, NamedTuple

from ..arith import build
from ..arith import nodes as a
from ..arith.nodes import PrimExpr, Var
from ..core.node import Node, children

Interval = tuple[int | None, int | None]
"""Least and greatest value; None where there is none known."""


class Atom:
    """A variable, a floor division of a form by a constant, or an opaque expression; equal when written equally."""

    __slots__ = ("divisor", "expr", "hash", "inner", "key", "variables")

    def __init__(
        self, key: Any, expr: PrimExpr | None, inner: Affine | None, divisor: int, variables: frozenset[int]
    ) -> None:
        self.key = key
        self.hash = hash(key)
        self.expr = expr
        self.inner = inner
        self.divisor = divisor
        self.variables = variables

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.key == other.key

    def __hash__(self) -> int:
        return self.hash

    @property
    def is_var(self) -> bool:
        return isinstance(self.expr, Var)


class Unit(NamedTuple):
    """One summand of a form, for printing and ranges: an atom, or the remainder of `form` modulo `modulus`."""

    atom: Atom | None
    form: Affine | None
    modulus: int

    @property
    def variables(self) -> frozenset[int]:
        if self.atom is not None:
            return self.atom.variables
        assert self.form is not None
        return self.form.variables


class Ranges:
    """What values variables take: inclusive bounds, as forms that may mention variables entered before."""

    __slots__ = ("bounds", "holders")

    def __init__(self) -> None:
        self.bounds: dict[int, tuple[Affine, Affine]] = {}
        self.holders: list[Var] = []

    @classmethod
    def of(cls, bounds: Mapping[Var, tuple[Any, Any]]) -> Ranges:
        made = cls()
        for var, (low, high) in bounds.items():
            made.enter(var, Affine.of(build.convert(low), made), Affine.of(build.convert(high), made))
        return made

    def copy(self) -> Ranges:
        made = Ranges()
        made.bounds, made.holders = dict(self.bounds), list(self.holders)
        return made

    def enter(self, var: Var, low: Affine, high: Affine) -> None:
        """`var` lies in low ... high."""
        self.bounds[id(var)] = (low, high)
        self.holders.append(var)

    def enter_extent(self, var: Var, begin: PrimExpr, extent: PrimExpr) -> None:
        """`var` lies in begin ... begin + extent - 1."""
        low = Affine.of(begin, self)
        if isinstance(extent, a.IntImm):
            self.enter(var, low, low.shifted(extent.value - 1))
        else:
            self.enter(var, low, low.plus(Affine.of(extent, self)).shifted(-1))


class Affine:
    """constant + sum of coefficient * atom.  Immutable: forms share their terms."""

    __slots__ = ("_key", "offset", "terms")

    def __init__(self, terms: dict[Atom, int], offset: int) -> None:
        self.terms = {atom: factor for atom, factor in terms.items() if factor} if 0 in terms.values() else terms
        self.offset = offset
        self._key: Any = None

    # --- making ---

    @staticmethod
    def constant(value: int) -> Affine:
        return Affine({}, value)

    @staticmethod
    def variable(var: Var) -> Affine:
        return Affine({Atom(("var", id(var)), var, None, 0, frozenset((id(var),))): 1}, 0)

    @staticmethod
    def of(expr: PrimExpr, ranges: Ranges) -> Affine:
        """The form of an integer expression.  Iterative: expressions may be deep."""
        if type(expr) not in _RULES:
            return _leaf(expr)
        done: dict[int, Affine] = {}
        stack: list[tuple[PrimExpr, bool]] = [(expr, False)]
        while stack:
            current, ready = stack.pop()
            if id(current) in done:
                continue
            rule = _RULES.get(type(current))
            if rule is None:
                done[id(current)] = _leaf(current)
            elif ready:
                assert isinstance(current, a.BinaryExpr)
                done[id(current)] = rule(done[id(current.a)], done[id(current.b)], current, ranges)
            else:
                assert isinstance(current, a.BinaryExpr)
                stack.extend(((current, True), (current.a, False), (current.b, False)))
        return done[id(expr)]

    # --- looking ---

    @property
    def key(self) -> Any:
        if self._key is None:
            self._key = (frozenset(self.terms.items()), self.offset)
        return self._key

    @property
    def variables(self) -> frozenset[int]:
        """Identities of all variables mentioned."""
        return frozenset().union(*(atom.variables for atom in self.terms))

    @property
    def value(self) -> int | None:
        """The number that this form is, or None."""
        return self.offset if not self.terms else None

    def same_as(self, other: Affine) -> bool:
        return self.key == other.key

    def is_variable(self) -> Var | None:
        """The variable that this form is, or None."""
        if self.offset == 0 and len(self.terms) == 1:
            ((atom, factor),) = self.terms.items()
            if factor == 1 and isinstance(atom.expr, Var):
                return atom.expr
        return None

    def opaque_variables(self) -> frozenset[int]:
        """Variables that occur inside opaque atoms, where nothing is known of them."""
        found: set[int] = set()
        stack: list[Affine] = [self]
        while stack:
            for atom in stack.pop().terms:
                if atom.inner is not None:
                    stack.append(atom.inner)
                elif not atom.is_var:
                    found |= atom.variables
        return frozenset(found)

    # --- arithmetic ---

    def shifted(self, amount: int) -> Affine:
        return Affine(self.terms, self.offset + amount)

    def plus(self, other: Affine) -> Affine:
        if not other.terms or not self.terms:
            return Affine(self.terms or other.terms, self.offset + other.offset)
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor
        return Affine(terms, self.offset + other.offset)

    def times(self, factor: int) -> Affine:
        if factor == 1:
            return self
        return Affine({atom: old * factor for atom, old in self.terms.items()}, self.offset * factor)

    def minus(self, other: Affine) -> Affine:
        return self.plus(other.times(-1))

    def floordiv(self, divisor: int, ranges: Ranges) -> Affine:
        """self // divisor, for a positive constant."""
        if divisor == 1:
            return self
        whole = Affine({t: f // divisor for t, f in self.terms.items() if f % divisor == 0}, self.offset // divisor)
        rest = Affine({t: f for t, f in self.terms.items() if f % divisor}, self.offset % divisor)
        return whole.plus(_divided_rest(rest, divisor, ranges))

    def floormod(self, divisor: int, ranges: Ranges) -> Affine:
        """self % divisor, for a positive constant, as self - divisor * (self // divisor)."""
        rest = Affine({t: f for t, f in self.terms.items() if f % divisor}, self.offset % divisor)
        return rest.minus(rest.floordiv(divisor, ranges).times(divisor))

    def moving(self, own: Container[int]) -> tuple[Affine, Affine]:
        """The form in two summands: what moves with the variables `own` (by identity), and what stands still."""
        moves = {atom: factor for atom, factor in self.terms.items() if any(var in own for var in atom.variables)}
        still = {atom: factor for atom, factor in self.terms.items() if atom not in moves}
        return Affine(moves, 0), Affine(still, self.offset)

    def substituted(self, values: Mapping[int, Affine], ranges: Ranges) -> Affine:
        """Variables (by identity) replaced by forms, also inside divisions.  Opaque atoms keep theirs."""
        result = Affine.constant(self.offset)
        for atom, factor in self.terms.items():
            if atom.is_var and id(atom.expr) in values:
                result = result.plus(values[id(atom.expr)].times(factor))
            elif atom.inner is not None and not atom.variables.isdisjoint(values):
                inner = atom.inner.substituted(values, ranges)
                result = result.plus(inner.floordiv(atom.divisor, ranges).times(factor))
            else:
                result = result.plus(Affine({atom: factor}, 0))
        return result

    # --- units, ranges, text ---

    def grouped(self) -> tuple[list[tuple[int, Unit]], int]:
        """The summands with remainders found again, as (factor, unit), and the constant beside them."""
        divisions = [atom for atom in self.terms if atom.inner is not None]
        if not divisions:
            return [(factor, Unit(atom, None, 0)) for atom, factor in self.terms.items()], self.offset
        left = dict(self.terms)
        found: list[tuple[int, Unit]] = []
        offset = self.offset
        for atom in sorted(divisions, key=lambda atom: -atom.divisor):
            factor = left.get(atom, 0)
            inner = atom.inner
            if inner is None or factor == 0:
                continue
            quotient = _quotient_of(atom, factor, left)
            if quotient is not None:
                digit = Unit(None, Affine({quotient: 1}, 0), atom.divisor // quotient.divisor)
                found.append((left.pop(quotient), digit))
                left.pop(atom)
                continue
            if factor % atom.divisor:
                continue
            times = -factor // atom.divisor
            if all(left.get(part, 0) == own * times for part, own in inner.terms.items()):
                for part in inner.terms:
                    left.pop(part)
                left.pop(atom)
                offset -= inner.offset * times
                found.append((times, Unit(None, inner, atom.divisor)))
        found.extend((factor, Unit(atom, None, 0)) for atom, factor in left.items())
        return found, offset

    def interval(self, ranges: Ranges) -> Interval:
        """Numbers that bound the form, None where unbounded."""
        if not self.terms:
            return self.offset, self.offset
        units, offset = self.grouped()
        low: int | None = offset
        high: int | None = offset
        for factor, unit in units:
            least, most = _unit_interval(unit, ranges)
            if factor < 0:
                least, most = most, least
            low = None if low is None or least is None else low + factor * least
            high = None if high is None or most is None else high + factor * most
        return low, high

    def least(self, relaxed: frozenset[int], ranges: Ranges) -> Affine | None:
        """The least value over the variables in `relaxed`, as a form of the others (a lower bound); None if unknown."""
        return _extreme(self, relaxed, ranges, greatest=False)

    def greatest(self, relaxed: frozenset[int], ranges: Ranges) -> Affine | None:
        return _extreme(self, relaxed, ranges, greatest=True)

    def never_negative(self, ranges: Ranges) -> bool:
        """True if the form is shown to be >= 0 for all values of its variables."""
        low, _ = self.interval(ranges)
        if low is not None and low >= 0:
            return True
        form: Affine | None = self
        for var in reversed(ranges.holders):
            if form is not None and id(var) in form.variables:
                form = form.least(frozenset((id(var),)), ranges)
        if form is None:
            return False
        low, _ = form.interval(ranges)
        return low is not None and low >= 0

    def expr(self, dtype: str = "int64") -> PrimExpr:
        """The form as an expression, remainders written as `%`."""
        result: PrimExpr | None = None
        units, offset = self.grouped()
        for factor, unit in sorted(units, key=lambda pair: (pair[0] < 0, -abs(pair[0]))):
            value = _unit_expr(unit)
            if result is None:
                result = build.multiply(value, factor)
            elif factor < 0:
                result = build.subtract(result, build.multiply(value, -factor))
            else:
                result = build.add(result, build.multiply(value, factor))
        if result is None:
            return build.const(offset, dtype)
        return build.subtract(result, -offset) if offset < 0 else build.add(result, offset)


def _quotient_of(atom: Atom, factor: int, terms: Mapping[Atom, int]) -> Atom | None:
    """The summand x // d for an atom x // (d * c) that stands there -c times as often: together (x // d) % c."""
    for other, times in terms.items():
        if other.inner is None or atom.inner is None or other.divisor >= atom.divisor:
            continue
        same = other.inner.same_as(atom.inner) and atom.divisor % other.divisor == 0
        if same and factor == -times * (atom.divisor // other.divisor):
            return other
    return None


def _leaf(expr: PrimExpr) -> Affine:
    if isinstance(expr, a.IntImm):
        return Affine({}, expr.value)
    if isinstance(expr, Var):
        return Affine.variable(expr)
    return _opaque(("expr", id(expr)), expr)


def _opaque(key: Any, expr: PrimExpr) -> Affine:
    return Affine({Atom(key, expr, None, 0, frozenset(id(var) for var in variables_of(expr))): 1}, 0)


def variables_of(root: Node) -> Iterator[Var]:
    """The distinct scalar variables under a node."""
    seen: set[int] = set()
    stack: list[Node] = [root]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Var):
            yield current
        else:
            stack.extend(children(current))


# --- the rules of `Affine.of` -------------------------------------------------------------------------------------


def _multiply(x: Affine, y: Affine, expr: PrimExpr, ranges: Ranges) -> Affine:
    if x.value is not None:
        return y.times(x.value)
    if y.value is not None:
        return x.times(y.value)
    return _opaque(("product", frozenset((x.key, y.key))), expr)


def _floordiv(x: Affine, y: Affine, expr: PrimExpr, ranges: Ranges) -> Affine:
    if y.value is not None and y.value > 0:
        return x.floordiv(y.value, ranges)
    return _opaque(("floordiv", x.key, y.key), expr)


def _floormod(x: Affine, y: Affine, expr: PrimExpr, ranges: Ranges) -> Affine:
    if y.value is not None and y.value > 0:
        return x.floormod(y.value, ranges)
    return _opaque(("floormod", x.key, y.key), expr)


def _extremum(smaller: bool) -> Callable[[Affine, Affine, PrimExpr, Ranges], Affine]:
    def rule(x: Affine, y: Affine, expr: PrimExpr, ranges: Ranges) -> Affine:
        difference = y.minus(x)
        if difference.never_negative(ranges):
            return x if smaller else y
        if difference.times(-1).never_negative(ranges):
            return y if smaller else x
        return _opaque((smaller, frozenset((x.key, y.key))), expr)

    return rule


_RULES: dict[type, Callable[[Affine, Affine, PrimExpr, Ranges], Affine]] = {
    a.Add: lambda x, y, expr, ranges: x.plus(y),
    a.Sub: lambda x, y, expr, ranges: x.minus(y),
    a.Mul: _multiply,
    a.FloorDiv: _floordiv,
    a.FloorMod: _floormod,
    a.Min: _extremum(True),
    a.Max: _extremum(False),
}


def _divided_rest(rest: Affine, divisor: int, ranges: Ranges) -> Affine:
    """rest // divisor where no coefficient of `rest` is a multiple of `divisor`."""
    low, high = rest.interval(ranges)
    if low is not None and high is not None and low // divisor == high // divisor:
        return Affine.constant(low // divisor)
    for common in sorted({gcd(abs(factor), divisor) for factor in rest.terms.values()}, reverse=True):
        if common == 1:
            continue
        small = Affine({t: f for t, f in rest.terms.items() if f % common}, rest.offset % common)
        low, high = small.interval(ranges)
        if low is not None and high is not None and low >= 0 and high < common:
            large = rest.minus(small)
            scaled = Affine({t: f // common for t, f in large.terms.items()}, large.offset // common)
            return scaled.floordiv(divisor // common, ranges)
    if rest.offset == 0 and len(rest.terms) == 1:
        ((atom, factor),) = rest.terms.items()
        if factor == 1 and atom.inner is not None:
            return atom.inner.floordiv(atom.divisor * divisor, ranges)
    return Affine({Atom(("div", rest.key, divisor), None, rest, divisor, rest.variables): 1}, 0)


# --- ranges -------------------------------------------------------------------------------------------------------


def _unit_interval(unit: Unit, ranges: Ranges) -> Interval:
    if unit.atom is None:
        return (0, unit.modulus - 1)
    atom = unit.atom
    if atom.inner is not None:
        low, high = atom.inner.interval(ranges)
        return (None if low is None else low // atom.divisor, None if high is None else high // atom.divisor)
    bounds = ranges.bounds.get(id(atom.expr)) if atom.is_var else None
    if bounds is None:
        return (None, None)
    return (bounds[0].interval(ranges)[0], bounds[1].interval(ranges)[1])


def _extreme(form: Affine, relaxed: frozenset[int], ranges: Ranges, greatest: bool) -> Affine | None:
    if not (form.opaque_variables().isdisjoint(relaxed)):
        return None
    units, offset = form.grouped()
    result = Affine.constant(offset)
    for factor, unit in units:
        if unit.variables.isdisjoint(relaxed):
            extreme: Affine | None = _unit_form(unit, ranges)
        else:
            extreme = _unit_extreme(unit, relaxed, ranges, greatest == (factor > 0))
        if extreme is None:
            return None
        result = result.plus(extreme.times(factor))
    if not result.variables.isdisjoint(relaxed):
        return _extreme(result, relaxed, ranges, greatest)
    return result


def _unit_form(unit: Unit, ranges: Ranges) -> Affine:
    if unit.atom is not None:
        return Affine({unit.atom: 1}, 0)
    assert unit.form is not None
    return unit.form.floormod(unit.modulus, ranges)


def _unit_extreme(unit: Unit, relaxed: frozenset[int], ranges: Ranges, greatest: bool) -> Affine | None:
    if unit.atom is None:
        assert unit.form is not None
        low = _extreme(unit.form, relaxed, ranges, False)
        high = _extreme(unit.form, relaxed, ranges, True)
        if low is not None and high is not None:
            if low.floordiv(unit.modulus, ranges).same_as(high.floordiv(unit.modulus, ranges)):
                return (high if greatest else low).floormod(unit.modulus, ranges)
        return Affine.constant(unit.modulus - 1 if greatest else 0)
    atom = unit.atom
    if atom.inner is not None:
        inner = _extreme(atom.inner, relaxed, ranges, greatest)
        return None if inner is None else inner.floordiv(atom.divisor, ranges)
    bounds = ranges.bounds.get(id(atom.expr))
    if bounds is None:
        return None
    return bounds[1] if greatest else bounds[0]


def _unit_expr(unit: Unit) -> PrimExpr:
    if unit.atom is None:
        assert unit.form is not None
        return build.floormod(unit.form.expr(), unit.modulus)
    if unit.atom.inner is not None:
        return build.floordiv(unit.atom.inner.expr(), unit.atom.divisor)
    assert unit.atom.expr is not None
    return unit.atom.expr
