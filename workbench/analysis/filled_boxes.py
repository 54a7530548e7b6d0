"""The box that an access fills while loops run, without gaps: what it surely writes.

    filled(accesses, write, own)              # `own`: the atoms of the loops that run; None where it is not shown
    filled(accesses, write, own, last)        # the loop of `last` only up to before where it stands

Conditions that say how far a loop, or an iterator of the block, goes make the box smaller; others are refused.  A loop
may have no iterations (a symbolic extent): the box is empty then, or the loop is shown to have some.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Any

from ..arith.digits import Digits, Run, run_of
from ..arith.forms import Form
from ..arith.scope import Scope
from .accesses import Access, Accesses, Condition
from .box_forms import Box, Span


def filled(accesses: Accesses, write: Access, own: frozenset[int], last: int | None = None) -> Box | None:
    """See the module's header."""
    if not write.is_sure or any(reach is None or reach.constant != 0 for reach in write.reaches):
        return None  # what a block may write, not what it surely writes
    if not all(_runs(accesses.scope, write, atom) for atom in own):
        return None
    taken: dict[int, Run] = {}
    if last is not None:
        run = run_of(accesses.scope, last, own)
        if run is None:
            return None
        taken[last] = Run(run.low, Form({last: 1}, -1), inf)
    for sums_first in (False, True):
        making = _Filling(accesses, write, own, dict(taken))
        box = making.box(last) if making.heeds_conditions(sums_first) else None
        if box is not None or not making.ends_several:
            return box
    return None


