"""What the simplifier does with each class of expression; a law is a function of the simplifier and the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..core.dtype import DataType
from ..core.node import FieldValue, Node
from . import build
from . import nodes as n
from .effects import is_effect
from .forms import EVERYTHING, Form, Interval
from .matching import BOOL, Made, equal_trees, instance, lanewise, match, operands
from .nodes import PrimExpr, Var
from .overflow import fits, is_exact, sound
from .rules import REWRITES, Rule

if TYPE_CHECKING:
    from .simplify import Simplifier

# --- integers -----------------------------------------------------------------------------------------------------

_Law = Callable[..., Made]


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
    if dtype == "int64" or is_exact(s, form):
        return True
    low, high = dtype.limits()
    bound = s.atoms.bound(form)
    return low <= bound.low and bound.high <= high


def _arithmetic(s: Simplifier, node: Any) -> Made:
    a, b = s.results[id(node.a)], s.results[id(node.b)]
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
    return opaque(s, node)


def _fits(value: int, dtype: DataType) -> bool:
    low, high = dtype.limits()
    return low <= value <= high


_NEUTRAL: Final[dict[type, str]] = {n.Mul: (1.0).hex(), n.Div: (1.0).hex(), n.Sub: (0.0).hex()}
"""What leaves its left operand as it is, to the bit."""


def _float_arithmetic(s: Simplifier, node: n.BinaryExpr) -> Made:
    """Exact float identities: x * 1, x / 1 and x - 0 (not x + 0, which would lose the sign of -0)."""
    b = s.results[id(node.b)]
    unit = _constant_float(b.expr)
    if node.dtype.is_float and unit is not None:
        if _NEUTRAL.get(type(node)) == unit.hex():
            s.fired["float-neutral"] = s.fired.get("float-neutral", 0) + 1
            return s.results[id(node.a)]
    return _vector_or_opaque(s, node)


def _constant_float(expr: PrimExpr | None) -> float | None:
    if isinstance(expr, n.Broadcast):
        expr = expr.value
    return expr.value if isinstance(expr, n.FloatImm) else None


def _division(s: Simplifier, node: Any) -> Made:
    a, b = s.results[id(node.a)], s.results[id(node.b)]
    if a.form is None or b.form is None or a.dtype != b.dtype or _may_wrap(s, a, b):
        return _float_arithmetic(s, node)
    wants_quotient = isinstance(node, (n.FloorDiv, n.Div))
    truncates = isinstance(node, (n.Div, n.Mod))
    divisor = b.form.constant
    if truncates and s.atoms.bound(a.form).low < 0:
        return _constant_division(s, node, a.form, b.form)
    if divisor and (divisor > 0 or not truncates):
        made = _by_constant(s, a.form, divisor, wants_quotient)
        if sound(s, made, a.dtype) and (divisor > 0 or fits(s, made, a.dtype)):  # the least number // -1 wraps
            return s.formed(made, a.dtype)
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
    return opaque(s, node, bound)


def _by_constant(s: Simplifier, form: Form, divisor: int, wants_quotient: bool) -> Form:
    quotient = s.atoms.divided(form if divisor > 0 else form.times(-1), abs(divisor))
    return quotient if wants_quotient else form.plus(quotient, -divisor)


def _may_wrap(s: Simplifier, a: Made, b: Made) -> bool:
    """Whether an operand may be another number than its form says: sums of int64 data are not known not to overflow."""
    return s.has_data and not all(made.form is not None and fits(s, made.form, made.dtype) for made in (a, b))


def _constant_division(s: Simplifier, node: Any, a: Form, b: Form) -> Made:
    x, y = a.constant, b.constant
    if x is None or not y:
        inner = s.atoms.bound(a)
        most = max(-inner.low, inner.high)
        return opaque(s, node, Interval(-most, most))  # quotient and remainder are no larger than what is divided
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    made = quotient if isinstance(node, n.Div) else x - quotient * y
    return s.number(made, node.dtype) if _fits(made, node.dtype) else opaque(s, node)


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
    a, b = s.results[id(node.a)], s.results[id(node.b)]
    if a.form is None or b.form is None or a.dtype != b.dtype or _may_wrap(s, a, b):
        return _by_rules(s, node)
    least = isinstance(node, n.Min)
    gap = a.form.plus(b.form, -1)
    if _at_most(s, gap):
        return a if least else b
    if _at_most(s, gap.times(-1)):
        return b if least else a
    # What both sides share stands outside: min(x + z, y + z) = min(x, y) + z.
    shared = Form({k: v for k, v in a.form.terms.items() if b.form.terms.get(k) == v}, 0)
    x, y = a.form.plus(shared, -1), b.form.plus(shared, -1)
    if x.constant is None and y.constant is None and x.offset == y.offset != 0:
        shared = shared.shifted(x.offset)
        x, y = x.shifted(-x.offset), y.shifted(-y.offset)
    if not all(fits(s, side, a.dtype) and sound(s, side, a.dtype) for side in (x, y)):
        shared, x, y = Form({}, 0), a.form, b.form
    first, second = (y, x) if x.constant is not None and y.constant is None else (x, y)
    made = type(node)(s.written(first, a.dtype), s.written(second, a.dtype))
    matched = _matched(s, made)
    if matched is not None:
        inner = s.result(matched)
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
    return node if equal_trees(made, node) else made


# --- conditions ---------------------------------------------------------------------------------------------------


def _comparison(s: Simplifier, node: Any) -> Made:
    a, b = s.results[id(node.a)], s.results[id(node.b)]
    if a.form is None or b.form is None or a.dtype != b.dtype or _may_wrap(s, a, b):
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
    kind, *sides = _less(s, gap)
    return _compared(s, node, kind, sides, ("<0", a.dtype, gap.key))


def _compared(s: Simplifier, node: Any, kind: type[Any], sides: list[Form], key: tuple[Any, ...]) -> Made:
    """The comparison of two sides, where both fit their dtype; else the one that is there, of simpler parts."""
    dtype = s.results[id(node.a)].dtype
    if all(fits(s, side, dtype) and sound(s, side, dtype) for side in sides):
        made = kind(*(s.written(side, dtype) for side in sides))
    else:
        made = type(node)(*(s.expr_of(s.results[id(part)]) for part in (node.a, node.b)))
    return Made(_reuse(made, node), key, None, BOOL)


def _less(s: Simplifier, gap: Form) -> tuple[type[PrimExpr], Form, Form]:
    """gap < 0 with nothing negative on either side."""
    offset, left, right = _apart(s, gap)
    # left + offset < right
    if not right.terms:
        return n.LT, left, Form({}, -offset)
    if not left.terms:
        return (n.LT, Form({}, offset), right) if offset < 0 else (n.GE, right, Form({}, offset + 1))
    if offset == -1:
        return n.LE, left, right
    return (n.LT, left.shifted(offset), right) if offset >= 0 else (n.LT, left, right.shifted(-offset))


def _apart(s: Simplifier, gap: Form) -> tuple[int, Form, Form]:
    """A form as its offset, what is added and what is taken away."""
    units, offset = s.atoms.split_offset(gap)
    left, right = Form({}, 0), Form({}, 0)
    for unit in units:
        form = s.atoms.unit_form(unit._replace(factor=abs(unit.factor)))
        left, right = (left.plus(form), right) if unit.factor > 0 else (left, right.plus(form))
    return offset, left, right


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
    offset, left, right = _apart(s, gap)
    if not left.terms:
        left, right, offset = right, left, -offset
    left, right = (left.shifted(offset), right) if offset > 0 and right.terms else (left, right.shifted(-offset))
    kind: type[PrimExpr] = n.EQ if wants_equal else n.NE
    return _compared(s, node, kind, [left, right], (kind.__name__, dtype, gap.key))


def _logic(s: Simplifier, node: Any) -> Made:
    a, b = s.results[id(node.a)], s.results[id(node.b)]
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
    a = s.results[id(node.a)]
    if isinstance(a.expr, n.IntImm) and a.dtype == "bool":
        return s.truth(not a.expr.value)
    return _by_rules(s, node)


def _choice(s: Simplifier, node: Any) -> Made:
    """`Select` and if_then_else: a decided condition, or equal arms."""
    condition, a, b = (s.results[id(part)] for part in operands(node))
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
    value = s.results[id(node.value)]
    if value.dtype == node.dtype:
        return value
    if value.form is not None and node.dtype.is_integer and not node.dtype.is_vector:
        if value.form.constant is not None:
            low, high = node.dtype.limits()
            return s.number((value.form.offset - low) % (high - low + 1) + low, node.dtype)
        bound = s.atoms.bound(value.form)
        within = _fits(bound.low, node.dtype) and _fits(bound.high, node.dtype)
        if not s.wraps and (within or node.dtype.holds(value.dtype)):
            return s.formed(value.form, node.dtype)
        if within:
            return opaque(s, node, bound)
    made = s.expr_of(value)
    folded = build.cast(node.dtype, made) if isinstance(made, (n.IntImm, n.FloatImm)) else None
    if folded is not None and not isinstance(folded, n.Cast):
        return _constant(s, folded) if not isinstance(folded, n.Broadcast) else opaque(s, node)
    return opaque(s, node)


def _let(s: Simplifier, node: n.Let) -> Made:
    return opaque(s, node)


def _call(s: Simplifier, node: n.Call) -> Made:
    if node.op == "if_then_else" and len(node.args) == 3:
        return _choice(s, node)
    if node.op == "likely":
        inner = s.results[id(node.args[0])]
        if isinstance(inner.expr, n.IntImm):
            return inner
    return opaque(s, node)


def opaque(s: Simplifier, node: PrimExpr, bound: Interval | None = None) -> Made:
    """A node of simplified parts, otherwise as it is."""
    changes: dict[str, Any] = {}
    key: list[Any] = [type(node).__name__]
    for name in node.field_names:
        value: FieldValue = getattr(node, name)
        if isinstance(value, PrimExpr):
            made = s.results[id(value)]
            simple = s.expr_of(made)
            key.append(made.key)
            if not equal_trees(simple, value):
                changes[name] = simple
        elif type(value) is tuple and value and isinstance(value[0], PrimExpr):
            parts = tuple(s.expr_of(s.results[id(part)]) for part in value)
            key.append(tuple(s.results[id(part)].key for part in value))
            kept = tuple(old if equal_trees(new, old) else new for new, old in zip(parts, value, strict=True))
            if any(new is not old for new, old in zip(kept, value, strict=True)):
                changes[name] = kept
        else:
            key.append(id(value) if isinstance(value, Node) else value)
    result = node.replace(**changes) if changes else node
    if is_effect(node):
        key.append(id(node))
    return s.kept(result, tuple(key), bound)


def _by_rules(s: Simplifier, node: PrimExpr) -> Made:
    """`node` with simplified parts, then rewritten by the first rule that fits."""
    made = opaque(s, node)
    expr = s.expr_of(made)
    folded = _folded(expr)
    if folded is not None:
        return _constant(s, folded)
    matched = _matched(s, expr)
    if matched is not None:
        return s.result(matched)
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
    expr = s.expr_of(opaque(s, node))
    if isinstance(expr, (n.Add, n.Sub, n.Mul)) and expr.dtype.is_vector and expr.dtype.is_integer:
        made = lanewise(expr)
        if made is not None:
            s.fired["lanewise"] = s.fired.get("lanewise", 0) + 1
            return s.result(made)
    return opaque(s, node)


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


LEAVES: Final = (_variable, _constant)

LAWS: Final[dict[type, _Law]] = {
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
