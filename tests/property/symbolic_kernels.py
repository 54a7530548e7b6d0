"""Three kernels with extents that are numbers and with extents that are names: the same steps, the same verdicts.

    pair = kernel("product", tiled=False)       # `pair.numbers` and `pair.names`: the same blocks and loops
    walk = walked(pair, drawn(random.Random(3), pair.blocks))
    walk.differences                            # []: each step was accepted for both, or refused for the same reason

A matrix product with what is made of it, softmax, and layernorm, whose sizes n, m, k are numbers that no factor
divides, or names; with `tiled` the first one is a multiple of 16, and Z, which nobody reads, tells of which.  Steps
name blocks and count loops, so that they mean the same in both programs.  What they come to is compared, too: the loops
inside which each buffer is allocated, and how much of it, for the values that the numbers are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.arith.evaluate import evaluate
from workbench.arith.nodes import Var
from workbench.arith.scope import variables_in
from workbench.core.module import IRModule
from workbench.core.transform import PASSES
from workbench.schedule import LoopRV, Schedule, ScheduleError
from workbench.tir import nodes as t
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks

SIZES = {"n": 37, "m": 29, "k": 23}
"""What the numbers are; with `tiled` the first one is 16 times 3."""
TILES = 3
_PRODUCT = """
@T.prim_func
def main(a: T.handle, b: T.handle, d: T.handle, z: T.handle):
    HEAD
    Z = T.match_buffer(z, (ROWS,), "float32")
    A = T.match_buffer(a, (N, K), "float32")
    B = T.match_buffer(b, (K, M), "float32")
    D = T.match_buffer(d, (N, M), "float32")
    X = T.alloc_buffer((N, K), "float32")
    C = T.alloc_buffer((N, M), "float32")
    for i, j in T.grid(N, K):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj] * 2.0
    for i, j, r in T.grid(N, M, K):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, r])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + X[vi, vk] * B[vk, vj]
    for i, j in T.grid(N, M):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + 1.0
"""
_SOFTMAX = """
@T.prim_func
def main(a: T.handle, d: T.handle, z: T.handle):
    HEAD
    Z = T.match_buffer(z, (ROWS,), "float32")
    A = T.match_buffer(a, (N, M), "float32")
    D = T.match_buffer(d, (N, M), "float32")
    G = T.alloc_buffer((N,), "float32")
    E = T.alloc_buffer((N, M), "float32")
    S = T.alloc_buffer((N,), "float32")
    for i, j in T.grid(N, M):
        with T.block("G"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                G[vi] = T.float32("-inf")
            G[vi] = T.max(G[vi], A[vi, vj])
    for i, j in T.grid(N, M):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - G[vi])
    for i, j in T.grid(N, M):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + E[vi, vj]
    for i, j in T.grid(N, M):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = E[vi, vj] / S[vi]
