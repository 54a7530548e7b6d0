"""Random schedules keep a program's meaning, and refused primitives leave no trace.

Small programs with awkward extents get 0 to 8 primitives drawn from the live table.  Data are small integers, so that
results are equal to the last bit in any order of summation.  A schedule is run by the checking interpreter (bounds,
declared regions, uninitialised reads), and once more after its blocks are lowered, with checks for races.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from tests.property.drawing import scheduled
from tests.schedule.executing import inputs, run
from tests.schedule.programs import PROGRAMS
from workbench.core.equal import structural_equal
from workbench.core.errors import WorkbenchError
from workbench.schedule import PRIMITIVES, Schedule, Trace
from workbench.tir.interpret import interpret
from workbench.tir.script import parse, script
from workbench.tir.transforms.lower_blocks import lower_blocks

BATCHES = 10
CASES = int(os.environ.get("WORKBENCH_SCHEDULE_CASES", "1000"))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_schedules_keep_the_meaning(batch: int) -> None:
    legal = 0
    for number in range(CASES // BATCHES):
        seed = batch * 1_000_000 + number
        legal += check(seed)
    assert legal > CASES // BATCHES


def check(seed: int) -> int:
    """One case; the seed is all that is needed to repeat it."""
    rng = random.Random(seed)
    name = rng.choice(list(PROGRAMS))
    func = PROGRAMS[name]()
    schedule = Schedule(func)
    legal, _ = scheduled(schedule, rng, rng.randint(0, 8))
    expected = inputs(func)
    interpret(func, *expected)
    story = f"seed {seed}, {name}:\n{schedule.code()}"
    found = inputs(func)
    interpret(schedule.func, *found, check_regions=True)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True)), story
    lowered = inputs(func)
    interpret(lower_blocks(schedule.func), *lowered, check_races=True)
    assert all(np.array_equal(one, other) for one, other in zip(lowered, expected, strict=True)), story
    if number_is_chosen(seed):
        backwards = run(schedule.func)
        assert all(np.array_equal(one, other) for one, other in zip(backwards, expected, strict=True)), story
        replayed = Schedule(func)
        Trace.from_json(schedule.trace.as_json()).apply_to(replayed)
        assert replayed.fingerprint() == schedule.fingerprint(), story
        assert structural_equal(parse(script(schedule.func)), schedule.func), story
    return legal


def number_is_chosen(seed: int) -> bool:
    """Every fourth case is also run adversarially, replayed from its saved trace and read back from its text."""
    return seed % 4 == 0


def test_every_primitive_can_be_drawn() -> None:
    """A primitive without defaults must say which arguments are worth trying."""
    from workbench.schedule.registry import accepted

    for entry in PRIMITIVES.values():
        if entry.category == "get":
            continue
        for item in entry.parameters:
            known = item.default is not item.empty or item.kind is item.VAR_POSITIONAL
            assert known or item.name in entry.suggest or accepted(entry.annotations[item.name]), (
                entry.name,
                item.name,
            )


def test_undo_and_redo_restore_the_fingerprint() -> None:
    rng = random.Random(7)
    schedule = Schedule(PROGRAMS["convolution"]())
    scheduled(schedule, rng, 12)
    prints = [schedule.fingerprint()]
    while schedule.undo():
        prints.append(schedule.fingerprint())
    for _ in range(20):
        for expected in reversed(prints[:-1]):
            assert schedule.redo()
            assert schedule.fingerprint() == expected
        assert not schedule.redo()
        for expected in prints[1:]:
            assert schedule.undo()
            assert schedule.fingerprint() == expected


def test_wrong_claims_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every loop taken for independent, the harness finds wrong schedules soon: it has teeth."""
    from workbench.schedule import legality
    from workbench.schedule.primitives import parallel, reorder, vectorize

    for module in (parallel, vectorize):
        monkeypatch.setattr(module, "require_independent", lambda *arguments: None)
    monkeypatch.setattr(reorder, "require_reorderable", lambda *arguments: ())
    assert legality.require_independent is not parallel.require_independent
    caught = 0
    for seed in range(60):
        try:
            check(seed * 4)
        except (AssertionError, WorkbenchError):
            caught += 1
    assert caught >= 3
