"""What iterations pass on to one another: each answer against running through all of them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.analysis.iterations import run_through
from tests.analysis.random_nests import COUNT, SIZE, drawn_lines
from tests.nightly import tonight
from tests.property.program_checks import program_of
from tests.property.schedule_checks import Source, draw, listed
from tests.tir.transforms.test_overlap import AT_ONCE, BUFFER, INNER, OUTER, nest
from workbench.analysis.dataflow import Dataflow
from workbench.arith import build
from workbench.core.node import pre_order
from workbench.tir import nodes as t
from workbench.tir.build import loop
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.transforms.lower_blocks import lower_blocks


def compared(func: t.PrimFunc) -> Counter[tuple[str, bool, bool | None]]:
    """(question, answer, truth) of all loops and buffers of a function.  Raises `AssertionError` for a wrong one."""
    flow, found = Dataflow(func.body), Counter[tuple[str, bool, bool | None]]()
    blocks = [node for node in pre_order(func.body) if isinstance(node, t.Block)]
    for step in (node for node in pre_order(func.body) if isinstance(node, t.For)):
        for buffer in (buffer for block in blocks for buffer in block.alloc_buffers):
            made = run_through(func.body, step, buffer)
            carries, apart = flow.carries(step, buffer), flow.writes_apart(step, buffer)
            passes_on = getattr(step.extent, "value", 2) > 1 and not step.has_private_buffers
            found["carries", carries, None if made is None else made.missed and passes_on] += 1
            found["apart", apart, None if made is None else not made.meet] += 1
            where = f"{buffer.name} in {step.var.name} of\n{script(func)}"
            assert carries or made is None or not made.missed or not passes_on, f"carried: {where}"
            assert not apart or made is None or not made.meet, f"not apart: {where}"
    return found


def checked(seeds: range, source: Source) -> Counter[tuple[str, bool, bool | None]]:
    return sum((compared(draw(seed, source).schedule.func) for seed in seeds), Counter())


@pytest.mark.parametrize("source", [listed, program_of])
def test_random_schedules(source: Source) -> None:
    found = checked(range(40), source)
    assert found["carries", True, False] < 0.1 * found["carries", False, False], found


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("begin", tonight(range(40, 10_000, 200)))
@pytest.mark.parametrize("source", [listed, program_of])
def test_many_random_schedules(source: Source, begin: int, record_property: Any) -> None:
    found = checked(range(begin, begin + 200), source)
    for (question, answer, truth), count in found.items():
        record_property(f"{question} {answer}, in truth {truth}", count)


@pytest.mark.parametrize("begin", range(0, 60, 20))
def test_random_nests(begin: int) -> None:
    found = sum((compared(nest_of(seed)) for seed in range(begin, begin + 20)), Counter())
    assert found["carries", True, False] < 0.1 * found["carries", False, False], found


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("begin", tonight(range(60, 20_000, 500)))
def test_many_random_nests(begin: int, record_property: Any) -> None:
    found = sum((compared(nest_of(seed)) for seed in range(begin, begin + 500)), Counter())
    for (question, answer, truth), count in found.items():
        record_property(f"{question} {answer}, in truth {truth}", count)


def nest_of(seed: int) -> t.PrimFunc:
    return program(drawn_lines(random.Random(seed)), COUNT, SIZE)


HEAD = """@T.prim_func
def f(A: T.Buffer(({size},), "float32"), C: T.Buffer(({count}, {size}), "float32")):
    with T.block("root"):
"""


def program(lines: str, count: int = 8, size: int = 64) -> t.PrimFunc:
    """for o in range(count): what `lines` say of B, `size` numbers, in short: `write` and `read` stand for blocks."""
    text = HEAD.format(count=count, size=size)
    text += f'        B = T.alloc_buffer(({size},), "float32")\n        for o in T.serial({count}):\n'
    for number, line in enumerate(lines.strip().splitlines()):
        space, word = line[: len(line) - len(line.lstrip())], line.split()[0]
        if word in ("write", "read"):
            index, _, where = line.strip()[len(word) :].partition(" where ")
            extent, at = index.split(": ") if ": " in index else (str(size), index)
            axis = f"T.axis.spatial({extent}, {at.strip()})"
            text += _block(f"            {space}", number, word, axis, where, count)
        else:
            text += f"            {line}\n"
    made = parse(text)
    assert isinstance(made, t.PrimFunc)
    return made


def _block(space: str, number: int, word: str, axis: str, where: str, count: int) -> str:
    own, inner = f"v{number}", space + "    "
    lines = [f'{space}with T.block("b{number}"):', f"{inner}vo = T.axis.spatial({count}, o)", f"{inner}{own} = {axis}"]
    lines += [f"{inner}T.where({where})"] if where else []
    if word == "write":
        lines += [f"{inner}T.reads(A[{own}])", f"{inner}T.writes(B[{own}])"]
        lines.append(f"{inner}B[{own}] = A[{own}] + T.float32({number})")
    else:
        lines += [f"{inner}T.reads(B[{own}])", f"{inner}T.writes(C[vo, {own}])"]
        lines.append(f"{inner}C[vo, {own}] = B[{own}]")
    return "\n".join(lines) + "\n"


ALL = "for k in T.serial(64):\n    read k"
MADE = {
    "all of it": f"for i in T.serial(64):\n    write i\n{ALL}",
    "in tiles": f"for i in T.serial(8):\n    for j in T.serial(8):\n        write i * 8 + j\n{ALL}",
    "digits of one loop": f"for f in T.serial(64):\n    write f // 4 * 4 + f % 4\n{ALL}",
    "backwards": f"for i in T.serial(64):\n    write 63 - i\n{ALL}",
    "two halves": f"for i in T.serial(32):\n    write i\nfor i in T.serial(32):\n    write i + 32\n{ALL}",
    "a tile with a guard": f"""
