"""More steps that were refused once: outputs, threads, indices by calls, paddings in loops; see `refused_patterns`."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.property.refused_patterns import Drawn, block_of, main_of, numbers
from tests.property.refused_symbolic import main_of_sizes
from workbench.schedule import Schedule

Step = Callable[[Schedule], object]


def _vector(size: int) -> str:
    return f'T.Buffer(({size},), "int32")'


def an_output_moved(rng: random.Random) -> Drawn:
    """An output of the function, read by a block whose tiles do not divide it, moves into these: 32 over 48."""
    tile = rng.choice((4, 8, 32))
    size = tile + rng.randint(1, tile - 1)
    used = rng.choice(("B[v0] + 1", f"B[{size - 1} - v0] - 2", "B[v0] * A[v0]"))
    text = main_of(f"A: {_vector(size)}, B: {_vector(size)}, C: {_vector(size)}",
                   *block_of("B", [size], "B[v0] = A[v0] * 2"), *block_of("C", [size], f"C[v0] = {used}"))  # fmt: skip
    place = rng.randrange(2)

    def steps(sch: Schedule) -> None:
        loops = sch.split(sch.get_loops("C")[0], factors=[None, tile])
        sch.compute_at("B", loops[place])

    return text, steps


def a_declared_result_reindexed(rng: random.Random) -> Drawn:
    """A sum that says that it reads its own result writes it in the order of its iterators."""
    n, m, k = numbers(rng, 3)
    place = rng.choice(("vi, vj", "vj, vi"))
    shape = f"({n}, {m})" if place == "vi, vj" else f"({m}, {n})"
    text = main_of(
        f'A: T.Buffer(({n}, {k}), "int32"), B: T.Buffer(({k}, {m}), "int32"), C: T.Buffer({shape}, "int32")',
        f"for i, j, k in T.grid({n}, {m}, {k}):", '    with T.block("C"):',
        '        vi, vj, vk = T.axis.remap("SSR", [i, j, k])', f"        T.reads(C[{place}], A[vi, vk], B[vk, vj])",
        f"        T.writes(C[{place}])", "        with T.init():", f"            C[{place}] = 0",
        f"        C[{place}] = C[{place}] + A[vi, vk] * B[vk, vj]",
    )  # fmt: skip
    return text, lambda sch: sch.reindex("C", ("write", 0))


def copies_in_thread_blocks(rng: random.Random) -> Drawn:
    """read_at and write_at in loops that are bound to blocks of threads."""
    n, m = numbers(rng, 2)
    text = main_of(f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")',
                   *block_of("C", [n, m], f"C[v0, v1] = A[v0, v1] + A[v0, {m - 1} - v1]"))  # fmt: skip
    which = rng.randrange(3)

    def steps(sch: Schedule) -> None:
        loop = sch.get_loops("C")[0]
        sch.bind(loop, "blockIdx.x")
        if which != 1:
            sch.read_at(loop, "C", 0, "shared")
        if which:
            sch.write_at(loop, "C", 0, "shared")

    return text, steps


def a_block_without_iterators_copies(rng: random.Random) -> Drawn:
    n = rng.randint(2, 6)
    first, last = rng.randrange(n), rng.randrange(n)
    text = main_of(
        f"A: {_vector(n)}, C: {_vector(1)}", f'B = T.alloc_buffer(({n},), "int32")',
        *block_of("B", [n], "B[v0] = A[v0] * 2"), 'with T.block("C"):', f"    C[0] = B[{first}] - B[{last}] * 3",
    )  # fmt: skip
    steps: list[Step] = [
        lambda sch: sch.cache_read("C", 0, "local"),
        lambda sch: sch.cache_write("C", 0, "local"),
        lambda sch: sch.cache_write("B", 0, "shared"),
    ]
    return text, rng.choice(steps)


def indices_by_calls(rng: random.Random) -> Drawn:
    """Where an image is read when it is made larger: rounded, and not beyond its end."""
    n = rng.randint(3, 9)
    m = n + rng.randint(1, 6)
    at = f'T.min(T.cast("int64", T.floor(T.cast("float32", v0) * T.float32({n / m}))), T.int64({n - 1}))'
    text = main_of(f"A: {_vector(n)}, C: {_vector(m)}", *block_of("C", [m], f"C[v0] = A[{at}] * {rng.randint(1, 3)}"))
    return text, lambda sch: sch.cache_index("C", rng.choice(("global", "local")))


def a_padding_in_a_shared_loop(rng: random.Random) -> Drawn:
    """Rows are padded and used in iterations of one loop; filled before it, or in it."""
    n, m = numbers(rng, 2, 3, 6)
    total = m + 2
    text = main_of(
        f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")',
        f'P = T.alloc_buffer(({n}, {total}), "int32")', f"for i in range({n}):", f"    for j in range({total}):",
        '        with T.block("P"):', '            vi, vj = T.axis.remap("SS", [i, j])',
        f"            P[vi, vj] = T.if_then_else(vj >= 1 and vj < {m + 1}, A[vi, vj - 1], 0)",
        f"    for j in range({m}):", '        with T.block("C"):', '            vi, vj = T.axis.remap("SS", [i, j])',
        "            C[vi, vj] = P[vi, vj] - P[vi, vj + 2]",
    )  # fmt: skip
    return text, lambda sch: sch.decompose_padding("P", sch.get_loops("P")[rng.randrange(2)])


def a_sum_over_a_unit_loop(rng: random.Random) -> Drawn:
    n, k = numbers(rng, 2)
    text = main_of(
        f'A: T.Buffer(({n}, {k}), "int32"), C: {_vector(n)}', f"for i, k in T.grid({n}, {k}):",
        '    with T.block("C"):', '        vi, vk = T.axis.remap("SR", [i, k])', "        with T.init():",
        "            C[vi] = 0", "        C[vi] = C[vi] + A[vi, vk]",
    )  # fmt: skip
    axis, outer = rng.randrange(2), rng.random() < 0.5

    def steps(sch: Schedule) -> None:
        factors = [1, None] if outer else [None, 1]
        sch.rfactor(sch.split(sch.get_loops("C")[1], factors=factors)[0 if outer else 1], axis)

    return text, steps


def halves_made_parallel(rng: random.Random) -> Drawn:
    """A loop of n iterations in a number of parts of (n + 1) // 2 or so, which run at once."""
    m, parts = rng.randint(2, 6), rng.randint(2, 4)
    text = main_of_sizes(
        rng, {"A": f"(n, {m})", "C": f"(n, {m})"}, f"for i, j in T.grid(n, {m}):", '    with T.block("C"):',
        '        vi, vj = T.axis.remap("SS", [i, j])', f"        C[vi, vj] = A[vi, vj] {rng.choice('+-*')} 3",
    )  # fmt: skip
    which = rng.randrange(3)

    def steps(sch: Schedule) -> None:
        loops = sch.split(sch.get_loops("C")[0], factors=[parts, None])
        if which == 2:
            sch.parallel(sch.fuse(*loops))
        else:
            sch.parallel(loops[which])

    return text, steps


MORE: dict[str, Callable[[random.Random], Drawn]] = {
    pattern.__name__: pattern
    for pattern in (
        an_output_moved, a_declared_result_reindexed, copies_in_thread_blocks, a_block_without_iterators_copies,
        indices_by_calls, a_padding_in_a_shared_loop, a_sum_over_a_unit_loop,
    )
}  # fmt: skip
MORE_SYMBOLIC: dict[str, Callable[[random.Random], Drawn]] = {"halves_made_parallel": halves_made_parallel}
