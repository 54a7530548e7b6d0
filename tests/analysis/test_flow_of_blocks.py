"""What blocks pass on to one another over the iterations of a loop, where more is asked of them than an index."""

from __future__ import annotations

import re
from textwrap import indent

import numpy as np
import pytest

from workbench.analysis.dataflow import Dataflow
from workbench.core.node import pre_order
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret
from workbench.tir.script import parse
from workbench.tir.transforms.lower_blocks import lower_blocks

INNER_BLOCKS = """@T.prim_func
def f(A: T.Buffer((64,), "float32"), C: T.Buffer((8, 64), "float32")):
    with T.block("root"):
        B = T.alloc_buffer((64,), "float32")
        D = T.alloc_buffer((1,), "float32")
        for o in T.serial(8):
{lines}
"""


def carries(lines: str) -> bool:
    """Whether values of B are passed on by `for o in range(8): lines`."""
    func = parse(INNER_BLOCKS.format(lines=indent(lines, " " * 12)))
    buffer = next(node for node in pre_order(func.body) if isinstance(node, t.Block)).alloc_buffers[0]
    return Dataflow(func.body).carries(next(node for node in pre_order(func.body) if isinstance(node, t.For)), buffer)


SUM = """for i{loops}:
    with T.block("sum"):
        v = T.axis.spatial(64, i)
        w = T.axis.reduce(4, {at})
        T.where({where})
        T.reads(A[w])
        T.writes(B[v])
        with T.init():
            B[v] = T.float32(0)
        B[v] = B[v] + A[w]"""


SUMS = (
    (", k in T.grid(64, 4)", "k", "True", False),
    (", k in T.grid(64, o)", "k", "k < 4", False),
    (", k in T.grid(64, o)", "k % 4", "True", False),
    (", k in T.grid(64, 4)", "3 - k", "True", True),
    (", k in T.grid(64, 3)", "k + 1", "True", True),
    (", k in T.grid(64, 4)", "k", "k > 0", True),
    (", k in T.grid(64, 6)", "k", "k < 4", False),
    (", k in T.grid(64, 6)", "k", "k // 2 < 2", False),
    (", k in T.grid(64, 4)", "k", "k % 2 > 0", True),
    (", k, m in T.grid(64, 2, 3)", "k * 3 + m", "k * 3 + m < 4", False),
    (", k, m in T.grid(64, 2, 2)", "m * 2 + k", "m < 1 or k > 0", True),
    (" in T.serial(64)", "0", "o < 1", False),
    (" in T.serial(64)", "1", "True", True),
    (" in T.serial(64)", "i % 4", "True", True),
    (", k in T.grid(64, 4)", "k", "k == 1", True),
    (", k, m in T.grid(64, 4, 2)", "k", "k + m < 4", False),
    (", k, m in T.grid(64, 4, 2)", "k", "k < m + 1", False),
    (", k, m in T.grid(64, 4, 2)", "k", "m < k + 1", True),
)


@pytest.mark.parametrize(("loops", "at", "where", "carried"), SUMS)
def test_a_sum_that_is_not_begun_goes_on_with_what_was_there(loops: str, at: str, where: str, carried: bool) -> None:
    """Where the init is not run first, the values are those of an earlier iteration, if one has written them."""
    assert carries(SUM.format(loops=loops, at=at, where=where)) is carried


def test_a_sum_without_its_beginning_keeps_its_buffer_outside() -> None:
    """It was allocated inside of `o`, where no value had been written."""
    begun = SUM.format(loops=" in T.serial(64)", at="1", where="True")
    lines = f"""for i in T.serial(64):
    with T.block("begin"):
        v = T.axis.spatial(64, i)
        T.where(o < 1)
        T.writes(B[v])
        B[v] = T.float32(5)
{begun}
for i in T.serial(64):
    with T.block("end"):
        vo, v = T.axis.remap("SS", [o, i])
        T.reads(B[v])
        T.writes(C[vo, v])
        C[vo, v] = B[v]"""
    assert carries(lines) and not carries(lines.replace("T.where(o < 1)", "T.where(o < 8)"))
    func = parse(INNER_BLOCKS.format(lines=indent(lines, " " * 12)))
    assert isinstance(func, t.PrimFunc)
    arrays = [np.arange(64, dtype="float32"), np.zeros((8, 64), "float32")]
    interpret(lower_blocks(func), *arrays)
    np.testing.assert_array_equal(arrays[1], np.broadcast_to(np.arange(6, 14, dtype="float32")[:, None], (8, 64)))


NOT_ALL = """for i in T.serial(8):
    with T.block("make"):
        v = T.axis.spatial(4, {value})
        T.where({where})
        T.writes(B[{index}])
        B[{index}] = T.float32(1)
with T.block("use"):
    T.reads(B[1])
    T.writes(C[0, 0])
    C[0, 0] = B[1]"""


