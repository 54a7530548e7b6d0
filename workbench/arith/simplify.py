"""The simplifier: index arithmetic by linear forms, the rest by the rule tables of `arith.rules`.

Integers whose arithmetic cannot overflow (int64 by contract, others when their bounds show it) become linear forms
(`arith.forms`) and are written out again in one canonical way, so that equal forms give equal text.  Comparisons are
decided by bounds or brought to a canonical side.  Floats are never reassociated.  An expression that does not get
simpler comes back as the same object.

>>> from workbench.arith.nodes import Var
>>> i, j = Var("i"), Var("j")
>>> simplify((i * 8 + j) // 8, {i: (0, 3), j: (0, 7)}) is i
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.node import Node
from . import build
from . import nodes as n
from .forms import EVERYTHING, FINITE, Atoms, Form, Interval, Unit
from .nodes import PrimExpr, Var
from .rules import REWRITES, Rule

Range = tuple[Any, Any]
"""Least and greatest value of a variable: integers, None for no bound, or expressions of other variables."""


class Made(NamedTuple):
    """What an expression simplified to; `key` is equal for equal results, `form` is there for exact integers."""

    expr: PrimExpr | None
    key: Any
    form: Form | None = None
    dtype: DataType = DataType("int64")


class Simplifier:
    """Simplifies under ranges of variables; remembers what it has seen, so use one for a whole program."""

    def __init__(self, ranges: Mapping[Var, Range] | None = None) -> None:
        self.ranges: dict[Var, Range] = {}
        self.atoms = Atoms({})
        self.fired: dict[str, int] = {}
        """How often each rewrite rule fired, by its name."""
        self._made: dict[int, Made] = {}
        self._written: dict[Any, PrimExpr] = {}
        self._alive: list[Any] = []
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
        self._made.clear()
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
        a, b = self._result(part.a).form, self._result(part.b).form
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
        result = self._expr(self._result(expr))
        return expr if result is not expr and _equal(result, expr) else result

    def form(self, expr: PrimExpr) -> Form | None:
        """The linear form of an integer expression; None for others."""
        return self._result(expr).form

    def bound(self, expr: PrimExpr) -> Interval:
        """An interval that holds every value of an integer or bool expression."""
        result = self._result(expr)
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
        result = self._result(condition)
        if isinstance(result.expr, n.IntImm):
            return bool(result.expr.value)
        parts: list[PrimExpr] = [self._expr(result)]
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
        if not isinstance(part, (n.LT, n.LE, n.GT, n.GE, n.EQ)):
            return False
        forms = self._at_most_zero(part)
        return bool(forms) and all(self.atoms.bound(self.atoms.greatest(form)).high <= 0 for form in forms)

    def can_prove_equal(self, a: Any, b: Any) -> bool:
        return self.can_prove(build.equal(a, b))

    # --- the walk ---

    def _result(self, root: PrimExpr) -> Made:
        made = self._made
        known = made.get(id(root))
        if known is not None:
            return known
        stack: list[tuple[PrimExpr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in made:
                continue
            rule = _RULES.get(type(node))
            if ready or rule in (_variable, _constant):
                made[id(node)] = rule(self, node) if rule is not None else _opaque(self, node)
                self._alive.append(node)
                continue
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(operands(node)))
        return made[id(root)]

    def _expr(self, made: Made) -> PrimExpr:
        if made.expr is not None:
            return made.expr
        assert made.form is not None
        return self.written(made.form, made.dtype)

    def number(self, value: int, dtype: DataType) -> Made:
        return Made(None, (dtype, value), Form({}, value), dtype)

    def truth(self, value: bool) -> Made:
        return Made(_TRUTH[value], ("b", value), None, _BOOL)

    def formed(self, form: Form, dtype: DataType) -> Made:
        return Made(None, (dtype, form.key), form, dtype)

    def kept(self, node: PrimExpr, key: Any, bound: Interval | None = None) -> Made:
        """An expression as it is; for an exact integer also an atom."""
        dtype = node.dtype
        if dtype.is_integer and not dtype.is_vector:
            interval = EVERYTHING if dtype == "int64" else Interval(*dtype.limits())
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
            return n.IntImm(offset, dtype)
        units = [unit for unit in units if unit.factor > 0] + [unit for unit in units if unit.factor < 0]
        result: PrimExpr | None = None
        if units[0].factor < 0 and offset > 0:
            result, offset = n.IntImm(offset, dtype), 0
        for unit in units:
            part = self._unit(unit, dtype)
            if result is None:
                result = _scaled(part, unit.factor, dtype)
            elif unit.factor > 0:
                result = n.Add(result, _scaled(part, unit.factor, dtype))
            else:
                result = n.Sub(result, _scaled(part, -unit.factor, dtype))
        assert result is not None
        if offset > 0:
            return n.Add(result, n.IntImm(offset, dtype))
        return n.Sub(result, n.IntImm(-offset, dtype)) if offset < 0 else result

    def _unit(self, unit: Unit, dtype: DataType) -> PrimExpr:
        if unit.form is not None:
            return n.FloorMod(self.written(unit.form, dtype), n.IntImm(unit.modulus, dtype))
        atom = self.atoms.table[unit.atom]
        if atom.expr is not None:
            return atom.expr
        if atom.inner is not None:
            return n.FloorDiv(self.written(atom.inner, dtype), n.IntImm(atom.divisor, dtype))
        parts = [self._unit(Unit(1, factor), dtype) for factor in atom.factors]
        result = parts[0]
        for part in parts[1:]:
            result = n.Mul(result, part)
        return result


_BOOL: Final = DataType("bool")
_TRUTH: Final = {value: n.IntImm(int(value), _BOOL) for value in (False, True)}


def _ending(expr: PrimExpr) -> Any:
    return expr.value if isinstance(expr, n.IntImm) else expr


def simplify(expr: PrimExpr, ranges: Mapping[Var, Range] | None = None) -> PrimExpr:
    """An equal expression, simpler if possible, where each variable of `ranges` lies in (low, high)."""
    return Simplifier(ranges).simplify(expr)


def can_prove(condition: Any, ranges: Mapping[Var, Range] | None = None) -> bool:
    """True if `condition` holds throughout the ranges; False means "not shown"."""
    return Simplifier(ranges).can_prove(condition)


def operands(node: PrimExpr) -> list[PrimExpr]:
    """The expressions directly inside one."""
    found: list[PrimExpr] = []
    for name in node.field_names:
        value = getattr(node, name)
        if isinstance(value, PrimExpr):
            found.append(value)
        elif type(value) is tuple:
            found.extend(item for item in value if isinstance(item, PrimExpr))
    return found


def _scaled(part: PrimExpr, factor: int, dtype: DataType) -> PrimExpr:
    return part if factor == 1 else n.Mul(part, n.IntImm(factor, dtype))


def _equal(one: PrimExpr, other: PrimExpr) -> bool:
    """The same tree over the very same variables and other nodes."""
    stack: list[tuple[Any, Any]] = [(one, other)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, PrimExpr) and not isinstance(a, Var):
            stack.extend((getattr(a, name), getattr(b, name)) for name in a.field_names)
        elif type(a) is tuple:
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif (
            isinstance(a, Node) or not (a == b or (a != a and b != b)) or (isinstance(a, float) and a.hex() != b.hex())
        ):
            return False
    return True


# --- integers -----------------------------------------------------------------------------------------------------

_Law = Callable[[Simplifier, Any], Made]


def _variable(s: Simplifier, node: Var) -> Made:
    if node.dtype.is_integer and not node.dtype.is_vector:
        return s.formed(s.atoms.variable(node), node.dtype)
    return Made(node, ("v", id(node)), None, node.dtype)


def _constant(s: Simplifier, node: Any) -> Made:
    if isinstance(node, n.IntImm) and node.dtype.is_integer and not node.dtype.is_vector:
        return s.number(node.value, node.dtype)
    if isinstance(node, n.IntImm) and node.dtype == "bool":
        return s.truth(bool(node.value))
    value = node.value.hex() if isinstance(node.value, float) else node.value
    return Made(node, (type(node).__name__, node.dtype, value), None, node.dtype)


def _exact(s: Simplifier, form: Form, dtype: DataType) -> bool:
    """Whether the mathematical value surely fits, so that wrapping does not matter."""
    if dtype == "int64":
        return True
    low, high = dtype.limits()
    bound = s.atoms.bound(form)
    return low <= bound.low and bound.high <= high


def _arithmetic(s: Simplifier, node: Any) -> Made:
    a, b = s._made[id(node.a)], s._made[id(node.b)]
    if a.form is None or b.form is None or a.dtype != b.dtype:
        return _float_arithmetic(s, node)
    if isinstance(node, n.Add):
        form: Form | None = a.form.plus(b.form)
    elif isinstance(node, n.Sub):
        form = a.form.plus(b.form, -1)
    elif b.form.constant is not None:
        form = a.form.times(b.form.offset)
    elif a.form.constant is not None:
        form = b.form.times(a.form.offset)
    else:
        form = s.atoms.product(a.form, b.form)
    if form is not None and _exact(s, form, a.dtype) and (form.terms or _fits(form.offset, a.dtype)):
        return s.formed(form, a.dtype)
    return _opaque(s, node)


def _fits(value: int, dtype: DataType) -> bool:
    low, high = dtype.limits()
    return low <= value <= high


def _float_arithmetic(s: Simplifier, node: Any) -> Made:
    """Exact float identities: x * 1, x / 1 and x - 0 (not x + 0, which would lose the sign of -0)."""
    b = s._made[id(node.b)]
    unit = _constant_float(b.expr)
    if node.dtype.is_float and unit is not None:
        neutral = {n.Mul: "0x1.0000000000000p+0", n.Div: "0x1.0000000000000p+0", n.Sub: "0x0.0p+0"}.get(type(node))
        if neutral == unit.hex():
            s.fired["float-neutral"] = s.fired.get("float-neutral", 0) + 1
            return s._made[id(node.a)]
    return _vector_or_opaque(s, node)


def _constant_float(expr: PrimExpr | None) -> float | None:
    if isinstance(expr, n.Broadcast):
        expr = expr.value
    return expr.value if isinstance(expr, n.FloatImm) else None


def _division(s: Simplifier, node: Any) -> Made:
    a, b = s._made[id(node.a)], s._made[id(node.b)]
    if a.form is None or b.form is None or a.dtype != b.dtype:
        return _float_arithmetic(s, node)
    wants_quotient = isinstance(node, (n.FloorDiv, n.Div))
    truncates = isinstance(node, (n.Div, n.Mod))
    divisor = b.form.constant
    if divisor is not None and divisor < 0 and not truncates:
        flipped = s.atoms.divided(a.form.times(-1), -divisor)
        return s.formed(flipped if wants_quotient else a.form.plus(flipped, -divisor), a.dtype)
    if truncates and s.atoms.bound(a.form).low < 0:
        return _constant_division(s, node, a.form, b.form)
    if divisor is not None and divisor > 0:
        quotient = s.atoms.divided(a.form, divisor)
        return s.formed(quotient if wants_quotient else a.form.plus(quotient, -divisor), a.dtype)
    whole = _symbolic_quotient(s, a.form, b.form) if divisor is None else None
    if whole is not None:
        rest = s.atoms.product(whole, b.form)
        if wants_quotient:
            return s.formed(whole, a.dtype)
        if rest is not None:
            return s.formed(a.form.plus(rest, -1), a.dtype)
    bound = EVERYTHING
    limit = s.atoms.bound(b.form)
    if limit.low > 0 and not wants_quotient:
        bound = Interval(0, limit.high - 1)
    elif limit.low > 0:
        inner = s.atoms.bound(a.form)
        bound = Interval(min(inner.low, 0), max(inner.high, 0))
    return _opaque(s, node, bound)


def _constant_division(s: Simplifier, node: Any, a: Form, b: Form) -> Made:
    x, y = a.constant, b.constant
    if x is None or not y:
        return _opaque(s, node)
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return s.number(quotient if isinstance(node, n.Div) else x - quotient * y, node.dtype)


def _symbolic_quotient(s: Simplifier, form: Form, divisor: Form) -> Form | None:
    """The quotient by one symbolic atom, (q*n + r) // n = q, where 0 <= r < n can be shown."""
    if len(divisor.terms) != 1 or divisor.offset:
        return None
    ((number, factor),) = divisor.terms.items()
    if factor != 1:
        return None
    wanted = s.atoms.table[number].factors or (number,)
    whole: dict[int, int] = {}
    rest: dict[int, int] = {}
    quotient_offset = 0
    for atom, count in form.terms.items():
        factors = list(s.atoms.table[atom].factors or (atom,))
        if all(factors.count(part) >= wanted.count(part) for part in wanted):
            for part in wanted:
                factors.remove(part)
            if factors:
                whole[s.atoms.monomial(tuple(factors))] = count
            else:
                quotient_offset += count
        else:
            rest[atom] = count
    remainder = Form(rest, form.offset)
    if not (whole or quotient_offset) and not rest:
        return None
    below = s.atoms.greatest(remainder.plus(divisor, -1).shifted(1))
    positive = s.atoms.bound(s.atoms.greatest(remainder.times(-1))).high <= 0
    if positive and s.atoms.bound(below).high <= 0:
        return Form(whole, quotient_offset)
    return None


