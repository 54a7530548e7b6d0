"""Iterator maps: what loop variables become when they are split, fused and mixed, and whether nothing is lost.

A value such as ``(i * 8 + j) // 4`` is a sum of *splits*: digits ``(source // lower) % extent`` of a *mark*, which is
a loop variable or a fused combination of them.  The digits of a value must fit together like those of a mixed-radix
number, and the digits of each mark must share it out without overlap; the values then run over a box, and if no digit
is missing, each point of it exactly once (a bijection).

>>> i, j = Var("i"), Var("j")
>>> found = detect([(i * 8 + j) // 4, (i * 8 + j) % 4], {i: (0, 2), j: (0, 8)})
>>> found.extents, found.bijective
((4, 4), True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ..core.node import substitute
from . import nodes as n
from .build import add, conjuncts, const, convert, multiply
from .digits import Digits
from .forms import Form, Unit
from .nodes import PrimExpr, Var
from .scope import Scope


@dataclass(frozen=True, eq=False)
class IterMark:
    """What digits are taken from: `name` for messages; `extent` None where it is no constant."""

    name: str
    extent: int | None
    symbolic: PrimExpr | None = None
    parts: tuple[IterSplit, ...] = ()
    """The digits that a fused mark is made of; empty for a loop variable."""


@dataclass(frozen=True, eq=False)
class IterSplit:
    """scale * ((mark // lower) % extent)."""

    mark: IterMark
    lower: int
    extent: int | None
    scale: int


@dataclass(frozen=True, eq=False)
class IterSum:
    """base + sum of splits, finest digit last; takes `extent` values in a row."""

    splits: tuple[IterSplit, ...]
    base: PrimExpr
    extent: int | PrimExpr


@dataclass(frozen=True, eq=False)
class IterMap:
    """The values as sums of digits.  `bijective`: every iteration gives another point; else `unused` says why not."""

    sums: tuple[IterSum, ...]
    bijective: bool
    unused: tuple[str, ...]

    @property
    def extents(self) -> tuple[Any, ...]:
        return tuple(item.extent for item in self.sums)


class _Refused(Exception):
    """Carries the reason why a value is no iterator."""


def detect(
    values: Sequence[PrimExpr],
    loop_ranges: Mapping[Var, tuple[Any, Any]],
    predicate: PrimExpr | None = None,
    *,
    bijective: bool = False,
) -> IterMap | str:
    """The iterator map of `values`, or the reason (text) why there is none.

    `loop_ranges` give (min, extent) of each loop; `predicate` guards the iterations (conjuncts ``fused < bound``, as
    a split with a rest makes them).  With `bijective` a map that repeats points is refused too.

    What is found is so; not all is found: digits that are fused out of their order and then split again, such as
    ``(i % 2 * 4 + i // 2) // 4``, may be refused.
    """
    try:
        found = _Detector(loop_ranges, predicate).detected(values)
    except _Refused as refused:
        return str(refused)
    if bijective and not found.bijective:
        return f"points repeat: {', '.join(found.unused)}"
    return found


class _Detector:
    def __init__(self, loop_ranges: Mapping[Var, tuple[Any, Any]], predicate: PrimExpr | None) -> None:
        self.shifted: dict[Var, PrimExpr] = {}
        self.begin: dict[int, PrimExpr] = {}
        self.scope = Scope()
        self.loops: dict[int, IterMark] = {}
        self.fused: dict[Any, IterMark] = {}
        self.used: list[IterSplit] = []
        for variable, (begin, extent) in loop_ranges.items():
            self._enter(variable, convert(begin), convert(extent))
        self.digits = Digits(self.scope, (), self.loops)
        self.limits = self._limits(predicate)

    def _enter(self, variable: Var, begin: PrimExpr, extent: PrimExpr) -> None:
        """Count a loop from zero: its variable is replaced by begin + a fresh one."""
        counter = Var(variable.name, variable.dtype)
        size = max(0, extent.value) if isinstance(extent, n.IntImm) else None
        self.scope.bind(counter, 0, size - 1 if size else None)
        self.shifted[variable] = add(counter, begin)
        self.loops[self.scope.number_of(counter)] = IterMark(variable.name, size, extent)

    def _form(self, expr: PrimExpr) -> Form:
        made = self.scope.form(substitute(expr, self.shifted))
        if made is None:
            raise _Refused("a value is no integer")
        return made

    def _limits(self, predicate: PrimExpr | None) -> dict[Any, int]:
        """Bounds of fused forms, by the key of the form without its offset."""
        limits: dict[Any, int] = {}
        for part in conjuncts(predicate) if predicate is not None else ():
            condition = substitute(part, self.shifted)
            if self.scope.can_prove(condition):
                continue
            if isinstance(condition, n.Call) and condition.op == "likely":
                condition = condition.args[0]
            found = self.scope.limits(condition)
            if len(found) != 1:
                raise _Refused(f"the predicate is no bound: {type(part).__name__}")
            key, limit = Form(found[0].terms, 0).key, 1 - found[0].offset
            limits[key] = min(limit, limits.get(key, limit))
        return limits

    # --- the answer ---

    def detected(self, values: Sequence[PrimExpr]) -> IterMap:
        sums = tuple(self._sum(self._form(value), value.dtype) for value in values)
        for item in sums:
            self.used.extend(item.splits)
        left = [key for key in self.limits if key not in self.fused]
        if left:
            raise _Refused("the predicate bounds what is no value by itself")
        never = [mark.name for mark in (*self.fused.values(), *self.loops.values()) if mark.extent == 0]
        if never:
            if not any(isinstance(item.extent, int) and item.extent == 0 for item in sums):
                raise _Refused(f"{never[0]} has no iteration")
            return IterMap(sums, True, ())
        unused = [reason for mark in self._marks() for reason in self._shared_out(mark)]
        return IterMap(sums, not unused, tuple(unused))

    def _marks(self) -> list[IterMark]:
        """All marks, fused ones before the loops that they are made of; adds the digits that fusing uses."""
        fused = list(self.fused.values())
        for mark in fused:
            self.used.extend(mark.parts)
        return [*fused, *self.loops.values()]

    def _shared_out(self, mark: IterMark) -> Iterable[str]:
        """Check that the digits of a mark do not overlap; tells which of them are missing."""
        digits = sorted((split for split in self.used if split.mark is mark), key=lambda split: split.lower)
        if mark.extent is None:
            if len(digits) > 1:
                raise _Refused(f"{mark.name} is used twice")
            return [] if digits else [f"{mark.name} is not used"]
        expected = 1
        missing: list[str] = []
        for digit in digits:
            assert digit.extent is not None
            if digit.lower < expected:
                raise _Refused(f"{mark.name} is used twice")
            if digit.lower > expected:
                if digit.lower % expected:
                    raise _Refused(f"digits of {mark.name} overlap")
                missing.append(f"{mark.name} % {digit.lower} is used in part only")
            expected = digit.lower * digit.extent
        if expected < mark.extent:
            if mark.extent % expected:
                raise _Refused(f"{expected} does not divide the extent {mark.extent} of {mark.name}")
            missing.append(f"{mark.name} // {expected} is not used" if digits else f"{mark.name} is not used")
        elif expected > mark.extent > 1 or (expected > 1 and mark.extent == 1):
            raise _Refused(f"the digits of {mark.name} reach beyond its extent {mark.extent}")
        return missing

    # --- values ---

    def _sum(self, form: Form, dtype: Any) -> IterSum:
        units, offset = self.scope.atoms.digits(form)
        inner = [unit for unit in units if self.scope.unit_moves(unit, self.loops)]
        base_form = Form({}, offset)
        for unit in units:
            if unit not in inner:
                base_form = base_form.plus(self.scope.atoms.unit_form(unit))
        base = self.scope.written(base_form, dtype)
        key = Form(form.plus(base_form, -1).terms, 0).key
        if key in self.limits:
            mark = self._fused(form.plus(base_form, -1))
            return IterSum((IterSplit(mark, 1, mark.extent, 1),), base, mark.extent or 0)
        splits = sorted((self._split(unit) for unit in inner), key=lambda split: -split.scale)
        return IterSum(tuple(splits), base, self._chained(splits))

    def _chained(self, splits: Sequence[IterSplit]) -> int | PrimExpr:
        """How many values a sum of digits takes.  Raises if the digits leave gaps or overlap."""
        if len(splits) == 1 and splits[0].extent is None:
            if splits[0].scale != 1:
                raise _Refused(f"{splits[0].mark.name} has no constant extent and is scaled")
            assert splits[0].mark.symbolic is not None
            return splits[0].mark.symbolic
        expected = 1
        for place, split in reversed(list(enumerate(splits))):
            if split.extent is None:
                if any(other.extent != 1 for other in splits[:place]) or split.mark.symbolic is None:
                    raise _Refused(f"{split.mark.name} has no constant extent")
                self._require_scale(split, expected)
                return multiply(split.mark.symbolic, expected)
            if split.extent == 1:
                continue
            self._require_scale(split, expected)
            expected *= split.extent
        return expected

    def _require_scale(self, split: IterSplit, expected: int) -> None:
        if split.scale != expected:
            raise _Refused(f"{split.mark.name} is scaled by {split.scale} where {expected} would leave no gap")

    def _split(self, unit: Unit) -> IterSplit:
        """A unit as a digit of a mark."""
        if unit.factor < 0:
            raise _Refused("a value runs backwards")
        digit = self.digits.digit(unit)
        if digit is None:
            raise _Refused("a value is no sum of splits")
        mark = self._mark(digit.source)
        if mark.extent is None and (digit.low, digit.high) != (1, inf):
            raise _Refused(f"{mark.name} has no constant extent")
        high = mark.extent if digit.high == inf else int(digit.high)
        return IterSplit(mark, digit.low, None if high is None else -(-high // digit.low), unit.factor)

    def _mark(self, form: Form) -> IterMark:
        """The mark that digits of a form are taken from."""
        variable = self.scope.only_variable(form)
        if variable is None:
            return self._fused(form)
        mark = self.loops.get(self.scope.number_of(variable))
        if mark is None:
            raise _Refused("a value is no sum of splits")
        return mark

    def _fused(self, form: Form) -> IterMark:
        if form.offset:
            raise _Refused(f"a fused index is shifted by {form.offset}")
        known = self.fused.get(form.key)
        if known is not None:
            return known
        units, _ = self.scope.atoms.digits(form)
        splits = sorted((self._split(unit) for unit in units), key=lambda split: -split.scale)
        extent = self._chained(splits)
        if not isinstance(extent, int):
            raise _Refused("a fused index has no constant extent")
        extent = max(0, min(extent, self.limits.get(form.key, extent)))
        name = "*".join(split.mark.name for split in splits)
        made = self.fused[form.key] = IterMark(name, extent, const(extent), tuple(splits))
        return made