NEVER = (
    ("i", "i < 4", "v", False),
    ("i", "i < 4", "v // 4 + 1", False),
    ("3 - i", "0 <= 3 - i and 3 - i < 2", "v", False),
    ("3 - i", "3 - i < 2 and i <= 1", "v // 3 + 1", True),
)


@pytest.mark.parametrize(("value", "where", "index", "carried"), NEVER)
def test_a_block_that_never_runs_writes_nothing(value: str, where: str, index: str, carried: bool) -> None:
    """Of the greatest value that a condition sets it was not asked whether the least one is beyond."""
    assert carries(NOT_ALL.format(value=value, where=where, index=index)) is carried


CHANGES = """with T.block("begin"):
    T.writes(B[0])
    B[0] = T.float32(1)
for i in T.serial(63):
    if {condition}:
        with T.block("make"):
            v = T.axis.spatial(63, i)
            T.reads(A[v])
            T.writes(B[v + 1])
            B[v + 1] = A[v]
        with T.block("use"):
            vo, v = T.axis.remap("SS", [o, i])
            T.reads(B[{index}])
            T.writes(C[vo, v])
            C[vo, v] = B[{index}]
    with T.block("change"):
        v = T.axis.spatial(63, i)
        T.reads(A[v])
        T.writes(D[0])
        D[0] = A[v]"""


CHANGING = (
    ("True", "v", False),
    ("D[0] > T.float32(3)", "v + 1", False),
    ("D[0] > T.float32(3)", "v", True),
    ("not D[0] > T.float32(3)", "v", True),
)


@pytest.mark.parametrize(("condition", "index", "carried"), CHANGING)
def test_a_condition_that_changes_holds_in_one_iteration(condition: str, index: str, carried: bool) -> None:
    """It was taken to have held in the iterations before."""
    assert carries(CHANGES.format(condition=condition, index=index)) is carried


def short(lines: str) -> str:
    """Blocks from `make | AXES | INDEX` and `use | AXES | INDEX`, each with ` where CONDITION` if there is one."""
    made: list[str] = []
    for number, line in enumerate(lines.strip("\n").splitlines()):
        space, text = line[: len(line) - len(line.lstrip())], line.strip()
        if not text.startswith(("make |", "use |")):
            made.append(line)
            continue
        text, _, where = text.partition(" where ")
        word, *axes, index = text.split(" | ")
        made.append(f'{space}with T.block("b{number}"):')
        for name, axis in (part.split(" = ") for one in axes for part in one.split("; ")):
            made.append(f"{space}    {name} = T.axis.spatial({axis})")
        made += [f"{space}    T.where({where})"] if where else []
        element = ", ".join(part.partition(":")[0] for part in index.split(", "))
        if word == "make":
            made += [f"{space}    T.writes(B[{index}])", f"{space}    B[{element}] = T.float32({number})"]
        else:
            made += [f"{space}    T.reads(B[{index}])", f"{space}    T.writes(C[0, 0])"]
            made.append(f"{space}    C[0, 0] = B[{element}]")
    return "\n".join(made)


