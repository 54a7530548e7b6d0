"""Small random programs of blocks that write and read one buffer, and what is said of each of these accesses.

    drawn_program(random.Random(3))           # a function: `for o in range(3): statements`
    boxes(func)                               # its accesses with all instances of each, run through
    of_boxes(boxes(func))                     # forms, conditions and filled boxes against these
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.analysis.iterations import elements_of
from tests.arith.test_digits import value_of
from workbench.analysis.accesses import Access, Accesses, Condition
from workbench.analysis.box_forms import Box
from workbench.analysis.dataflow import Dataflow
from workbench.analysis.filled_boxes import filled
from workbench.analysis.tree import statements_in
from workbench.arith.evaluate import evaluate
from workbench.arith.forms import Form
from workbench.arith.nodes import Var
from workbench.arith.scope import Scope
from workbench.core.node import pre_order
from workbench.tir import nodes as t
from workbench.tir.script import parse

Answer = tuple[Any, bool]
Point = Mapping[Var, int]
Loop = tuple[str, int, int]
"""Name, begin, extent."""

# --- drawing ------------------------------------------------------------------------------------------------------

SHAPES = ((12,), (4, 6), (3, 8))
TIMES = 3
"""Iterations of the loop around all."""


def drawn_program(rng: random.Random) -> t.PrimFunc:
    """A loop `o` of a few blocks, in loops of their own or in a shared one, that write or read a buffer of one or two
    axes; all that is touched is inside."""
    shape = rng.choice(SHAPES)
    made = _Drawing(rng, shape)
    lines = ["@T.prim_func", 'def f(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):']
    lines += ['    with T.block("root"):', f'        B = T.alloc_buffer(({", ".join(map(str, shape))},), "float32")']
    lines.append(f"        for o in T.serial({TIMES}):")
    loops: list[Loop] = [("o", 0, TIMES)]
    if rng.random() < 0.5:
        loops.append(("y", rng.choice((0, 0, 1)), rng.randint(1, 4)))
        lines.append(" " * 12 + _loop(rng, loops[-1]))
    words = rng.choice(("wr", "wr", "wwr", "wrr", "rw", "sr", "ws", "wsr", "wwwr"))
    for word in words:
        lines += made.statement(word, loops, " " * (4 + 4 * (len(loops) + 1)))
    if rng.random() < 0.3:
        lines += made.statement("r", loops[:1], " " * 12)
    func = parse("\n".join(lines))
    assert isinstance(func, t.PrimFunc)
    return func


def _loop(rng: random.Random, loop: Loop) -> str:
    name, begin, extent = loop
    kind = rng.choice(("serial",) * 9 + ("parallel", "unroll"))
    return f"for {name} in T.{kind}({f'{begin}, ' if begin else ''}{begin + extent}):"


def _values(expr: str, at: Mapping[str, int]) -> int:
    return int(eval(expr, {}, dict(at)))


class _Drawing:
    """Draws statements until one stays inside of its buffer and its domains."""

    def __init__(self, rng: random.Random, shape: tuple[int, ...]) -> None:
        self.rng, self.shape, self.count = rng, shape, 0

    def statement(self, word: str, around: Sequence[Loop], space: str) -> list[str]:
        while True:
            made = self._statement(word, around, space)
            if made is not None:
                self.count += 1
                return made

    def _statement(self, word: str, around: Sequence[Loop], space: str) -> list[str] | None:
        rng = self.rng
        own: list[Loop] = []
        for name in ("i", "j")[: rng.choice((0, 1, 1, 2, 2))]:
            own.append((name, rng.choice((0, 0, 0, 0, 1, 2)), rng.choice((1, 2, 3, 4, 4, 6, 8))))
        loops = [*around, *own]
        names = [f"v{number}" for number in range(rng.choice((1, 2, 2)))]
        values = [self._value(loops[1:] or loops) for _ in names]
        points = [
            dict(zip((name for name, _, _ in loops), point, strict=True))
            for point in product(*(range(low, low + extent) for _, low, extent in loops))
        ]
        ends = [max(_values(value, at) for at in points) + 1 for value in values]
        domains = [end if rng.random() < 0.6 else rng.randint(1, max(1, end)) for end in ends]
        kinds = ["spatial" for _ in names]
        if word == "s" and len(names) > 1:
            kinds[-1] = "reduce"
        where = [f"{value} < {size}" for value, size, end in zip(values, domains, ends, strict=True) if size < end]
        where += [f"0 <= {value}" for value in values if min(_values(value, at) for at in points) < 0]
        if rng.random() < 0.35:
            where.append(self._condition(loops))
        spatial = [name for name, kind in zip(names, kinds, strict=True) if kind == "spatial"]
        indices = [self._index(spatial) for _ in self.shape]
        reach = rng.choice((1, 1, 1, 1, 2)) if word == "r" or rng.random() < 0.1 else 1
        before = rng.randint(0, len(own))
        test = self._condition([*around, *own[:before]]) if rng.random() < 0.25 else ""
        tests = [f"not ({test})" if rng.random() < 0.3 else test] if test else []
        runs = [at for at in points if all(_values(one, at) for one in (*where, *tests))]
        for at in runs:
            inner = {name: _values(value, at) for name, value in zip(names, values, strict=True)}
            for index, size in zip(indices, self.shape, strict=True):
                if not 0 <= _values(index, inner) <= size - reach:
                    return None
        return self._text(word, own, space, (names, kinds, domains, values), where, tests, before, indices, reach)

    def _text(
        self, word: str, own: Sequence[Loop], space: str, iterators: tuple[list[str], list[str], list[int], list[str]],
        where: list[str], tests: list[str], before: int, indices: list[str], reach: int,
    ) -> list[str]:  # fmt: skip
        rng, lines = self.rng, list[str]()
        for depth, loop in enumerate([*own, None]):
            if depth == before and tests:
                positive = tests[0].removeprefix("not ")
                lines.append(f"{space}if {positive}:")
                lines += [f"{space}    T.evaluate(0)", f"{space}else:"] if positive != tests[0] else []
                space += "    "
            if loop is not None:
                lines.append(space + _loop(rng, loop))
                space += "    "
        lines.append(f'{space}with T.block("b{self.count}"):')
        space += "    "
        for name, kind, size, value in zip(*iterators, strict=True):
            lines.append(f"{space}{name} = T.axis.{kind}({size}, {value})")
        lines += [f"{space}T.where({' and '.join(where)})"] if where else []
        at = ", ".join(f"{index}:{index} + {reach}" if reach > 1 else index for index in indices)
        element = ", ".join(indices)
        if word == "r":
            return [*lines, f"{space}T.reads(B[{at}])", f"{space}T.writes(C[0])", f"{space}C[0] = B[{element}]"]
        lines += [f"{space}T.reads(A[0])", f"{space}T.writes(B[{at}])"]
        each = ([index, *(f"{index} + {at}" for at in range(1, reach))] for index in indices)
        whole = [", ".join(point) for point in product(*each)]
        if "reduce" in iterators[1]:
            lines += [f"{space}with T.init():", *(f"{space}    B[{one}] = T.float32(0)" for one in whole)]
            return [*lines, *(f"{space}B[{one}] = B[{one}] + A[0]" for one in whole)]
        return [*lines, *(f"{space}B[{one}] = A[0]" for one in whole)]

    def _value(self, loops: Sequence[Loop]) -> str:
        """What an iterator is bound to."""
        rng = self.rng
        name, low, extent = rng.choice(loops)
        other = rng.choice(loops)[0]
        number = rng.randint(2, 4)
        both = f"{other} * {extent} + {name}" if other != name else name
        return rng.choice((
            name, name, name, f"{name} - {low}", both, both, f"({both}) // {number}", f"({both}) % {number}",
            f"{low + extent - 1} - {name}", f"{name} + {rng.randint(1, 2)}", f"{name} + {other}", f"{name} * {number}",
            f"{name} // {number}", f"{name} % {number}", "0", f"{name} - {other}",
        ))  # fmt: skip

    def _index(self, names: Sequence[str]) -> str:
        rng = self.rng
        name, other = rng.choice(names), rng.choice(names)
        number = rng.randint(2, 4)
        both = f"{name} * {number} + {other}" if other != name else f"{name} * {number}"
        return rng.choice((
            name, name, name, name, f"{name} + {rng.randint(1, 3)}", both, both, f"{name} // {number}",
            f"{name} % {number}", f"{number} - {name}", f"{name} + {other}", str(rng.randint(0, 2)),
        ))  # fmt: skip

    def _condition(self, loops: Sequence[Loop]) -> str:
        rng = self.rng
        (name, low, extent), (other, begin, size) = rng.choice(loops), rng.choice(loops)
        at, both = low + rng.randint(0, extent), f"{other} * {extent} + {name}" if other != name else name
        return rng.choice((
            f"{name} < {at}", f"{name} <= {at}", f"{at} <= {name}", f"{name} == {at}", f"{name} != {at}",
            f"{both} < {rng.randint(1, 8)}", f"({both}) // 2 < {rng.randint(1, 4)}", f"({both}) % 3 < 2",
            f"({name} == {low} or {other} == {begin + size - 1})", f"({name} < {low + 1} or {other} < {at})",
            f"{name} <= {other}", f"{name} + {other} < {rng.randint(1, 6)}", f"{name} - {other} < {rng.randint(0, 2)}",
        ))  # fmt: skip


# --- the truth ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instance:
    """Where the loops stand, what a block's iterators are there, and whether it runs."""

    at: Point
    own: Point
    runs: bool


