"""Local buffers kept in registers: random programs over one small buffer, against the same text run by Python.

Scalars and vectors of the buffer at known, bound and looked-up places; loops that may not run; conditions as statements
and as expressions, whose arms read the buffer in another form than it was written in.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest

import workbench as wb
from workbench.tir.script import parse

HEAD: Final = (
    "@T.prim_func\n"
    'def main(x: T.Buffer((16,), "float32"), n: T.Buffer((4,), "int64"), out: T.Buffer((40,), "float32")):\n'
    '    acc = T.alloc_buffer((16,), "float32", scope="local")\n'
)


class Program:
    """A random body, one statement a line; `text` is loop IR and, with `T` as below, Python."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = [f"    acc[{self.vector(place)}] = x[{self.vector(place)}]" for place in (0, 8)]
        self.block(1, [], self.random.randrange(3, 8))
        self.lines += [f"    out[{self.vector(24 + at)}] = acc[{self.vector(at)}]" for at in (0, 8)]
        self.text = "\n".join(self.lines) + "\n"

    @staticmethod
    def vector(place: int) -> str:
        return f"T.ramp({place}, 1, 8)"

    def half(self) -> str:
        return self.vector(self.random.choice([0, 8]))

    def place(self, bound: list[str]) -> str:
        known, looked_up = str(self.random.randrange(16)), f"n[{self.random.randrange(4)}]"
        return self.random.choice([known, known, looked_up, *bound, *bound])

    def value(self, bound: list[str]) -> str:
        own, other = f"acc[{self.place(bound)}]", f"acc[{self.place(bound)}]"
        given = f"x[{self.random.randrange(16)}]"
        choice = f"T.if_then_else(x[{self.random.randrange(4)}] > T.float32(0), {own}, {other}) + T.float32(1)"
        return self.random.choice([given, f"{own} + {given}", choice, "T.float32(3)"])

    def block(self, depth: int, bound: list[str], count: int) -> None:
        margin = "    " * depth
        for _ in range(count):
            kinds = ["store", "store", "lanes", "out", *(["loop", "if"] if depth < 4 else [])]
            kind = self.random.choice(kinds)
            if kind == "store":
                self.lines.append(f"{margin}acc[{self.place(bound)}] = {self.value(bound)}")
            elif kind == "lanes":
                self.lines.append(f"{margin}acc[{self.half()}] = acc[{self.half()}] + x[{self.half()}]")
            elif kind == "out":
                self.lines.append(f"{margin}out[{self.place(bound)}] = {self.value(bound)}")
            elif kind == "loop":
                variable = f"v{len(self.lines)}"
                loop = self.random.choice(["serial(2)", "unroll(3)", "serial(10)", "serial(n[0])", "serial(n[1])"])
                self.lines.append(f"{margin}for {variable} in T.{loop}:")
                self.block(depth + 1, [*bound, variable], self.random.randrange(1, 3))
            else:
                self.lines.append(f"{margin}if x[{self.random.randrange(4)}] > T.float32(0):")
                self.block(depth + 1, bound, self.random.randrange(1, 3))


PYTHON: Final = SimpleNamespace(
    ramp=lambda begin, _, lanes: slice(begin, begin + lanes),
    serial=range,
    unroll=range,
    float32=np.float32,
    if_then_else=lambda condition, yes, no: yes if condition else no,
)
"""What the words of a program mean in Python."""


def expected(text: str, x: np.ndarray, n: np.ndarray) -> np.ndarray:
    names: dict[str, Any] = {"T": PYTHON, "x": x, "n": n, "out": np.zeros(40, "f"), "acc": np.zeros(16, "f")}
    with np.errstate(all="ignore"):
        exec("if True:\n" + text, names)
    return names["out"]


def check(seed: int) -> None:
    text = Program(seed).text
    compiled = wb.build(parse(HEAD + text), target="llvm")
    for trial in range(2):
        random_numbers = np.random.default_rng(2 * seed + trial)
        x = random_numbers.integers(-4, 5, 16).astype("f")
        n = random_numbers.integers(0, 16, 4)
        out = np.zeros(40, "f")
        compiled(x, n, out)
        np.testing.assert_allclose(out, expected(text, x, n), rtol=1e-4, err_msg=f"seed {seed}\n{HEAD}{text}")


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_programs_over_a_small_buffer(first: int) -> None:
    for seed in range(first, first + 30):
        check(seed)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_many_programs_over_a_small_buffer() -> None:
    for seed in range(1000, 5000):
        check(seed)
