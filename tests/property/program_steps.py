"""The steps of generated programs: each adds blocks that make, or change, a buffer; see program_generator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod

from tests.property.program_generator import INPUT, MOST, Held, Program
from tests.property.program_parts import (
    Nest,
    annotate,
    at,
    bounded,
    cast,
    element,
    index,
    map_of,
    nest,
    number,
    plain_block,
    repeat,
    result_shape,
    value,
    variables,
)
from tests.property.program_text import Axis, Block, Let, Loop, Store

Axes = list[tuple[str, int]]


def _dtype(program: Program) -> str:
    return program.rng.choice(("float32", "float32", "float32", "int32", "int64"))


def map_(program: Program) -> None:
    """Every element of a result from some reads."""
    shape, dtype = result_shape(program), _dtype(program)
    axes, text, most = map_of(program, shape, dtype)
    made = nest(program, axes)
    repeat(program, made)
    annotate(program, made)
    held = program.hold("M", shape, dtype=dtype)
    held.most = most
    program.body.append(made.around(plain_block(program, made, at(held, axes), text)))


def turned(program: Program) -> None:
    """A map that writes at a permutation of its axes, shifted, strided, or as one long row."""
    shape, dtype, rng = result_shape(program), _dtype(program), program.rng
    axes, text, most = map_of(program, shape, dtype)
    made = nest(program, axes)
    form = rng.choice(("permuted", "permuted", "row", "shifted"))
    if form == "row":
        where, target = axes[0][0], (prod(shape),)
        for var, extent in axes[1:]:
            where = f"({where}) * {extent} + {var}"
        indices = [where]
    elif form == "shifted":
        shift = rng.choice((1, 2))
        indices, target = [f"{axes[0][0]} + {shift}", *(var for var, _ in axes[1:])], (shape[0] + shift, *shape[1:])
    else:
        order = list(range(len(shape)))
        rng.shuffle(order)
        indices, target = [axes[place][0] for place in order], tuple(shape[place] for place in order)
    held = program.hold("P", target, dtype=dtype)
    held.most = most
    if form == "shifted":  # what comes before is made apart
        rows = [(var, extent) for var, extent in zip(variables(program, len(target)), target, strict=True)]
        first = nest(program, [(rows[0][0], target[0] - shape[0]), *rows[1:]])
        program.body.append(first.around(plain_block(program, first, at(held, rows), number(5, dtype), "edge")))
        held.most = max(most, 5)
    program.body.append(made.around(plain_block(program, made, at(held, indices), text, "turn")))


def several(program: Program) -> None:
    """Two or three writers of one buffer: parts one behind the other, or every second row, in any order."""
    shape, dtype, rng = result_shape(program), _dtype(program), program.rng
    held = program.hold("C", shape, dtype=dtype)
    held.most = 0
    interleaved = rng.random() < 0.3
    cuts = sorted({0, shape[0], rng.randint(0, shape[0]), rng.randint(0, shape[0])})
    parts = list(pairwise(cuts))
    if interleaved:
        parts = [(0, (shape[0] + 1) // 2), (1, shape[0] // 2)]
    if rng.random() < 0.3:
        parts.reverse()
    held.role = "hidden"  # it is not read before it is written
    for low, high in parts:
        length = high if interleaved else high - low
        if not length:
            continue
        axes, text, most = map_of(program, (length, *shape[1:]), dtype)
        row = axes[0][0]
        place = (f"{row} * 2 + {low}" if low else f"{row} * 2") if interleaved else f"{row} + {low}" if low else row
        made = nest(program, axes)
        target = at(held, [place, *(var for var, _ in axes[1:])])
        program.body.append(made.around(plain_block(program, made, target, text, "part")))
        held.most = max(held.most, most)
    held.role = "made"


def guarded(program: Program) -> None:
    """Writers of all the domain under conditions that divide it."""
    shape, dtype, rng = result_shape(program), _dtype(program), program.rng
    held = program.hold("G", shape, dtype=dtype)
    held.role, held.most = "hidden", 0
    border = rng.randint(0, shape[0])
    joint = rng.random() < 0.4 and nest(program, [])
    blocks: list[Block] = []
    loops: list[Loop] = []
    outer = program.fresh("i")
    for low, high in ((0, border), (border, shape[0])):
        axes, text, most = map_of(program, shape, dtype)
        made = Nest() if joint else nest(program, axes[:1])
        if joint:
            made.axes.append(Axis(axes[0][0], "S", shape[0], outer))
        inner = nest(program, axes[1:]) if len(axes) > 1 else Nest()
        first = made.axes[0].value
        condition = f"{first} < {high}" if not low else f"{low} <= {first}"
        block = Block(
            program.fresh("guard"), [*made.axes, *inner.axes], [Store(at(held, axes), text)],
            where=[*made.where, *inner.where, condition],
        )  # fmt: skip
        held.most = max(held.most, most)
        if not joint:
            made.loops += inner.loops
            program.body.append(made.around(block))
        elif inner.loops:
            loops.append(inner.around(block))  # type: ignore[arg-type]
        else:
            blocks.append(block)
    if joint:
        program.body.append(Loop(outer, shape[0], [*loops, *blocks]))
    held.role = "made"


def overwritten(program: Program) -> None:
    """All of a buffer is written, then a part of it again."""
    map_(program)
    held, rng = program.buffers[-1], program.rng
    if held.role != "made":
        return map_(program)
    part = tuple(rng.randint(1, extent) for extent in held.shape)
    axes, text, most = map_of(program, part, held.dtype)
    made = nest(program, axes)
    shift = rng.randint(0, held.shape[0] - part[0])
    first = f"{axes[0][0]} + {shift}" if shift else axes[0][0]
    target = at(held, [first, *(var for var, _ in axes[1:])])
    # What it reads may be the buffer itself, at other places: then the order of its iterations counts.
    program.body.append(made.around(plain_block(program, made, target, text, "again")))
    held.most = max(held.most, most)
    return None


def part_only(program: Program) -> None:
    """A result of which only the first rows are written, and read."""
    shape, dtype, rng = result_shape(program), _dtype(program), program.rng
    length = rng.randint(1, shape[0])
    axes, text, most = map_of(program, (length, *shape[1:]), dtype)
    made = nest(program, axes)
    held = program.hold("H", shape, dtype=dtype)
    held.most, held.readable = most, (length, *shape[1:])
    program.body.append(made.around(plain_block(program, made, at(held, axes), text, "half")))


# --- reductions ---------------------------------------------------------------------------------------------------


def _sum_parts(program: Program, kept: int = 16, least: int = 1) -> tuple[Axes, Axes, str, str, str, int]:
    """(spatial axes, reduced axes, start, what is added, combination, bound): a sum, or a greatest or least value."""
    rng, dtype = program.rng, _dtype(program)
    shape = result_shape(program, kept)
    while prod(shape) > kept:
        shape = program.shape(1)
    axes = list(zip(variables(program, len(shape)), shape, strict=True))
    lengths = [program.extent(least, 5) for _ in range(rng.choice((1, 1, 1, 2)))]
    reduced = list(zip(variables(program, len(lengths), "k"), lengths, strict=True))
    text, most = value(program, dtype, [*axes, *reduced], rng.choice((1, 2)))
    text, most = bounded(text, most, dtype, MOST // 1024)
    kind = rng.choice(("+", "+", "+", "max", "min"))
    begin = rng.choice((0, 0, 3, -1))
    if kind == "+":
        return axes, reduced, number(begin, dtype), text, "{0} + {1}", most * prod(lengths) * 4 + 3
    worst = most + 3
    start = number(-worst if kind == "max" else worst, dtype)
    return axes, reduced, start, text, f"T.{kind}({{0}}, {{1}})", worst


def _held_for(program: Program, axes: Axes, start: str, most: int) -> Held:
    held = program.hold("S", tuple(extent for _, extent in axes), dtype=start.split("(")[0][2:])
    held.most = min(most, MOST)
    return held


def total(program: Program) -> None:
    """A reduction with its start inside."""
    axes, reduced, start, text, combine, most = _sum_parts(program)
    held = _held_for(program, axes, start, most)
    made = nest(program, axes, reduced=reduced)
    repeat(program, made)
    target = at(held, axes)
    block = Block(
        program.fresh("sum"), made.axes, [Store(target, combine.format(target, text))], [Store(target, start)],
        where=made.where,
    )  # fmt: skip
    program.body.append(made.around(block))
    _cut(program, held, axes)


def _cut(program: Program, held: Held, axes: Axes) -> None:
    """A map over a sum that could be too large for what follows; what follows reads that."""
    if held.most <= MOST // 4096:
        return
    fresh: Axes = list(zip(variables(program, len(axes)), held.shape, strict=True))
    text, most = bounded(at(held, fresh), held.most, held.dtype)
    held.is_read, held.role = True, "hidden"
    cut = program.hold("K", held.shape, dtype=held.dtype)
    cut.most = most
    made = nest(program, fresh)
    program.body.append(made.around(plain_block(program, made, at(cut, fresh), text, "cut")))
    program.hidden.append(held)


def total_apart(program: Program) -> None:
    """A reduction whose start is a block of its own: before all loops, or in the outer one."""
    axes, reduced, start, text, combine, most = _sum_parts(program)
    held = _held_for(program, axes, start, most)
    target = at(held, axes)
    inner = nest(program, axes[1:], reduced=reduced)
    joint = program.rng.random() < 0.5
    first_axes: Axes = list(zip(variables(program, len(axes)), held.shape, strict=True))
    if joint:
        outer = program.fresh("i")
        begin = nest(program, first_axes[1:]) if len(axes) > 1 else Nest()
        begin.axes.insert(0, Axis(first_axes[0][0], "S", held.shape[0], outer))
        inner.axes.insert(0, Axis(axes[0][0], "S", held.shape[0], outer))
    else:
        inner = nest(program, axes, reduced=reduced)
        begin = nest(program, first_axes)
    start_block = plain_block(program, begin, at(held, first_axes), start, "start")
    block = Block(
        program.fresh("add"), inner.axes, [Store(target, combine.format(target, text))], where=inner.where,
    )  # fmt: skip
    if joint:
        starting = begin.around(start_block) if begin.loops else start_block
        program.body.append(Loop(outer, held.shape[0], [starting, inner.around(block)]))  # type: ignore[possibly-undefined]
    else:
        program.body += [begin.around(start_block), inner.around(block)]
    _cut(program, held, axes)


def late(program: Program) -> None:
    """A sum that goes on from what another block has set: its own start is never run, or only for some rows."""
    axes, reduced, start, text, combine, most = _sum_parts(program, least=2)
    held = _held_for(program, axes, start, most)
    first_axes: Axes = list(zip(variables(program, len(axes)), held.shape, strict=True))
    begin = nest(program, first_axes)
    program.body.append(begin.around(plain_block(program, begin, at(held, first_axes), start, "first")))
    made = nest(program, axes)
    var, extent = reduced[0]
    loop = program.fresh("k")
    made.loops.append(Loop(loop, extent - 1, []))
    made.axes.append(Axis(var, "R", extent, f"{loop} + 1"))
    for other, length in reduced[1:]:
        more = program.fresh("k")
        made.loops.append(Loop(more, length, []))
        made.axes.append(Axis(other, "R", length, more))
    target = at(held, axes)
    block = Block(
        program.fresh("rest"), made.axes, [Store(target, combine.format(target, text))], [Store(target, start)],
        where=made.where,
    )  # fmt: skip
    program.body.append(made.around(block))
    _cut(program, held, axes)


def restarted(program: Program) -> None:
    """A sum inside a loop that reads it each time: it starts again, and what it came to is kept."""
    axes, reduced, start, text, combine, most = _sum_parts(program, 8)
    times = program.extent(2, 4)
    sums = _held_for(program, axes, start, most)
    sums.is_read, sums.role = True, "hidden"
    program.hidden.append(sums)
    again = program.fresh("t")
    made = nest(program, axes, reduced=reduced)
    target = at(sums, axes)
    block = Block(
        program.fresh("sum"), made.axes, [Store(target, combine.format(target, text))], [Store(target, start)],
        where=made.where,
    )  # fmt: skip
    kept = program.hold("R", (times, *sums.shape), dtype=sums.dtype)
    at_time: Axes = list(zip(variables(program, len(kept.shape)), kept.shape, strict=True))
    keeping = nest(program, at_time[1:])
    keeping.axes.insert(0, Axis(at_time[0][0], "S", times, again))
    counted = cast(at_time[0][0], "", kept.dtype)
    result, kept.most = bounded(f"{at(sums, at_time[1:])} + {counted}", sums.most + times, kept.dtype)
    copy = plain_block(program, keeping, at(kept, at_time), result, "keep")
    program.body.append(Loop(again, times, [made.around(block), keeping.around(copy)]))


def best(program: Program) -> None:
    """The greatest value and the first place that has it: one reduction of two results."""
    rows, length = program.extent(high=5), program.extent(high=6)
    row, k = variables(program, 2)
    source = program.source()
    text = cast(element(program, source, [(row, rows), (k, length)]), source.dtype, "float32")
    place, most = program.hold("A", (rows,), dtype="int64"), program.hold("B", (rows,))
    place.most, most.most = length, source.most + 1
    made = nest(program, [(row, rows)], reduced=[(k, length)])
    here, there = at(place, [row]), at(most, [row])
    better = f"{there} > {text} or {there} == {text} and {here} < T.Cast(\"int64\", {k})"
    names = variables(program, 2, "n")
    block = Block(
        program.fresh("best"), made.axes,
        [
            Let(names[0], "int64", f'T.Select({better}, {here}, T.Cast("int64", {k}))'),
            Let(names[1], "float32", f"T.Select({better}, {there}, {text})"),
            Store(here, names[0]), Store(there, names[1]),
        ],
        [Store(here, "T.int64(-1)"), Store(there, f"T.float32({-source.most - 1})")], where=made.where,
    )  # fmt: skip
    program.body.append(made.around(block))


# --- one iteration after the other --------------------------------------------------------------------------------


def updated(program: Program) -> None:
    """A buffer, now and then an input, is changed in place, all of it or a part."""
    rng = program.rng
    known = [item for item in program.buffers if item.role in ("input", "made") and item.most < MOST // 4096]
    if not known:
        map_(program)
        known = [program.buffers[-1]]
    held = rng.choice(known)
    held.role, role = "hidden", held.role
    part = tuple(extent if rng.random() < 0.7 else rng.randint(1, extent) for extent in held.readable)
    axes, text, most = map_of(program, part, held.dtype)
    made = nest(program, axes)
    own = at(held, axes)
    result, bound = bounded(f"{own} {rng.choice('+-')} ({text})", held.most + most, held.dtype)
    held.role, held.is_updated, held.most = role, held.is_updated or role == "input", max(held.most, bound)
    if rng.random() < 0.1:  # twice
        made.loops.insert(0, Loop(program.fresh("t"), 2, []))
        result, held.most = bounded(result, held.most + most, held.dtype, INPUT)
    program.body.append(made.around(plain_block(program, made, own, result, "update")))


def scanned(program: Program) -> None:
    """Each row from the one before, the first one by itself: over a loop of time, forwards or from the end."""
    rng, dtype = program.rng, _dtype(program)
    steps, width = program.extent(2, 6), program.extent(high=4)
    held = program.hold("Z", (steps, width), dtype=dtype)
    held.role = "hidden"
    axes, text, most = map_of(program, (steps, width), dtype)
    (time, _), (column, _) = axes
    forwards = rng.random() < 0.7
    edge = 0 if forwards else steps - 1
    first_axes: Axes = [(program.fresh("v"), width)]
    begin = nest(program, first_axes)
    first = at(held, [str(edge), first_axes[0][0]])
    program.body.append(begin.around(plain_block(program, begin, first, number(2, dtype), "first")))
    loop = program.fresh("s")
    made = nest(program, [(column, width)])
    before = at(held, [f"{time} - 1" if forwards else f"{time} + 1", column])
    low, at_time = (1, f"{loop} + 1") if forwards else (0, f"{steps - 2} - {loop}")
    made.axes.insert(0, Axis(time, "S", steps - 1, at_time, low))
    made.loops.insert(0 if rng.random() < 0.8 else len(made.loops), Loop(loop, steps - 1, []))
    result, held.most = bounded(f"{before} + {text}", most * steps + 2, dtype)
    if held.most != INPUT:
        held.most = most * steps + 2
    program.body.append(made.around(plain_block(program, made, at(held, axes), result, "scan")))
    held.role = "made"


def so_far(program: Program) -> None:
    """What has been added so far is read in each iteration of a sum."""
    rng, dtype = program.rng, _dtype(program)
    rows, length = program.extent(high=4), program.extent(high=6)
    row, k = variables(program, 2)
    text, most = value(program, dtype, [(row, rows), (k, length)], 1)
    sums = program.hold("S", (rows,), dtype=dtype)
    sums.most = most * length
    sums.role, sums.is_read = "hidden", True
    program.hidden.append(sums)
    kept = program.hold("R", (rows, length), dtype=dtype)
    i, j = variables(program, 2, "i")
    target = at(sums, [row])
    block = Block(
        program.fresh("sum"), [Axis(row, "S", rows, i), Axis(k, "R", length, j)],
        [Store(target, f"{target} + {text}")], [Store(target, number(0, dtype))],
    )  # fmt: skip
    at_row, at_k = variables(program, 2)
    result, kept.most = bounded(f"{at(sums, [at_row])} * {number(2, dtype)}", sums.most * 2, dtype)
    reader = Block(
        program.fresh("so_far"), [Axis(at_row, "S", rows, i), Axis(at_k, "S", length, j)],
        [Store(at(kept, [at_row, at_k]), result)],
    )  # fmt: skip
    loops = [Loop(i, rows, []), Loop(j, length, [])]
    if rng.random() < 0.2:
        loops.reverse()
    loops[0].body = [loops[1]]
    loops[1].body = [block, reader]
    program.body.append(loops[0])


# --- index tables -------------------------------------------------------------------------------------------------


def scattered(program: Program) -> None:
    """Rows are put where a permutation says."""
    shape, dtype = result_shape(program), _dtype(program)
    axes, text, most = map_of(program, shape, dtype)
    table = program.permutation(shape[0])
    held = program.hold("Q", shape, dtype=dtype)
    held.most = most
    made = nest(program, axes)
    target = at(held, [f"{table.name}[{axes[0][0]}]", *(var for var, _ in axes[1:])])
    program.body.append(made.around(plain_block(program, made, target, text, "put")))


def counted(program: Program) -> None:
    """Values are added up at the places that a table says."""
    rng, dtype = program.rng, _dtype(program)
    places, length = program.extent(high=6), program.extent(high=8)
    held = program.hold("N", (places,), dtype=dtype)
    held.role = "hidden"
    k = program.fresh("k")
    text, most = value(program, dtype, [(k, length)], 1)
    table = program.table(length, places)
    held.most = most * length + 1
    first: Axes = [(program.fresh("v"), places)]
    begin = nest(program, first)
    program.body.append(begin.around(plain_block(program, begin, at(held, first), number(1, dtype), "zero")))
    made = nest(program, [], reduced=[(k, length)]) if rng.random() < 0.5 else nest(program, [(k, length)])
    made.loops = [loop for loop in made.loops if not loop.var.startswith("u")]
    target = f"{held.name}[{table.name}[{k}]]"
    program.body.append(made.around(plain_block(program, made, target, f"{target} + {text}", "count")))
    held.role = "made"
    _cut(program, held, first)


# --- blocks together ----------------------------------------------------------------------------------------------


def padded(program: Program) -> None:
    """A buffer with a margin, and windows over it that are summed, or of which the greatest value is taken."""
    rng = program.rng
    rank = rng.choice((1, 2))
    source = program.source(rank)
    margin, size, stride = rng.choice((0, 1, 1)), rng.choice((2, 3)), rng.choice((1, 1, 2))
    shape = tuple(extent + 2 * margin for extent in source.readable)
    if any(extent < size for extent in shape):
        return map_(program)
    dtype = source.dtype
    pad = program.hold("D", shape, dtype=dtype)
    pad.most, pad.is_read = source.most, True
    axes: Axes = list(zip(variables(program, rank), shape, strict=True))
    inside = " and ".join(
        f"{var} >= {margin} and {var} < {margin + extent}"
        for (var, _), extent in zip(axes, source.readable, strict=True)
    )
    back = [f"{var} - {margin}" if margin else var for var, _ in axes]
    text = f"T.if_then_else({inside}, {at(source, back)}, {number(0, dtype)})"
    made = nest(program, axes)
    program.body.append(made.around(plain_block(program, made, at(pad, axes), text, "pad")))
    result = tuple((extent - size) // stride + 1 for extent in shape)
    out: Axes = list(zip(variables(program, rank), result, strict=True))
    window: Axes = [(var, size) for var in variables(program, rank, "w")]
    where = [
        f"{var} * {stride} + {offset}" if stride > 1 else f"{var} + {offset}"
        for (var, _), (offset, _) in zip(out, window, strict=True)
    ]
    sums = rng.random() < 0.6
    held = program.hold("W", result, dtype=dtype)
    held.most = pad.most * size**rank if sums else pad.most + 1
    start = number(0 if sums else -pad.most - 1, dtype)
    looping, target = nest(program, out, reduced=window), at(held, out)
    added = f"{target} + {at(pad, where)}" if sums else f"T.max({target}, {at(pad, where)})"
    block = Block(
        program.fresh("window"), looping.axes, [Store(target, added)], [Store(target, start)], where=looping.where
    )
    program.body.append(looping.around(block))
    _cut(program, held, out)
    return None


def nested(program: Program) -> None:
    """Tiles as blocks, with blocks inside: a map, or a sum of each tile's rows."""
    rng, dtype = program.rng, _dtype(program)
    tiles, size = program.extent(high=3), program.extent(1, 3)
    row = program.fresh("v")
    sums = rng.random() < 0.5
    k, length = program.fresh("k"), program.extent(high=4)
    inner_axes: Axes = [(row, tiles * size), *([(k, length)] if sums else [])]
    source = program.source()
    text = cast(element(program, source, inner_axes), source.dtype, dtype)
    held = program.hold("O", (tiles * size,), dtype=dtype)
    held.most = source.most * (length if sums else 1) + 1
    outer, tile, inside, along = (program.fresh(prefix) for prefix in ("o", "v", "i", "k"))
    axes = [Axis(row, "S", tiles * size, f"{tile} * {size} + {inside}")]
    if sums:
        axes.append(Axis(k, "R", length, along))
    target = at(held, [row])
    block = Block(
        program.fresh("inner"), axes,
        [Store(target, f"{target} + {text}" if sums else f"{text} + {number(1, dtype)}")],
        [Store(target, number(0, dtype))] if sums else [],
    )  # fmt: skip
    body = Loop(inside, size, [Loop(along, length, [block])] if sums else [block])
    touched = sorted({name for name in _named(text)})
    reads = ", ".join(f"{name}[{_whole(program, name)}]" for name in touched)
    writes = f"{held.name}[{tile} * {size}:{tile} * {size} + {size}]"
    tiled = Block(program.fresh("tile"), [Axis(tile, "S", tiles, outer)], [body], regions=(reads, writes))
    program.body.append(Loop(outer, tiles, [tiled]))
    if sums:
        _cut(program, held, [(row, tiles * size)])


