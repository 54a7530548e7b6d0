"""Linear forms: integers as sums of multiples of atoms, the working shape of the simplifier.

An atom is a variable, a product of atoms, a floor division of a form by a positive constant, or an opaque expression.
Atoms are numbered by `Atoms`, equal ones alike, so forms compare as dictionaries.  A remainder ``x % c`` is kept as
``x - c * (x // c)``: what splitting and fusing loops took apart then cancels by itself when put together again.
`grouped` finds the remainders once more, for bounds and for output.

>>> from workbench.arith.nodes import Var
>>> atoms = Atoms({})
>>> i = atoms.variable(Var("i"))
>>> i.plus(i).terms == {next(iter(i.terms)): 2}
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import gcd
from typing import Any, Final, NamedTuple

from ..core.node import Node, pre_order
from .nodes import PrimExpr, Var

UNBOUNDED: Final = 1 << 200
"""Stands for infinity in intervals; sums and multiples of it stay beyond `FINITE`."""
FINITE: Final = 1 << 100


class Interval(NamedTuple):
    """The integers low ... high; beyond `FINITE` means no bound."""

    low: int
    high: int

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    def plus(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def times(self, factor: int) -> Interval:
        if factor >= 0:
            return Interval(self.low * factor, self.high * factor)
        return Interval(self.high * factor, self.low * factor)

    def meet(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def divided(self, divisor: int) -> Interval:
        """Floor division by a positive constant."""
        return Interval(_divided(self.low, divisor), _divided(self.high, divisor))

    def product(self, other: Interval) -> Interval:
        corners = [a * b for a in self for b in other]
        return Interval(min(corners), max(corners))


EVERYTHING: Final = Interval(-UNBOUNDED, UNBOUNDED)


def _word(node: Node) -> str:
    """What a node says apart from its parts."""
    said = (getattr(node, name, "") for name in ("name", "op", "value"))
    return " ".join([type(node).__name__, *(str(word) for word in said if isinstance(word, (str, int, float)))])


def _divided(value: int, divisor: int) -> int:
    return value // divisor if abs(value) <= FINITE else value


class Form:
    """offset + sum of factor * atom; atoms by number, no factor is zero."""

    __slots__ = ("_key", "offset", "terms")

    def __init__(self, terms: dict[int, int], offset: int) -> None:
        self.terms = terms
        self.offset = offset
        self._key: tuple[Any, ...] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal forms."""
        if self._key is None:
            self._key = (self.offset, *sorted(self.terms.items()))
        return self._key

    @property
    def constant(self) -> int | None:
        """The value, if there are no terms."""
        return None if self.terms else self.offset

    @property
    def atom(self) -> int | None:
        """The atom that it is, apart from a constant; None if it is something else."""
        return next(iter(self.terms)) if len(self.terms) == 1 and 1 in self.terms.values() else None

    def plus(self, other: Form, factor: int = 1) -> Form:
        """self + factor * other."""
        if not factor:
            return self
        terms = dict(self.terms)
        for atom, count in other.terms.items():
            made = terms.get(atom, 0) + count * factor
            if made:
                terms[atom] = made
            else:
                del terms[atom]
        return Form(terms, self.offset + other.offset * factor)

    def minus(self, other: Form) -> Form:
        return self.plus(other, -1)

    def same_as(self, other: Form) -> bool:
        return self.key == other.key

    def shifted(self, amount: int) -> Form:
        return Form(self.terms, self.offset + amount) if amount else self

    def times(self, factor: int) -> Form:
        if factor == 0:
            return Form({}, 0)
        return Form({atom: count * factor for atom, count in self.terms.items()}, self.offset * factor)

    def common_divisor(self) -> int:
        """The greatest common divisor of the factors (0 if there are none)."""
        result = 0
        for count in self.terms.values():
            result = gcd(result, count)
        return result


def _multiple(left: dict[int, int], partner: Form) -> int:
    """The factor with which all terms of `partner` stand in `left`; 0 if there is none."""
    term, amount = next(iter(partner.terms.items()))
    factor = left[term] // amount
    return factor if all(left[other] == factor * count for other, count in partner.terms.items()) else 0


@dataclass(slots=True)
class Atom:
    """What a number stands for: the product of `factors`, `inner // divisor`, else `expr`; with values in `bound`."""

    expr: PrimExpr | None
    bound: Interval
    inner: Form | None = None
    divisor: int = 0
    factors: tuple[int, ...] = ()


