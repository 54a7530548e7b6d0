"""Forms of index expressions over the loops of one program: what moves while some of them run, and between which ends.

    scope = Scope()
    i = scope.enter(loop.var, loop.min, loop.extent)
    form = scope.form(loop.var * 4 + j)
    scope.ends(form, {i})                       # its least and greatest value while i runs: forms of what stands still

Invariant: index arithmetic does not overflow, whatever its dtype (a contract of loop programs); that of data may.
Forms are of the scope that made them: atoms are numbered by it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import combinations
from math import gcd
from typing import ClassVar, Final

from ..core.dtype import DataType
from ..core.node import pre_order
from .forms import EVERYTHING, FINITE, Atoms, Form, Interval, Unit
from .nodes import EQ, GE, GT, LE, LT, IntImm, PrimExpr, Var
from .overflow import fits
from .simplify import Simplifier

_INDEX: Final = DataType("int64")
Ends = tuple[Form | None, Form | None]
"""The least and the greatest value; None where there is none known."""


class Scope(Simplifier):
    """See the module's header."""

    wraps: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.extents: dict[int, int | None] = {}
        """Of the variables entered, by atom; None where it is no number."""
        self._variables: dict[int, frozenset[int]] = {}

    def enter(self, variable: Var, begin: PrimExpr, extent: PrimExpr) -> int:
        """`variable` runs from `begin` on, `extent` values; its atom.

        It is entered before it is used; a second time changes nothing.
        """
        if variable in self.ranges:
            return self.atoms.variable_number(variable)
        if isinstance(begin, IntImm) and isinstance(extent, IntImm):  # as most are
            self.bind(variable, begin.value, begin.value + max(extent.value, 1) - 1)
        else:
            self.bind_range(variable, begin, extent)
        number = self.atoms.variable_number(variable)
        self.extents[number] = extent.value if isinstance(extent, IntImm) else self._number(extent)
        return number

    def enter_unknown(self, variable: Var) -> int:
        """`variable` runs through values of which nothing is known; its atom."""
        number = self.atoms.variable_number(variable)
        self.extents.setdefault(number, None)
        return number

    def has_iterations(self, number: int) -> bool:
        """Whether the loop of a variable entered is shown to run at least once, wherever those around it stand."""
        extent = self.extents.get(number)
        low, high = self.ends(Form({number: 1}, 0), (number,)) if extent is None else (None, None)
        return bool(extent and extent > 0) or (low is not None and high is not None and self.at_most(low, high))

    def _number(self, expr: PrimExpr) -> int | None:
        form = self.form(expr)
        return form.constant if form is not None else None

    # --- forms ---

    def linear(self, expr: PrimExpr) -> Form:
        """The form of an index; one that is no scalar integer stands in it as an atom."""
        form = self.form(expr)
        return self.atoms.opaque(("no form", id(expr)), expr, EVERYTHING) if form is None else form

    def variable(self, var: Var) -> Form:
        return self.atoms.variable(var)

    def only_variable(self, form: Form) -> Var | None:
        """The variable that a form is; None if it is something else."""
        expr = self.atoms.table[form.atom].expr if form.atom is not None and not form.offset else None
        return expr if isinstance(expr, Var) else None

    def number_of(self, var: Var) -> int:
        """The atom of a variable."""
        return self.atoms.variable_number(var)

    def numbers(self, variables: Iterable[Var]) -> frozenset[int]:
        """The atoms of variables."""
        return frozenset(map(self.atoms.variable_number, variables))

    def index(self, form: Form) -> PrimExpr:
        """The canonical int64 expression of a form, the largest factors first."""
        terms = sorted(form.terms.items(), key=lambda term: -abs(term[1]))
        return self.written(Form(dict(terms), form.offset), _INDEX)

    def limits(self, condition: PrimExpr) -> list[Form]:
        """Forms, none of them above 0, that say what a comparison of integers says; none for another condition."""
        if not isinstance(condition, (LT, LE, GT, GE, EQ)):
            return []
        sides = [(self.form(side), side.dtype) for side in (condition.a, condition.b)]
        if any(form is None or not fits(self, form, dtype) for form, dtype in sides):
            return []  # of data, which may wrap
        return self._at_most_zero(condition)

    def at_least_zero(self, condition: PrimExpr) -> Form | None:
        """A form that is >= 0 exactly where an integer comparison holds; None for another condition."""
        found = self.limits(condition) if isinstance(condition, (LT, LE, GT, GE)) else []
        return found[0].times(-1) if found else None

    def holds(self, condition: PrimExpr) -> bool:
        """Whether an integer comparison is shown to hold for all values of its variables."""
        if isinstance(condition, IntImm):
            return bool(condition.value)
        form = self.at_least_zero(condition)
        return form is not None and self.is_natural(form)

    # --- what moves ---

    def variables_of(self, form: Form) -> frozenset[int]:
        """The atoms of all variables in a form; what is no form is one, too."""
        return frozenset[int]().union(*map(self.variables, form.terms))

    def parted(self, form: Form, own: Container[int]) -> tuple[Form, Form]:
        """A form in two summands: what moves with the variables of `own`, and what stands still."""
        moves = {atom: by for atom, by in form.terms.items() if any(var in own for var in self.variables(atom))}
        still = {atom: by for atom, by in form.terms.items() if atom not in moves}
        return Form(moves, 0), Form(still, form.offset)

    def variables(self, atom: int) -> frozenset[int]:
        """The atoms of the variables that an atom is made of; what is no form is one, too."""
        known = self._variables.get(atom)
        if known is None:
            known = self._variables[atom] = self._variables_of(self.atoms, atom)
        return known

    def _variables_of(self, atoms: Atoms, number: int) -> frozenset[int]:
        atom = atoms.table[number]
        if isinstance(atom.expr, Var):
            return frozenset((number,))
        if atom.expr is not None:
            return frozenset((number, *map(atoms.variable_number, variables_in(atom.expr))))
        parts = (*atom.factors, *(atom.inner.terms if atom.inner is not None else ()))
        return frozenset[int]().union(*map(self.variables, parts))

    def moves(self, form: Form, own: Container[int]) -> bool:
        """Whether a form has a variable of `own`."""
        return any(variable in own for atom in form.terms for variable in self.variables(atom))

    def unit_moves(self, unit: Unit, own: Container[int]) -> bool:
        parts = (unit.atom,) if unit.form is None else unit.form.terms
        return any(variable in own for atom in parts for variable in self.variables(atom))

    # --- ends ---

    def ends(self, form: Form, own: Container[int]) -> Ends:
        """The least and the greatest value while the variables of `own` run, as forms of the others."""
        if not self.moves(form, own):
            return form, form
        units, offset = self.atoms.split_offset(form)
        low: Form | None = Form({}, offset)
        high = low
        for unit in units:
            least, most = self._unit_ends(unit, own)
            if unit.factor < 0:
                least, most = most, least
            low = None if low is None or least is None else low.plus(least, unit.factor)
            high = None if high is None or most is None else high.plus(most, unit.factor)
        return (
            None if low is None else self.ends(low, own)[0],
            None if high is None else self.ends(high, own)[1],
        )

    def _unit_ends(self, unit: Unit, own: Container[int]) -> Ends:
        """The ends of a unit without its factor."""
        if not self.unit_moves(unit, own):
            alone = self.atoms.unit_form(unit._replace(factor=1))
            return alone, alone
        if unit.form is not None:
            return Form({}, 0), Form({}, unit.modulus - 1)
        atom = self.atoms.table[unit.atom]
        if atom.inner is not None:
            inner = self.ends(atom.inner, own)
            low, high = (None if end is None else self.atoms.divided(end, atom.divisor) for end in inner)
            return low, high
        known, bound = self.atoms.symbolic.get(unit.atom, (None, None)), _forms(atom.bound)
        return known[0] or bound[0], known[1] or bound[1]

    def is_natural(self, form: Form) -> bool:
        """Whether a form is shown never to be negative."""
        if self.atoms.bound(form).low >= 0:
            return True
        return bool(self.atoms.symbolic) and self.atoms.bound(self.atoms.greatest(form.times(-1))).high <= 0

    def at_most(self, one: Form, other: Form) -> bool:
        """Whether one <= other is shown."""
        return self.is_natural(other.plus(one, -1))

    def follows(self, limits: Sequence[Form], given: Sequence[Form]) -> bool:
        """Whether no limit is above 0 where none of those given is: by itself, by one of them, or by the sum of two."""
        return bool(limits) and all(
            self._implied(limit, given)
            or any(self.at_most(limit, one.plus(other)) for one, other in combinations(given, 2))
            for limit in limits
        )

    def _implied(self, limit: Form, given: Sequence[Form]) -> bool:
        """Whether limit <= 0 follows from one of those given: from m * limit <= given + m - 1 for some m."""
        for one in given:
            shared = next((atom for atom in limit.terms if atom in one.terms), None)
            times = one.terms[shared] // limit.terms[shared] if shared is not None else 1
            if times >= 1 and self.at_most(limit.times(times), one.shifted(times - 1)):
                return True
            divisors = {self.atoms.table[atom].divisor for atom in one.terms} - {0}
            if any(self.at_most(limit, one.times(divisor)) for divisor in divisors):
                return True  # x // d <= c means x <= c * d + d - 1
        return self.at_most(limit, Form({}, 0))


def _forms(bound: Interval) -> Ends:
    return (
        None if bound.low < -FINITE else Form({}, bound.low),
        None if bound.high > FINITE else Form({}, bound.high),
    )


def multiple_of(index: PrimExpr) -> int:
    """A number that divides an index, whatever its variables are (0 for the constant 0); 1 if none is seen."""
    form = Scope().form(index)
    return 1 if form is None else gcd(form.common_divisor(), form.offset)


def number_of(expr: PrimExpr) -> int | None:
    """The number that an index is, whatever its variables are; None if it is not seen to be one."""
    return expr.value if isinstance(expr, IntImm) else Scope().linear(expr).constant


def are_equal(one: PrimExpr, other: PrimExpr) -> bool:
    """Whether two indices are seen to be equal, whatever their variables are."""
    scope = Scope()
    return one is other or scope.linear(one).key == scope.linear(other).key


def variables_in(expr: PrimExpr) -> frozenset[Var]:
    """The variables of an expression."""
    return frozenset((expr,)) if isinstance(expr, Var) else frozenset(n for n in pre_order(expr) if isinstance(n, Var))
