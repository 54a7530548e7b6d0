"""Steps that were refused once and are legal: patterns of programs that others write, each drawn with random extents.

    text, steps = PATTERNS["reverse_compute_inline at digits"](random.Random(3))
    steps(Schedule(parse(text)))
"""

from __future__ import annotations

import random
from collections.abc import Callable

from workbench.schedule import Schedule

Drawn = tuple[str, Callable[[Schedule], object]]


def numbers(rng: random.Random, count: int, low: int = 2, high: int = 7) -> list[int]:
    return [rng.randint(low, high) for _ in range(count)]


def main_of(params: str, *lines: str) -> str:
    return "\n".join(["@T.prim_func", f"def main({params}):", *(f"    {line}" for line in lines)])


def block_of(name: str, extents: list[int], store: str, where: str = "") -> list[str]:
    """A block over plain loops; `store` is of v0, v1, ..."""
    loops = [f"{name.lower()}{number}" for number in range(len(extents))]
    head = [f"for {', '.join(loops)} in T.grid({', '.join(map(str, extents))}):"] if len(loops) > 1 else [
        f"for {loops[0]} in range({extents[0]}):"
    ]  # fmt: skip
    axes = [f"v{number} = T.axis.spatial({size}, {loops[number]})" for number, size in enumerate(extents)]
    inside = [*axes, *([f"T.where({where})"] if where else []), store]
    return [*head, f'    with T.block("{name}"):', *(f"        {line}" for line in inside)]


def inline_at_digits(rng: random.Random) -> Drawn:
    """A consumer that reads at mixed-radix digits of one iterator, or at one digit made of two."""
    n, m = numbers(rng, 2)
    if rng.random() < 0.5:
        made = block_of("B", [n, m], "B[v0, v1] = A[v0, v1] * 2")
        read = block_of("C", [n * m], f"C[v0] = B[v0 // {m}, v0 % {m}] + 1")
        shapes = (f"({n}, {m})", f"({n}, {m})", f"({n * m},)")
    else:
        made = block_of("B", [n * m], "B[v0] = A[v0] * 2")
        read = block_of("C", [n, m], f"C[v0, v1] = B[v0 * {m} + v1] + 1")
        shapes = (f"({n * m},)", f"({n * m},)", f"({n}, {m})")
    a, b, c = shapes
    text = main_of(f'A: T.Buffer({a}, "int32"), C: T.Buffer({c}, "int32")',
                 f'B = T.alloc_buffer({b}, "int32")', *made, *read)  # fmt: skip
    return text, lambda sch: sch.reverse_compute_inline("C")


def a_consumer_by_digits_moved(rng: random.Random) -> Drawn:
    """A consumer by digits moves under a loop of its producer, which may be split."""
    n, m = numbers(rng, 2)
    made = block_of("B", [n, m], "B[v0, v1] = A[v0, v1] * 2")
    read = block_of("C", [n * m], f"C[v0] = B[v0 // {m}, v0 % {m}] + 1")
    text = main_of(f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n * m},), "int32")',
                 f'B = T.alloc_buffer(({n}, {m}), "int32")', *made, *read)  # fmt: skip
    form = rng.choice(("rows", "elements", "split rows", "split columns"))
    whole = n if form == "split rows" else m
    factor = rng.choice([size for size in range(1, whole + 1) if whole % size == 0])

    def steps(sch: Schedule) -> None:
        rows, columns = sch.get_loops("B")
        loop = {"rows": rows, "elements": columns}.get(form)
        if loop is None:
            loop = sch.split(rows if form == "split rows" else columns, factors=[None, factor])[0]
        sch.reverse_compute_at("C", loop)

    return text, steps


def inline_of_a_part(rng: random.Random) -> Drawn:
    """A consumer that reads a part of what is made: from some row on, of a row, at one column."""
    n, m = numbers(rng, 2, 3)
    low = rng.randint(0, n - 2)
    rows, columns = rng.randint(1, n - low), rng.randint(1, m - 1)
    row = rng.choice((f"v0 + {low}", f"{n - 1} - v0"))
    made = block_of("B", [n, m], "B[v0, v1] = A[v0, v1] * 2")
    if rng.random() < 0.3:
        column = rng.randrange(m)
        read, shape = block_of("C", [rows], f"C[v0] = B[{row}, {column}] - 3"), f"({rows},)"
    else:
        turned = rng.random() < 0.5
        place = "v1, v0" if turned else "v0, v1"
        read = block_of("C", [rows, columns], f"C[{place}] = B[{row}, v1] - 3")
        shape = f"({columns}, {rows})" if turned else f"({rows}, {columns})"
    text = main_of(f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer({shape}, "int32")',
                 f'B = T.alloc_buffer(({n}, {m}), "int32")', *made, *read)  # fmt: skip
    return text, lambda sch: sch.reverse_compute_inline("C")