@dataclass(frozen=True)
class Boxes:
    func: t.PrimFunc
    instances: list[list[Instance]]
    """Of each block, in order."""


def blocks_of(func: t.PrimFunc) -> list[t.BlockRealize]:
    return [node for node in pre_order(func.body) if isinstance(node, t.BlockRealize) and node.block.iter_vars]


def boxes(func: t.PrimFunc) -> Boxes:
    found: dict[t.BlockRealize, list[Instance]] = {realize: [] for realize in blocks_of(func)}
    _run(func.body, {}, True, found)
    return Boxes(func, list(found.values()))


def _run(stmt: Any, at: Point, runs: bool, found: dict[t.BlockRealize, list[Instance]]) -> None:
    if isinstance(stmt, t.For):
        begin = int(evaluate(stmt.min, at))
        for value in range(begin, begin + int(evaluate(stmt.extent, at))):
            _run(stmt.body, {**at, stmt.var: value}, runs, found)
    elif isinstance(stmt, t.IfThenElse):
        holds = bool(evaluate(stmt.condition, at))
        _run(stmt.then_case, at, runs and holds, found)
        if stmt.else_case is not None:
            _run(stmt.else_case, at, runs and not holds, found)
    elif isinstance(stmt, t.BlockRealize) and stmt in found:
        pairs = zip(stmt.block.iter_vars, stmt.iter_values, strict=True)
        own = {item.var: int(evaluate(value, at)) for item, value in pairs}
        found[stmt].append(Instance(at, own, runs and bool(evaluate(stmt.predicate, at))))
    else:
        for part in statements_in(stmt):
            _run(part, at, runs, found)


