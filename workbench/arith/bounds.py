"""Bounds of expressions: constant intervals, and intervals whose ends are expressions.

>>> from workbench.arith.nodes import Var
>>> i = Var("i")
>>> const_int_bound(i * 4 + 3, {i: (0, 7)})
Interval(low=3, high=31)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..core.dtype import DataType
from ..core.node import pre_order
from .forms import EVERYTHING, FINITE, UNBOUNDED, Form, Interval
from .nodes import PrimExpr, Var
from .simplify import Range, Simplifier

__all__ = ["EVERYTHING", "FINITE", "UNBOUNDED", "IntSet", "Interval", "const_int_bound", "int_set", "modular_set"]


class IntSet(NamedTuple):
    """The integers min ... max; None where there is no bound in the variables kept."""

    min: PrimExpr | None
    max: PrimExpr | None


class Modular(NamedTuple):
    """The integers coeff * k + base."""

    coeff: int
    base: int


def const_int_bound(expr: PrimExpr, ranges: Mapping[Var, Range] | None = None) -> Interval:
    """The least interval found that holds every value of an integer expression."""
    return Simplifier(ranges).bound(expr)


def int_set(
    expr: PrimExpr, domains: Mapping[Var, tuple[PrimExpr, PrimExpr]], simplifier: Simplifier | None = None
) -> IntSet:
    """The values of `expr` while each variable of `domains` takes the values of its (min, max).

    The ends are expressions of the other variables, by monotonicity of the linear form; a non-linear part of a
    variable is bounded by constants where its domain is constant.  An end is None where that fails.
    """
    used = simplifier or Simplifier()
    form = used.form(expr)
    if form is None:
        return IntSet(None, None)
    relaxed = {used.atoms.variable_number(variable): ends for variable, ends in domains.items()}
    sides = [_extreme(used, form, relaxed, domains, greatest) for greatest in (False, True)]
    return IntSet(*(None if side is None else used.written(side, expr.dtype) for side in sides))


def _extreme(
    s: Simplifier,
    form: Form,
    relaxed: Mapping[int, tuple[PrimExpr, PrimExpr]],
    domains: Mapping[Var, tuple[PrimExpr, PrimExpr]],
    greatest: bool,
) -> Form | None:
    """The form at the end of its range: one number for every variable relaxed."""
    units, offset = s.atoms.split_offset(form)
    result = Form({}, offset)
    for unit in units:
        part = s.atoms.unit_form(unit)
        if unit.form is None and unit.atom in relaxed:
            end = s.form(relaxed[unit.atom][1 if greatest == (unit.factor > 0) else 0])
            if end is None:
                return None
            result = result.plus(end, unit.factor)
            continue
        expr = s.written(part, DataType("int64"))
        if not any(_mentions(s, number, relaxed) for number in part.terms):
            result = result.plus(part)
            continue
        bound = Simplifier({**s.ranges, **_constant_domains(domains)}).bound(expr)
        end_value = bound.high if greatest else bound.low
        if abs(end_value) > FINITE:
            return None
        result = result.shifted(end_value)
    return result


def _constant_domains(domains: Mapping[Var, tuple[PrimExpr, PrimExpr]]) -> dict[Var, Range]:
    found: dict[Var, Range] = {}
    for variable, ends in domains.items():
        low, high = (getattr(end, "value", None) for end in ends)
        found[variable] = (low, high)
    return found


def _mentions(s: Simplifier, number: int, relaxed: Mapping[int, object]) -> bool:
    """Whether an atom is made of a relaxed variable."""
    stack = [number]
    variables = {id(s.atoms.table[other].expr) for other in relaxed}
    while stack:
        current = stack.pop()
        atom = s.atoms.table[current]
        if current in relaxed:
            return True
        stack.extend(atom.factors)
        if atom.inner is not None:
            stack.extend(atom.inner.terms)
        if atom.expr is not None and any(id(node) in variables for node in pre_order(atom.expr)):
            return True
    return False


def modular_set(expr: PrimExpr, ranges: Mapping[Var, Range] | None = None) -> Modular:
    """What all values of `expr` share: coeff * k + base (coeff 0 for a constant)."""
    used = Simplifier(ranges)
    form = used.form(expr)
    if form is None:
        return Modular(1, 0)
    common = form.common_divisor()
    return Modular(common, form.offset % common if common else form.offset)
