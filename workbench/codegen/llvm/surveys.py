"""Which places of local buffers a statement accesses, before it is emitted: what its loops have to carry.

A survey exists where all accesses are at places that are known in front of the statement: counters of unrolled loops
are numbers, all else in the index is bound outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from ...arith import nodes as n
from ...core.node import children
from ...tir import nodes as t
from .addresses import Place
from .types import INDEX, Value

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter

MOST_PLACES: Final = 256
"""Places of one access; more are not kept in registers."""


class Form(NamedTuple):
    """What places of a buffer have in common that do not overlap: see `registers`."""

    key: tuple[tuple[str, int], ...]
    lanes: int
    residue: int

    @classmethod
    def of(cls, place: Place, lanes: int) -> Form:
        """The form of a place."""
        return cls(place.key, lanes, place.constant % lanes)


@dataclass
class Survey:
    """The places of one buffer that a statement accesses, by their constants."""

    form: Form
    places: dict[int, Place]
    written: set[int]
    guarded: set[int]
    """Places of which some access stands under a condition."""
    sure: set[int]
    """Places of which some access does not."""
    align: int

    @property
    def constants(self) -> set[int]:
        return set(self.places)


class _Access(NamedTuple):
    buffer: t.Buffer
    index: n.PrimExpr
    written: bool
    guarded: bool
    unrolled: tuple[tuple[int, range], ...]


def survey(emitter: ExpressionEmitter, root: t.Stmt, wanted: frozenset[int]) -> dict[int, Survey]:
    """By the identity of a buffer, the places that `root` accesses; buffers accessed elsewhere are left out."""
    bound: set[int] = set()
    found: dict[int, Survey] = {}
    failed: set[int] = set()
    for access in _accesses(emitter, root, wanted, bound):
        identity = id(access.buffer)
        if identity not in failed and not _add(emitter, access, bound, found):
            failed.add(identity)
    for identity in failed:
        found.pop(identity, None)
    for seen in found.values():
        seen.guarded -= seen.sure
    return found


def _accesses(emitter: ExpressionEmitter, root: t.Stmt, wanted: frozenset[int], bound: set[int]) -> Iterator[_Access]:
    """All accesses of buffers in a statement; what it binds is added to `bound`."""
    stack: list[tuple[t.Stmt, bool, tuple[tuple[int, range], ...]]] = [(root, False, ())]
    while stack:
        stmt, guarded, unrolled = stack.pop()
        if isinstance(stmt, t.BufferStore) and id(stmt.buffer) in wanted:
            index = stmt.indices[0] if stmt.indices else n.IntImm(0, INDEX)
            yield _Access(stmt.buffer, index, True, guarded, unrolled)
        for child in children(stmt):
            if isinstance(child, n.PrimExpr):
                for load, chosen in emitter.facts.loads(child):
                    if id(load.buffer) in wanted:
                        index = load.indices[0] if load.indices else n.IntImm(0, INDEX)
                        yield _Access(load.buffer, index, False, guarded or chosen, unrolled)
        inner, conditional = unrolled, guarded or isinstance(stmt, (t.IfThenElse, t.While))
        if isinstance(stmt, t.For):
            steps = emitter.facts.written_out(stmt, emitter.one_pass)
            if steps is None:
                bound.add(id(stmt.var))
                conditional = conditional or (stmt is not root and not _surely_runs(stmt))
            else:
                inner = (*unrolled, (id(stmt.var), steps))
        elif isinstance(stmt, t.LetStmt):
            bound.add(id(stmt.var))
        below = [child for child in children(stmt) if isinstance(child, t.Stmt)]
        stack.extend((child, conditional, inner) for child in reversed(below))


def _surely_runs(loop: t.For) -> bool:
    return isinstance(loop.extent, n.IntImm) and loop.extent.value > 0


def _add(emitter: ExpressionEmitter, access: _Access, bound: set[int], found: dict[int, Survey]) -> bool:
    """Add an access to its buffer's survey; False if its places are not known or overlap others."""
    index, lanes = access.index, 1
    if isinstance(index, n.Ramp) and isinstance(index.stride, n.IntImm) and index.stride.value == 1:
        index, lanes = index.base, index.lanes
    elif isinstance(index, n.Broadcast):
        index = index.value
    if index.dtype.is_vector:
        return False
    terms = _terms(emitter, index, dict(access.unrolled), bound)
    if terms is None:
        return False
    values, base, steps = terms
    constants = {base + sum(offsets) for offsets in product(*steps)}
    for constant in constants:
        place = Place(values, constant)
        form = Form.of(place, lanes)
        seen = found.get(id(access.buffer))
        if seen is None:
            align = max(1, access.buffer.dtype.bytes)
            seen = found[id(access.buffer)] = Survey(form, {}, set(), set(), set(), align)
        if seen.form != form:
            return False
        seen.places[constant] = place
    seen = found[id(access.buffer)]
    if access.written:
        seen.written |= constants
    (seen.guarded if access.guarded else seen.sure).update(constants)
    return True


def _terms(
    emitter: ExpressionEmitter, index: n.PrimExpr, unrolled: dict[int, range], bound: set[int]
) -> tuple[tuple[tuple[Value, int], ...], int, list[list[int]]] | None:
    """(values and factors, constant, what each unrolled counter adds) of an index; None if it is not known here."""
    constant, parts = emitter.terms_of(index)
    counters: dict[int, int] = {}
    found: dict[str, tuple[Value, int]] = {}
    for part, factor in parts:
        if id(part) in unrolled:
            counters[id(part)] = counters.get(id(part), 0) + factor
            continue
        variables = emitter.facts.variables(part)
        if variables is None or not all(_is_known(emitter, variable, unrolled, bound) for variable in variables):
            return None
        value = emitter.index(part)
        if value.text.lstrip("-").isdigit():
            constant += int(value.text) * factor
        else:
            found[value.text] = (value, found.get(value.text, (value, 0))[1] + factor)
    steps = [[factor * step for step in unrolled[counter]] for counter, factor in counters.items()]
    count = 1
    for offsets in steps:
        count *= len(offsets)
    if count > MOST_PLACES:
        return None
    return tuple(term for term in found.values() if term[1]), constant, steps


def _is_known(emitter: ExpressionEmitter, variable: int, unrolled: dict[int, range], bound: set[int]) -> bool:
    return variable in emitter.values and variable not in unrolled and variable not in bound