def _minmax(s: Simplifier, node: Any) -> Made:
    a, b = s._made[id(node.a)], s._made[id(node.b)]
    if a.form is None or b.form is None or a.dtype != b.dtype:
        return _by_rules(s, node)
    least = isinstance(node, n.Min)
    gap = a.form.plus(b.form, -1)
    if _at_most(s, gap):
        return a if least else b
    if _at_most(s, gap.times(-1)):
        return b if least else a
    # What both sides share stands outside: min(x + z, y + z) = min(x, y) + z.
    shared = Form({k: v for k, v in a.form.terms.items() if b.form.terms.get(k) == v}, 0)
    if shared.terms and not _exact(s, a.form, DataType("int64")):
        shared = Form({}, 0)
    x, y = a.form.plus(shared, -1), b.form.plus(shared, -1)
    if x.constant is None and y.constant is None and x.offset == y.offset != 0:
        shared = shared.shifted(x.offset)
        x, y = x.shifted(-x.offset), y.shifted(-y.offset)
    first, second = (y, x) if x.constant is not None and y.constant is None else (x, y)
    made = type(node)(s.written(first, a.dtype), s.written(second, a.dtype))
    matched = _matched(s, made)
    if matched is not None:
        inner = s._result(matched)
        if inner.form is not None:
            return s.formed(inner.form.plus(shared), a.dtype)
    u, v = s.atoms.bound(first), s.atoms.bound(second)
    bound = (
        Interval(min(u.low, v.low), min(u.high, v.high)) if least else Interval(max(u.low, v.low), max(u.high, v.high))
    )
    kept = s.kept(_reuse(made, node), (type(node).__name__, first.key, second.key), bound)
    assert kept.form is not None
    return s.formed(kept.form.plus(shared), a.dtype)