FILL = "for i in T.serial(64):\n    make | v = 64, i | v\n"
USE = "for k in T.serial(64):\n    use | v = 64, k | v\n"
SHORT = {
    "an earlier iteration, under a condition": ("""
for y in T.serial(8):
    for i in T.serial(3):
        make | v = 64, y * 3 + i | v where o < 4
    for k in T.serial(1):
        use | v = 64, y * 3 - 3 + k | v where y >= 1
""", True),
    "a window in iterations at once": ("""
for y in T.parallel(8):
    for i in T.serial(3):
        make | v = 64, y + i | v where y == 0 or i == 2
    for k in T.serial(3):
        use | v = 64, y + k | v
""", True),
    "a loop beside the elements": (f"for r, i in T.grid(o, 64):\n    make | v = 64, i | v\n{USE}", True),
    "a loop of no iterations": (f"for r, i in T.grid(0, 64):\n    make | v = 64, i | v\n{USE}", True),
    "made by a table": (f'for i in T.serial(64):\n    make | v = 64, T.Cast("int64", A[i]) | v\n{USE}', True),
    "made at a table's places": (f'for i in T.serial(64):\n    make | v = 64, i | T.Cast("int64", A[v])\n{USE}', True),
    "used by a table": (f'{FILL}for k in T.serial(64):\n    use | v = 64, k | T.Cast("int64", A[v])\n', False),
    "used by a table, made in part": (
        'for i in T.serial(63):\n    make | v = 64, i | v\n'
        'for k in T.serial(64):\n    use | v = 64, k | T.Cast("int64", A[v])\n', True,
    ),
    "a window under a condition of its own": ("""
for y in T.serial(8):
    for i in T.serial(3):
        make | v = 64, y + i | v where (y == 0 or i == 2) and o < 4
    for k in T.serial(3):
        use | v = 64, y + k | v""", True),
    "a window of which only the beginning is under a condition": ("""
for y in T.serial(8):
    for i in T.serial(2):
        make | v = 64, y + i | v where y == 0 and o < 4
    make | v = 64, y + 2 | v
    for k in T.serial(3):
        use | v = 64, y + k | v""", True),
    "a window of which only the beginning is under a condition of both": ("""
for y in T.serial(8):
    for i in T.serial(2):
        make | v = 64, y + i | v where y == 0 and o < 4
    make | v = 64, y + 2 | v
    for k in T.serial(3):
        use | v = 64, y + k | v where o < 3""", False),
    "a window that begins at another place": ("""
for y in T.serial(2, 8):
    for i in T.serial(2):
        make | v = 64, y + i | v where y == 2
    make | v = 64, y + 2 | v
    for k in T.serial(3):
        use | v = 64, y + k | v""", False),
    "a window that begins at the second place": ("""
for y in T.serial(2, 8):
    for i in T.serial(2):
        make | v = 64, y + i | v where y == 3
    make | v = 64, y + 2 | v
    for k in T.serial(3):
        use | v = 64, y + k | v""", True),
    "a window that begins in no order": ("""
for y in T.parallel(8):
    for i in T.serial(2):
        make | v = 64, y + i | v where y == 0
    make | v = 64, y + 2 | v
    for k in T.serial(3):
        use | v = 64, y + k | v""", True),
    "a window under a condition of both": ("""
for y in T.serial(8):
    for i in T.serial(3):
        make | v = 64, y + i | v where (y == 0 or i == 2) and o < 4
    for k in T.serial(3):
        use | v = 64, y + k | v where o < 3""", False),
    "what a condition says the buffer says": ("""
for y in T.serial(9):
    for i in T.serial(8):
        make | v = 80, y * 8 + i | v where y < 8
    for k in T.serial(8):
        use | v = 80, y * 8 + k | v""", False),
    "an iterator and another one": ("""
for i, j in T.grid(5, 4):
    make | v = 4, i; w = 4, j | v * 4 + w where i < 4
for k in T.serial(16):
    use | v = 64, k | v""", False),
    "an iterator and another one, in part": ("""
for i, j in T.grid(5, 4):
    make | v = 4, i; w = 4, j | v * 4 + w where i < 3
for k in T.serial(16):
    use | v = 64, k | v""", True),
    "a quotient to a limit": ("""
for f, g in T.grid(12, 7):
    make | v = 8, (f * 7 + g) // 8 | v where f * 7 + g < 64
for k in T.serial(8):
    use | v = 64, k | v""", False),
    "both digits to a limit": ("""
for f, g in T.grid(12, 7):
    make | v = 8, (f * 7 + g) // 8; w = 8, (f * 7 + g) % 8 | w * 8 + v where f * 7 + g < 64
for k in T.serial(64):
    use | v = 64, k | v""", False),
    "both digits to another limit": ("""
for f, g in T.grid(12, 7):
    make | v = 8, (f * 7 + g) // 8; w = 8, (f * 7 + g) % 8 | w * 8 + v where f * 7 + g < 63
for k in T.serial(64):
    use | v = 64, k | v""", True),
    "two limits of an iterator": ("""
for i, j, m in T.grid(3, 2, 4):
    make | v = 6, i * 2 + j; w = 4, m | v * 4 + w where i * 2 + j < 4 and i * 2 + j < o + 2
for k in T.serial(16):
    use | v = 64, k | v""", True),
    "a limit of the greater one": ("""
for i, j in T.grid(8, 8):
    make | v = 64, i * 8 + j | v where T.max(i, j) < 4
for k in T.serial(64):
    use | v = 64, k | v""", True),
    "what a condition says an iterator says, from below": ("""
for y in T.serial(-1, 8):
    for i in T.serial(64):
        make | v = 64, i | v where 0 <= y
    for k, m in T.grid(8, 64):
        use | v = 64, y * 8 + k; w = 64, m | w""", False),
    "what a condition says an iterator says, from above": ("""
for y in T.serial(9):
    for i in T.serial(64):
        make | v = 64, i | v where y < 8
    for k, m in T.grid(8, 64):
        use | v = 64, y * 8 + k; w = 64, m | w""", False),
    "what a condition says another one and the buffer say": ("""
for y in T.serial(-2, 6):
    for x in T.serial(-2, 6):
        for i in T.serial(64):
            make | v = 64, i | v where 0 <= y + x
        use | v = 66, y + 2 | v - 2 where 0 <= x""", False),
    "made where a changing table says": (f'make | v = 64, 0 | T.Cast("int64", C[0, 0])\n{USE}', True),
    "a table that changes": ("""
if A[0] < C[0, 0]:
    for i in T.serial(64):
        make | v = 64, i | v
for k in T.serial(4):
    use | v = 64, 0 | 1 where A[0] < C[0, 0]""", True),
    "a table that does not change": ("""
for i in T.serial(64):
    make | v = 64, i | v where A[0] < A[1]
for k in T.serial(4):
    use | v = 64, 0 | 1 where A[0] < A[1]""", False),
    "a branch": ("""
if o < 4:
    for i in T.serial(64):
        make | v = 64, i | v
else:
    for i in T.serial(64):
        make | v = 64, 63 - i | v
for k in T.serial(64):
    use | v = 64, k | v where o >= 4""", False),
    "the wrong branch": ("""
if o < 4:
    T.evaluate(0)
else:
    for i in T.serial(64):
        make | v = 64, i | v
for k in T.serial(64):
    use | v = 64, k | v where o < 4""", True),
    "regions that meet": ("""
for i in T.serial(32):
    make | v = 32, i | v * 2
for i in T.serial(32):
    make | v = 32, i | v * 2 + 1
for k in T.serial(31):
    use | v = 31, k | v * 2:v * 2 + 2""", True),
    "a region that is made": (f"{FILL}for k in T.serial(63):\n    use | v = 63, k | v:v + 2\n", False),
    "a region beyond what is made": (
        "for i in T.serial(63):\n    make | v = 63, i | v\n"
        "for k in T.serial(63):\n    use | v = 63, k | v:v + 2\n", True,
    ),
    "while something holds": ("""
while C[0, 0] < A[0]:
    make | 0
use | 0""", True),
    "a name for a value": ("""
for y in T.serial(8):
    for i in T.serial(8):
        make | v = 64, y * 8 + i | v
    with T.LetStmt(y * 8) as x:
        for k in T.serial(8):
            use | v = 64, x + k | v""", False),
}  # fmt: skip


