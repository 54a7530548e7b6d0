"""Steps on blocks that stay where they are, or on parts of others, that were refused once; see `refused_patterns`."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.property.refused_patterns import Drawn, block_of, main_of, numbers
from workbench.schedule import Schedule

Step = Callable[[Schedule], object]


def _vector(size: int) -> str:
    return f'T.Buffer(({size},), "int32")'


def sums_in_parts(rng: random.Random) -> Drawn:
    """A sum of the first values only, one that is done again and again, one in an order of its own: factored."""
    n, k = numbers(rng, 2)
    form = rng.choice(("part", "again", "ordered"))
    begun = rng.randint(1, k)
    value = "C[vi] * 2 + A[vi, vk]" if form == "ordered" else "C[vi] + A[vi, vk]"
    again = ["for t in range(3):"] if form == "again" else []
    lines = [
        f"for i, k in T.grid({n}, {k}):", '    with T.block("C"):', f"        vi = T.axis.spatial({n}, i)",
        f"        vk = T.axis.reduce({k}, k)", *([f"        T.where(k < {begun})"] if form == "part" else []),
        "        with T.init():", "            C[vi] = 0", f"        C[vi] = {value}",
    ]  # fmt: skip
    text = main_of(f'A: T.Buffer(({n}, {k}), "int32"), C: {_vector(n)}',
                   *again, *(("    " if again else "") + line for line in lines))  # fmt: skip
    split, axis = rng.random() < 0.5 and form != "ordered", rng.randrange(2)

    def steps(sch: Schedule) -> None:
        loop = sch.get_loops("C")[-1]
        sch.rfactor(sch.split(loop, factors=[None, 2])[rng.randrange(2)] if split else loop, axis)

    return text, steps


def sums_over_one_value(rng: random.Random) -> Drawn:
    """Reduction loops of one iteration, in front of others, carry nothing."""
    n, k = numbers(rng, 2)
    text = main_of(
        f'A: T.Buffer(({n}, 1, {k}), "int32"), C: {_vector(n)}', f"for i, u, k in T.grid({n}, 1, {k}):",
        '    with T.block("C"):', '        vi, vu, vk = T.axis.remap("SRR", [i, u, k])', "        with T.init():",
        "            C[vi] = 0", "        C[vi] = C[vi] + A[vi, vu, vk]",
    )  # fmt: skip
    steps: list[Step] = [
        lambda sch: sch.decompose_reduction("C", sch.get_loops("C")[2]),
        lambda sch: sch.rfactor(sch.get_loops("C")[1], 0),
        lambda sch: sch.rfactor(sch.get_loops("C")[2], 1),
    ]
    return text, rng.choice(steps)


def a_buffer_written_twice(rng: random.Random) -> Drawn:
    """A block that writes what another one writes later, or before it, leaves its results elsewhere, or turns."""
    n, m = numbers(rng, 2)
    text = main_of(
        f'A: T.Buffer(({n}, {m}), "int32"), D: T.Buffer(({n}, {m}), "int32")',
        f'B = T.alloc_buffer(({n}, {m}), "int32")', f'C = T.alloc_buffer(({n}, {m}), "int32")',
        *block_of("I", [n, m], "B[v0, v1] = A[v0, v1] * 2"), *block_of("J", [n, m], "C[v0, v1] = B[v0, v1] + 1"),
        *block_of("K", [n, m], "B[v0, v1] = A[v0, v1] - 3"),
        *block_of("L", [n, m], "D[v0, v1] = B[v0, v1] * C[v0, v1]"),
    )  # fmt: skip
    chosen = rng.choice("IK")
    index_map = rng.choice(("lambda i, j: (j, i)", f"lambda i, j: (i * {m} + j,)", f"lambda i, j: ({n - 1} - i, j)"))
    steps: list[Step] = [
        lambda sch: sch.cache_write(chosen, 0, "local"),
        lambda sch: sch.reindex(chosen, ("write", 0)),
        lambda sch: sch.reindex_cache_write(chosen, "B", "local", index_map),
        lambda sch: sch.transform_block_layout(rng.choice((chosen, "J")), "lambda i, j: (j, i)"),
        lambda sch: sch.transform_block_layout(rng.choice((chosen, "J")), f"lambda i, j: (i * {m} + j,)"),
    ]
    return text, rng.choice(steps)


def values_of_one_iteration(rng: random.Random) -> Drawn:
    """What an iteration makes and reads itself is its own: loops run as lanes, copies and inlining in there."""
    n, width = numbers(rng, 2)
    window = rng.random() < 0.5
    made = f"T.axis.spatial({n + width - 1}, i + r)" if window else f"T.axis.spatial({width}, r)"
    place, read = ("vr", "P[vi] - P[vi + 1]") if window else ("vr", "P[0] - P[1]")
    source = "A[vr]" if window else "A[vi + vr]"
    text = main_of(
        f"A: {_vector(n + width - 1)}, C: {_vector(n)}",
        f'P = T.alloc_buffer(({n + width - 1 if window else width},), "int32")', f'S = T.alloc_buffer(({n},), "int32")',
        f"for i in range({n}):", f"    for r in range({width}):", '        with T.block("P"):',
        *([] if window else [f"            vi = T.axis.spatial({n}, i)"]), f"            vr = {made}",
        f"            P[{place}] = {source} * 2",
        '    with T.block("S"):', f"        vi = T.axis.spatial({n}, i)", f"        S[vi] = {read}",
        '    with T.block("C"):', f"        vi = T.axis.spatial({n}, i)", "        C[vi] = S[vi] + 1",
    )  # fmt: skip
    steps: list[Step] = [
        lambda sch: sch.vectorize(sch.get_loops("C")[0]),
        lambda sch: [sch.parallel(sch.get_loops("C")[0]), sch.vectorize(sch.get_loops("C")[0])],
        lambda sch: sch.reverse_compute_inline("C"),
        lambda sch: sch.cache_write("S", 0, "local"),
        lambda sch: sch.write_at(sch.get_loops("S")[0], "S", 0, "local"),
        lambda sch: sch.read_at(sch.get_loops("S")[0], "C", 0, "local"),
    ]
    if window:
        steps.append(lambda sch: [sch.parallel(sch.get_loops("C")[0]), sch.cache_index("S", "global")])
    return text, rng.choice(steps)


def sums_read_as_they_grow(rng: random.Random) -> Drawn:
    """Who reads a sum so far stays in its loop, but may leave its values elsewhere, or compute what follows."""
    n, k = numbers(rng, 2)
    text = main_of(
        f'A: T.Buffer(({n}, {k}), "int32"), C: T.Buffer(({n}, {k}), "int32")', f'S = T.alloc_buffer(({n},), "int32")',
        f'R = T.alloc_buffer(({n}, {k}), "int32")', f"for i, k in T.grid({n}, {k}):",
        '    with T.block("S"):', '        vi, vk = T.axis.remap("SR", [i, k])', "        with T.init():",
        "            S[vi] = 0", "        S[vi] = S[vi] + A[vi, vk]",
        '    with T.block("R"):', '        vi, vk = T.axis.remap("SS", [i, k])', "        R[vi, vk] = S[vi] * 2",
        *block_of("C", [n, k], "C[v0, v1] = R[v0, v1] + 1"),
    )  # fmt: skip
    steps: list[Step] = [
        lambda sch: sch.reverse_compute_inline("C"),
        lambda sch: sch.cache_write("R", 0, "local"),
        lambda sch: sch.reindex_cache_write("R", 0, "local", "lambda i, j: (j, i)"),
    ]
    return text, rng.choice(steps)


def a_part_moved(rng: random.Random) -> Drawn:
    """What loop_partition made of a producer, or of a consumer, moves by itself, for what it runs of the domain."""
    n, m = numbers(rng, 2, 3)
    text = main_of(
        f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")',
        f'B = T.alloc_buffer(({n}, {m}), "int32")', *block_of("B", [n, m], "B[v0, v1] = A[v0, v1] * 2"),
        *block_of("C", [n, m], "C[v0, v1] = B[v0, v1] + 1"),
    )  # fmt: skip
    cut, axis, which, target = rng.randint(1, 2), rng.randrange(2), rng.randrange(2), rng.randrange(2)
    consumer = rng.random() < 0.5

    def steps(sch: Schedule) -> None:
        name, other = ("C", "B") if consumer else ("B", "C")
        sch.loop_partition(sch.get_loops(name)[axis], factors=[cut, None])
        part = (name, f"{name}_1")[which]
        move = sch.reverse_compute_at if consumer else sch.compute_at
        move(part, sch.get_loops(other)[target])

    return text, steps


def a_part_of_a_padding(rng: random.Random) -> Drawn:
    """A padded copy in two parts: each is filled and copied by itself."""
    n, more = rng.randint(3, 6), rng.randint(1, 2)
    total = n + 2 * more
    value = f"T.if_then_else(v0 >= {more} and v0 < {n + more}, A[v0 - {more}], 0)"
    text = main_of(f"A: {_vector(n)}, P: {_vector(total)}", *block_of("P", [total], f"P[v0] = {value}"))
    cut = rng.randint(more + 1, n)

    def steps(sch: Schedule) -> None:
        sch.loop_partition(sch.get_loops("P")[0], factors=[cut, None])
        part = rng.choice(("P", "P_1"))
        sch.decompose_padding(part, sch.get_loops(part)[0])

    return text, steps


def copies_at_a_loop(rng: random.Random) -> Drawn:
    """read_at and write_at where the loop holds those who write the buffer, or read it, too."""
    n, m = numbers(rng, 2)
    text = main_of(
        f'A: T.Buffer(({n}, {m}), "int32"), C: T.Buffer(({n}, {m}), "int32")', f'B = T.alloc_buffer(({n},), "int32")',
        f"for i in range({n}):", f"    for k in range({m}):", '        with T.block("B"):',
        '            vi, vk = T.axis.remap("SR", [i, k])', "            with T.init():", "                B[vi] = 0",
        "            B[vi] = B[vi] + A[vi, vk]",
        f"    for j in range({m}):", '        with T.block("C"):', '            vi, vj = T.axis.remap("SS", [i, j])',
        "            C[vi, vj] = B[vi] - A[vi, vj]",
    )  # fmt: skip
    steps: list[Step] = [
        lambda sch: sch.read_at(sch.get_loops("C")[0], "C", "B", "local"),
        lambda sch: sch.write_at(sch.get_loops("B")[0], "B", 0, "local"),
        lambda sch: [
            sch.write_at(sch.get_loops("B")[0], "B", 0, "local"), sch.read_at(sch.get_loops("C")[0], "C", "B", "shared")
        ],
    ]  # fmt: skip
    return text, rng.choice(steps)


IN_PLACE: dict[str, Callable[[random.Random], Drawn]] = {
    pattern.__name__: pattern
    for pattern in (
        sums_in_parts, sums_over_one_value, a_buffer_written_twice, values_of_one_iteration, sums_read_as_they_grow,
        a_part_moved, a_part_of_a_padding, copies_at_a_loop,
    )
}  # fmt: skip
