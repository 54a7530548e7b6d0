"""Flow of values between the statements of a function: whether what an iteration reads has been written by then.

    flow = Dataflow(func.body)
    flow.carries(loop, buffer)                # whether an iteration may read what it did not write itself before

    for i: B[i] = A[i]; C[i] = B[i - 1] + B[i]                      # carries B: a flow dependence of distance 1
    for i: for j: B[j] = A[i, j];  for j: C[i, j] = B[j] * 2        # every iteration reads only what it has written

The method: what one instance of a read touches is over-approximated by a box, what has surely been written before it by
boxes: by writers that come before it in the same iteration of the loops around both, and by earlier iterations of such
a loop.  Ends of boxes are forms of the variables that stand still.

Invariant: "not carried" is proof.  Loops of symbolic extent may have no iterations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from ..arith import nodes as n
from ..arith.digits import Digits
from ..arith.forms import Form
from ..arith.scope import Ends, Scope
from ..tir import nodes as t
from .accesses import Access, Accesses
from .box_forms import Box, Span, holds, joined
from .filled_boxes import filled

_IN_ORDER: Final = (t.ForKind.SERIAL, t.ForKind.UNROLLED)


class Given(NamedTuple):
    """What holds at an access."""

    keys: frozenset[object]
    """Of its conditions."""
    limits: tuple[Form, ...]
    """Forms that are not above 0."""


class Dataflow:
    """See the module's header."""

    def __init__(self, body: t.Stmt) -> None:
        self._body = body
        self._written: dict[tuple[Access, frozenset[int]], Box | None] = {}

    @cached_property
    def accesses(self) -> Accesses:
        return Accesses(self._body)

    def carries(self, loop: t.For, buffer: t.Buffer) -> bool:
        """Whether an iteration of `loop` may read elements of `buffer` that it did not write itself.

        Iterations of a parallel loop, and threads that do not combine their values, are independent: they pass nothing
        on.
        """
        if loop.has_private_buffers or (isinstance(loop.extent, n.IntImm) and loop.extent.value <= 1):
            return False
        reads, writes = (
            [access for access in self.accesses.of(buffer, written) if any(step is loop for step in access.loops)]
            for written in (False, True)
        )
        if not self.accesses.is_clear or any(self._goes_on(write, loop) for write in writes):
            return True
        writes = [part for write in writes for part in _parts(write)]
        return not all(self._is_made(read, loop, writes) for read in reads)

    def _goes_on(self, write: Access, loop: t.For) -> bool:
        """Whether a sum goes on in an iteration that other iterations, of `loop` or of one around it, have begun."""
        inside = {self.accesses.atoms[step] for step in _within(write.loops, loop)}
        return not write.reduced <= inside

    def _is_made(self, read: Access, loop: t.For, writes: Sequence[Access]) -> bool:
        """Whether all that an instance of `read` touches has been written before in its iteration of `loop`."""
        given, scope = self._given(read), self.accesses.scope
        if any(scope.atoms.bound(limit).low > 0 for limit in given.limits):
            return True  # it is never done
        wanted = self._touched(read, given)
        if wanted is None:
            return False
        around = _within(read.loops, loop)
        made: list[Box] = []
        for write in writes:
            loops = _within(write.loops, loop)
            shared = _common(around, loops)
            if write.order < read.order:
                made += self._in_this_iteration(write, loops[shared:], given)
                made += self._in_the_first(write, loops[shared - 1 :], given) if shared else []
            for place in range(shared):
                made += self._in_earlier_iterations(write, loops[place:], given)
            if any(holds(scope, box, wanted) for box in made):
                return True
        return any(holds(scope, box, wanted) for box in joined(scope, made))

    def writes_apart(self, loop: t.For, buffer: t.Buffer) -> bool:
        """Whether it is shown that no two iterations of `loop`, in one of those around it, write the same element.

        Shown by tiles: along some axes all that an iteration writes lies in a tile of its own.

            for i: for j in range(7): B[i // 8, i % 8 * 7 + j] = ...        # tiles of 1 x 7
        """
        writes = [one for one in self.accesses.of(buffer, written=True) if any(step is loop for step in one.loops)]
        if not writes or not self.accesses.is_clear:
            return not writes
        variable = self.accesses.atoms[loop]
        spans = ([self._reached(one, loop, axis) for one in writes] for axis in range(len(buffer.shape)))
        found = [tile for axis in spans if (tile := self._tile(axis, variable)) is not None]
        return bool(found) and Digits(self.accesses.scope, found, (variable,)).injective

    def _reached(self, write: Access, loop: t.For, axis: int) -> Ends:
        """The ends of what is written along an axis in an iteration of `loop`, at most."""
        form, reach = write.forms[axis], write.reaches[axis]
        if form is None or reach is None:
            return None, None
        low, high = self.accesses.scope.ends(form, {self.accesses.atoms[step] for step in _within(write.loops, loop)})
        return low, None if high is None else high.plus(reach)

    def _tile(self, spans: Sequence[Ends], variable: int) -> Form | None:
        """The number of the tile that holds all spans, as a form of the variable; None where there is none."""
        scope = self.accesses.scope
        moving: dict[int, int] | None = None
        rests: list[list[Form]] = [[], []]
        for side, end in ((side, end) for span in spans for side, end in enumerate(span)):
            if end is None:
                return None
            moves = {atom: factor for atom, factor in end.terms.items() if variable in scope.variables(atom)}
            if moving is not None and moves != moving:
                return None
            moving = moves
            rests[side].append(end.plus(Form(moves, 0), -1))
        sizes = [high.plus(low, -1).constant for low in rests[0] for high in rests[1]]
        if not moving or None in sizes or any(scope.variables(atom) != {variable} for atom in moving):
            return None
        size = max(size for size in sizes if size is not None) + 1
        if any(factor % size for factor in moving.values()):
            return None
        return Form({atom: factor // size for atom, factor in moving.items()}, 0)

    # --- what is touched, at most ---

    def _touched(self, read: Access, given: Given) -> Box | None:
        """What one instance touches: by its index, by its iterators' domains, by what is given, by the buffer."""
        scope = self.accesses.scope
        own = {item.atom for item in read.iterators}
        spans: list[Span] = []
        for form, reach, inner, extent in zip(read.forms, read.reaches, read.inner, read.buffer.shape, strict=True):
            lows, highs = [Form({}, 0)], list[Form]()
            size = scope.form(extent)
            if size is not None:
                highs.append(size.shifted(-1))
            least, most = _limited(form, given.limits)
            for end in (*least, self._at_ends(inner, own, 0)):
                lows += [end] if end is not None else []
            for end in (*most, self._at_ends(inner, own, 1)):
                highs += [end.plus(reach)] if end is not None and reach is not None else []
            if not highs:
                return None
            spans.append(Span(tuple(lows), tuple(highs)))
        return tuple(spans)

    def _at_ends(self, inner: Form | None, own: Collection[int], side: int) -> Form | None:
        """An end of an index over a block's iterators by their domains."""
        if inner is None:
            return None
        end = self.accesses.scope.ends(inner, own)[side]
        return None if end is None or self.accesses.scope.moves(end, self.accesses.iterators) else end

    # --- what is made, at least ---

    def _in_this_iteration(self, write: Access, loops: Sequence[t.For], given: Given) -> list[Box]:
        """What it has written when `loops` have run, the others standing still."""
        own = frozenset(self.accesses.atoms[step] for step in loops)
        if not self._is_under(write, own, given) or not all(map(_surely_runs, loops)):
            return []
        key = write, own
        if key not in self._written:
            self._written[key] = filled(self.accesses, write, own)
        box = self._written[key]
        return [] if box is None else [box]

    def _in_the_first(self, write: Access, loops: Sequence[t.For], given: Given) -> list[Box]:
        """What has been written when `loops` are over, of which the first stands, by a write for its first iteration.

            for y: for a in range(3): where y == 0 or a == 2: B[y + a] = ...
        """
        variable = Form({self.accesses.atoms[loops[0]]: 1}, 0)
        begin = self.accesses.scope.ends(variable, variable.terms)[0]
        beyond = None if begin is None else variable.plus(begin, -1).key
        runs = loops[0].kind in _IN_ORDER and all(map(_surely_runs, loops[1:]))
        own = frozenset(self.accesses.atoms[step] for step in loops)
        if not runs or not self._is_under(write, own, given):
            return []
        is_first = any(limit.key == beyond for one in write.conditions for limit in one.limits)
        box = filled(self.accesses, write, own) if is_first else None
        return [] if box is None else [box]

    def _in_earlier_iterations(self, write: Access, loops: Sequence[t.For], given: Given) -> list[Box]:
        """What it has written in the iterations of the first of `loops` before the one that stands."""
        first, own = loops[0], frozenset(self.accesses.atoms[step] for step in loops)
        runs = first.kind in _IN_ORDER and all(map(_surely_runs, loops[1:]))
        if not runs or not self._is_under(write, own, given):
            return []
        variable = self.accesses.atoms[first]
        box = filled(self.accesses, write, own, variable)
        return [] if box is None else [box]

    def _is_under(self, write: Access, own: Collection[int], given: Given) -> bool:
        """Whether the conditions of a write that stand still hold where those given do."""
        still = (one for one in write.conditions if one.variables.isdisjoint(own))
        return all(one.key in given.keys or self.accesses.scope.follows(one.limits, given.limits) for one in still)

    def _given(self, read: Access) -> Given:
        """What holds where an element is read: its conditions, its iterators' domains, the extents of the buffer."""
        scope = self.accesses.scope
        limits = [limit for condition in read.conditions for limit in condition.limits]
        for item in read.iterators:
            if item.value is not None:
                limits += [item.value.plus(item.last, -1)] if item.last is not None else []
                limits += [item.begin.plus(item.value, -1)] if item.begin is not None else []
        for form, reach, extent in zip(read.forms, read.reaches, read.buffer.shape, strict=True):
            size = scope.form(extent)
            if form is not None and reach is not None and size is not None:
                limits += [form.plus(size, -1).shifted(1), form.plus(reach).times(-1)]
        moving = [limit for limit in limits if limit.terms and not scope.moves(limit, self.accesses.iterators)]
        return Given(frozenset(one.key for one in read.conditions), tuple({one.key: one for one in moving}.values()))


def tells_apart(values: Sequence[n.PrimExpr], loops: Sequence[t.For]) -> bool:
    """Whether it is shown that no two iterations of `loops`, in one of the loops around, have the same `values`.

    Values that are no integer forms tell nothing; what is loaded must stand still in the loops.
    """
    scope = Scope()
    own = [scope.enter(loop.var, loop.min, loop.extent) for loop in loops]
    forms = [form for value in values if (form := scope.form(value)) is not None]
    return Digits(scope, forms, own).injective


def _parts(write: Access) -> list[Access]:
    """A write under a disjunction as several, one for each of what may hold."""
    at = next((at for at, one in enumerate(write.conditions) if one.either), None)
    if at is None:
        return [write]
    before, after = write.conditions[:at], write.conditions[at + 1 :]
    made = (replace(write, conditions=(*before, one, *after)) for one in write.conditions[at].either)
    return [part for one in made for part in _parts(one)]


def _limited(form: Form | None, given: Sequence[Form]) -> tuple[list[Form], list[Form]]:
    """Ends of a form where those given are not above 0: itself, and what is left of it with one that shares a term."""
    if form is None:
        return [], []
    lows, highs = [form], [form]
    for limit in given:
        for atom, factor in form.terms.items():
            if limit.terms.get(atom) == factor:
                highs.append(form.plus(limit, -1))
            elif limit.terms.get(atom) == -factor:
                lows.append(form.plus(limit))
    return lows, highs


def _within(loops: Sequence[t.For], loop: t.For) -> Sequence[t.For]:
    """The loops inside one of them."""
    return loops[next(at for at, step in enumerate(loops) if step is loop) + 1 :]


def _common(one: Sequence[t.For], other: Sequence[t.For]) -> int:
    """How many loops both begin with."""
    count = 0
    while count < min(len(one), len(other)) and one[count] is other[count]:
        count += 1
    return count


def _surely_runs(loop: t.For) -> bool:
    return not isinstance(loop.extent, n.IntImm) or loop.extent.value > 0
