"""Wrong arguments of every kind to every primitive and method: a `WorkbenchError` with its parts, nothing changed."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.property.drawing import References, random_call
from tests.property.schedule_programs import drawn
from tests.schedule.programs import matmul
from workbench.arith import build
from workbench.arith.nodes import Var
from workbench.core.errors import WorkbenchError
from workbench.schedule import PRIMITIVES, Schedule, ScheduleError
from workbench.schedule.references import BlockRV, LoopRV
from workbench.tir.interpret import interpret

TRIES = 120


def _nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


class Hostile:
    """Answers every question with an error."""

    def __index__(self) -> int:
        raise ValueError("no index")

    def __repr__(self) -> str:
        raise ValueError("no text")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")

    __hash__ = object.__hash__


def junk(sch: Schedule, rng: random.Random) -> list[Any]:
    """Things that no primitive asks for, and some that one may."""
    foreign = Schedule(matmul())
    block = foreign.get_block("C")
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    return [
        None, True, False, 0, -1, 1, 2, 64, 2**31, -(2**70), 2**200, 1.5, float("nan"), float("inf"), 1e300, 3 + 4j,
        Fraction(1, 2), "", "C", "root", "x" * 10_000, "\x00", "\ud800", "名", b"C", bytearray(3), object(), Hostile(),
        [], (), {}, set(), [None], [None, None], [0], [1, [2]], [None, -4], ["4"], [Hostile()], _nested(500), cyclic,
        range(3), iter([1]), int, Schedule, junk, lambda *axes: axes, lambda i, j: [j, i], np.int64(4), np.float32(2),
        np.zeros(3), np.zeros(0), np.array("x"), Var("i"), build.const(3), Var("i") + 1, block,
        foreign.get_loops(block)[0], foreign.func, foreign, foreign.trace, foreign.state, LoopRV("l0", Var("i")),
        BlockRV("b0", "C"), slice(1, 2), Ellipsis, NotImplemented, ValueError("x"), sch, sch.func, sch.func.body,
        {"result": "l0"}, "global", "threadIdx.x",
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_junk_is_refused(name: str) -> None:
    """Junk for one argument or all of them, beside good ones: a refusal, or a legal step."""
    rng = random.Random(name)
    case = drawn(rng, "convolution")
    sch = Schedule(case.func)
    good = References.of(sch, [])
    entry = PRIMITIVES[name]
    pile = junk(sch, rng)
    for _ in range(TRIES):
        call = random_call(entry, good, sch, rng)
        arguments, named = call if call is not None else ([], {})
        arguments, named = _spoiled(arguments, named, entry, pile, rng)
        _must_be_refused_or_legal(sch, name, arguments, named)
    expected = case.expected(case.arrays())
    found = case.arrays()
    interpret(case.func, *found)
    assert all(map(np.array_equal, found, expected))


def _spoiled(
    arguments: list[Any], named: dict[str, Any], entry: Any, pile: list[Any], rng: random.Random
) -> tuple[list[Any], dict[str, Any]]:
    arguments, named = list(arguments), dict(named)
    kind = rng.randrange(6)
    if kind == 0 or not arguments:
        arguments = [rng.choice(pile) for _ in range(rng.randrange(5))]
    elif kind <= 2:
        arguments[rng.randrange(len(arguments))] = rng.choice(pile)
    elif kind == 3:
        arguments.append(rng.choice(pile))
    elif kind == 4:
        named[rng.choice(["x", "loop", *[item.name for item in entry.parameters]])] = rng.choice(pile)
    else:
        for item in entry.parameters:
            if item.default is not item.empty:
                named[item.name] = rng.choice(pile)
    return arguments, named


def _must_be_refused_or_legal(sch: Schedule, name: str, arguments: list[Any], named: dict[str, Any]) -> None:
    state, before = sch.state, sch.fingerprint()
    try:
        getattr(sch, name)(*arguments, **named)
    except ScheduleError as error:
        assert error.code and error.message and error.expected and str(error), name
    except WorkbenchError as error:
        assert error.code and str(error), name
    else:
        sch.script()
        assert sch.undo()
    assert sch.state is state and sch.fingerprint() == before


METHODS = ("work_on", "undo", "redo", "replay", "why_not", "applicable", "get")


@pytest.mark.parametrize("method", METHODS)
def test_methods_refuse_junk(method: str) -> None:
    func = matmul()
    for value in junk(Schedule(func), random.Random(1)):
        sch = Schedule(func)
        sch.get_loops("C")
        before = sch.fingerprint()
        try:
            getattr(sch, method)(*(("split", value) if method == "why_not" else (value,)))
        except WorkbenchError as error:
            assert error.code and str(error)
            assert sch.fingerprint() == before


def test_a_schedule_is_of_a_program() -> None:
    for value in junk(Schedule(matmul()), random.Random(1)):
        if not hasattr(value, "functions") and type(value).__name__ not in ("PrimFunc", "ScheduleState"):
            with pytest.raises(WorkbenchError):
                Schedule(value)
