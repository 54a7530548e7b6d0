"""Mixed radix digits of forms: whether they tell the iterations of loops apart, and whether they take every value.

A form is read as a sum of digits, each ``factor * ((source // low) % (high // low))`` of a loop variable or of a form
that is made of digits itself (a fused index).

    Digits(scope, [i * 4 + j], {i, j}).injective        # j < 4: yes; j < 5: not shown
    Digits(scope, [f // 3, f % 3], {f}).injective       # the two digits determine f
    Digits(scope, [i * 4 + j], {i, j}).fills            # j < 4: all of 0 ... 4 n - 1; j < 3: gaps
    Digits(scope, [f // 3, f % 3], {f}).fills           # a box, if f takes a multiple of 3 values, from 0 on
    Digits(scope, [i * n + j], {i, j}).injective        # j < n: by `radix`, as whole numbers only

Invariant: answers are sound, not complete: False means "not shown".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from .forms import Form, Unit
from .nodes import Var
from .radix import radix
from .scope import Scope


class Digit(NamedTuple):
    """factor * ((source // low) % (high // low)); `high` is infinite where all that is left is meant."""

    factor: int
    source: Form
    low: int
    high: float


class Run(NamedTuple):
    """Values without a gap: the ends, as forms of what stands still, and how many there are."""

    low: Form
    high: Form
    size: float
    """Infinite where that is not known."""

    def shifted(self, amount: int) -> Run:
        return Run(self.low.shifted(amount), self.high.shifted(amount), self.size)


class Number(NamedTuple):
    """What stands still and a number of mixed radix: it takes each of so many values once, from `still` on."""

    loops: tuple[int, ...]
    """Those of more than one value, the finest first."""
    still: Form
    values: Form | None
    """None where it is not known: two extents below 0 leave no iterations, but their product is above 0."""


class Digits:
    """Forms as digits of the loop variables `own` (atoms of the scope), all others standing still.

    `taken`: for some of `own` the values that they take, where these are others than the scope says.  `most`: the
    greatest value of sums that digits may be taken from, by the sums' keys; those that were heeded are in `heeded`.
    """

    def __init__(
        self,
        scope: Scope,
        forms: Sequence[Form],
        own: Collection[int],
        taken: Mapping[int, Run] | None = None,
        most: Mapping[Any, Form] | None = None,
    ) -> None:
        self.scope, self.forms, self.own = scope, forms, own
        self.taken, self.most, self.heeded = taken or {}, most or {}, set[Any]()
        self._sources: dict[Any, Run | None] = {}

    def of(self, form: Form) -> tuple[list[Digit], Form] | None:
        """The digits of a form that move, and the rest, which stands still; None where something else moves."""
        units, offset = self.scope.atoms.digits(form)
        digits: list[Digit] = []
        still = Form({}, offset)
        for unit in units:
            if not self.scope.unit_moves(unit, self.own):
                still = still.plus(self.scope.atoms.unit_form(unit))
                continue
            digit = self.digit(unit)
            if digit is None:
                return None
            digits.append(digit)
        return digits, still

    def digit(self, unit: Unit) -> Digit | None:
        """A summand as a digit; None if it is none."""
        table = self.scope.atoms.table
        if unit.form is None:
            atom = table[unit.atom]
            if isinstance(atom.expr, Var):
                return Digit(unit.factor, Form({unit.atom: 1}, 0), 1, inf)
            return None if atom.inner is None else Digit(unit.factor, atom.inner, atom.divisor, inf)
        source, low = unit.form, 1
        atom = table[source.atom] if source.atom is not None and not source.offset else None
        if atom is not None and atom.inner is not None:
            source, low = atom.inner, atom.divisor
        return Digit(unit.factor, source, low, low * unit.modulus)

    def _variable(self, source: Form) -> int | None:
        """The atom of the variable that a source is, apart from a constant."""
        number = source.atom
        return number if number is not None and isinstance(self.scope.atoms.table[number].expr, Var) else None

    # --- every value is taken ---

    @cached_property
    def runs(self) -> tuple[Run, ...] | None:
        """The values of each form, where they take all between their ends, in every combination; else None."""
        found: list[Run] = []
        every: list[Digit] = []
        used: set[int] = set()
        for form in self.forms:
            read = self.of(form)
            number = self.number(form) if read is None else None
            run = self._sum(*read) if read is not None else self._counting(form, number)
            loops = number.loops if number is not None else ()
            if run is None or not used.isdisjoint(loops):
                return None
            found.append(run)
            every += [] if read is None else read[0]
            used.update(loops)
        return tuple(found) if self._take_all_combinations(every, used) else None

    @property
    def fills(self) -> bool:
        """Whether the forms together take all values of the box between their ends."""
        return self.runs is not None

    def _sum(self, digits: Sequence[Digit], still: Form) -> Run | None:
        """The values of a sum of digits that take all of theirs in every combination."""
        made = Run(still, still, 1.0)
        values = [(digit, run) for digit in digits if (run := self._values(digit)) is not None]
        for digit, run in sorted(values, key=lambda pair: (abs(pair[0].factor), pair[1].size)):
            step = abs(digit.factor)
            if run.size > 1 and (step > made.size or made.size == inf):
                return None  # of values that nobody has counted the next does not follow
            if run.size == inf and step < made.size and not self.scope.at_most(run.low, run.high):
                return None  # there may be none, and the ends of the sum would not say so
            first, last = (run.low, run.high) if digit.factor > 0 else (run.high, run.low)
            made = Run(
                made.low.plus(first, digit.factor), made.high.plus(last, digit.factor),
                made.size + step * (run.size - 1),
            )  # fmt: skip
        return made if len(values) == len(digits) else None

    def _values(self, digit: Digit) -> Run | None:
        """Those of one digit, without its factor."""
        run, low, high = self._source(digit.source), digit.low, digit.high
        if run is None:
            return None
        if high < inf:
            if high - low < run.size < inf:
                return _counted(int(high) // low)
            return _counted((int(run.size) - 1) // low + 1) if run.low.constant == 0 and run.size < inf else None
        if low == 1:
            return run
        first, last = (self.scope.atoms.divided(end, low) for end in (run.low, run.high))
        span = last.plus(first, -1).constant
        return Run(first, last, inf if span is None else span + 1)

    def _source(self, source: Form) -> Run | None:
        if source.key not in self._sources:
            made = self._made(source)
            self._sources[source.key] = made if made is None else self._limited(source, made)
        return self._sources[source.key]

    def _limited(self, source: Form, run: Run) -> Run | None:
        """The values of a sum up to the greatest that it may have."""
        key = Form(source.terms, 0).key
        if key not in self.most:
            return run
        high = self.most[key].shifted(source.offset)
        self.heeded.add(key)
        if self.scope.at_most(run.high, high):
            return run
        if not (self.scope.at_most(run.low, high) and self.scope.at_most(high, run.high)):
            return None
        size = high.plus(run.low, -1).shifted(1).constant
        return Run(run.low, high, inf if size is None else size)

    def _made(self, source: Form) -> Run | None:
        variable = self._variable(source)
        if variable is not None:
            run = self.taken.get(variable) or run_of(self.scope, variable, self.own)
            return None if run is None else run.shifted(source.offset)
        read = self.of(source)
        run = self._sum(*read) if read is not None else None
        return run if read is not None and run is not None and self._take_all_combinations(read[0]) else None

    def number(self, form: Form) -> Number | None:
        """A form as a number whose places are sizes, ``i * n + j`` with j below n; None if it is none."""
        extents: dict[int, Form] = {}
        for variable in self.scope.variables_of(form).intersection(self.own):
            run = self.taken.get(variable) or run_of(self.scope, variable, self.own)
            if run is None or run.low.constant != 0 or self.scope.moves(run.high, self.own):
                return None
            extents[variable] = run.high.shifted(1)
        loops = radix(self.scope, form, extents)
        if not loops:
            return None
        count = None if sum(not self.scope.is_natural(extent) for extent in extents.values()) > 1 else Form({}, 1)
        for extent in extents.values():
            count = None if count is None else self.scope.atoms.product(count, extent)
        return Number(tuple(loops), self.scope.parted(form, extents)[1], count)

    def _counting(self, form: Form, number: Number | None) -> Run | None:
        if number is None or number.values is None:
            return None
        return self._limited(form, Run(number.still, number.still.plus(number.values).shifted(-1), inf))

    def _take_all_combinations(self, digits: Iterable[Digit], used: Iterable[int] = ()) -> bool:
        """Whether digits take all of their values in every combination, none of the variables `used` among theirs."""
        sources: dict[Any, list[Digit]] = {}
        for digit in digits:
            sources.setdefault(digit.source.key, []).append(digit)
        seen = set(used)
        for parts in sources.values():
            variables = {var for atom in parts[0].source.terms for var in self.scope.variables(atom)}
            if not variables <= set(self.own) or variables & seen or not self._are_independent(parts):
                return False
            seen |= variables
        return True

    def _are_independent(self, digits: list[Digit]) -> bool:
        """Whether digits of one source take all of their values in every combination."""
        run = self._source(digits[0].source)
        if run is None or len(digits) == 1:
            return run is not None
        ordered = sorted(digits, key=lambda digit: digit.low)
        if any(upper.low % lower.high for lower, upper in pairwise(ordered)):
            return False
        top = ordered[-1]
        return run.low.constant == 0 and run.size < inf and (run.size >= top.high or not run.size % top.low)

    # --- iterations are told apart ---

    @cached_property
    def injective(self) -> bool:
        """Whether no two iterations of the loops have the same values."""
        unknown = {atom for atom in self.own if self.scope.extents.get(atom) != 1}
        known: dict[Any, dict[int, Digit]] = {}
        numbers = list(self.forms)
        while unknown and numbers:
            left = [form for form in numbers if not self._is_read(form, unknown, known)]
            completed = self._completed(known)
            if not completed and len(left) == len(numbers):
                return False
            numbers = left + completed
        return not unknown

    def _is_read(self, form: Form, unknown: set[int], known: dict[Any, dict[int, Digit]]) -> bool:
        """Read the digits of a form whose value is known, where none hides another."""
        digits = Digits(self.scope, (), unknown)
        read = digits.of(form)
        if read is None:
            number = digits.number(form)
            unknown.difference_update(() if number is None else number.loops)
            return number is not None
        if not self._are_apart(read[0]):
            return False
        for digit in read[0]:
            if digit.high == inf and digit.low == 1 and (variable := self._variable(digit.source)) is not None:
                unknown.discard(variable)
            else:
                known.setdefault(digit.source.key, {})[digit.low] = digit
        return True

    def _completed(self, known: dict[Any, dict[int, Digit]]) -> list[Form]:
        """The sources that are known: by all of their digits, or by a remainder that no two of their values share."""
        found: list[Form] = []
        for key, parts in list(known.items()):
            source = next(iter(parts.values())).source
            place: float = 1
            while place in parts and place < parts[int(place)].high:
                place = parts[int(place)].high
                if place == inf:
                    break
            bound = self.scope.atoms.bound(source)
            if bound.high - bound.low < place:
                found.append(source)
                del known[key]
        return found

    def _are_apart(self, digits: Iterable[Digit]) -> bool:
        """Whether each sum of the digits is made in one way."""
        reach = 0.0
        for digit in sorted(digits, key=lambda one: abs(one.factor)):
            if abs(digit.factor) <= reach:
                return False
            reach += abs(digit.factor) * self._span(digit)
        return True

    def _span(self, digit: Digit) -> float:
        """The difference of a digit's greatest and least value, at most."""
        if digit.high < inf:
            return digit.high // digit.low - 1
        variable = self._variable(digit.source)
        extent = self.scope.extents.get(variable) if variable is not None and digit.low == 1 else None
        if extent is not None:
            return extent - 1
        bound = self.scope.atoms.bound(digit.source).divided(digit.low)
        return bound.high - bound.low


def run_of(scope: Scope, variable: int, own: Collection[int]) -> Run | None:
    """The values of a variable; None where an end is not known, or moves with variables of `own`."""
    low, high = scope.ends(Form({variable: 1}, 0), (variable,))
    if low is None or high is None or scope.moves(low, own) or scope.moves(high, own):
        return None
    extent = scope.extents.get(variable)
    return Run(low, high, inf if extent is None else extent)


def _counted(count: int) -> Run:
    return Run(Form({}, 0), Form({}, count - 1), count)