def inline_into_a_predicate(rng: random.Random) -> Drawn:
    """What a predicate asks is computed there."""
    n, m = numbers(rng, 2)
    made = block_of("B", [n, m], f"B[v0, v1] = A[v0, v1] * {rng.choice((2, -1))}")
    used = rng.choice(("A[v0, v1]", "B[v0, v1] + 1", "B[v0, 0]"))
    base = block_of("D", [n, m], "C[v0, v1] = 0")
    where = f"B[c0, {rng.choice(('c1', '0'))}] < {rng.randint(-2, 3)}"
    read = block_of("C", [n, m], f"C[v0, v1] = {used}", where)
    text = main_of(f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")',
                 f'B = T.alloc_buffer(({n}, {m}), "int32")', *made, *base, *read)  # fmt: skip
    return text, lambda sch: sch.compute_inline("B")


def inline_of_what_nobody_reads(rng: random.Random) -> Drawn:
    n, m = numbers(rng, 2)
    text = main_of(f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")',
                 f'B = T.alloc_buffer(({n}, {m}), "int32")',
                 *block_of("B", [n, m], "B[v0, v1] = A[v0, v1] * 2"),
                 *block_of("C", [n, m], "C[v0, v1] = A[v0, v1] + 1"))  # fmt: skip
    return text, lambda sch: sch.compute_inline("B")


def _sum(rng: random.Random, declared: bool) -> tuple[str, list[int]]:
    n, m, k = numbers(rng, 3)
    own = "C[vi, vj], " if declared else ""
    lines = [
        f'C = T.alloc_buffer(({n}, {m}), "int32")',
        f"for i, j, k in T.grid({n}, {m}, {k}):",
        '    with T.block("C"):',
        '        vi, vj, vk = T.axis.remap("SSR", [i, j, k])',
        f"        T.reads({own}A[vi, vk], B[vk, vj])",
        "        T.writes(C[vi, vj])",
        "        with T.init():",
        "            C[vi, vj] = 0",
        "        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
        *block_of("D", [n, m], "D[v0, v1] = C[v0, v1] - 1"),
    ]
    params = f'A: T.Buffer(({n}, {k}), "int32"), B: T.Buffer(({k}, {m}), "int32"), D: T.Buffer(({n}, {m}), "int32")'
    return main_of(params, *lines), [n, m, k]


def a_sum_that_declares_its_result(rng: random.Random) -> Drawn:
    text, _ = _sum(rng, declared=True)
    steps: list[Callable[[Schedule], object]] = [
        lambda sch: sch.reindex("C", ("write", 0)),
        lambda sch: sch.pad_einsum("C", [4, 4, 4]),
        lambda sch: sch.transform_block_layout("C", lambda i, j, k: (j, i, k)),
        lambda sch: sch.compute_at(sch.cache_write("C", 0, "local"), sch.get_loops("D")[0]),
        lambda sch: sch.compute_at("C", sch.get_loops("D")[1]),
    ]
    return text, rng.choice(steps)


def a_sum_bound_to_threads(rng: random.Random) -> Drawn:
    """Threads of a group combine what they add; the loop may be split first, what reads the sum stand inside."""
    text, (_, _, k) = _sum(rng, declared=rng.random() < 0.5)
    factor = rng.choice([size for size in range(1, k + 1) if k % size == 0])
    inside = rng.random() < 0.5

    def steps(sch: Schedule) -> None:
        if inside:
            sch.reverse_compute_at("D", sch.get_loops("C")[1])
        outer, inner = sch.split(sch.get_loops("C")[2], factors=[None, factor])
        sch.bind(rng.choice((outer, inner)), "threadIdx.x")

    return text, steps