# --- answers ------------------------------------------------------------------------------------------------------


def of_boxes(asked: Boxes) -> Iterator[Answer]:
    made = Accesses(asked.func.body)
    flow = Dataflow(asked.func.body)
    buffer = next(b for node in pre_order(asked.func.body) if isinstance(node, t.Block) for b in node.alloc_buffers)
    accesses = sorted((*made.of(buffer, True), *made.of(buffer, False)), key=lambda one: one.order)
    realizes = blocks_of(asked.func)
    by_order: dict[int, list[Access]] = {}
    for access in accesses:
        by_order.setdefault(access.order, []).append(access)
    touching = [
        (realize, instances)
        for realize, instances in zip(realizes, asked.instances, strict=True)
        if any(region.buffer is buffer for region in (*realize.block.reads, *realize.block.writes))
    ]
    for (realize, instances), found in zip(touching, by_order.values(), strict=True):
        for access in found:
            region = next(r for r in (*realize.block.writes, *realize.block.reads) if r.buffer is buffer)
            yield from _of_access(made.scope, access, region, realize, instances)
        written = next((access for access in found if access in made.of(buffer, True)), None)
        if written is not None:
            yield from _of_filled(made, written, region, instances)
    for step in (node for node in pre_order(asked.func.body) if isinstance(node, t.For)):
        yield flow.carries(step, buffer), False  # whether that is wrong is asked of the same programs as "flow"


