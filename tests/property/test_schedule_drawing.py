"""The random schedules reach every primitive of the live table, and notice wrong answers on legality."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.property.drawing import References, pool_of, scheduled
from tests.property.schedule_checks import draw, is_native, run_seeds
from tests.property.schedule_programs import MAKERS, MOST_POINTS, drawn, value_of
from tests.schedule.programs import PROGRAMS
from workbench.analysis.tree import Tree
from workbench.schedule import PRIMITIVES, BlockRV, Schedule
from workbench.schedule.primitives import parallel, reorder, vectorize

COMMON = 60
"""Seeds that meet most primitives."""
SEARCH = 150
"""Schedules in which a rarer primitive, drawn alone, must have been applied."""

ELSEWHERE = {
    "tensorize": "needs a block of an intrinsic's own shape: tests/schedule/primitives/test_tensorize.py",
    "unsafe_hide_buffer_access": "takes away the declarations that are checked here",
}


def test_every_parameter_can_be_drawn() -> None:
    """A primitive's parameter without a default must suggest values, or be of a kind that is enumerated."""
    sch = Schedule(PROGRAMS["convolution"]())
    known, rng = References.of(sch, []), random.Random(0)
    for entry in PRIMITIVES.values():
        for item in entry.parameters:
            if entry.category != "get" and item.kind is not item.VAR_POSITIONAL:
                before = [known.blocks[0]] if item is not entry.parameters[0] and entry.selects(BlockRV) else []
                assert pool_of(entry, item, known, before, rng), f"{entry.name}: nothing to draw {item.name} from"


def test_every_primitive_is_applied() -> None:
    """A primitive that no random schedule gets to apply is not tested by them: it must suggest better arguments."""
    wanted = {name for name, entry in PRIMITIVES.items() if entry.category != "get"} - set(ELSEWHERE)
    met: Counter[str] = Counter()
    for seed in range(COMMON):
        met.update(draw(seed).told.legal)
    assert sorted(name for name in wanted - set(met) if not _applied_alone(name)) == []


def _applied_alone(name: str) -> bool:
    """Whether a primitive is applied soon when it alone is drawn, after one or two others."""
    for seed in range(SEARCH):
        rng = random.Random(seed)
        sch = Schedule(drawn(rng).func)
        scheduled(sch, rng, seed % 3, ["compute_at"] if seed % 4 == 3 else ())
        if scheduled(sch, rng, 3, [name]).legal:
            return True
    return False


def test_programs_are_small_and_of_every_kind() -> None:
    symbolic = 0
    for name in MAKERS:
        for seed in range(8):
            case = drawn(random.Random(seed), name)
            tree = Tree.of(case.func)
            for site in tree.leaves:
                points = 1
                for loop in site.loops:
                    points *= value_of(loop.extent, case.sizes)
                assert points <= MOST_POINTS, f"{name}, seed {seed}: {points} points"
            symbolic += bool(case.sizes)
            assert all(value % 2 for value in case.sizes.values())
    assert symbolic >= 15


def test_most_schedules_can_be_compiled() -> None:
    assert sum(is_native(draw(seed).schedule.func) for seed in range(40)) >= 15


def test_the_same_seed_gives_the_same_schedule() -> None:
    one, other = draw(11), draw(11)
    assert one.schedule.code() == other.schedule.code() and one.schedule.script() == other.schedule.script()


def test_undo_and_redo_restore_the_fingerprint() -> None:
    schedule = Schedule(PROGRAMS["convolution"]())
    scheduled(schedule, random.Random(7), 12)
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


@pytest.mark.nightly
def test_wrong_claims_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every loop taken for independent, wrong schedules are found soon: the checks have teeth."""
    for module in (parallel, vectorize):
        monkeypatch.setattr(module, "require_independent", lambda *arguments: None)
    monkeypatch.setattr(reorder, "require_reorderable", lambda *arguments: ())
    assert len(run_seeds(range(150), native=0).failures) >= 5
