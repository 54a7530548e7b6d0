"""The simplifier: index arithmetic by linear forms, the rest by the rule tables of `arith.rules`.

Integers whose arithmetic cannot overflow (int64 indices by contract, others when their bounds show it) become linear
forms (`arith.forms`) and are written out again in one canonical way, so that equal forms give equal text.
Comparisons are decided by bounds or brought to a canonical side, where nothing overflows for it (`arith.overflow`).
Floats are never reassociated.  An expression that does not get simpler comes back as the same object.

>>> from workbench.arith.nodes import Var
>>> i, j = Var("i"), Var("j")
>>> simplify((i * 8 + j) // 8, {i: (0, 3), j: (0, 7)}) is i
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..core.dtype import DataType
from . import build
from . import nodes as n
from .effects import has_effects, is_effect
from .forms import EVERYTHING, FINITE, Atoms, Form, Interval, Unit
from .laws import LAWS, LEAVES, opaque
from .matching import BOOL, TRUTH, Made, equal_trees, operands
from .nodes import PrimExpr, Var

Range = tuple[Any, Any]
"""Least and greatest value of a variable: integers, None for no bound, or expressions of other variables."""


class Simplifier:
    """Simplifies under ranges of variables; remembers what it has seen, so use one for a whole program."""

    wraps: ClassVar[bool] = True
    """Whether sums and products of narrow integers may leave their dtype."""

    def __init__(self, ranges: Mapping[Var, Range] | None = None) -> None:
        self.ranges: dict[Var, Range] = {}
        self.atoms = Atoms({})
        self.fired: dict[str, int] = {}
        """How often each rewrite rule fired, by its name."""
        self.results: dict[int, Made] = {}
        self._written: dict[Any, PrimExpr] = {}
        self._alive: list[Any] = []
        self.has_data = False
        """Whether some int64 was seen that is no index: loads, casts of floats."""
        self._changing: set[int] = set()
        """Expressions with a call that has effects, by identity."""
        for variable, (low, high) in (ranges or {}).items():
            self.bind(variable, low, high)

    # --- what is known of variables ---

    def bind(self, variable: Var, low: Any, high: Any) -> None:
        """`variable` lies in low ... high; either may be an integer, None, or an expression of bound variables."""
        self.ranges[variable] = (low, high)
        forms = tuple(self._bound_form(side) for side in (low, high))
        bound = Interval(
            self.atoms.bound(forms[0]).low if forms[0] is not None else EVERYTHING.low,
            self.atoms.bound(forms[1]).high if forms[1] is not None else EVERYTHING.high,
        )
        known = self.atoms.ranges.get(id(variable))
        if known == bound:
            return
        self.atoms.ranges[id(variable)] = bound
        number = self.atoms.variable_number(variable)
        self.atoms.table[number].bound = bound
        symbolic = tuple(form if form is not None and form.terms else None for form in forms)
        if any(symbolic):
            self.atoms.symbolic[number] = symbolic  # type: ignore[assignment]
        if known is not None:  # what was derived from the old range may not hold any more
            self._restart()

    def bind_range(self, variable: Var, begin: PrimExpr, extent: PrimExpr) -> None:
        """`variable` lies in begin ... begin + extent - 1 (of an empty range nothing is derived but its begin)."""
        last = self.simplify(build.subtract(build.add(begin, extent), 1))
        empty = self.bound(last).high < self.bound(begin).low
        self.bind(variable, _ending(begin), _ending(begin if empty else last))

    def _restart(self) -> None:
        ranges = self.ranges
        self.ranges, self.atoms = {}, Atoms({})
        self.results.clear()
        self._written.clear()
        for variable, (low, high) in ranges.items():
            self.bind(variable, low, high)

    def _bound_form(self, side: Any) -> Form | None:
        if side is None:
            return None
        if isinstance(side, int):
            return Form({}, side)
        return self.form(build.convert(side))

    def assuming(self, condition: PrimExpr) -> Simplifier:
        """A simplifier that knows `condition` too, as far as it bounds single variables."""
        ranges = dict(self.ranges)
        for form, number in self._bounding(condition):
            factor = form.terms[number]
            variable = self.atoms.table[number].expr
            rest = self.atoms.bound(Form({a: f for a, f in form.terms.items() if a != number}, form.offset))
            # factor * v + rest <= 0
            if not isinstance(variable, Var) or abs(rest.low) > FINITE:
                continue
            low, high = ranges.get(variable, (None, None))
            limit = -rest.low // abs(factor)
            if factor > 0 and (high is None or isinstance(high, int)):
                ranges[variable] = (low, limit if high is None else min(high, limit))
            elif factor < 0 and (low is None or isinstance(low, int)):
                ranges[variable] = (-limit if low is None else max(low, -limit), high)
        return Simplifier(ranges)

    def _bounding(self, condition: PrimExpr) -> list[tuple[Form, int]]:
        """(form, variable) pairs with form <= 0, from the conjuncts of a condition."""
        found: list[tuple[Form, int]] = []
        stack = [condition]
        while stack:
            part = stack.pop()
            if isinstance(part, n.And):
                stack += [part.b, part.a]
            elif isinstance(part, n.Call) and part.op == "likely":
                stack.append(part.args[0])
            elif isinstance(part, (n.LT, n.LE, n.GT, n.GE, n.EQ)):
                for form in self._at_most_zero(part):
                    found += [(form, number) for number in form.terms]
        return found

    def _at_most_zero(self, part: Any) -> list[Form]:
        a, b = self.result(part.a).form, self.result(part.b).form
        if a is None or b is None:
            return []
        less, more = a.plus(b, -1), b.plus(a, -1)
        return {
            n.LT: [less.shifted(1)],
            n.LE: [less],
            n.GT: [more.shifted(1)],
            n.GE: [more],
            n.EQ: [less, more],
        }[type(part)]

    # --- the questions ---

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        """An equal expression, simpler if possible, else the same object."""
        result = self.expr_of(self.result(expr))
        return expr if result is not expr and equal_trees(result, expr) else result

    def form(self, expr: PrimExpr) -> Form | None:
        """The linear form of an integer expression; None for others."""
        return self.result(expr).form

    def bound(self, expr: PrimExpr) -> Interval:
        """An interval that holds every value of an integer or bool expression."""
        result = self.result(expr)
        if result.form is not None:
            return self.atoms.bound(result.form)
        if isinstance(result.expr, n.IntImm):
            return Interval(result.expr.value, result.expr.value)
        limited = result.expr is not None and (result.dtype.is_integer or result.dtype.is_bool)
        return Interval(*result.dtype.element_of.limits()) if limited else EVERYTHING

    def can_prove(self, condition: Any) -> bool:
        """True if a condition holds for all values in the ranges; False means "not shown"."""
        if isinstance(condition, bool):
            return condition
        result = self.result(condition)
        if isinstance(result.expr, n.IntImm):
            return bool(result.expr.value)
        parts: list[PrimExpr] = [self.expr_of(result)]
        while parts:
            part = parts.pop()
            if isinstance(part, n.And):
                parts += [part.a, part.b]
            elif not self._proved(part):
                return False
        return True

    def _proved(self, part: PrimExpr) -> bool:
        if isinstance(part, n.IntImm):
            return bool(part.value)
        if not isinstance(part, (n.LT, n.LE, n.GT, n.GE, n.EQ)) or (self._changing and has_effects(part)):
            return False
        forms = self._at_most_zero(part)
        return bool(forms) and all(self.atoms.bound(self.atoms.greatest(form)).high <= 0 for form in forms)

    def can_prove_equal(self, a: Any, b: Any) -> bool:
        return self.can_prove(build.equal(a, b))

    # --- the walk ---

    def result(self, root: PrimExpr) -> Made:
        made = self.results
        known = made.get(id(root))
        if known is not None:
            return known
        stack: list[tuple[PrimExpr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in made:
                continue
            rule = LAWS.get(type(node))
            if ready or rule in LEAVES:
                free = rule is not None and not self._changes_memory(node)
                made[id(node)] = rule(self, node) if free and rule is not None else opaque(self, node)
                self._alive.append(node)
                continue
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(operands(node)))
        return made[id(root)]

    def _changes_memory(self, node: PrimExpr) -> bool:
        """Whether a call in an expression has effects: loads on its two sides are then two values, if they look alike.

        Such an expression stays as it is, with simpler parts.
        """
        if is_effect(node) or (self._changing and any(id(part) in self._changing for part in operands(node))):
            self._changing.add(id(node))
            return True
        return False

    def expr_of(self, made: Made) -> PrimExpr:
        if made.expr is not None:
            return made.expr
        assert made.form is not None
        return self.written(made.form, made.dtype)

    def number(self, value: int, dtype: DataType) -> Made:
        return self.formed(Form({}, value), dtype)

    def truth(self, value: bool) -> Made:
        return Made(TRUTH[value], ("b", value), None, BOOL)

    def formed(self, form: Form, dtype: DataType) -> Made:
        return Made(None, (dtype, form.key), form, dtype)

    def kept(self, node: PrimExpr, key: Any, bound: Interval | None = None) -> Made:
        """An expression as it is; for an exact integer also an atom."""
        dtype = node.dtype
        if dtype.is_integer and not dtype.is_vector:
            interval = EVERYTHING if dtype == "int64" else Interval(*dtype.limits())
            self.has_data = self.has_data or (dtype == "int64" and bound is None)
            form = self.atoms.opaque(key, node, interval if bound is None else bound.meet(interval))
            return Made(None, (dtype, form.key), form, dtype)
        return Made(node, key, None, dtype)

    # --- writing forms out ---

    def written(self, form: Form, dtype: DataType) -> PrimExpr:
        """The canonical expression of a form."""
        key = (dtype, tuple(form.terms.items()), form.offset)
        known = self._written.get(key)
        if known is None:
            known = self._written[key] = self._write(form, dtype)
        return known

    def _write(self, form: Form, dtype: DataType) -> PrimExpr:
        units, offset = self.atoms.split_offset(form)
        if not units:
            return _number(offset, dtype)
        units = [unit for unit in units if unit.factor > 0] + [unit for unit in units if unit.factor < 0]
        result: PrimExpr | None = None
        if units[0].factor < 0 and offset > 0:
            result, offset = _number(offset, dtype), 0
        for unit in units:
            part = self._unit(unit, dtype)
            if result is None:
                result = _scaled(part, unit.factor, dtype)
            elif _is_less(unit.factor, dtype):
                result = n.Sub(result, _scaled(part, -unit.factor, dtype))
            else:
                result = n.Add(result, _scaled(part, unit.factor, dtype))
        assert result is not None
        if _is_less(offset, dtype):
            return n.Sub(result, n.IntImm(-offset, dtype))
        return n.Add(result, _number(offset, dtype)) if offset else result

    def _unit(self, unit: Unit, dtype: DataType) -> PrimExpr:
        if unit.form is not None:
            return n.FloorMod(self.written(unit.form, dtype), n.IntImm(unit.modulus, dtype))
        atom = self.atoms.table[unit.atom]
        if atom.expr is not None:
            return build.cast(dtype, atom.expr)
        if atom.inner is not None:
            return n.FloorDiv(self.written(atom.inner, dtype), n.IntImm(atom.divisor, dtype))
        parts = [self._unit(Unit(1, factor), dtype) for factor in atom.factors]
        result = parts[0]
        for part in parts[1:]:
            result = n.Mul(result, part)
        return result


def _ending(expr: PrimExpr) -> Any:
    return expr.value if isinstance(expr, n.IntImm) else expr


def simplify(expr: PrimExpr, ranges: Mapping[Var, Range] | None = None) -> PrimExpr:
    """An equal expression, simpler if possible, where each variable of `ranges` lies in (low, high)."""
    return Simplifier(ranges).simplify(expr)


def can_prove(condition: Any, ranges: Mapping[Var, Range] | None = None) -> bool:
    """True if `condition` holds throughout the ranges; False means "not shown"."""
    return Simplifier(ranges).can_prove(condition)


def _is_less(value: int, dtype: DataType) -> bool:
    """Whether a summand is taken away, not added: of int8, -128 has no opposite."""
    return value < 0 and -value <= dtype.limits()[1]


def _number(value: int, dtype: DataType) -> n.IntImm:
    """A constant of a sum or product, as it wraps."""
    return n.IntImm(build.wrap(value, dtype), dtype)


def _scaled(part: PrimExpr, factor: int, dtype: DataType) -> PrimExpr:
    return part if factor == 1 else n.Mul(part, _number(factor, dtype))