def _named(text: str) -> list[str]:
    """The buffers that an expression reads."""
    import re

    return re.findall(r"([A-Z]\d+_\d+)\[", text)


def _whole(program: Program, name: str) -> str:
    shape = next(item.shape for item in program.buffers if item.name == name)
    return ", ".join(f"0:{extent}" for extent in shape)


def together(program: Program) -> None:
    """Two blocks under one loop: the second reads what the first has just made, or one or two iterations before."""
    rng, dtype = program.rng, _dtype(program)
    rows, width = program.extent(1, 6), program.extent(high=4)
    lag = rng.choice((0, 0, 0, 1, 2))
    if lag >= rows:
        lag = 0
    first_axes, text, most = map_of(program, (rows, width), dtype)
    held = program.hold("E", (rows, width), dtype=dtype)
    held.most = most
    kept = program.hold("F", (rows - lag, width), dtype=dtype)
    axes: Axes = list(zip(variables(program, 2), kept.shape, strict=True))
    outer = program.fresh("i")
    first, second = nest(program, first_axes[1:]), nest(program, axes[1:])
    first.axes.insert(0, Axis(first_axes[0][0], "S", rows, outer))
    second.axes.insert(0, Axis(axes[0][0], "S", rows - lag, f"{outer} - {lag}" if lag else outer))
    if lag:
        second.where.append(f"{lag} <= {outer}")
    reads = [at(held, axes)]
    if lag and rng.random() < 0.7:
        reads.append(at(held, [f"{axes[0][0]} + {rng.randint(1, lag)}", axes[1][0]]))
    if rng.random() < 0.3:
        reads[0] = at(held, [axes[0][0], f"{width - 1} - {axes[1][0]}"])
    held.is_read = True
    result, kept.most = bounded(f"{' - '.join(reads)} + {number(1, dtype)}", most * 2 + 1, dtype)
    one = first.around(plain_block(program, first, at(held, first_axes), text, "make"))
    two = second.around(plain_block(program, second, at(kept, axes), result, "use"))
    program.body.append(Loop(outer, rows, [one, two]))