for i in T.serial(5):
    for j in T.serial(16):
        write i * 16 + j where i * 16 + j < 64
{ALL}""",
    "a guard that another one implies": f"""
for i in T.serial(5):
    for j in T.serial(16):
        write i * 16 + j where i * 16 + j < 64 and i < 4
{ALL}""",
    "a guard of one loop": f"""
for i in T.serial(9):
    for j in T.serial(16):
        write i * 16 + j where i < 4
{ALL}""",
    "element after element": "for i in T.serial(64):\n    write i\n    read i",
    "just before": "write 0\nfor i in T.serial(63):\n    write i + 1\n    read i",
    "before, in an inner loop": """
for i in T.serial(8):
    for j in T.serial(8):
        write i * 8 + j
    for k in T.serial(64):
        read k where k < i * 8 + 8""",
    "the same condition": """
for i in T.serial(64):
    write i where o < 4
for k in T.serial(64):
    read k where o < 4""",
    "a stronger condition": """
for i in T.serial(64):
    write i where o < 4
for k in T.serial(64):
    read k where o < 3""",
    "a window that rolls": """
for y in T.serial(8):
    for i in T.serial(3):
        write y + i where y == 0 or i == 2
    for k in T.serial(3):
        read y + k""",
    "a window that begins at once": """
for y in T.serial(8):
    for i in T.serial(10):
        write i where y < 1 or i < 0
    for k in T.serial(3):
        read y + k""",
    "a part": "for i in T.serial(40):\n    write 40: i\nfor k in T.serial(40):\n    read 40: k",
}
CARRIED = {
    "gaps": f"for i in T.serial(32):\n    write i * 2\n{ALL}",
    "too short": f"for i in T.serial(63):\n    write i\n{ALL}",
    "after it is read": f"{ALL}\nfor i in T.serial(64):\n    write i",
    "the next element": "write 0\nfor i in T.serial(63):\n    write i\n    read i + 1",
    "a condition": f"for i in T.serial(64):\n    write i where o < 1\n{ALL}",
    "a weaker condition": """
for i in T.serial(64):
    write i where o < 3
for k in T.serial(64):
    read k where o < 4""",
    "two conditions that imply each other": f"""
for i in T.serial(64):
    write i where i + o < 64 and o + i < 64
{ALL}""",
    "a domain that is a part": f"""
for i in T.serial(64):
    write i where o < 1
for i in T.serial(64):
    write 40: i where i < 40
{ALL}""",
    "a window that rolls too late": """
for y in T.serial(8):
    for i in T.serial(3):
        write y + i where y == 1 or i == 2
    for k in T.serial(3):
        read y + k""",
    "a window that rolls too little": """
for y in T.serial(8):
    for i in T.serial(4):
        write y + i where y == 0 or i == 3
    for k in T.serial(5):
        read y + k""",
    "a window that is begun after it is read": """
for y in T.serial(8):
    for k in T.serial(3):
        read y + k
    for i in T.serial(3):
        write y + i where y == 0 or i == 2""",
    "a window that only the first iteration begins": """
for y in T.serial(8):
    for i in T.serial(3):
        write y + i where o == 0 or i == 2
    for k in T.serial(3):
        read y + k""",
    "a tile in a loop that has not begun": """
for i in T.serial(8):
    for k in T.serial(8):
        read k
    for j in T.serial(8):
        write j""",
    "a window of an earlier iteration, before the first": """
