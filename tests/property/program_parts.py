"""What the steps of generated programs are made of: loops around a block, indices, values; see program_generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tests.property.program_generator import INPUT, MOST, Held, Program
from tests.property.program_text import Axis, Block, Loop, Node, Store

Extents = Sequence[tuple[str, int]]
"""Iterators and how many values they have, from 0 on."""


@dataclass
class Nest:
    """Loops, outermost first, that give the axes of a block their values."""

    loops: list[Loop] = field(default_factory=list[Loop])
    axes: list[Axis] = field(default_factory=list[Axis])
    where: list[str] = field(default_factory=list[str])
    spatial: list[str] = field(default_factory=list[str])
    """Loops whose iterations run the block for different values of spatial axes."""

    def around(self, *body: Node) -> Node:
        """The loops around statements."""
        made: Sequence[Node] = body
        for loop in reversed(self.loops):
            loop.body = made
            made = [loop]
        assert len(made) == 1
        return made[0]


def nest(program: Program, extents: Sequence[tuple[str, int]], *, reduced: Sequence[tuple[str, int]] = ()) -> Nest:
    """Random loops for spatial axes of these names and extents, and for axes of a reduction that start with 0."""
    rng, made = program.rng, Nest()
    for var, extent in extents:
        _axis(program, made, var, extent, "S")
    if len(made.loops) >= 2 and rng.random() < 0.12:
        _fuse(program, made)
    for var, extent in reduced:
        _axis(program, made, var, extent, "R")
    if rng.random() < 0.25:
        rng.shuffle(made.loops)
    if not made.loops:
        made.loops.append(Loop(program.fresh("u"), 1, []))
    return made


def _axis(program: Program, made: Nest, var: str, extent: int, kind: str) -> None:
    """An axis and its loops: plain, or split, shifted, backwards, longer than needed."""
    rng, loop = program.rng, program.fresh("i")
    form = rng.choices(("plain", "split", "shifted", "backwards", "longer"), (12, 3, 2, 2 if kind == "S" else 0, 2))[0]
    if form == "split" and extent > 1:
        factor = rng.choice((2, 2, 3, 4))
        inner = program.fresh("i")
        made.loops += [Loop(loop, -(-extent // factor), []), Loop(inner, factor, [])]
        value = f"{loop} * {factor} + {inner}"
        if extent % factor:
            made.where.append(f"{value} < {extent}")
        made.spatial += [loop, inner] if kind == "S" else []
    else:
        value, low, length = loop, 0, extent
        if form == "shifted":
            low = rng.choice((1, 2))
            value = f"{loop} - {low}"
        elif form == "backwards":
            value = f"{extent - 1} - {loop}"
        elif form == "longer":
            length = extent + rng.choice((1, 2))
            made.where.append(f"{loop} < {extent}")
        made.loops.append(Loop(loop, length, [], low))
        made.spatial += [loop] if kind == "S" else []
    made.axes.append(Axis(var, kind, extent, value))


def _fuse(program: Program, made: Nest) -> None:
    """One loop instead of the first two, where these are plain."""
    first, second = made.loops[:2]
    plain = all(any(axis.value == loop.var for axis in made.axes) for loop in (first, second))
    if not plain or first.low or second.low or any(first.var in text or second.var in text for text in made.where):
        return
    fused = Loop(program.fresh("f"), first.extent * second.extent, [])
    for axis in made.axes:
        if axis.value == first.var:
            axis.value = f"{fused.var} // {second.extent}"
        elif axis.value == second.var:
            axis.value = f"{fused.var} % {second.extent}"
    made.loops[:2] = [fused]
    made.spatial = [fused.var, *(var for var in made.spatial if var not in (first.var, second.var))]


def repeat(program: Program, made: Nest) -> None:
    """Now and then all is done several times: outside of the other loops, or inside."""
    if program.rng.random() < 0.1:
        loop = Loop(program.fresh("t"), program.rng.choice((2, 3)), [])
        made.loops.insert(program.rng.choice((0, 0, len(made.loops))), loop)


def annotate(program: Program, made: Nest) -> None:
    """Now and then a loop of a map runs its iterations at once, or is written out."""
    rng = program.rng
    repeated = any(loop.var.startswith("t") for loop in made.loops)
    if rng.random() < 0.12 and not repeated:
        outer, inner = made.loops[0], made.loops[-1]
        if rng.random() < 0.5 and outer.var in made.spatial:
            outer.kind = "parallel"
        elif inner.var in made.spatial and inner.extent > 1 and not inner.low:
            inner.kind = "vectorized"
    elif rng.random() < 0.05:
        rng.choice(made.loops).kind = "unroll"


# --- indices and values -------------------------------------------------------------------------------------------


def index(program: Program, axes: Extents, extent: int, near: int = 0) -> str:
    """An index from 0 to extent - 1, made of some of the axes: mostly of number `near`, plainly."""
    rng = program.rng
    order = list(axes)
    if order and near < len(order) and rng.random() < 0.7:
        order = [order[near], *order[:near], *order[near + 1 :]]
    else:
        rng.shuffle(order)
    for var, size in order:
        if size > 1 or extent == 1:
            found = _forms(program, axes, var, size, extent)
            forms = found + ([("", 1)] if size <= extent * 2 else [])
            if forms:
                choice = rng.choices([text for text, _ in forms], [weight for _, weight in forms])[0]
                return choice or f"{program.table(size, extent).name}[{var}]"
    return str(rng.randrange(extent))


def _forms(program: Program, axes: Extents, var: str, size: int, extent: int) -> list[tuple[str, int]]:
    """Indices from 0 to extent - 1 made of one axis, or of it and another one, each with how often it is drawn."""
    rng, found = program.rng, list[tuple[str, int]]()
    if size <= extent:
        shift = rng.randint(0, extent - size)
        found += [(var if not shift else f"{var} + {shift}", 12), (f"{extent - 1} - {var}", 2)]
    for step in (2, 3):
        if size > 1 and (size - 1) * step < extent:
            rest = rng.randint(0, extent - 1 - (size - 1) * step)
            found.append((f"{var} * {step} + {rest}" if rest else f"{var} * {step}", 2))
        if size > step and (size - 1) // step < extent:
            found.append((f"{var} // {step}", 2))
    if size > extent > 1:
        found += [(f"{var} % {extent}", 4), (f"T.min({var}, {extent - 1})", 1)]
    for other, width in axes:
        if other != var and size + width - 1 <= extent:
            found.append((f"{var} + {other}", 2))
        if other != var and 1 < size * width <= extent:
            found.append((f"{var} * {width} + {other}", 2))
    return found


def element(program: Program, source: Held, axes: Extents) -> str:
    """A read of what is written of `source`, at a place told from the axes."""
    rng = program.rng
    turned = rng.random() < 0.15
    rank = len(source.shape)
    where = [
        index(program, axes, extent, rank - 1 - place if turned else place)
        for place, extent in enumerate(source.readable)
    ]
    return f"{source.name}[{', '.join(where)}]"


def number(value: int, dtype: str) -> str:
    return f"T.{dtype}({value})"


def cast(text: str, source: str, target: str) -> str:
    return text if source == target else f'T.Cast("{target}", {text})'


def value(program: Program, dtype: str, axes: Extents, reads: int | None = None) -> tuple[str, int]:
    """A value of some reads, and what it does not exceed."""
    rng = program.rng
    text, most = _read(program, dtype, axes)
    for _ in range(rng.choice((0, 0, 1, 1, 2)) if reads is None else reads - 1):
        other, bound = _read(program, dtype, axes)
        if rng.random() < 0.3 and most * bound < MOST // 64:
            text, most = f"{_in_brackets(text)} * {other}", most * bound
        elif rng.random() < 0.25:
            text, most = f"T.{rng.choice(('max', 'min'))}({text}, {other})", max(most, bound)
        else:
            text, most = f"{text} {rng.choice('+-')} {other}", most + bound
    return changed(program, text, most, dtype, axes)


def _read(program: Program, dtype: str, axes: Extents) -> tuple[str, int]:
    source = program.source()
    return cast(element(program, source, axes), source.dtype, dtype), source.most


def _in_brackets(text: str) -> str:
    return f"({text})"


def changed(program: Program, text: str, most: int, dtype: str, axes: Extents) -> tuple[str, int]:
    """The value with one thing done to it, and kept in bounds."""
    rng = program.rng
    form = rng.choices(("plain", "scaled", "added", "clipped", "chosen", "counted"), (3, 4, 4, 1, 1, 1))[0]
    if form == "scaled":
        factor = rng.choice((2, 3, -1, -2))
        text, most = f"{_in_brackets(text)} * {number(factor, dtype)}", most * abs(factor)
    elif form == "added":
        shift = rng.choice((1, 2, 5, -3))
        text, most = f"{text} + {number(shift, dtype)}", most + abs(shift)
    elif form == "clipped":
        text = f"T.max({text}, {number(0, dtype)})"
    elif form == "chosen" and axes:
        var, size = rng.choice(list(axes))
        other = number(rng.choice((0, 7)), dtype)
        text, most = f"T.if_then_else({var} < {rng.randint(0, size)}, {text}, {other})", max(most, 7)
    elif form == "counted" and axes:
        var, size = rng.choice(list(axes))
        text, most = f"{text} + {cast(var, '', dtype)}", most + size
    return bounded(text, most, dtype)


def bounded(text: str, most: int, dtype: str, limit: int = MOST // 4096) -> tuple[str, int]:
    """The value, cut off where it could become too large for what follows."""
    if most <= limit:
        return text, most
    low, high = number(-INPUT, dtype), number(INPUT, dtype)
    return f"T.max(T.min({text}, {high}), {low})", INPUT


# --- whole blocks -------------------------------------------------------------------------------------------------


def variables(program: Program, count: int, prefix: str = "v") -> list[str]:
    return [program.fresh(prefix) for _ in range(count)]


def result_shape(program: Program, most: int = 64) -> tuple[int, ...]:
    """The shape of a result: often that of something there is."""
    made = [item.shape for item in program.buffers if item.role in ("input", "made") and prod(item.shape) <= most]
    if made and program.rng.random() < 0.6:
        shape = list(program.rng.choice(made))
        if program.rng.random() < 0.2:
            program.rng.shuffle(shape)
        return tuple(shape)
    return program.shape()


def map_of(program: Program, shape: tuple[int, ...], dtype: str) -> tuple[list[tuple[str, int]], str, int]:
    """(axes of a map of this shape, its value, what that does not exceed)."""
    axes = list(zip(variables(program, len(shape)), shape, strict=True))
    text, most = value(program, dtype, axes)
    return axes, text, most


def at(buffer: Held | str, axes: Extents | Sequence[str]) -> str:
    """An element of a buffer at plain iterators."""
    name = buffer if isinstance(buffer, str) else buffer.name
    return f"{name}[{', '.join(axis if isinstance(axis, str) else axis[0] for axis in axes)}]"


def plain_block(program: Program, made: Nest, target: str, text: str, prefix: str = "map") -> Block:
    """A block of one store."""
    return Block(program.fresh(prefix), made.axes, [Store(target, text)], where=made.where)