"""
_LAYERNORM = """
@T.prim_func
def main(a: T.handle, w: T.handle, d: T.handle, z: T.handle):
    HEAD
    Z = T.match_buffer(z, (ROWS,), "float32")
    A = T.match_buffer(a, (N, M), "float32")
    W = T.match_buffer(w, (M,), "float32")
    D = T.match_buffer(d, (N, M), "float32")
    S = T.alloc_buffer((N,), "float32")
    E = T.alloc_buffer((N, M), "float32")
    V = T.alloc_buffer((N,), "float32")
    for i, j in T.grid(N, M):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vj]
    for i, j in T.grid(N, M):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] - S[vi] / T.cast("float32", M)
    for i, j in T.grid(N, M):
        with T.block("V"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                V[vi] = 0.0
            V[vi] = V[vi] + E[vi, vj] * E[vi, vj]
    for i, j in T.grid(N, M):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = E[vi, vj] * W[vj] / T.sqrt(V[vi] / T.cast("float32", M) + 1.0)
"""
KERNELS = {"product": _PRODUCT, "softmax": _SOFTMAX, "layernorm": _LAYERNORM}


@dataclass(frozen=True)
class Pair:
    """One kernel, twice, and what its sizes are called in the second."""

    numbers: t.PrimFunc
    names: t.PrimFunc
    sizes: dict[Var, int]

    @property
    def blocks(self) -> list[str]:
        """The blocks, but for the root."""
        return [name for name in Schedule(self.numbers).state.tree.blocks if name != "root"]

    def inputs(self, at: dict[str, int]) -> list[np.ndarray]:
        """Small whole numbers for every parameter of the second, for other values of its sizes."""
        known = {var: at[var.name] for var in self.sizes}
        made = np.random.default_rng(sum(at.values()))
        shapes = [tuple(int(evaluate(extent, known)) for extent in item.shape) for item in self.names.params]
        return [made.integers(-4, 5, shape).astype("float32") for shape in shapes]


def kernel(name: str, tiled: bool) -> Pair:
    """One of `KERNELS`."""
    text = KERNELS[name]
    used = [size for size in SIZES if f"{size.upper()}," in text or f", {size.upper()})" in text]
    sizes = {size: TILES if tiled and size == "n" else SIZES[size] for size in used}
    names = {size: f"{size} * 16" if tiled and size == "n" else size for size in used}
    values = {size: str(number * 16 if tiled and size == "n" else number) for size, number in sizes.items()}
    head = "\n    ".join(f"{size} = T.int64()" for size in used)
    made = [parse(_filled(text, values, "")), parse(_filled(text, names, head))]
    variables = {node for item in made[1].params for extent in item.shape for node in variables_in(extent)}
    return Pair(made[0], made[1], {var: sizes[var.name] for var in variables})


def _filled(text: str, sizes: dict[str, str], head: str) -> str:
    for size, value in sizes.items():
        for before in ("(", ", "):
            for after in (",", ")"):
                text = text.replace(f"{before}{size.upper()}{after}", f"{before}{value}{after}")
    text = text.replace("ROWS", sizes["n"].split(" ")[0])
    return text.replace("    HEAD\n", f"    {head}\n" if head else "")


# --- steps --------------------------------------------------------------------------------------------------------

Step = tuple[str, Callable[[Schedule], object]]
"""What is said of a step, and the step."""


def step(primitive: str, block: str, *rest: object, **named: object) -> Step:
    """A primitive on a block, or on a loop of it if `rest` begins with ("loop", number); ("loop", block, number) stands
    for a loop of another block."""

    def act(sch: Schedule) -> object:
        given = [_meant(sch, block, item) for item in rest]
        if primitive in _PLACING and any(_is_fused(sch, item) for item in given):
            return None
        first = [] if rest and _is_loop(rest[0]) and primitive not in _OF_BLOCKS else [block]
        return getattr(sch, primitive)(*first, *given, **named)

    return f"{primitive}({block}, {rest}, {named})", act


_LAYOUTS = ("lambda i, j: (j, i)", "lambda i: (i,)")
_PLACING = ("compute_at", "reverse_compute_at", "read_at")
_OF_BLOCKS = ("compute_at", "reverse_compute_at", "decompose_reduction")


def _is_fused(sch: Schedule, loop: object) -> bool:
    """Whether a loop is made of others.  Places in such loops are not compared: what an iteration f touches is f // m
    and f % m, no box of names."""
    return isinstance(loop, LoopRV) and "fused" in sch.get(loop).var.name


def _is_loop(item: object) -> bool:
    return isinstance(item, tuple) and bool(item) and item[0] == "loop"


def _meant(sch: Schedule, block: str, item: object) -> object:
    if not _is_loop(item):
        return item
    assert isinstance(item, tuple)
    name, number = (block, item[1]) if len(item) == 2 else item[1:]
    loops = sch.get_loops(name)
    return loops[number % len(loops)] if loops else block


def drawn(rng: random.Random, blocks: Sequence[str], count: int = 6) -> list[Step]:
    """Steps of every kind that applies, with blocks and loops drawn at random."""
    return [_draw(rng, blocks) for _ in range(count)]


def _draw(rng: random.Random, blocks: Sequence[str]) -> Step:
    block, other = rng.choice(blocks), rng.choice(blocks)
    loop = ("loop", rng.randrange(6))
    far = ("loop", other, rng.randrange(6))
    factor = rng.choice((2, 3, 4, 8))
    return rng.choice((
        lambda: _split(block, loop, factor),
        lambda: _split(block, loop, factor),
        lambda: _neighbours("fuse", block, loop[1]),
        lambda: _neighbours("reorder", block, loop[1]),
        lambda: step("compute_at", block, far),
        lambda: step("compute_at", block, far),
        lambda: step("reverse_compute_at", block, far),
        lambda: step("reverse_compute_at", block, far),
        lambda: step("compute_inline", block),
        lambda: step("reverse_compute_inline", block),
        lambda: step("cache_read", block, 0, "local"),
        lambda: step("cache_write", block, 0, "local"),
        lambda: step("rfactor", block, loop, 0),
        lambda: step("decompose_reduction", block, loop),
        lambda: step("blockize", block, loop),
        lambda: step("vectorize", block, loop),
        lambda: step("parallel", block, loop),
        lambda: step("unroll", block, loop),
        lambda: step("bind", block, loop, rng.choice(("threadIdx.x", "blockIdx.x"))),
        lambda: step("set_scope", block, 0, "local"),
        lambda: _read_at(block, loop),
        lambda: step("transform_layout", block if block != "D" else blocks[0], ("write", 0), rng.choice(_LAYOUTS)),
    ))()  # fmt: skip


def _split(block: str, loop: tuple[str, int], factor: int) -> Step:
    """A loop in two."""

    def act(sch: Schedule) -> object:
        chosen = _meant(sch, block, loop)
        return None if chosen == block else sch.split(chosen, factors=[None, factor])

    return f"split({block}, {loop}, {factor})", act


def _neighbours(primitive: str, block: str, at: int) -> Step:
    """Two loops, one inside the other: fused, or turned."""

    def act(sch: Schedule) -> object:
        loops = sch.get_loops(block)
        if len(loops) < 2:
            return None
        one = at % (len(loops) - 1)
        pair = loops[one : one + 2]
        return getattr(sch, primitive)(*(pair if primitive == "fuse" else reversed(pair)))

    return f"{primitive}({block}, {at})", act


def _read_at(block: str, loop: tuple[str, int]) -> Step:
    def act(sch: Schedule) -> object:
        target = _meant(sch, block, loop)
        return None if _is_fused(sch, target) else sch.read_at(target, block, 0, "local")

    return f"read_at({block}, {loop})", act


# --- walking ------------------------------------------------------------------------------------------------------

ALIKE = ({"E-SCHEDULE-DEPENDENCE", "E-SCHEDULE-UNPROVEN"},)
"""Codes of refusals that say the same of numbers and of names: a witness is a pair of iterations in numbers, which is
not looked for where indices are products of names."""
ASKS_FOR_NUMBERS = frozenset({"E-SCHEDULE-VECTOR-EXTENT", "E-SCHEDULE-UNROLL-EXTENT"})
"""Refusals of loops whose number of iterations must be known: nothing that legality says."""


@dataclass
class Walk:
    """What came of the steps."""

    numbers: Schedule
    names: Schedule
    accepted: int = 0
    asked: int = 0
    differences: list[str] = field(default_factory=list[str])


def walked(pair: Pair, steps: Sequence[Step]) -> Walk:
    """The steps, done to both where both accept them; a step that only one accepts is a difference."""
    walk = Walk(Schedule(pair.numbers), Schedule(pair.names))
    for told, act in steps:
        copies = walk.numbers.copy(), walk.names.copy()
        verdicts = [_verdict(act, sch) for sch in copies]
        if verdicts[1] in ASKS_FOR_NUMBERS:
            continue
        walk.asked += 1
        if verdicts[0] != verdicts[1] and set(verdicts) not in ALIKE:
            walk.differences.append(f"{told}: {verdicts[0]} with numbers, {verdicts[1]} with names\n"
                                    f"{walk.names.script()}")  # fmt: skip
        elif verdicts[0] == "accepted":
            walk.accepted += 1
            walk.numbers, walk.names = copies
    placed = [allocations(sch.func, sizes) for sch, sizes in ((walk.numbers, {}), (walk.names, pair.sizes))]
    if placed[0] != placed[1]:
        walk.differences.append(f"placement: {placed[0]} with numbers, {placed[1]} with names\n{walk.names.script()}")
    return walk


def _verdict(act: Callable[[Schedule], object], sch: Schedule) -> str:
    try:
        act(sch)
    except ScheduleError as error:
        return error.code
    return "accepted"


def allocations(func: t.PrimFunc, sizes: dict[Var, int]) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
    """For each buffer of a function, the loops that it is allocated in, of those that run several times, and its
    extents when it is compact."""
    module = PASSES["CompactBuffers"]()(IRModule({"main": lower_blocks(func)}))
    found: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {}
    stack: list[tuple[t.Stmt, tuple[str, ...]]] = [(module["main"].body, ())]
    while stack:
        stmt, loops = stack.pop()
        if isinstance(stmt, t.AllocBuffer):
            shape = tuple(int(evaluate(extent, sizes)) for extent in stmt.buffer.shape)
            found[stmt.buffer.name] = loops, shape
        inner = (*loops, stmt.var.name) if isinstance(stmt, t.For) and evaluate(stmt.extent, sizes) != 1 else loops
        for name in stmt.field_names:
            value = getattr(stmt, name)
            parts = value if isinstance(value, tuple) else (value,)
            stack.extend((part, inner) for part in parts if isinstance(part, t.Stmt))
    return found
