"""Lesson 10, tensorize: a tile that an instruction computes, how often it is called, an intrinsic of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import te
from ...core.node import pre_order
from ...tir.interpret import interpret
from ...tir.nodes import For, ForKind
from ...tir.script import parse
from ..checks import holds, legal, same_numbers, value_is
from ..exercise import Check, Exercise, Verdict
from ..work import Work, get_loops

DOT = "dot_16x4_plain"


def layer_of_bytes(n: int, o: int, k: int) -> Any:
    """Y[n, o] = sum over k of X[n, k] W[o, k], bytes summed up in int32; W is packed in tiles of 16 x 4."""
    x = te.placeholder((n, k), "uint8", name="X")
    w = te.placeholder((o // 16, k // 4, 16, 4), "int8", name="W")
    r = te.reduce_axis((0, k), name="k")

    def term(i: Any, j: Any) -> Any:
        weight = w[te.floordiv(j, 16), te.floordiv(r, 4), te.floormod(j, 16), te.floormod(r, 4)]
        return te.sum(te.cast("int32", x[i, r]) * te.cast("int32", weight), axis=r)

    return te.create_prim_func([x, w, te.compute((n, o), term, name="Y")])


def layer_in_numpy(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    rows = w.transpose(0, 2, 1, 3).reshape(w.shape[0] * 16, w.shape[1] * 4).astype(np.int32)
    return x.astype(np.int32) @ rows.T


def tensorized(block: str, name: str, points: int = 3) -> Check:
    """A block is computed by a tensor intrinsic."""

    def run(work: Work) -> Verdict:
        done = [step for step in work.steps if step.primitive == "tensorize"]
        if any(dict(step.arguments).get("tensor_intrin") == name for step in done):
            return Verdict(True, f"{block} is computed by {name}")
        site = work.site(block)
        reason = f"{block} is computed element by element"
        if len(site.loops) != 3:  # tiles are there already, in whatever order
            return Verdict(False, reason, (block,), "tensorize")
        i, j, k = (loop.var.name for loop in site.loops)
        lines = (
            get_loops(site),
            f"{j}o, {j}i = sch.split({j}, factors=[None, 16])",
            f"{k}o, {k}i = sch.split({k}, factors=[None, 4])",
            f"sch.reorder({i}, {j}o, {k}o, {j}i, {k}i)",
            f'sch.tensorize({j}i, "{name}")',
        )
        return Verdict(False, reason, (block, j, k), "split, then reorder, then tensorize", lines)

    return Check(f"{block} is computed by {name}", run, points)


def calls(func: Any, shapes: Any) -> int:
    """How often an intrinsic of 16 x 4 products is called for the whole layer."""
    return shapes["n"] * (shapes["o"] // 16) * (shapes["k"] // 4)


def multiply_add(lanes: int) -> Any:
    """The description of an intrinsic: B[i] = B[i] + 3 A[i] for a row of numbers."""
    return parse(f"""
@T.prim_func
def main(A: T.Buffer(({lanes},), "float32"), B: T.Buffer(({lanes},), "float32")):
    with T.block("root"):
        T.reads(B[0:{lanes}], A[0:{lanes}])
        T.writes(B[0:{lanes}])
        for i in T.serial({lanes}):
            with T.block("B"):
                vi = T.axis.spatial({lanes}, i)
                B[vi] = B[vi] + A[vi] * T.float32(3)
""")


def _as_described(work: Work) -> Any:
    """The same numbers as the description, on what happens to stand in B."""
    random = np.random.default_rng(5)
    arrays = [random.integers(-4, 5, work.shapes["lanes"]).astype(np.float32) for _ in range(2)]
    wanted = [array.copy() for array in arrays]
    interpret(work.start, *wanted)
    interpret(work.function, *arrays)
    wrong = np.flatnonzero(arrays[1] != wanted[1])
    if wrong.size:
        place = int(wrong[0])
        return f"B[{place}] is {arrays[1][place]:g}, the description says {wanted[1][place]:g}"
    return True


def _without_loops(work: Work) -> Any:
    loops = [
        node.var.name for node in pre_order(work.function) if isinstance(node, For) and node.kind is ForKind.SERIAL
    ]
    return f"there is still a loop: {loops[0]}" if loops else True


EXERCISES = (
    Exercise(
        id="10_1",
        title="A tile that fits",
        goal="The layer of bytes, computed by the intrinsic `dot_16x4_plain`: 16 sums of four products each. The "
        "tile inside the loop "
        "that you give to `tensorize` must be the intrinsic's description: 16 outputs around 4 products.",
        start=layer_of_bytes,
        shapes={"n": (4, 3, 5), "o": (32, 48), "k": (16, 8, 24)},
        checks=(same_numbers(layer_in_numpy), legal(), tensorized("Y", DOT)),
        template='    n, o, k = sch.get_loops("Y")\n    # your steps\n    return sch',
    ),
    Exercise(
        id="10_2",
        title="How many instructions?",
        goal="How often is the intrinsic of 16 x 4 products called in one run of the layer with your shapes?",
        start=layer_of_bytes,
        shapes={"n": (4, 3, 5), "o": (32, 48), "k": (16, 8, 24)},
        answer="value",
        checks=(value_is(calls, "the number of calls"),),
        hints={
            "the number of calls": (
                "Each call does 16 times 4 of the products; how many products are there?",
                'print(teach.task("10_2").shapes)  # n times o times k products, 64 in a call',
            )
        },
    ),
    Exercise(
        id="10_3",
        title="An implementation of your own",
        goal="`start()` shows the description of an intrinsic: a row of numbers, each added three times another. "
        "Give an implementation "
        "without a loop: a function of the same buffers (as text, or by `@T.prim_func`), with vectors in place of "
        "the iterations.",
        start=multiply_add,
        shapes={"lanes": (8, 4, 16)},
        answer="function",
        checks=(
            holds("the same numbers as the description", _as_described, points=0),
            holds("no loop", _without_loops, points=2),
        ),
        hints={
            "no loop": (
                "B[T.ramp(0, 1, 8)] is eight elements at once, from 0 on, one apart; T.broadcast(T.float32(3), 8) is "
                "eight threes.",
                "B[T.ramp(0, 1, 8)] = B[T.ramp(0, 1, 8)] + A[T.ramp(0, 1, 8)] * ...",
            )
        },
    ),
)