def scratch(program: Program) -> None:
    """A few places that each iteration fills anew and reads."""
    rng, dtype = program.rng, _dtype(program)
    rows, size = program.extent(1, 6), program.extent(1, 3)
    held = program.hold("L", (size,), dtype=dtype)
    held.role, held.is_read = "hidden", True
    program.hidden.append(held)
    outer, row, cell = program.fresh("i"), program.fresh("v"), program.fresh("v")
    text, held.most = value(program, dtype, [(row, rows), (cell, size)])
    inner = nest(program, [(cell, size)])
    inner.axes.insert(0, Axis(row, "S", rows, outer))
    fill = inner.around(plain_block(program, inner, at(held, [cell]), text, "fill"))
    kept = program.hold("J", (rows,), dtype=dtype)
    out = program.fresh("v")
    picked = [at(held, [str(rng.randrange(size))]) for _ in range(rng.choice((1, 2)))]
    result, kept.most = bounded(" - ".join(picked), held.most * 2, dtype)
    use = Block(program.fresh("use"), [Axis(out, "S", rows, outer)], [Store(at(kept, [out]), result)])
    program.body.append(Loop(outer, rows, [fill, use]))


def looked_up(program: Program) -> None:
    """A gather: rows chosen by a table."""
    rng = program.rng
    source = program.source()
    length = program.extent(high=6)
    table = program.table(length, source.readable[0])
    shape = (length, *source.readable[1:])
    axes: Axes = list(zip(variables(program, len(shape)), shape, strict=True))
    where = [f"{table.name}[{axes[0][0]}]", *(index(program, axes, extent, place + 1) for place, extent in
             enumerate(source.readable[1:]))]  # fmt: skip
    made = nest(program, axes)
    held = program.hold("Y", shape, dtype=source.dtype)
    text = f"{at(source, where)} + {number(rng.choice((0, 1)), source.dtype)}"
    text, held.most = bounded(text, source.most + 1, source.dtype)
    program.body.append(made.around(plain_block(program, made, at(held, axes), text, "look")))