def a_loop_of_another_kind(rng: random.Random) -> Drawn:
    """A loop made parallel, vectors, unrolled or a thread's, and then another of these; reordered where unrolled."""
    text, _ = _sum(rng, declared=False)
    kinds = [rng.choice(("parallel", "vectorize", "unroll", "threadIdx.x", "blockIdx.y")) for _ in range(3)]
    which, turn = rng.randrange(2), rng.random() < 0.5

    def steps(sch: Schedule) -> None:
        loops = sch.get_loops("D")
        if turn:
            sch.unroll(loops[0])
            sch.reorder(loops[1], loops[0])
        chosen = loops[which]
        for kind in ["unroll", *kinds] if turn and not which else kinds:
            if kind == "vectorize" and sch.why_not("vectorize", chosen) is not None:
                continue
            if "." in kind:
                sch.bind(chosen, kind)
            else:
                getattr(sch, kind)(chosen)
        sch.fuse(chosen)

    return text, steps


def _nested(rng: random.Random, *inner: str) -> tuple[list[str], int, int]:
    """A block O over tiles, of one or two iterators, around blocks whose lines speak of `at`, a tile's beginning."""
    tiles, size = rng.randint(2, 4), rng.randint(2, 6)
    lines = [f"for o in range({tiles}):", '    with T.block("O"):', f"        vo = T.axis.spatial({tiles}, o)"]
    lines += [f"        {line.replace('SIZE', str(size)).replace('AT', f'vo * {size}')}" for line in inner]
    return lines, tiles, size


def _inner_map(name: str, store: str) -> list[str]:
    return [f"for {name.lower()} in range(SIZE):", f'    with T.block("{name}"):',
            f"        vi = T.axis.spatial(SIZE, {name.lower()})", f"        {store}"]  # fmt: skip


def blocks_inside_a_block(rng: random.Random) -> Drawn:
    """Copies, moves and inlining of blocks in the body of another one; what is made there may be read later, too."""
    used = rng.choice(("B[AT + vi] + 1", "B[AT + vi] - A[AT + vi]", "B[AT] + B[AT + vi]"))
    lines, tiles, size = _nested(
        rng, *_inner_map("I", "B[AT + vi] = A[AT + vi] * 3"), *_inner_map("J", f"C[AT + vi] = {used}")
    )
    shared = rng.random() < 0.4
    total = tiles * size
    after = block_of("D", [total], "D[v0] = B[v0]") if shared else []
    vector = f'T.Buffer(({total},), "int32")'
    params = f"A: {vector}, C: {vector}" + (f", D: {vector}" if shared else "")
    text = main_of(params, f'B = T.alloc_buffer(({total},), "int32")', *lines, *after)
    steps: list[Callable[[Schedule], object]] = [
        lambda sch: sch.cache_read("J", 0, "local"),
        lambda sch: sch.compute_at(sch.cache_read("J", 0, "local"), sch.get_loops("J")[0]),
        lambda sch: sch.cache_read("O", "A", "local"),
        lambda sch: sch.compute_at(sch.cache_read("O", "A", "local"), sch.get_loops("O")[0]),
        lambda sch: sch.cache_write("I", 0, "local"),
        lambda sch: sch.cache_write("J", 0, "local"),
        lambda sch: sch.compute_at("I", sch.get_loops("J")[0]),
        lambda sch: sch.reverse_compute_at(sch.cache_write("J", 0, "local"), sch.get_loops("J")[0]),
    ]
    if "B[AT]" not in used:
        steps.append(lambda sch: sch.reindex("J", ("read", 0)))
        steps.append(lambda sch: sch.reverse_compute_at("J", sch.get_loops("I")[0]))
    if used == "B[AT + vi] + 1" and not shared:
        steps.append(lambda sch: sch.reverse_compute_inline("J"))
    if not shared:
        steps.append(lambda sch: sch.compute_inline("I"))
    return text, rng.choice(steps)


def copies_in_a_shared_loop(rng: random.Random) -> Drawn:
    """What is made and read in iterations of one loop is copied within them; others read it later, or nobody."""
    tiles, size = numbers(rng, 2)
    used = rng.choice(("B[o * SIZE + c] + 1", "B[o * SIZE + c] - A[o * SIZE + c]"))
    total, shared = tiles * size, rng.random() < 0.5

    def block(name: str, loop: str, store: str) -> list[str]:
        return [f"    for {loop} in range({size}):", f'        with T.block("{name}"):',
                f"            v = T.axis.spatial({total}, o * {size} + {loop})", f"            {store}"]  # fmt: skip

    value = used.replace("o * SIZE + c", "v")
    lines = [f"for o in range({tiles}):", *block("I", "b", "B[v] = A[v] * 3"), *block("J", "c", f"C[v] = {value}")]
    after = block_of("D", [total], "D[v0] = B[v0]") if shared else []
    vector = f'T.Buffer(({total},), "int32")'
    params = f"A: {vector}, C: {vector}" + (f", D: {vector}" if shared else "")
    text = main_of(params, f'B = T.alloc_buffer(({total},), "int32")', *lines, *after)
    steps: list[Callable[[Schedule], object]] = [
        lambda sch: sch.cache_read("J", 0, "local", consumer_blocks=["J"]),
        lambda sch: sch.cache_write("I", 0, "local"),
        lambda sch: [sch.cache_write("I", 0, "local"), sch.cache_read("J", 0, "shared", consumer_blocks=["J"])],
        lambda sch: sch.compute_at(sch.cache_read("J", 0, "local", consumer_blocks=["J"]), sch.get_loops("J")[1]),
        lambda sch: sch.reverse_compute_at(sch.cache_write("I", 0, "local"), sch.get_loops("I")[1]),
    ]
    return text, rng.choice(steps)