TWO = """for i, k in T.grid(64, 4):
    with T.block("two"):
        v, w = T.axis.remap("SR", [i, k])
        T.reads(B[v], D[0], A[w])
        T.writes(B[v], D[0])
        with T.init():
            B[v] = T.float32(0)
            D[0] = T.float32(0)
        B[v] = B[v] + A[w]
        D[0] = D[0] + A[w]"""


def test_a_sum_of_two_values_reads_neither() -> None:
    assert not carries(TWO)


NARROW = """@T.prim_func
def f(A: T.Buffer((4,), "int8"), X: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    with T.block("root"):
        B = T.alloc_buffer((1,), "float32")
        for i in T.serial(4):
            with T.block("w"):
                vi = T.axis.spatial(4, i)
                T.where(A[i] < T.int8(0))
                B[0] = X[vi]
            with T.block("r"):
                vi = T.axis.spatial(4, i)
                T.where(A[i] + T.int8(1) <= T.int8(0))
                C[vi] = B[0]
"""
LOADED = """@T.prim_func
def f(A: T.Buffer((4,), "int64"), N: T.Buffer((1,), "int64"), C: T.Buffer((4, 4), "int64")):
    with T.block("root"):
        B = T.alloc_buffer((4,), "int64")
        for i in range(4):
            for j in range(N[0]):
                with T.block("B"):
                    vj = T.axis.spatial({domain}, j)
                    B[vj] = A[vj] + i
            with T.block("N"):
                N[0] = 5 - N[0]
            for j in range(N[0]):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial({domain}, j)
                    C[vi, vj] = B[vj]
"""
"""Data that wraps in a condition, and bounds that change."""


def bodies() -> list[str]:
    """The programs of the tests here, of 64 elements and of n."""
    names = ("loops", "at", "where"), ("value", "where", "index"), ("condition", "index")
    found = [TWO, *(short(lines) for lines, _ in SHORT.values())]
    for text, fields, rows in zip((SUM, NOT_ALL, CHANGES), names, (SUMS, NEVER, CHANGING), strict=True):
        found += [text.format(**dict(zip(fields, row, strict=False))) for row in rows]
    made = [INNER_BLOCKS.format(lines=indent(lines, " " * 12)) for lines in found]
    made += [NARROW, LOADED.format(domain="4"), LOADED.format(domain="N[0]")]
    return made + [re.sub(r"\b64\b", "n", text).replace("def f(", "def f(n: T.int64, ") for text in made]


@pytest.mark.parametrize("name", SHORT)
def test_what_blocks_pass_on(name: str) -> None:
    lines, carried = SHORT[name]
    assert carries(short(lines)) is carried