for i in T.serial(8):
    for k in T.serial(2):
        read i * 2 + k
    for j in T.serial(4):
        write i * 2 + j""",
}


def answer(lines: str) -> tuple[bool, bool]:
    func = program(lines)
    buffer = next(node for node in pre_order(func.body) if isinstance(node, t.Block)).alloc_buffers[0]
    step = next(node for node in pre_order(func.body) if isinstance(node, t.For))
    assert not compared(func)["carries", False, None]
    return Dataflow(func.body).carries(step, buffer), run_through(func.body, step, buffer).missed


@pytest.mark.parametrize("name", MADE)
def test_what_an_iteration_makes_itself_is_not_carried(name: str) -> None:
    assert answer(MADE[name]) == (False, False)


@pytest.mark.parametrize("name", CARRIED)
def test_what_an_earlier_iteration_has_made_is_carried(name: str) -> None:
    assert answer(CARRIED[name]) == (True, True)


def test_a_block_over_a_part_of_a_buffer_leaves_the_rest_to_earlier_iterations() -> None:
    """Its loops reach beyond its domain, behind a predicate: all of B counted as written in each iteration of `o`."""
    func = program(CARRIED["a domain that is a part"])
    arrays = [np.arange(64, dtype="float32"), np.zeros((8, 64), "float32")]
    interpret(lower_blocks(func), *arrays)
    expected = np.broadcast_to(np.where(np.arange(64) < 40, arrays[0] + 3, arrays[0] + 1), (8, 64))
    np.testing.assert_array_equal(arrays[1], expected)


def test_symbolic_extents() -> None:
    text = HEAD.format(count=8, size="n").replace("f(", "f(n: T.int64, ")
    body = """        B = T.alloc_buffer((n,), "float32")
        for o in T.serial(8):
            for i in T.serial(n):
                with T.block("make"):
                    vi = T.axis.spatial(n, i)
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi]
            for i in T.serial(n):
                with T.block("use"):
                    vo, vi = T.axis.remap("SS", [o, i])
                    T.reads(B[vi], B[{index}])
                    T.writes(C[vo, vi])
                    C[vo, vi] = B[vi] + B[{index}]
"""
    for index in ("vi", "n - 1 - vi", "vi // 2"):
        func = parse(text + body.format(index=index))
        assert isinstance(func, t.PrimFunc)
        step = next(node for node in pre_order(func.body) if isinstance(node, t.For))
        buffer = next(node for node in pre_order(func.body) if isinstance(node, t.Block)).alloc_buffers[0]
        assert not Dataflow(func.body).carries(step, buffer), index


@pytest.mark.parametrize("lines", ["write 0\nwrite o", "write o\nwrite 0", "write o + 1\nwrite 7 - o"])
def test_what_moves_in_two_ways_is_not_apart(lines: str) -> None:
    """What stands still was taken for what moves, where it came first."""
    func = program(lines)
    step = next(node for node in pre_order(func.body) if isinstance(node, t.For))
    buffer = next(node for node in pre_order(func.body) if isinstance(node, t.Block)).alloc_buffers[0]
    assert run_through(func.body, step, buffer).meet and not Dataflow(func.body).writes_apart(step, buffer)


def test_tiles_are_apart() -> None:
    index = [AT_ONCE // 8 * 4 + INNER // 7, AT_ONCE % 8 * 7 + INNER % 7 + OUTER * 56]
    made = nest(32, [(28, index, True), (28, index, True)])
    around = loop(OUTER, 2, made)
    assert Dataflow(around).writes_apart(made, BUFFER) and not run_through(around, made, BUFFER).meet
    closer = nest(32, [(28, [index[0], index[1] - AT_ONCE % 8], True)])
    assert not Dataflow(closer).writes_apart(closer, BUFFER)
    assert Dataflow(t.Evaluate(build.const(0))).writes_apart(closer, BUFFER), "nothing is written"


SUM = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in T.serial(4):
        with T.block("first"):
            vi = T.axis.spatial(4, i)
            T.reads()
            T.writes(B[vi])
            B[vi] = T.float32(7)
    for i in T.serial(4):
        for k in {loop}:
            with T.block("sum"):
                vi = T.axis.spatial(4, i)
                vk = T.axis.reduce({domain}, {value})
                T.where({where})
                T.reads(A[vi, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""


@pytest.mark.parametrize(
    ("begins", "parts"),
    [
        (True, ("T.serial(8)", "8", "k", "True")),
        (True, ("T.serial(1, 9)", "8", "k - 1", "True")),
        (True, ("T.serial(9)", "8", "k", "k < 8")),
        (True, ("T.serial(7)", "(1, 8)", "k + 1", "True")),
        (False, ("T.serial(7)", "8", "k + 1", "True")),
        (False, ("T.serial(8)", "8", "7 - k", "True")),
        (False, ("T.serial(8)", "8", "k", "k > 0")),
    ],
)
def test_a_sum_whose_init_does_not_come_first_goes_on_with_what_was_there(
    begins: bool, parts: tuple[str, str, str, str]
) -> None:
    """Its loop over elements was said to pass nothing on, however its reduction began."""
    func = parse(SUM.format(loop=parts[0], domain=parts[1], value=parts[2], where=parts[3]))
    assert isinstance(func, t.PrimFunc)
    step = [node for node in pre_order(func.body) if isinstance(node, t.For)][1]
    buffer = next(node for node in pre_order(func.body) if isinstance(node, t.Block)).alloc_buffers[0]
    assert Dataflow(func.body).carries(step, buffer) is run_through(func.body, step, buffer).missed is not begins
