"""Steps on programs of symbolic extents that were refused once and are legal, each drawn at random.

    text, steps = SYMBOLIC["layouts_in_blocks"](random.Random(3))
    steps(Schedule(parse(text)))                    # right for every size n

A size is an int32 or an int64, as people write both.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.property.refused_patterns import Drawn
from workbench.schedule import Schedule

SIZES = (1, 2, 5, 8, 13)
"""Values of n at which the programs run."""


def main_of_sizes(rng: random.Random, handles: dict[str, str], *lines: str) -> str:
    """A function of matched buffers over a size n; `handles` are their shapes, by name."""
    head = ", ".join(f"{name.lower()}_in: T.handle" for name in handles)
    own = [f"n = T.{rng.choice(('int32', 'int64'))}()"]
    own += [f'{name} = T.match_buffer({name.lower()}_in, {shape}, "int32")' for name, shape in handles.items()]
    return "\n".join(["@T.prim_func", f"def main({head}):", *(f"    {line}" for line in (*own, *lines))])


def _map(name: str, extents: list[object], store: str) -> list[str]:
    """A block over plain loops; `store` is of v0, v1, ..."""
    loops = [f"{name.lower()}{number}" for number in range(len(extents))]
    head = f"for {', '.join(loops)} in T.grid({', '.join(map(str, extents))}):"
    head = head if len(loops) > 1 else f"for {loops[0]} in range({extents[0]}):"
    axes = [f"v{number} = T.axis.spatial({size}, {loops[number]})" for number, size in enumerate(extents)]
    return [head, f'    with T.block("{name}"):', *(f"        {line}" for line in (*axes, store))]


def layouts_in_blocks(rng: random.Random) -> Drawn:
    """A buffer in blocks of a size that need not divide n, its padding written or not; also one of the caller's."""
    m, size, other = rng.randint(2, 9), rng.choice((2, 3, 4, 8)), rng.choice((2, 4))
    index_map = rng.choice((
        f"lambda i, j: (i // {size}, j // {other}, i % {size}, j % {other})",
        f"lambda i, j: (j, i // {size}, i % {size})", f"lambda i, j: (i // {size}, (i % {size}) * {m} + j)",
        f"lambda i, j: (i * {m} + j,)", "lambda i, j: (j, i)", "lambda i, j: (j * n + i,)",
        f"lambda i, j: (i // {size * 2}, i % {size * 2} // 2, j, i % 2)",
    ))  # fmt: skip
    text = main_of_sizes(rng, {"A": f"(n, {m})", "C": f"(n, {m})"}, f'B = T.alloc_buffer((n, {m}), "int32")',
                 *_map("B", ["n", m], "B[v0, v1] = A[v0, v1] * 2"), *_map("C", ["n", m], "C[v0, v1] = B[v0, v1] - 1"),
                 )  # fmt: skip
    pad = rng.choice((None, 0, 7))
    return text, lambda sch: sch.transform_layout("B", rng.choice(("B", ("write", 0))), index_map, pad_value=pad)


def rows_by_a_size_of_the_program(rng: random.Random) -> Drawn:
    """Places in a flat buffer that are multiples of n; extents of 1 may count for anything."""
    rows, ones = rng.randint(2, 6), rng.random() < 0.5
    shape, axes = (["1", rows, "1", "n"], "x, y, z, w") if ones else ([rows, "n"], "y, w")
    output = f"x * {rows} * n + y * n + z * n + w" if ones else rng.choice(("y * n + w", f"w * {rows} + y"))
    where = ", ".join(f"v{number}" for number in range(len(shape)))
    whole = f"({', '.join(map(str, shape))})"
    text = main_of_sizes(rng, {"A": whole, "C": whole}, f'B = T.alloc_buffer({whole}, "int32")',
                 *_map("B", shape, f"B[{where}] = A[{where}] * 2"), *_map("C", shape, f"C[{where}] = B[{where}] - 1"),
                 )  # fmt: skip
    index_map = f"lambda {axes}: ({output},)"
    steps: list[Callable[[Schedule], object]] = [
        lambda sch: sch.transform_layout("B", "B", index_map),
        lambda sch: sch.transform_layout("C", "B", index_map, pad_value=3),
        lambda sch: sch.reindex_cache_read("C", "B", "global", index_map),
        lambda sch: sch.reindex_cache_write("B", "B", "global", index_map),
    ]
    return text, rng.choice(steps)