def asked(program: Program) -> None:
    """Elements that are kept, or made anew where a value says so: made before, or beside, or an iteration ago."""
    rng, shape, dtype = program.rng, result_shape(program), _dtype(program)
    held = program.hold("A", shape, dtype=dtype)
    held.role, held.most = "hidden", 1
    base = list(zip(variables(program, len(shape)), shape, strict=True))
    first = nest(program, base)
    program.body.append(first.around(plain_block(program, first, at(held, base), number(1, dtype), "base")))
    loops = [Loop(program.fresh("i"), extent, []) for extent in shape]
    axes, text, most = map_of(program, shape, dtype)
    made = Nest(loops, [Axis(var, "S", extent, loop.var) for (var, extent), loop in zip(axes, loops, strict=True)])
    held.most = max(held.most, most)
    if rng.random() < 0.5:
        source = program.source()
        made.where.append(f"{element(program, source, [(loop.var, loop.extent) for loop in loops])} < "
                          f"{number(rng.choice((0, 1, 5)), source.dtype)}")  # fmt: skip
        program.body.append(made.around(plain_block(program, made, at(held, axes), text, "ask")))
    else:
        outer, judge = loops[0], program.hold("J", (shape[0],), dtype=_dtype(program))
        judge.role, judge.is_read = "hidden", True
        program.hidden.append(judge)
        row = program.fresh("v")
        verdict, judge.most = value(program, judge.dtype, [(row, shape[0])])
        place = rng.choice((outer.var, outer.var, f"T.max({outer.var} - 1, 0)"))
        made.where.append(f"{judge.name}[{place}] < {number(rng.choice((0, 1, 5)), judge.dtype)}")
        block = plain_block(program, made, at(held, axes), text, "ask")
        inner = Nest(loops[1:]).around(block) if loops[1:] else block
        fill = Block(program.fresh("judge"), [Axis(row, "S", shape[0], outer.var)], [Store(at(judge, [row]), verdict)])
        program.body.append(Loop(outer.var, outer.extent, [fill, inner]))
    held.role = "made"


Step = Callable[[Program], None]
STEPS: dict[str, tuple[Step, int]] = {
    step.__name__.strip("_"): (step, weight)
    for step, weight in (
        (map_, 6), (turned, 4), (several, 4), (guarded, 3), (overwritten, 3), (part_only, 2), (total, 5),
        (total_apart, 3), (late, 3), (restarted, 3), (best, 1), (updated, 4), (scanned, 3), (so_far, 2),
        (scattered, 2), (counted, 2), (padded, 3), (nested, 3), (together, 5), (scratch, 2), (looked_up, 2),
        (asked, 3),
    )
}  # fmt: skip
"""The steps and how often they are drawn."""
