"""Calls on te stages may come in any order: the same program, or a refusal that names the same call.

500 random orders: 100 random schedules, each done in five orders besides the one it was drawn in.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.property.stage_orders import GRAPHS, Command, Performer, drawn, shuffled
from tests.schedule.harness import check_numbers
from workbench import te
from workbench.core.equal import structural_equal
from workbench.schedule.stages import StageError
from workbench.tir import nodes as t

SCHEDULES, ORDERS = 100, 5
SHARES = 10


def outcome(tensors: Sequence[te.Tensor], commands: Sequence[Command]) -> t.PrimFunc | StageError:
    """The program that the calls lead to, or the refusal."""
    performer = Performer(tensors)
    for command in commands:
        performer.do(command)
    try:
        return performer.schedule.to_schedule(tensors).func
    except StageError as error:
        return error


def check_orders(seed: int) -> str:
    generator = random.Random(seed)
    name = list(GRAPHS)[seed // SHARES % len(GRAPHS)]
    tensors = GRAPHS[name]()
    commands = drawn(tensors, generator)
    expected = outcome(tensors, commands)
    for _ in range(ORDERS):
        found = outcome(tensors, shuffled(commands, generator))
        if isinstance(expected, StageError):
            assert isinstance(found, StageError), expected
            assert (found.code, called(found)) == (expected.code, called(expected))
            assert called(found) in found.message and found.found and found.expected and found.fix
        else:
            assert not isinstance(found, StageError), found
            assert structural_equal(found, expected)
    if isinstance(expected, StageError):
        return expected.code
    check_numbers(te.create_prim_func(tensors), expected)
    return "built"


def called(error: StageError) -> Any:
    assert error.call is not None
    return error.call.text


@pytest.mark.parametrize(
    "share", [pytest.param(share, marks=pytest.mark.nightly if share % 4 else ()) for share in range(SHARES)]
)
def test_any_order_of_calls_is_the_same_program(share: int) -> None:
    outcomes = Counter(check_orders(seed) for seed in range(share, SCHEDULES, SHARES))
    assert outcomes["built"] >= SCHEDULES // SHARES * 2 // 5, outcomes
