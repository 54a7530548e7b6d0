"""What `IndexMap` asks about its outputs: the greatest value of one, the inputs put together again from digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..arith import build
from ..arith import nodes as n
from ..arith.forms import Form
from ..arith.iter_map import IterMap, IterMark, IterSplit
from ..arith.nodes import PrimExpr, Var
from ..arith.radix import radix
from ..arith.scope import Scope
from ..core.node import pre_order
from ..core.walks import folded


def constant(extent: Any) -> int | None:
    value = extent.value if isinstance(extent, n.IntImm) else extent
    return value if isinstance(value, int) else None


def are_places(outputs: Sequence[PrimExpr], extents: Mapping[Var, PrimExpr]) -> bool:
    """Whether each output is a mixed radix number of indices of its own, ``x * (8 * n) + y * n + z``, and they are all
    used: a bijection onto the box of the outputs."""
    scope = Scope()
    sizes: dict[int, Form] = {}
    for var, extent in extents.items():
        form = scope.form(build.cast(build.INDEX, extent))
        if form is None:
            return False
        sizes[scope.atoms.variable_number(var)] = form
    left = {atom for atom, size in sizes.items() if size.constant != 1}
    for output in outputs:
        form = scope.form(output)
        if form is None or form.offset:
            return False
        own = {variable for atom in form.terms for variable in scope.variables(atom) if variable in sizes}
        places = radix(scope, form, {atom: sizes[atom] for atom in own})
        if places is None or not left.issuperset(places):
            return False
        left.difference_update(places)
    return not left


class Digits:
    """The inputs of a map put together again from its outputs, digit by digit."""

    def __init__(self, found: IterMap, outputs: Sequence[Var]) -> None:
        self.splits: list[tuple[IterSplit, PrimExpr]] = []
        for item, output in zip(found.sums, outputs, strict=True):
            self._take(item.splits, build.subtract(output, item.base))

    def _take(self, splits: Sequence[IterSplit], value: PrimExpr) -> None:
        """Note what each digit of a sum is, given the sum."""
        for position, split in enumerate(splits):
            digit = build.floordiv(value, split.scale)
            if split.extent is not None and constant(split.extent) == 1:
                digit = build.const(0)  # whatever stands beside it may be longer than its scale
            elif position and split.extent is not None:
                digit = build.floormod(digit, split.extent)
            self.splits.append((split, digit))

    def values(self, names: Sequence[str]) -> list[PrimExpr]:
        """The inputs by name."""
        self._open_fused()
        by_name: dict[str, PrimExpr] = {}
        for mark in {id(split.mark): split.mark for split, _ in self.splits}.values():
            if not mark.parts:
                by_name[mark.name] = self._value(mark)
        # An index of one value needs no digit.
        return [by_name.get(name, build.const(0)) for name in names]

    def _open_fused(self) -> None:
        """Digits of fused marks give the marks, whose values give the digits of what they are made of."""
        opened: set[int] = set()
        while True:
            fused = [split.mark for split, _ in self.splits if split.mark.parts and id(split.mark) not in opened]
            if not fused:
                return
            opened.add(id(fused[0]))
            self._take(fused[0].parts, self._value(fused[0]))

    def _value(self, mark: IterMark) -> PrimExpr:
        value: PrimExpr = build.const(0)
        own = [(split, digit) for split, digit in self.splits if split.mark is mark]
        for split, digit in sorted(own, key=lambda pair: -pair[0].lower):
            value = build.add(value, build.multiply(digit, split.lower))
        return value


def greatest(expr: PrimExpr, ends: Mapping[Var, PrimExpr]) -> PrimExpr | None:
    """An upper bound of a map's output at non-negative indices up to `ends`; None if its form is not monotone.

    Other variables are sizes, which are not negative.
    """


    def value(node: PrimExpr, parts: list[PrimExpr | None]) -> PrimExpr | None:
        if isinstance(node, n.BinaryExpr):
            a, b = parts
            return _greatest_of(node, a, b, any(_is_size(part, ends) for part in (node.a, node.b)))
        if isinstance(node, Var):
            return ends.get(node, node)
        return node if isinstance(node, (n.IntImm, n.Cast)) else None

    return folded(expr, _summands, value)


def _summands(node: PrimExpr) -> tuple[PrimExpr, ...]:
    return (node.a, node.b) if isinstance(node, n.BinaryExpr) else ()


def _is_size(expr: PrimExpr, ends: Mapping[Var, PrimExpr]) -> bool:
    """Whether an expression stands still and is not negative: made of sizes and constants."""
    parts = [part for part in pre_order(expr) if isinstance(part, PrimExpr)]
    return all(
        part not in ends if isinstance(part, Var)
        else part.value >= 0 if isinstance(part, n.IntImm) else isinstance(part, (n.Cast, n.Add, n.Mul))
        for part in parts
    )  # fmt: skip


def _greatest_of(node: n.BinaryExpr, a: PrimExpr | None, b: PrimExpr | None, still: bool) -> PrimExpr | None:
    constant = isinstance(node.b, n.IntImm) and node.b.value > 0
    if isinstance(node, n.FloorMod) and constant:
        return build.subtract(node.b, 1)
    if a is None or b is None:
        return None
    if isinstance(node, n.Add):
        return build.add(a, b)
    if isinstance(node, n.Mul) and still:
        return build.multiply(a, b)
    return build.floordiv(a, b) if isinstance(node, n.FloorDiv) and constant else None