class Unit(NamedTuple):
    """A summand found by `grouped`: factor * atom, or factor * (form % modulus)."""

    factor: int
    atom: int
    form: Form | None = None
    modulus: int = 0


class Atoms:
    """The atoms of one simplifier, numbered; `ranges` bounds the variables."""

    def __init__(self, ranges: Mapping[Var, Interval]) -> None:
        self.ranges = {id(variable): interval for variable, interval in ranges.items()}
        self.symbolic: dict[int, tuple[Form | None, Form | None]] = {}
        """Bounds of variables (by atom) that are expressions of others."""
        self.table: list[Atom] = []
        self._numbers: dict[Any, int] = {}
        self._quotients: dict[Any, list[tuple[int, int]]] = {}
        self._places: dict[int, tuple[int, str, int]] = {}

    # --- making ---

    def _numbered(self, key: Any, make: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            made = make()
            number = self._numbers[key] = len(self.table)
            self.table.append(made)
        return number

    def variable(self, variable: Var) -> Form:
        return Form({self.variable_number(variable): 1}, 0)

    def variable_number(self, variable: Var) -> int:
        return self._numbered(("v", id(variable)), lambda: Atom(variable, self._variable_bound(variable)))

    def _variable_bound(self, variable: Var) -> Interval:
        known = self.ranges.get(id(variable), EVERYTHING)
        if variable.dtype == "int64" or not (variable.dtype.is_integer or variable.dtype.is_bool):
            return known
        return known.meet(Interval(*variable.dtype.limits()))

    def opaque(self, key: Any, expr: PrimExpr, bound: Interval) -> Form:
        """A form of one atom that stands for `expr`; `key` tells equal expressions."""
        return Form({self._numbered(("o", key), lambda: Atom(expr, bound)): 1}, 0)

    def product(self, a: Form, b: Form) -> Form | None:
        """a * b multiplied out; None if that gets too long, or would take a remainder apart."""
        if len(a.terms) * len(b.terms) > 16:
            return None
        if any(unit.form is not None for form in (a, b) for unit in self.grouped(form)):
            return None
        result = a.times(b.offset).plus(Form(b.terms, 0).times(a.offset))
        for x, count in a.terms.items():
            for y, other in b.terms.items():
                result = result.plus(Form({self._monomial(x, y): 1}, 0), count * other)
        return result

    def _monomial(self, x: int, y: int) -> int:
        factors = (self.table[x].factors or (x,)) + (self.table[y].factors or (y,))
        return self.monomial(tuple(sorted(factors, key=self._place)))

    def _place(self, number: int) -> tuple[int, str, int]:
        """Where a factor stands in a product: variables by name, divisions, the rest by what it says.

        Not by its number alone, which says what was met first: factors would change places when what was written is
        simplified again.
        """
        known = self._places.get(number)
        if known is None:
            atom = self.table[number]
            if isinstance(atom.expr, Var):
                known = 0, atom.expr.name, number
            elif atom.expr is not None:
                known = 2, " ".join(map(_word, pre_order(atom.expr))), number
            else:
                parts = atom.factors or (atom.inner.terms if atom.inner is not None else ())
                said = f"{atom.divisor} {sorted(self._place(part)[:2] for part in parts)}"
                known = 1, sha256(said.encode()).hexdigest(), number  # each part may be in many
            self._places[number] = known
        return known

    def monomial(self, factors: tuple[int, ...]) -> int:
        """The number of a product of atoms."""
        if len(factors) == 1:
            return factors[0]

        def make() -> Atom:
            bound = Interval(1, 1)
            for factor in factors:
                bound = bound.product(self.table[factor].bound)
            if len(set(factors)) == 1 and len(factors) % 2 == 0:
                bound = bound.meet(Interval(0, UNBOUNDED * UNBOUNDED))
            return Atom(None, bound, factors=factors)

        return self._numbered(("p", factors), make)

    # --- division ---

    def divided(self, form: Form, divisor: int) -> Form:
        """form // divisor, for a positive divisor.

        Laws: (c*x + r) // c = x + r // c; (g*x + r) // (g*c) = (x + r // g) // c;
        (x // d + r) // c = (x + r*d) // (d*c); r // c = k if every value of r says so.
        """
        if divisor == 1:
            return form
        whole: dict[int, int] = {}
        rest: dict[int, int] = {}
        for atom, count in form.terms.items():
            if count % divisor == 0:
                whole[atom] = count // divisor
            else:
                rest[atom] = count
        result = Form(whole, form.offset // divisor)
        remainder = Form(rest, form.offset % divisor)
        return result.plus(self._small_quotient(remainder, divisor))

    def _small_quotient(self, form: Form, divisor: int) -> Form:
        """form // divisor where no factor is a multiple of the divisor."""
        if not form.terms:
            return Form({}, form.offset // divisor)
        bound = self.bound(form).divided(divisor)
        if bound.is_point and abs(bound.low) <= FINITE:
            return Form({}, bound.low)
        common = gcd(form.common_divisor(), divisor)
        if common > 1:
            inner = Form({atom: count // common for atom, count in form.terms.items()}, form.offset // common)
            return self.divided(inner, divisor // common)
        if form.atom is not None:
            atom = self.table[form.atom]
            if atom.inner is not None:
                return self.divided(atom.inner.shifted(form.offset * atom.divisor), atom.divisor * divisor)
        return self._peeled(form, divisor) or self.division(form, divisor)

    def _peeled(self, form: Form, divisor: int) -> Form | None:
        """(g*x + r) // (g*c) = x // c where 0 <= r < g: a small remainder below a coarse rest changes nothing."""
        units, offset = self.split_offset(form)
        if len(units) < 2:
            return None
        for candidate in sorted({gcd(abs(unit.factor), divisor) for unit in units}, reverse=True):
            if candidate <= 1:
                return None
            coarse = [unit for unit in units if unit.factor % candidate == 0]
            fine = [unit for unit in units if unit.factor % candidate]
            bound = Interval(offset % candidate, offset % candidate)
            for unit in fine:
                bound = bound.plus(self.unit_bound(unit))
            if 0 <= bound.low and bound.high < candidate:
                inner = Form({}, offset // candidate)
                for unit in coarse:
                    inner = inner.plus(self.unit_form(unit._replace(factor=unit.factor // candidate)))
                return self.divided(inner, divisor // candidate)
        return None

    def division(self, form: Form, divisor: int) -> Form:
        """The atom form // divisor, taken as it is."""

        def make() -> Atom:
            return Atom(None, self.bound(form).divided(divisor), form, divisor)

        number = self._numbered(("d", form.key, divisor), make)
        known = self._quotients.setdefault(form.key, [])
        if (number, divisor) not in known:
            known.append((number, divisor))
        return Form({number: 1}, 0)

    def remainder(self, form: Form, divisor: int) -> Form:
        """form % divisor, for a positive divisor."""
        return form.plus(self.divided(form, divisor), -divisor)

    # --- bounds and grouping ---

    def bound(self, form: Form) -> Interval:
        """An interval that holds every value of a form."""
        low = high = form.offset
        units = self.grouped(form) if self._has_divisions(form) else None
        if units is None:
            for atom, count in form.terms.items():
                bound = self.table[atom].bound.times(count)
                low, high = low + bound.low, high + bound.high
        else:
            low = high = self._offset_left(form, units)
            for unit in units:
                bound = self.unit_bound(unit)
                low, high = low + bound.low, high + bound.high
        return Interval(low, high)

    def _has_divisions(self, form: Form) -> bool:
        return len(form.terms) > 1 and any(self.table[atom].inner is not None for atom in form.terms)

    def unit_bound(self, unit: Unit) -> Interval:
        if unit.form is None:
            return self.table[unit.atom].bound.times(unit.factor)
        return Interval(0, unit.modulus - 1).times(unit.factor)

    def unit_form(self, unit: Unit) -> Form:
        """A unit as a form again."""
        if unit.form is None:
            return Form({unit.atom: unit.factor}, 0)
        return unit.form.times(unit.factor).plus(self.divided(unit.form, unit.modulus), -unit.factor * unit.modulus)

    def _offset_left(self, form: Form, units: list[Unit]) -> int:
        """What of the offset the remainders among `units` do not hold."""
        return form.offset - sum(unit.factor * unit.form.offset for unit in units if unit.form is not None)

    def split_offset(self, form: Form) -> tuple[list[Unit], int]:
        """The units of a form and the constant beside them."""
        units = self.grouped(form)
        return units, self._offset_left(form, units)

    def grouped(self, form: Form) -> list[Unit]:
        """The summands of a form, with x - c * (x // c) brought together as x % c."""
        if not self._has_divisions(form):
            return [Unit(count, atom) for atom, count in form.terms.items()]
        left = dict(form.terms)
        found: list[tuple[tuple[int, int], Unit]] = []
        divisions = [atom for atom in left if self.table[atom].inner is not None]
        order = {atom: index for index, atom in enumerate(form.terms)}
        for number in sorted(divisions, reverse=True):  # what is made of other divisions was numbered after them
            if number in left:
                self._group(number, left, found, order)
        found += [((order.get(atom, len(order)), atom), Unit(count, atom)) for atom, count in left.items()]
        return [unit for _, unit in sorted(found, key=lambda entry: entry[0])]

    def _group(
        self, number: int, left: dict[int, int], found: list[tuple[tuple[int, int], Unit]], order: dict[int, int]
    ) -> None:
        """Bring the division `number` together with what it is the quotient of, if that is there.

        It stands where the first of its terms did; of several that do, the one that was numbered first comes first, so
        that what was written so is written so again.
        """
        atom = self.table[number]
        assert atom.inner is not None
        count = left[number]
        for partner, divisor in self._partners(atom):
            modulus = atom.divisor // divisor
            if not partner.terms or not all(term in left for term in partner.terms):
                continue
            factor = -count // modulus if count % modulus == 0 else _multiple(left, partner)
            rest = count + factor * modulus
            term, amount = next(iter(partner.terms.items()))
            if not factor or abs(rest) >= abs(count) or left[term] * factor * amount < 0:
                continue
            after = Form(left, 0).plus(Form(partner.terms, 0), -factor).plus(Form({number: 1}, 0), rest - count).terms
            if len(after) + 1 <= len(left):
                place = min(order.get(term, len(order)) for term in partner.terms)
                found.append(((place, number), Unit(factor, -1, partner, modulus)))
                left.clear()
                left.update(after)
                return

    def digits(self, form: Form) -> tuple[list[Unit], int]:
        """The summands of a form with every x beside an x // c taken apart: x = c * (x // c) + x % c.

        What `grouped` is for reading, this is for finding mixed-radix digits.
        """
        left = dict(form.terms)
        offset = form.offset
        found: list[Unit] = []
        for number in sorted((a for a in left if self.table[a].inner is not None), key=lambda a: self.table[a].divisor):
            atom = self.table[number]
            for partner, divisor in self._partners(atom):
                plain = {term: amount for term, amount in partner.terms.items() if self.table[term].inner is None}
                wanted = plain or partner.terms
                if number not in left or not wanted or not all(term in left for term in wanted):
                    continue
                factor = _multiple(left, Form(wanted, 0))
                if factor:
                    modulus = atom.divisor // divisor
                    made = (
                        Form(left, 0).plus(Form(partner.terms, 0), -factor).plus(Form({number: 1}, 0), factor * modulus)
                    )
                    left, offset = dict(made.terms), offset - factor * partner.offset
                    found.append(Unit(factor, -1, partner, modulus))
                    break
        return found + [Unit(count, atom) for atom, count in left.items()], offset

    def _partners(self, atom: Atom) -> list[tuple[Form, int]]:
        """What `atom` may be the quotient of: its inner form, or a finer division of that."""
        assert atom.inner is not None
        finer = [
            (Form({number: 1}, 0), divisor)
            for number, divisor in self._quotients[atom.inner.key]
            if 1 < divisor < atom.divisor and atom.divisor % divisor == 0
        ]
        return [*sorted(finer, key=lambda entry: -entry[1]), (atom.inner, 1)]

    # --- symbolic bounds ---

    def greatest(self, form: Form) -> Form:
        """A form at least as great, with variables of symbolic bounds put at their extreme."""
        for _ in range(8):
            chosen = next((atom for atom in reversed(list(form.terms)) if self._extreme(atom, form.terms[atom])), None)
            if chosen is None:
                return form
            count = form.terms[chosen]
            extreme = self._extreme(chosen, count)
            assert extreme is not None
            form = Form({atom: value for atom, value in form.terms.items() if atom != chosen}, form.offset).plus(
                extreme, count
            )
        return form

    def _extreme(self, atom: int, factor: int) -> Form | None:
        low, high = self.symbolic.get(atom, (None, None))
        return high if factor > 0 else low
