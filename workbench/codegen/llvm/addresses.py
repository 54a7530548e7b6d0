"""Places in buffers: an index taken apart, so that each part of it is computed where it is bound.

In lean functions an index is a sum of multiples of values, and a constant.  Terms are added to the buffer's address
level by level (see `numbering`), the constant last, where processors add it for nothing: the 28 accesses of an unrolled
tile share one pointer a loop.  In functions that LLVM vectorises, an index is one number, whose arithmetic does not
overflow, as LLVM's analysis of strides wants it.

    a[i * 1024 + j * 16 + 3]      # in the loop of i: p = a + i * 1024; in that of j: q = p + j * 16; here: q + 3
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...arith import nodes as n
from ...tir import nodes as t
from .types import HANDLE, INDEX, Value, is_constant, memory_type

if TYPE_CHECKING:
    from .expressions import ExpressionEmitter

Terms = tuple[int, tuple[tuple[n.PrimExpr, int], ...]]
"""A constant, and expressions with their coefficients."""


class Place(NamedTuple):
    """An index: values times coefficients, and a constant; not lean: one value and what was added to it."""

    terms: tuple[tuple[Value, int], ...]
    constant: int = 0

    def moved(self, elements: int) -> Place:
        """The place some elements further on."""
        return self._replace(constant=self.constant + elements)

    @property
    def key(self) -> tuple[tuple[str, int], ...]:
        """Equal for places whose distance is the difference of their constants."""
        return tuple(sorted((value.text, factor) for value, factor in self.terms))


def terms_of(expr: n.PrimExpr) -> Terms:
    """An index as a sum; what is not linear, or not of the dtype of indices, is a term of its own."""
    constant = 0
    terms: list[tuple[n.PrimExpr, int]] = []
    pending: list[tuple[n.PrimExpr, int]] = [(expr, 1)]
    while pending:
        current, scale = pending.pop()
        if isinstance(current, n.IntImm):
            constant += current.value * scale
        elif current.dtype != INDEX:
            terms.append((current, scale))
        elif isinstance(current, (n.Add, n.Sub)):
            pending += [(current.b, -scale if isinstance(current, n.Sub) else scale), (current.a, scale)]
        elif isinstance(current, n.Mul) and isinstance(current.b, n.IntImm):
            pending.append((current.a, scale * current.b.value))
        elif isinstance(current, n.Mul) and isinstance(current.a, n.IntImm):
            pending.append((current.b, scale * current.a.value))
        else:
            terms.append((current, scale))
    return constant, tuple(terms)


def place_of(self: ExpressionEmitter, index: n.PrimExpr) -> Generator[n.PrimExpr, Value, Place]:
    """A generator, as the emitters of expressions are, that ends with the `Place` of an index (not a vector)."""
    self.index_depth += 1
    if not self.lean or index.dtype != INDEX:
        value = yield index
        self.index_depth -= 1
        known = is_constant(value.text) and value.text.lstrip("-").isdigit()
        return Place((), int(value.text)) if known else Place(((value, 1),))
    constant, parts = self.terms_of(index)
    found: dict[str, tuple[Value, int]] = {}
    for part, factor in parts:
        value = self.known_part(part)
        if value is None:
            value = yield part
            self.remember_part(part, value)
        if value.text.lstrip("-").isdigit():
            constant += int(value.text) * factor
            continue
        total = found.get(value.text, (value, 0))[1] + factor
        found[value.text] = (value, total)
    self.index_depth -= 1
    return Place(tuple(term for term in found.values() if term[1]), constant)


def pointer_to(self: ExpressionEmitter, buffer: t.Buffer, place: Place) -> str:
    """The address of an element (or of the first of a vector)."""
    base, _ = self.base_pointer(buffer)
    element = memory_type(buffer.dtype)
    if not self.lean:
        return _at_index(self, base, element, place)
    levels = self.numbering.levels
    by_level: dict[int, list[tuple[Value, int]]] = {}
    for term in place.terms:
        by_level.setdefault(levels.get(term[0].text, 0), []).append(term)
    pointer = base
    for level in sorted(by_level):
        offset = _sum(self, by_level[level])
        pointer = self.assign(HANDLE, f"getelementptr {element}, ptr {pointer}, {offset.typed}").text
    if place.constant == 0:
        return pointer
    text = f"getelementptr {element}, ptr {pointer}, i64 {place.constant}"
    return self.numbering.numbered(HANDLE, text, self.numbering.here).text


def _sum(self: ExpressionEmitter, terms: Sequence[tuple[Value, int]]) -> Value:
    total: Value | None = None
    for value, factor in terms:
        product = value if factor == 1 else self.assign(value.dtype, f"mul {value.typed}, {factor}")
        total = product if total is None else self.assign(product.dtype, f"add {total.typed}, {product.text}")
    assert total is not None
    return total


def _at_index(self: ExpressionEmitter, base: str, element: str, place: Place) -> str:
    if not place.terms:
        if place.constant == 0:
            return base
        return self.assign(HANDLE, f"getelementptr inbounds {element}, ptr {base}, i64 {place.constant}").text
    (index, _), *_ = place.terms
    if place.constant:
        index = self.assign(index.dtype, f"add nsw {index.typed}, {place.constant}")
    return self.assign(HANDLE, f"getelementptr inbounds {element}, ptr {base}, {index.typed}").text
