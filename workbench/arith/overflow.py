"""Whether a form can be written out such that nothing wraps that the expression it comes from does not let wrap.

A sum or product may wrap on the way to a value that fits, since wrapping commutes with both.  What is divided or
compared must fit: with x of int8, ``x // -3`` is not ``-x // 3`` (x = -128), and ``x < 0 - y`` not ``x + y < 0``.

int64 arithmetic on variables does not overflow, by contract: they are indices and extents.  Other int64 values (loads,
casts of data) may be any.  A simplifier that does not wrap (`arith.scope`) knows the same of narrow integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.dtype import DataType
from ..core.node import pre_order
from . import nodes as n
from .forms import FINITE, Atom, Form, Interval
from .nodes import Var

if TYPE_CHECKING:
    from .simplify import Simplifier

_LOW, _HIGH = DataType("int64").limits()


def fits(s: Simplifier, form: Form, dtype: DataType) -> bool:
    """Whether every value of a form is a value of its dtype."""
    wide = dtype == "int64"
    if (wide and not s.has_data and form.terms) or is_exact(s, form):
        return True
    least, most = dtype.limits()
    if not form.terms:
        return least <= form.offset <= most
    bound = s.atoms.bound(form)
    if least <= bound.low and bound.high <= most:
        return True
    if not wide:
        return False
    low = high = form.offset
    for number, factor in form.terms.items():
        atom = s.atoms.table[number]
        known = atom.bound
        if known.low < -FINITE or known.high > FINITE:
            if _is_index(s, atom):
                return True
            known = _of_data(s, atom)
        ends = (known.low * factor, known.high * factor)
        low, high = low + min(ends), high + max(ends)
    return least <= low and high <= most


def is_exact(s: Simplifier, form: Form) -> bool:
    """Whether a form is of indices alone, of whatever dtype, in a simplifier that takes these for exact."""
    if s.wraps:
        return False
    waiting = [*form.terms]
    while waiting:
        atom = s.atoms.table[waiting.pop()]
        if atom.expr is not None and not _is_of_variables(atom.expr):
            return False
        waiting += [*atom.factors, *(atom.inner.terms if atom.inner is not None else ())]
    return True


def _is_of_variables(expr: n.PrimExpr) -> bool:
    """Whether an expression is arithmetic on integer variables: no load, nothing of floats takes part."""
    return isinstance(expr, Var) or all(
        type(node).__module__ == n.__name__ and (not isinstance(node, n.PrimExpr) or not node.dtype.is_float)
        for node in pre_order(expr)
    )


def _of_data(s: Simplifier, atom: Atom) -> Interval:
    """What an atom may be where data take part: each value is one of int64, and their product as large as it comes."""
    found = Interval(1, 1)
    for one in (s.atoms.table[number] for number in atom.factors) if atom.factors else (atom,):
        found = found.product(one.bound.meet(Interval(_LOW, _HIGH)))
    return found


def _is_index(s: Simplifier, atom: Atom) -> bool:
    """Whether a variable without known bounds takes part."""
    stack, seen = [atom], 0
    while stack and seen < 64:
        one, seen = stack.pop(), seen + 1
        if isinstance(one.expr, Var):
            return True
        parts = (*one.factors, *(one.inner.terms if one.inner is not None else ()))
        stack += [s.atoms.table[number] for number in parts]
    return False


def sound(s: Simplifier, form: Form, dtype: DataType) -> bool:
    """Whether all that a form divides fits, and a constant that it is."""
    if (dtype == "int64" and not s.has_data) or is_exact(s, form):
        return True
    least, most = dtype.limits()
    waiting = [form]
    while waiting:
        units, offset = s.atoms.split_offset(waiting.pop())
        if not units and not least <= offset <= most:
            return False
        atoms: list[int] = []
        for unit in units:
            if unit.form is None:
                atoms.append(unit.atom)
            elif unit.modulus > most or not fits(s, unit.form, dtype):
                return False
            else:
                waiting.append(unit.form)
        while atoms:
            atom = s.atoms.table[atoms.pop()]
            atoms += atom.factors
            if atom.inner is not None:
                if atom.divisor > most or not fits(s, atom.inner, dtype):
                    return False
                waiting.append(atom.inner)
    return True