class _Filling:
    def __init__(self, accesses: Accesses, write: Access, own: frozenset[int], taken: dict[int, Run]) -> None:
        self.scope, self.write, self.own = accesses.scope, write, own
        self.taken = taken
        """The values of loops that conditions end."""
        self.ends_several = False
        """Whether a condition ends an iterator, and could end a sum of loops as well."""
        self.held: dict[int, Span] = {}
        """The ends that conditions set for iterators."""
        self.most: dict[Any, Form] = {}
        """The greatest values that they set for sums of loops, which digits are taken from."""

    def box(self, last: int | None) -> Box | None:
        write = self.write
        plain = [self._plain(inner) for inner in write.inner]
        apart = [inner for inner, found in zip(write.inner, plain, strict=True) if found is None]
        if any(inner is None or self.scope.moves(inner, self.held) for inner in apart):
            return self._by_iterators() if last is None else None
        loose = [form for form, found in zip(write.forms, plain, strict=True) if found is None]
        values = {item.atom: item.value for item in write.iterators if item.atom in self.held}
        runs = self._runs([*loose, *values.values()], self.own, self.taken)
        if runs is None or (last is not None and not any(self._begins_empty(run, last) for run in runs)):
            return None
        ends = {atom: self._met(run, self.held[atom]) for atom, run in zip(values, runs[len(loose) :], strict=True)}
        used = [found[0] for found in plain if found is not None]
        if len(set(used)) < len(used):  # a diagonal
            return None
        if not all(self._is_there(ends[atom]) for atom in self.held if atom not in used):
            return None
        whole = iter(runs)
        return tuple(_whole(next(whole)) if one is None else ends[one[0]].shifted(one[1]) for one in plain)

    def _by_iterators(self) -> Box | None:
        """The box of indices that are made of restricted iterators and others: by the values of all iterators."""
        runs = self._runs([item.value for item in self.write.iterators], self.own, self.taken)
        if runs is None:
            return None
        ranges: dict[int, Run] = {}
        for item, run in zip(self.write.iterators, runs, strict=True):
            (low, *lows), (high, *highs) = self._met(run, self.held.get(item.atom, Span((), ())))
            count = high.plus(low, -1).shifted(1).constant
            if lows or highs or count is None or count < 1:
                return None
            ranges[item.atom] = Run(low, high, count)
        made = self._runs(self.write.inner, set(ranges), ranges)
        return None if made is None else tuple(map(_whole, made))

    def _runs(
        self, forms: Sequence[Form | None], own: Collection[int], taken: Mapping[int, Run]
    ) -> tuple[Run, ...] | None:
        known = [form for form in forms if form is not None]
        digits = Digits(self.scope, known, own, taken, self.most if own is self.own else {})
        runs = digits.runs if len(known) == len(forms) else None
        return runs if own is not self.own or digits.heeded == set(self.most) else None

    def _plain(self, inner: Form | None) -> tuple[int, int] | None:
        """The iterator with ends of its own that an index is, and what is added to it."""
        return (inner.atom, inner.offset) if inner is not None and inner.atom in self.held else None

    def _met(self, run: Run, held: Span) -> Span:
        """The values of a run within other ends; ends that others make needless are left out."""
        at_most = self.scope.at_most
        lows = [low for low in held.lows if not at_most(low, run.low)]
        highs = [high for high in held.highs if not at_most(run.high, high)]
        return Span(
            tuple(lows) if any(at_most(run.low, low) for low in lows) else (run.low, *lows),
            tuple(highs) if any(at_most(high, run.high) for high in highs) else (run.high, *highs),
        )

    def _is_there(self, span: Span) -> bool:
        """Whether there is a value between all ends."""
        return all(self.scope.at_most(low, high) for low in span.lows for high in span.highs)

    def _begins_empty(self, run: Run, last: int) -> bool:
        """Whether a run has no value where its loop stands at the first iteration, before which there is none."""
        length = run.high.plus(run.low, -1).shifted(1)
        factor = length.terms.get(last, 0)
        first = length.plus(Form({last: 1}, 0), -factor).plus(self.taken[last].low, factor)
        return not self.scope.moves(first, (last,)) and self.scope.at_most(first, Form({}, 0))

    # --- conditions ---

    def heeds_conditions(self, sums_first: bool) -> bool:
        """Whether all conditions that move say no more than how far loops and iterators go; they are put down.

        ``(f * 7 + g) // 8 < 8`` ends the sum f * 7 + g, of which there may be further digits, or the iterator.
        """
        moving = [one for one in self.write.conditions if not one.variables.isdisjoint(self.own)]
        iterators_and_sums = self._ends_iterator, self._ends_sum
        heeded = (self._ends_loop, *(reversed(iterators_and_sums) if sums_first else iterators_and_sums))
        self.ends_several = bool(moving)
        others = [one for one in moving if not any(heeds(one) for heeds in heeded)]
        kept = [limit for one in moving if one not in others for limit in one.limits]
        return all(self.scope.follows(one.limits, kept) for one in others)

    def _ends_loop(self, condition: Condition) -> bool:
        """Whether a condition says how far one loop goes, or where it stands."""
        return bool(condition.limits) and all(map(self._is_end_of_loop, condition.limits))

    def _is_end_of_loop(self, limit: Form) -> bool:
        scope = self.scope
        moving = [(atom, by) for atom, by in limit.terms.items() if not scope.variables(atom).isdisjoint(self.own)]
        if len(moving) != 1 or moving[0][0] not in self.own or abs(moving[0][1]) != 1:
            return False
        atom, factor = moving[0]
        run = self.taken.get(atom) or run_of(scope, atom, self.own)
        if run is None or (atom in self.taken and run.size == inf):
            return False
        rest = limit.plus(Form({atom: 1}, 0), -factor)
        low, high = (run.low, rest.times(-1)) if factor > 0 else (rest, run.high)
        if not (scope.at_most(high, run.high) and scope.at_most(run.low, low) and scope.at_most(low, high)):
            return False
        count = high.plus(low, -1).shifted(1).constant
        self.taken[atom] = Run(low, high, inf if count is None else count)
        return True

    def _ends_iterator(self, condition: Condition) -> bool:
        """Whether a condition says how far iterators of the block go."""
        found: list[tuple[int, Form, bool]] = []
        for limit in condition.limits:
            ends = (
                (item.atom, *end)
                for item in self.write.iterators
                if item.value is not None and (end := self._end(limit, item.value)) is not None
            )
            one = next(ends, None)
            if one is None:
                return False
            found.append(one)
        for atom, form, is_high in found:
            lows, highs = self.held.get(atom, Span((), ()))
            self.held[atom] = Span(lows, (*highs, form)) if is_high else Span((*lows, form), highs)
        return bool(found)

    def _ends_sum(self, condition: Condition) -> bool:
        """Whether a condition says how far a sum of loops goes."""
        if len(condition.limits) != 1:
            return False
        limit = condition.limits[0]
        moving = {atom: by for atom, by in limit.terms.items() if not self.scope.variables(atom).isdisjoint(self.own)}
        key = Form(moving, 0).key
        if min(moving.values(), default=0) <= 0 or key in self.most:
            return False
        self.most[key] = Form(moving, 0).plus(limit, -1)
        return True

    def _end(self, limit: Form, value: Form) -> tuple[Form, bool] | None:
        """The end that limit <= 0 is to a value, and whether it is the greatest; None where it says something else."""
        for factor in (1, -1):
            rest = limit.plus(value, -factor)
            if not self.scope.moves(rest, self.own):
                return (rest.times(-1), True) if factor > 0 else (rest, False)
        return None


def _runs(scope: Scope, write: Access, atom: int) -> bool:
    """Whether a loop is shown to have iterations, or what is written goes with it: all of it, or no part.

    A reduction over nothing writes all the same: its init.
    """
    goes_with_it = any(form is not None and scope.moves(form, (atom,)) for form in write.forms)
    return goes_with_it or atom in write.reduced or scope.has_iterations(atom)


def _whole(run: Run) -> Span:
    return Span((run.low,), (run.high,))
