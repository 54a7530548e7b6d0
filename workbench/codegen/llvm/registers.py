"""Local buffers kept in registers: accumulators are values, carried by phis through loops and conditions.

A small buffer that only its function sees is a cache with write-back.  An access at a known place finds the value
stored there last; memory is written when an access may mean any place, and not at all when the buffer's life ends.

    acc[0:16] = 0                     # nothing is emitted
    for k in range(256):              # %acc = phi [ 0, ... ], [ %sum, ... ]
        acc[0:16] += a[k] * b[k]      # %sum = fadd %acc, ...
    for j in range(16):               # store %sum: the loop reads computed places
        c[j] = acc[j]

All places of a buffer that are held at one time lie apart: they have the same values in their index, are vectors of one
length, and their constants are equal modulo this length.  An access of another form writes back what is held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from ...arith import nodes as n
from ...tir import nodes as t
from ...tir.transforms.small_floats import is_small
from .accesses import load_at, store_at
from .addresses import Place, pointer_to
from .surveys import Form, Survey, survey
from .types import Value, in_a_byte, llvm_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter

MOST_CARRIED: Final = 64
"""Values that a loop carries for one buffer; more would not fit into registers anyway."""


class Held(NamedTuple):
    """What stands at a place."""

    value: Value
    dirty: bool
    """Whether memory must still be written."""
    place: Place
    align: int
    position: tuple[int | None, int, str]
    """Where the statement stands that wrote it."""


@dataclass
class Kept:
    """What is known of one buffer at this point."""

    buffer: t.Buffer
    elements: int
    fresh: bool = True
    """Whether its memory was never written: it may hold anything."""
    form: Form | None = None
    held: dict[int, Held] = field(default_factory=lambda: {})
    """By the constant of the place."""

    def copy(self) -> Kept:
        return Kept(self.buffer, self.elements, self.fresh, self.form, dict(self.held))

    def contains(self, form: Form, constant: int) -> bool:
        """Whether a place surely lies in the buffer, whatever the condition of its access."""
        return not form.key and constant >= 0 and constant + form.lanes <= self.elements


State = dict[int, Kept]


class Carried(NamedTuple):
    """A value that a loop carries."""

    buffer: int
    constant: int
    initial: Value
    value: Value
    close: Callable[[tuple[str, str] | None], None]


class Registers:
    """The buffers of one function that are kept in registers now."""

    def __init__(self, emitter: ExpressionEmitter) -> None:
        self._emitter = emitter
        self._kept: State = {}
        self.frozen = 0
        """Inside an arm of an expression, after which nothing of what is read there is known."""

    # --- lives of buffers ---

    def begin(self, buffer: t.Buffer, elements: int) -> None:
        """A buffer's life begins; it is kept if only plain accesses of this function touch it."""
        emitter = self._emitter
        plain = not in_a_byte(buffer.dtype) and not is_small(buffer.dtype) and not buffer.dtype.is_vector
        if emitter.lean and plain and id(buffer) not in emitter.facts.shared:
            self._kept[id(buffer)] = Kept(buffer, elements)

    def end(self, buffer: t.Buffer) -> None:
        """A buffer's life ends: what it holds is wanted no more."""
        self._kept.pop(id(buffer), None)

    def keeps(self, buffer: t.Buffer) -> bool:
        return id(buffer) in self._kept

    # --- accesses ---

    def load(self, buffer: t.Buffer, place: Place | None, lanes: int, align: int) -> Value | None:
        """The value at a place; None when memory is to be asked (`place` is None where it is not plain)."""
        kept = self._kept.get(id(buffer))
        if kept is None:
            return None
        form = Form.of(place, lanes) if place is not None else None
        if form is None or kept.form != form or place is None:
            self._write_back(kept)
            if form is None or place is None or self.frozen or self._emitter.mask is not None:
                return None
            kept.held.clear()
            kept.form = form
        found = kept.held.get(place.constant)
        if found is not None:
            return found.value
        if self.frozen or self._emitter.mask is not None:
            return None
        return self._read(kept, place, align).value

    def _read(self, kept: Kept, place: Place, align: int) -> Held:
        """A place's value out of memory, held from now on."""
        emitter = self._emitter
        assert kept.form is not None
        dtype = kept.buffer.dtype.with_lanes(kept.form.lanes)
        pointer = pointer_to(emitter, kept.buffer, place)
        value = load_at(emitter, dtype, pointer, align, None, emitter.assign)
        kept.held[place.constant] = held = Held(value, False, place, align, emitter.writer.position)
        return held

    def store(self, buffer: t.Buffer, place: Place | None, value: Value, mask: Value | None, align: int) -> bool:
        """Hold a value from now on; False when it must be stored to memory."""
        kept = self._kept.get(id(buffer))
        if kept is None:
            return False
        emitter = self._emitter
        form = Form.of(place, value.dtype.lanes) if place is not None else None
        if form is None or form != kept.form or place is None:
            self._forget(kept)
            if form is None or place is None:
                kept.fresh = False
                return False
            kept.form = form
        if mask is not None:
            old = kept.held.get(place.constant)
            if old is None and not (kept.fresh and kept.contains(form, place.constant)):
                self._forget(kept)
                kept.fresh = False
                return False
            before = old.value if old is not None else Value("poison", value.dtype)
            value = emitter.assign(value.dtype, f"select {mask.typed}, {value.typed}, {before.typed}")
        kept.held[place.constant] = Held(value, True, place, align, emitter.writer.position)
        return True

    def before_arms(self, arms: Sequence[n.PrimExpr]) -> None:
        """Before the branch to arms of an expression: memory holds what they may read, since a store inside of an arm
        would not have happened where the other one is taken."""
        for arm in arms if self._kept else ():  # arms in arms would be looked through again and again
            for load, _ in self._emitter.facts.loads(arm):
                kept = self._kept.get(id(load.buffer))
                if kept is not None:
                    self._write_back(kept)

    def _write_back(self, kept: Kept, constants: tuple[int, ...] | None = None) -> None:
        """Make memory hold what is held; it stays known."""
        emitter = self._emitter
        for constant in kept.held if constants is None else constants:
            held = kept.held[constant]
            if not held.dirty:
                continue
            position = emitter.writer.position
            emitter.writer.back_to(held.position)
            pointer = pointer_to(emitter, kept.buffer, held.place)
            store_at(emitter, held.value, pointer, held.align)
            emitter.writer.back_to(position)
            kept.held[constant] = held._replace(dirty=False)
            kept.fresh = False

    def _forget(self, kept: Kept) -> None:
        """Write back, and know nothing more."""
        self._write_back(kept)
        kept.held.clear()
        kept.form = None

    # --- control flow ---

    def _prepare(self, stmt: t.Stmt, surely: bool) -> dict[int, Survey]:
        """Before a loop or condition: what it accesses at known places only is held, the rest is in memory."""
        touched = self._emitter.facts.touched(stmt)
        here = {identity: kept for identity, kept in self._kept.items() if identity in touched}
        surveys = survey(self._emitter, stmt, frozenset(here)) if here else {}
        found: dict[int, Survey] = {}
        for identity, kept in here.items():
            seen = surveys.get(identity)
            if seen is not None and len(seen.constants) <= MOST_CARRIED and self._hold(kept, seen, surely):
                found[identity] = seen
            else:
                self._forget(kept)
                kept.fresh = False
        return found

    def _hold(self, kept: Kept, seen: Survey, surely: bool) -> bool:
        """Hold all places of a survey; False if one of them cannot be read here."""
        missing = [constant for constant in seen.constants if kept.form != seen.form or constant not in kept.held]
        fresh = kept.fresh
        for constant in missing:
            inside = kept.contains(seen.form, constant)
            if not inside and not (surely and constant not in seen.guarded):
                return False
        if kept.form != seen.form:
            self._forget(kept)
            kept.form = seen.form
        for constant in sorted(missing):
            place = seen.places[constant]
            if fresh and kept.fresh:
                value = Value("poison", kept.buffer.dtype.with_lanes(seen.form.lanes))
                kept.held[constant] = Held(value, False, place, seen.align, self._emitter.writer.position)
            else:
                self._read(kept, place, seen.align)
        return True

    def enter_loop(self, loop: t.For, surely: bool) -> dict[int, Survey]:
        """Before a loop's first block: hold what it carries, write back what it may touch otherwise."""
        return self._prepare(loop, surely)

    def begin_loop(self, surveys: dict[int, Survey], before: str) -> list[Carried]:
        """At the head of a loop, behind the counter: the phis of what it changes."""
        carried: list[Carried] = []
        for identity, seen in surveys.items():
            kept = self._kept[identity]
            kept.fresh = False
            for constant in sorted(seen.written, reverse=True):
                held = kept.held[constant]
                value, close = self._emitter.writer.phi(held.value.dtype, (held.value.text, before))
                kept.held[constant] = held._replace(value=value, dirty=True)
                carried.append(Carried(identity, constant, held.value, value, close))
        return carried

    def bind(self, carried: list[Carried]) -> None:
        """The phis are values of the loop's scope."""
        for item in carried:
            self._emitter.numbering.bind(item.value)

    def end_body(self, loop: t.Stmt, surveys: dict[int, Survey]) -> None:
        """At the end of a loop's body: what the next iteration does not get by phis, it finds in memory."""
        touched = self._emitter.facts.touched(loop)
        for identity, kept in self._kept.items():
            if identity in touched and identity not in surveys:
                self._forget(kept)

    def close(self, carried: list[Carried], latch: str) -> list[Value]:
        """Give the phis their edge from the last block of the loop; the values they get."""
        values = [self._kept[item.buffer].held[item.constant].value for item in carried]
        for item, value in zip(carried, values, strict=True):
            item.close((value.text, latch))
        return values

    def leave_loop(self, carried: list[Carried], values: list[Value], edges: tuple[str, str] | None) -> None:
        """Behind a loop: what it carried last; `edges` are the blocks before and at its end if it may not have run."""
        emitter = self._emitter
        for item, value in zip(carried, values, strict=True):
            known = value
            if edges is not None:
                kind = llvm_type(value.dtype)
                before, latch = edges
                known = emitter.writer.assign(
                    value.dtype, f"phi {kind} [ {item.initial.text}, %{before} ], [ {value.text}, %{latch} ]"
                )
                emitter.numbering.levels[known.text] = emitter.numbering.here
            self._outside(item, known)

    def abandon_loop(self, carried: list[Carried]) -> None:
        """Behind a loop whose body leaves the function: what stood before it."""
        for item in carried:
            item.close(None)
            self._outside(item, item.initial)

    def _outside(self, item: Carried, value: Value) -> None:
        kept = self._kept[item.buffer]
        kept.held[item.constant] = kept.held[item.constant]._replace(value=value)
        self._define(value)

    def _define(self, value: Value) -> None:
        """A value is known here, wherever it was computed."""
        numbering = self._emitter.numbering
        if value.text in numbering.levels:
            numbering.levels[value.text] = min(numbering.levels[value.text], numbering.here)

    # --- conditions ---

    def enter_condition(self, stmt: t.Stmt) -> State:
        """Before a condition: what its arms begin with."""
        self._prepare(stmt, False)
        return self.state()

    def state(self) -> State:
        """What is known now."""
        return {identity: kept.copy() for identity, kept in self._kept.items()}

    def restore(self, state: State) -> None:
        """Know again what was known."""
        for identity, kept in state.items():
            self._kept[identity] = kept.copy()

    def end_arm(self, before: State) -> None:
        """At the end of an arm: what did not stand in front of it is in memory."""
        for identity, kept in self._kept.items():
            known = before[identity]
            if kept.form != known.form:
                self._forget(kept)
                kept.form = known.form
            new = tuple(constant for constant in kept.held if constant not in known.held)
            self._write_back(kept, new)
            for constant in new:
                del kept.held[constant]
            for constant, held in known.held.items():
                if constant not in kept.held:
                    self._read(kept, held.place, held.align)

    def join(self, arms: list[tuple[State, str]]) -> None:
        """Behind a condition, at the head of its last block: the arms that end there, with their last blocks."""
        if not arms:
            return
        self.restore(arms[0][0])
        if len(arms) == 1:
            for kept in self._kept.values():
                for held in kept.held.values():
                    self._define(held.value)
            return
        (_, first_block), (second, second_block) = arms
        for identity, kept in self._kept.items():
            kept.fresh = kept.fresh and second[identity].fresh
            for constant, held in kept.held.items():
                own = second[identity].held[constant]
                kept.held[constant] = self._joined(held, first_block, own, second_block)

    def _joined(self, held: Held, block: str, other: Held, other_block: str) -> Held:
        dirty = held.dirty or other.dirty
        if held.value.text == other.value.text:
            return held._replace(dirty=dirty)
        emitter, dtype = self._emitter, held.value.dtype
        edges = f"[ {held.value.text}, %{block} ], [ {other.value.text}, %{other_block} ]"
        value = emitter.writer.assign(dtype, f"phi {llvm_type(dtype)} {edges}")
        emitter.numbering.levels[value.text] = emitter.numbering.here
        return held._replace(value=value, dirty=dirty, position=(held if held.dirty else other).position)


__all__ = ["Carried", "Registers", "State"]