def a_window_rolled_along_an_outer_loop(rng: random.Random) -> Drawn:
    """Rows overlap from iteration to iteration, columns are tiled inside."""
    step, more, columns, high, wide = *numbers(rng, 2, 1, 3), rng.randint(1, 3), rng.randint(2, 4), rng.randint(1, 3)
    rows, width = high * step, wide * columns
    text = main_of(
        f'A: T.Buffer(({rows + more}, {width}), "int32"), C: T.Buffer(({rows}, {width}), "int32")',
        f'B = T.alloc_buffer(({rows + more}, {width}), "int32")',
        f"for y, x in T.grid({high}, {wide}):",
        f"    for a, b in T.grid({step + more}, {columns}):", '        with T.block("B"):',
        f"            vi = T.axis.spatial({rows + more}, y * {step} + a)",
        f"            vj = T.axis.spatial({width}, x * {columns} + b)", "            B[vi, vj] = A[vi, vj] * 2",
        f"    for a, b in T.grid({step}, {columns}):", '        with T.block("C"):',
        f"            vi = T.axis.spatial({rows}, y * {step} + a)",
        f"            vj = T.axis.spatial({width}, x * {columns} + b)",
        f"            C[vi, vj] = B[vi, vj] - B[vi + {more}, vj]",
    )  # fmt: skip
    return text, lambda sch: sch.rolling_buffer("B", 0)


def a_sum_inside_a_block(rng: random.Random) -> Drawn:
    count = rng.choice((4, 6))
    lines, tiles, size = _nested(
        rng, f"for i, k in T.grid(SIZE, {count}):", '    with T.block("I"):',
        "        vi = T.axis.spatial(SIZE, i)", f"        vk = T.axis.reduce({count}, k)",
        "        with T.init():", "            C[AT + vi] = 0",
        "        C[AT + vi] = C[AT + vi] + A[AT + vi, vk]",
    )  # fmt: skip
    total = tiles * size
    text = main_of(f'A: T.Buffer(({total}, {count}), "int32"), C: T.Buffer(({total},), "int32")', *lines)
    steps: list[Callable[[Schedule], object]] = [
        lambda sch: sch.decompose_reduction("I", sch.get_loops("I")[rng.randrange(2)]),
        lambda sch: sch.rfactor(sch.split(sch.get_loops("I")[1], factors=[None, 2])[rng.randrange(2)], 0),
        lambda sch: sch.cache_read("I", 0, "local"),
        lambda sch: sch.compute_at(sch.cache_read("I", 0, "local"), sch.get_loops("I")[rng.randrange(2)]),
        lambda sch: sch.cache_write("I", 0, "local"),
        lambda sch: sch.reverse_compute_at(sch.cache_write("I", 0, "local"), sch.get_loops("I")[0]),
    ]
    return text, rng.choice(steps)