def copies_of_rows(rng: random.Random) -> Drawn:
    """Rows of n elements that are made and read in iterations of one loop are copied within it."""
    m = rng.randint(2, 6)
    text = main_of_sizes(
        rng, {"A": f"({m}, n)", "C": f"({m}, n)"}, f'B = T.alloc_buffer(({m}, n), "int32")', f"for i in range({m}):",
        "    for j in range(n):", '        with T.block("I"):', '            vi, vj = T.axis.remap("SS", [i, j])',
        "            B[vi, vj] = A[vi, vj] * 3",
        "    for j in range(n):", '        with T.block("J"):', '            vi, vj = T.axis.remap("SS", [i, j])',
        f"            C[vi, vj] = B[vi, vj] {rng.choice('+-')} A[vi, vj]",
    )  # fmt: skip
    steps: list[Callable[[Schedule], object]] = [
        lambda sch: sch.cache_read("J", "B", "local", consumer_blocks=["J"]),
        lambda sch: sch.cache_write("I", "B", "local"),
        lambda sch: sch.reindex_cache_read("J", "B", "local", lambda i, j: (j, i)),
        lambda sch: sch.reindex_cache_write("I", "B", "local", lambda i, j: (j, i)),
        lambda sch: sch.blockize(["I", "J"]),
    ]
    return text, rng.choice(steps)


def padded_products(rng: random.Random) -> Drawn:
    """A product of matrices, some sizes symbolic, rounded up; tiled and made parallel afterwards, as it is done for."""
    rows, columns, inner = (rng.choice(("n", rng.randint(2, 9))) for _ in range(3))
    rows = "n" if "n" not in (columns, inner) else rows
    before = rng.random() < 0.5
    text = main_of_sizes(
        rng, {"A": f"({rows}, {inner})", "B": f"({inner}, {columns})", "D": f"({rows}, {columns})", "N": "(n,)"},
        f'X = T.alloc_buffer(({rows}, {inner}), "int32")', f'C = T.alloc_buffer(({rows}, {columns}), "int32")',
        *(_map("X", [rows, inner], "X[v0, v1] = A[v0, v1] + 1") if before else []),
        f"for i, j, k in T.grid({rows}, {columns}, {inner}):", '    with T.block("C"):',
        '        vi, vj, vk = T.axis.remap("SSR", [i, j, k])', "        with T.init():", "            C[vi, vj] = 0",
        f"        C[vi, vj] = C[vi, vj] + {'X' if before else 'A'}[vi, vk] * B[vk, vj]",
        *_map("D", [rows, columns], "D[v0, v1] = C[v0, v1] - 1"),
    )  # fmt: skip
    if not before:
        text = "\n".join(line for line in text.splitlines() if not line.startswith("    X = "))
    padding = [rng.choice((1, 2, 4, 8)) for _ in range(3)]
    place, form = rng.randrange(3), rng.randrange(3)

    def steps(sch: Schedule) -> None:
        sch.pad_einsum("C", padding)
        if form:
            outer, _ = sch.split(sch.get_loops("C")[place], factors=[None, padding[place]])
            if form == 2 and place < 2:
                sch.parallel(outer)

    return text, steps


def loops_of_both_kinds(rng: random.Random) -> Drawn:
    """int32 beside int64, fused, split by any factor or into parts, and made parallel where that is shown."""
    def extent() -> str:
        return rng.choice(("n", f"T.int32({rng.randint(2, 9)})", f"T.int64({rng.randint(2, 9)})"))

    rows, columns = extent(), extent()
    shape = f"({rows}, {columns})"
    text = main_of_sizes(
        rng, {"A": shape, "C": shape, "N": "(n,)"}, f"for i in range({rows}):", f"    for j in range({columns}):",
        '        with T.block("C"):', f"            vi = T.axis.spatial({rows}, i)",
        f"            vj = T.axis.spatial({columns}, j)", "            C[vi, vj] = A[vi, vj] * 2",
    )  # fmt: skip
    form, place = rng.choice(("fuse", "fuse and split", "split", "parts", "whole")), rng.randrange(2)
    factor, part = rng.randint(2, 6), rng.randrange(2)

    def steps(sch: Schedule) -> None:
        loops = sch.get_loops("C")
        if form.startswith("fuse"):
            fused = sch.fuse(*loops)
            if form == "fuse and split":
                sch.split(fused, factors=[None, factor])
            return
        parts = [loops[place]] * 2
        if form != "whole":
            parts = sch.split(loops[place], factors=[factor, None] if form == "parts" else [None, factor])
        sch.parallel(parts[part])

    return text, steps


SYMBOLIC: dict[str, Callable[[random.Random], Drawn]] = {
    pattern.__name__: pattern
    for pattern in (
        layouts_in_blocks, rows_by_a_size_of_the_program, copies_of_rows, padded_products, loops_of_both_kinds,
    )
}  # fmt: skip