def _of_access(
    scope: Scope, access: Access, region: t.BufferRegion, realize: t.BlockRealize, instances: Sequence[Instance]
) -> Iterator[Answer]:
    """Forms are what they stand for, and conditions hold where an access is done, and only there."""
    begins = [axis.min for axis in region.region]
    truths = [[int(evaluate(begin, one.own)) for begin in begins] for one in instances]
    for axis, form in enumerate(access.forms):
        values = None if form is None else [value_of(scope, form, one.at) for one in instances]
        yield values is not None, values is not None and values != [truth[axis] for truth in truths]
    for axis, form in enumerate(access.inner):
        pairs = [(one.own, truth[axis]) for one, truth in zip(instances, truths, strict=True) if one.runs]
        yield form is not None, form is not None and any(value_of(scope, form, own) != true for own, true in pairs)
    for item, step in zip(access.iterators, realize.block.iter_vars, strict=True):
        values = None if item.value is None else [value_of(scope, item.value, one.at) for one in instances]
        yield values is not None, values is not None and values != [one.own[step.var] for one in instances]
        ends = [None if end is None else value_of(scope, end, {}) for end in (item.begin, item.last)]
        yield ends, ends != [0, getattr(step.dom.extent, "value", 0) - 1]
    said = [all(_hold(scope, one, at.at) for one in access.conditions) for at in instances]
    yield len(access.conditions), False
    yield said, any(at.runs and not holds for at, holds in zip(instances, said, strict=True))
    known = all(one.limits or one.either for one in access.conditions)
    yield known, known and said != [at.runs for at in instances]
    names = {scope.number_of(step.var): step.var for step in access.loops}
    for condition in access.conditions:
        moving = {scope.number_of(var) for var in names.values()} & condition.variables
        yield len(moving), not condition.variables <= set(names)


def _hold(scope: Scope, condition: Condition, at: Point) -> bool:
    """Whether a condition may hold; one that is not understood may."""
    if condition.either:
        return any(_hold(scope, one, at) for one in condition.either)
    return all(value_of(scope, limit, at) <= 0 for limit in condition.limits)


def _of_filled(
    made: Accesses, access: Access, region: t.BufferRegion, instances: Sequence[Instance]
) -> Iterator[Answer]:
    """A box holds nothing that is not written while its loops run, or have run so far."""
    steps = access.loops
    for at in range(len(steps) + 1):
        own = frozenset(made.scope.number_of(step.var) for step in steps[at:])
        for last in (None, *(step.var for step in steps[at : at + 1])):
            box = filled(made, access, own, None if last is None else made.scope.number_of(last))
            standing = [step.var for step in (steps[: at + 1] if last is not None else steps[:at])]
            beyond = box is not None and _is_beyond(made.scope, box, access, own, instances, standing, last, region)
            yield box is not None, beyond


def _is_beyond(
    scope: Scope, box: Box, access: Access, own: frozenset[int], instances: Sequence[Instance],
    standing: Sequence[Var], last: Var | None, region: t.BufferRegion,
) -> bool:  # fmt: skip
    """Whether a box holds an element that is not written, where the conditions that stand still hold."""
    still = [one for one in access.conditions if one.variables.isdisjoint(own)]
    groups: dict[tuple[int, ...], list[Instance]] = {}
    outer = [var for var in standing if var is not last]
    for one in instances:
        groups.setdefault(tuple(one.at[var] for var in outer), []).append(one)
    for group in groups.values():
        for stands in sorted({one.at[last] for one in group}) if last is not None else (None,):
            at = {var: group[0].at[var] for var in outer}
            at |= {last: stands} if last is not None and stands is not None else {}
            if not all((one.limits or one.either) and _hold(scope, one, at) for one in still):
                continue
            done = [one for one in group if one.runs and (last is None or stands is None or one.at[last] < stands)]
            written = {element for one in done for element in elements_of(region, one.own)}
            if not _elements(scope, box, at) <= written:
                return True
    return False


def _elements(scope: Scope, box: Box, at: Point) -> set[tuple[int, ...]]:
    def ends(forms: Sequence[Form]) -> list[int]:
        return [value_of(scope, form, at) for form in forms]

    sides = (range(max(ends(span.lows)), min(ends(span.highs)) + 1) for span in box)
    return set(itertools.product(*sides))