def moved_copies_in_a_shared_loop(rng: random.Random) -> Drawn:
    """What is made and read in iterations of one loop is copied within them to other places, or written in others."""
    n, m, step = *numbers(rng, 2), rng.randint(1, 3)
    wide = m * step

    def block(name: str, store: str) -> list[str]:
        axes = ["vi = T.axis.spatial({n}, i)", "vj = T.axis.spatial({wide}, j)"] if step == 1 else [
            "vi = T.axis.spatial({n}, i)", "vj = T.axis.spatial({wide}, o * {m} + j)"]  # fmt: skip
        lines = [f"for j in range({m}):", f'    with T.block("{name}"):', *(f"        {axis}" for axis in axes),
                 f"        {store}"]  # fmt: skip
        return [line.replace("{n}", str(n)).replace("{wide}", str(wide)).replace("{m}", str(m)) for line in lines]

    used = rng.choice(("B[vi, vj] + 1", "B[vi, vj] - A[vi, vj]"))
    outer = [f"for i in range({n}):"] if step == 1 else [f"for i, o in T.grid({n}, {step}):"]
    inner = [*block("I", "B[vi, vj] = A[vi, vj] * 3"), *block("J", f"C[vi, vj] = {used}")]
    lines = [*outer, *(f"    {line}" for line in inner)]
    after = block_of("D", [n, wide], "D[v0, v1] = B[v0, v1]") if rng.random() < 0.5 else []
    matrix = f'T.Buffer(({n}, {wide}), "int32")'
    params = f"A: {matrix}, C: {matrix}" + (f", D: {matrix}" if after else "")
    text = main_of(params, f'B = T.alloc_buffer(({n}, {wide}), "int32")', *lines, *after)
    index_map = rng.choice((
        "lambda i, j: (j, i)", "lambda i, j: (i, j)", f"lambda i, j: (i * {wide} + j,)",
        "lambda i, j: (j // 2, i, j % 2)", f"lambda i, j: ({n - 1} - i, j)",
    ))  # fmt: skip
    steps: list[Callable[[Schedule], object]] = [
        lambda sch: sch.reindex_cache_read("J", "B", "local", index_map),
        lambda sch: sch.reindex_cache_write("I", "B", "local", index_map),
        lambda sch: sch.reindex("J", "B"),
        lambda sch: sch.reindex("I", "B"),
        lambda sch: sch.compute_at(
            sch.reindex_cache_read("J", "B", "local", "lambda i, j: (j, i)"), sch.get_loops("J")[-1]
        ),
        lambda sch: sch.split(
            sch.get_loops(sch.reindex_cache_write("I", "B", "local", index_map))[-1], factors=[None, 2]
        ),
    ]
    return text, rng.choice(steps)


def blocks_put_into_one(rng: random.Random) -> Drawn:
    """Blocks side by side under shared loops become one block, which is scheduled within."""
    tiles, size, more = *numbers(rng, 2, 2, 5), rng.choice((0, 0, 1))
    total, whole = tiles * size, rng.random() < 0.3
    window, tail = size + more, total + more
    outer = [] if whole else [f"for o in range({tiles}):"]
    at = "" if whole else f"o * {size} + "
    made, read = (tail, total) if whole else (window, size)

    def block(name: str, count: int, extent: int, store: str) -> list[str]:
        return [f"for {name.lower()} in range({count}):", f'    with T.block("{name}"):',
                f"        v = T.axis.spatial({extent}, {at}{name.lower()})", f"        {store}"]  # fmt: skip

    lines = [*block("I", made, tail, "B[v] = A[v] * 3"),
             *block("J", read, total, f"C[v] = B[v] + B[v + {more}]"),
             *block("K", read, total, "D[v] = C[v] - A[v]")]  # fmt: skip
    text = main_of(
        f'A: T.Buffer(({tail},), "int32"), D: T.Buffer(({total},), "int32")',
        f'B = T.alloc_buffer(({tail},), "int32")', f'C = T.alloc_buffer(({total},), "int32")',
        *outer, *(("" if whole else "    ") + line for line in lines),
    )  # fmt: skip
    chosen = rng.choice((["I", "J"], ["K", "J"], ["I", "J", "K"]))
    form = rng.randrange(4)

    def steps(sch: Schedule) -> None:
        made = sch.blockize(chosen, preserve_unit_iters=rng.random() < 0.5)
        if form == 1 and sch.get_loops(made):
            sch.unroll(sch.get_loops(made)[0])
        elif form == 2:
            sch.cache_write("J", "C", "local")
        elif form == 3:
            sch.split(sch.get_loops("J")[-1], factors=[None, 2])

    return text, steps


PATTERNS: dict[str, Callable[[random.Random], Drawn]] = {
    pattern.__name__: pattern
    for pattern in (
        inline_at_digits, a_consumer_by_digits_moved, inline_of_a_part, inline_into_a_predicate,
        inline_of_what_nobody_reads, a_sum_that_declares_its_result, a_sum_bound_to_threads, a_loop_of_another_kind,
        blocks_inside_a_block, a_sum_inside_a_block,
        moved_copies_in_a_shared_loop, blocks_put_into_one, copies_in_a_shared_loop,
        a_window_rolled_along_an_outer_loop,
    )
}  # fmt: skip