def _at_most(s: Simplifier, form: Form) -> bool:
    """Whether form <= 0 for all values."""
    if s.atoms.bound(form).high <= 0:
        return True
    return bool(s.atoms.symbolic) and s.atoms.bound(s.atoms.greatest(form)).high <= 0


def _reuse(made: PrimExpr, node: PrimExpr) -> PrimExpr:
    return node if _equal(made, node) else made


# --- conditions ---------------------------------------------------------------------------------------------------


def _comparison(s: Simplifier, node: Any) -> Made:
    a, b = s._made[id(node.a)], s._made[id(node.b)]
    if a.form is None or b.form is None or a.dtype != b.dtype:
        return _by_rules(s, node)
    if isinstance(node, (n.EQ, n.NE)):
        return _equality(s, node, a.form.plus(b.form, -1), a.dtype)
    swapped = isinstance(node, (n.GT, n.GE))
    gap = b.form.plus(a.form, -1) if swapped else a.form.plus(b.form, -1)
    if isinstance(node, (n.LE, n.GE)):
        gap = gap.shifted(-1)  # x <= y is x - y - 1 < 0
    if _at_most(s, gap.shifted(1)):
        return s.truth(True)
    if _at_most(s, gap.times(-1)):
        return s.truth(False)
    common = gap.common_divisor()
    if common > 1:  # g*x + c < 0 is x + floor(c / g) < 0
        gap = Form({k: v // common for k, v in gap.terms.items()}, gap.offset // common)
    return Made(_reuse(_written_less(s, gap, a.dtype), node), ("<0", a.dtype, gap.key), None, _BOOL)


def _written_less(s: Simplifier, gap: Form, dtype: DataType) -> PrimExpr:
    """gap < 0 with nothing negative on either side."""
    units, offset = s.atoms.split_offset(gap)
    left, right = Form({}, 0), Form({}, 0)
    for unit in units:
        form = s.atoms.unit_form(unit._replace(factor=abs(unit.factor)))
        if unit.factor > 0:
            left = left.plus(form)
        else:
            right = right.plus(form)
    # left + offset < right
    if not right.terms:
        return n.LT(s.written(left, dtype), n.IntImm(-offset, dtype)) if _fits(-offset, dtype) else _wide(s, gap, dtype)
    if not left.terms:
        return n.LT(n.IntImm(offset, dtype), s.written(right, dtype)) if offset < 0 else n.GE(s.written(right, dtype), n.IntImm(offset + 1, dtype))  # fmt: skip
    if offset == -1:
        return n.LE(s.written(left, dtype), s.written(right, dtype))
    if offset >= 0:
        return n.LT(s.written(left.shifted(offset), dtype), s.written(right, dtype))
    return n.LT(s.written(left, dtype), s.written(right.shifted(-offset), dtype))


def _wide(s: Simplifier, gap: Form, dtype: DataType) -> PrimExpr:
    return n.LT(s.written(gap, dtype), n.IntImm(0, dtype))


def _equality(s: Simplifier, node: Any, gap: Form, dtype: DataType) -> Made:
    wants_equal = isinstance(node, n.EQ)
    bound = s.atoms.bound(gap)
    common = gap.common_divisor()
    if gap.constant is not None:
        return s.truth((gap.offset == 0) == wants_equal)
    if bound.low > 0 or bound.high < 0 or gap.offset % common:
        return s.truth(not wants_equal)
    if _at_most(s, gap.shifted(1)) or _at_most(s, gap.times(-1).shifted(1)):
        return s.truth(not wants_equal)
    gap = Form({k: v // common for k, v in gap.terms.items()}, gap.offset // common)
    if next(iter(sorted(gap.terms.items())))[1] < 0:
        gap = gap.times(-1)
    units, offset = s.atoms.split_offset(gap)
    left, right = Form({}, 0), Form({}, 0)
    for unit in units:
        form = s.atoms.unit_form(unit._replace(factor=abs(unit.factor)))
        left, right = (left.plus(form), right) if unit.factor > 0 else (left, right.plus(form))
    if not left.terms:
        left, right, offset = right, left, -offset
    left, right = (left.shifted(offset), right) if offset > 0 and right.terms else (left, right.shifted(-offset))
    made = type(node)(s.written(left, dtype), s.written(right, dtype))
    return Made(_reuse(made, node), (type(node).__name__, dtype, gap.key), None, _BOOL)


def _logic(s: Simplifier, node: Any) -> Made:
    a, b = s._made[id(node.a)], s._made[id(node.b)]
    absorbing = isinstance(node, n.Or)
    for one, other in ((a, b), (b, a)):
        if isinstance(one.expr, n.IntImm) and one.dtype == "bool":
            return s.truth(absorbing) if bool(one.expr.value) == absorbing else other
    weaker = _implied(a, b) if not node.dtype.is_vector else None
    if weaker is not None:
        stronger = b if weaker is a else a
        return weaker if absorbing else stronger
    return _by_rules(s, node)


def _implied(a: Made, b: Made) -> Made | None:
    """Of two conditions g + c1 < 0 and g + c2 < 0 the one that the other implies."""
    if a.key == b.key:
        return a
    comparable = a.key[0] == b.key[0] == "<0" and a.key[1] == b.key[1] and a.key[2][1:] == b.key[2][1:]
    if not comparable:
        return None
    return a if a.key[2][0] < b.key[2][0] else b


def _not(s: Simplifier, node: n.Not) -> Made:
    a = s._made[id(node.a)]
    if isinstance(a.expr, n.IntImm) and a.dtype == "bool":
        return s.truth(not a.expr.value)
    return _by_rules(s, node)


def _choice(s: Simplifier, node: Any) -> Made:
    """`Select` and if_then_else: a decided condition, or equal arms."""
    condition, a, b = (s._made[id(part)] for part in operands(node))
    if isinstance(condition.expr, n.IntImm) and condition.dtype == "bool":
        return a if condition.expr.value else b
    if a.key == b.key:
        return a
    made = _by_rules(s, node)
    if made.form is not None and a.form is not None and b.form is not None and len(made.form.terms) == 1:
        ((number, factor),) = made.form.terms.items()
        if factor == 1 and not made.form.offset and isinstance(s.atoms.table[number].expr, (n.Select, n.Call)):
            atom = s.atoms.table[number]
            atom.bound = atom.bound.meet(s.atoms.bound(a.form).join(s.atoms.bound(b.form)))
    return made


# --- the rest -----------------------------------------------------------------------------------------------------


def _cast(s: Simplifier, node: n.Cast) -> Made:
    value = s._made[id(node.value)]
    if value.dtype == node.dtype:
        return value
    if value.form is not None and node.dtype.is_integer and not node.dtype.is_vector:
        if value.form.constant is not None:
            low, high = node.dtype.limits()
            return s.number((value.form.offset - low) % (high - low + 1) + low, node.dtype)
        bound = s.atoms.bound(value.form)
        if _fits(bound.low, node.dtype) and _fits(bound.high, node.dtype):
            return _opaque(s, node, bound)
    made = s._expr(value)
    folded = build.cast(node.dtype, made) if isinstance(made, (n.IntImm, n.FloatImm)) else None
    if folded is not None and not isinstance(folded, n.Cast):
        return _constant(s, folded) if not isinstance(folded, n.Broadcast) else _opaque(s, node)
    return _opaque(s, node)


def _let(s: Simplifier, node: n.Let) -> Made:
    return _opaque(s, node)


def _call(s: Simplifier, node: n.Call) -> Made:
    if node.op == "if_then_else" and len(node.args) == 3:
        return _choice(s, node)
    if node.op == "likely":
        inner = s._made[id(node.args[0])]
        if isinstance(inner.expr, n.IntImm):
            return inner
    return _opaque(s, node)


def _opaque(s: Simplifier, node: PrimExpr, bound: Interval | None = None) -> Made:
    """A node of simplified parts, otherwise as it is."""
    changes: dict[str, Any] = {}
    key: list[Any] = [type(node).__name__]
    for name in node.field_names:
        value = getattr(node, name)
        if isinstance(value, PrimExpr):
            made = s._made[id(value)]
            simple = s._expr(made)
            key.append(made.key)
            if not _equal(simple, value):
                changes[name] = simple
        elif type(value) is tuple and value and isinstance(value[0], PrimExpr):
            parts = tuple(s._expr(s._made[id(part)]) for part in value)
            key.append(tuple(s._made[id(part)].key for part in value))
            kept = tuple(old if _equal(new, old) else new for new, old in zip(parts, value, strict=True))
            if any(new is not old for new, old in zip(kept, value, strict=True)):
                changes[name] = kept
        else:
            key.append(id(value) if isinstance(value, Node) else value)
    result = node.replace(**changes) if changes else node
    if isinstance(node, n.Call) and not _is_pure(node):
        key.append(id(node))
    return s.kept(result, tuple(key), bound)


def _is_pure(node: n.Call) -> bool:
    from .intrinsics import INTRINSICS

    entry = INTRINSICS.get(node.op)
    return entry is not None and entry.pure


def _by_rules(s: Simplifier, node: PrimExpr) -> Made:
    """`node` with simplified parts, then rewritten by the first rule that fits."""
    made = _opaque(s, node)
    expr = s._expr(made)
    folded = _folded(expr)
    if folded is not None:
        return _constant(s, folded)
    matched = _matched(s, expr)
    if matched is not None:
        return s._result(matched)
    return made


def _folded(expr: PrimExpr) -> PrimExpr | None:
    """A comparison, minimum or maximum of two constants."""
    if not isinstance(expr, n.BinaryExpr) or type(expr) not in _FOLDS:
        return None
    a, b = expr.a, expr.b
    if isinstance(a, (n.IntImm, n.FloatImm)) and isinstance(b, (n.IntImm, n.FloatImm)) and a.dtype == b.dtype:
        return _FOLDS[type(expr)](a, b)
    return None


_FOLDS: Final[dict[type, Callable[[Any, Any], PrimExpr]]] = {
    n.Min: build.minimum,
    n.Max: build.maximum,
    n.EQ: build.equal,
    n.NE: build.not_equal,
    n.LT: build.less,
    n.LE: build.less_equal,
    n.GT: build.greater,
    n.GE: build.greater_equal,
}


def _vector_or_opaque(s: Simplifier, node: Any) -> Made:
    """Arithmetic of ramps and broadcasts, lane by lane the arithmetic of their parts."""
    expr = s._expr(_opaque(s, node))
    if isinstance(expr, (n.Add, n.Sub, n.Mul)) and expr.dtype.is_vector and expr.dtype.is_integer:
        made = _lanewise(expr)
        if made is not None:
            s.fired["lanewise"] = s.fired.get("lanewise", 0) + 1
            return s._result(made)
    return _opaque(s, node)


def _lanewise(expr: Any) -> PrimExpr | None:
    a, b = expr.a, expr.b
    if isinstance(a, n.Broadcast) and isinstance(b, n.Broadcast):
        return n.Broadcast(type(expr)(a.value, b.value), a.lanes)
    if isinstance(a, n.Ramp) and isinstance(b, n.Broadcast):
        stride = n.Mul(a.stride, b.value) if isinstance(expr, n.Mul) else a.stride
        return n.Ramp(type(expr)(a.base, b.value), stride, a.lanes)
    if isinstance(a, n.Broadcast) and isinstance(b, n.Ramp) and not isinstance(expr, n.Sub):
        stride = n.Mul(b.stride, a.value) if isinstance(expr, n.Mul) else b.stride
        return n.Ramp(type(expr)(a.value, b.base), stride, b.lanes)
    return None


_BY_CLASS: Final[dict[type, list[Rule]]] = {}
for _rule in REWRITES:
    _BY_CLASS.setdefault(type(_rule.left), []).append(_rule)


def _matched(s: Simplifier, expr: PrimExpr) -> PrimExpr | None:
    """The right side of the first rewrite rule whose left side `expr` is."""
    for rule in _BY_CLASS.get(type(expr), ()):
        bound = match(rule, expr)
        if bound is None:
            continue
        s.fired[rule.name] = s.fired.get(rule.name, 0) + 1
        if callable(rule.right):
            return rule.right(bound)
        return instance(rule.right, bound)
    return None


def match(rule: Rule, expr: PrimExpr) -> dict[str, PrimExpr] | None:
    """What the names of a rule's left side stand for in `expr`; None if it does not fit."""
    bound: dict[str, PrimExpr] = {}
    stack: list[tuple[Any, Any]] = [(rule.left, expr)]
    while stack:
        pattern, found = stack.pop()
        if isinstance(pattern, Var):
            if not _fits_name(pattern.name, found, rule, bound):
                return None
        elif isinstance(pattern, n.IntImm):
            if not isinstance(found, n.IntImm) or found.value != pattern.value:
                return None
        elif type(pattern) is not type(found):
            return None
        else:
            stack.extend((getattr(pattern, name), getattr(found, name)) for name in reversed(pattern.field_names))
    constants = {name: value.value for name, value in bound.items() if name[0] == "c" and isinstance(value, n.IntImm)}
    return bound if rule.when is None or rule.when(constants) else None


def _fits_name(name: str, found: PrimExpr, rule: Rule, bound: dict[str, PrimExpr]) -> bool:
    if name in bound:
        return _equal(bound[name], found)
    if name[0] == "c" and not isinstance(found, n.IntImm):
        return False
    if name[0] in "xyz" and not rule.floats and not found.dtype.is_integer:
        return False
    bound[name] = found
    return True


def instance(pattern: Any, bound: Mapping[str, PrimExpr]) -> Any:
    """A rule's side with names replaced (rules are small, so this recurses)."""
    if isinstance(pattern, Var):
        return bound[pattern.name]
    if isinstance(pattern, (n.IntImm, n.FloatImm)):
        return pattern
    return type(pattern)(*(instance(getattr(pattern, name), bound) for name in pattern.field_names))


def check_range(low: Any, high: Any) -> None:
    """Raise `WorkbenchError` for a range that holds nothing."""
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise WorkbenchError("E-ARITH-RANGE", "a range holds no value", found=f"{low} to {high}")


_RULES: Final[dict[type, _Law]] = {
    n.Var: _variable,
    n.IntImm: _constant,
    n.FloatImm: _constant,
    n.StringImm: _constant,
    n.Add: _arithmetic,
    n.Sub: _arithmetic,
    n.Mul: _arithmetic,
    n.FloorDiv: _division,
    n.FloorMod: _division,
    n.Div: _division,
    n.Mod: _division,
    n.Min: _minmax,
    n.Max: _minmax,
    **dict.fromkeys((n.EQ, n.NE, n.LT, n.LE, n.GT, n.GE), _comparison),
    n.And: _logic,
    n.Or: _logic,
    n.Not: _not,
    n.Select: _choice,
    n.Cast: _cast,
    n.Let: _let,
    n.Call: _call,
}
