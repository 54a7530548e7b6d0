"""All primitives together: each has its sketch and its test file, each refusal its golden text.

The cases of one primitive stand in ``primitives/test_<name>.py``, over `harness`.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import workbench.schedule
from tests.conftest import GOLDEN
from tests.schedule import programs as p
from tests.schedule.executing import inputs
from workbench.core import origin
from workbench.core.node import post_order
from workbench.schedule import PRIMITIVES, Schedule
from workbench.tir import nodes as t
from workbench.tir.interpret import interpret

PACKAGE = Path(workbench.schedule.__file__).parent
TESTS = Path(__file__).parent / "primitives"
REFUSAL = re.compile(r"\A(E-[A-Z-]+)  ")
ELSEWHERE = {
    "E-SCHEDULE-FUNCTION", "E-SCHEDULE-SELECTION", "E-SCHEDULE-FORM",  # test_schedule
    "E-SCHEDULE-OVERLAP",  # test_aliasing
    "E-SCHEDULE-PRIMITIVE",  # test_strangers_primitive
    "E-SCHEDULE-BRANCH-NUMBER", "E-SCHEDULE-REBASE",  # test_history
    "E-SCHEDULE-FOLLOW",  # test_moves
    "E-SCHEDULE-CHANGE", "E-SCHEDULE-STEP-NUMBER",  # test_changing
}  # fmt: skip


def own_primitives() -> list[str]:
    """The primitives of the package (a test may have registered others)."""
    return [name for name in PRIMITIVES if (PACKAGE / "primitives" / f"{name}.py").exists()]


def refusals() -> dict[Path, str]:
    """The golden texts of refused primitives, with their codes."""
    found: dict[Path, str] = {}
    for path in (GOLDEN / "schedule" / "primitives").glob("*/*.txt"):
        match = REFUSAL.match(path.read_text(encoding="utf-8"))
        if match:
            found[path] = match.group(1)
    return found


def test_every_primitive_has_its_file_and_a_documented_sketch() -> None:
    for name in own_primitives():
        entry = PRIMITIVES[name]
        assert (TESTS / f"test_{name}.py").exists(), name
        if entry.category != "get":
            assert "before:" in entry.doc and "after:" in entry.doc, name
            assert "Raises `ScheduleError`" in entry.doc or name == "unroll", name


def test_every_code_of_the_package_is_met() -> None:
    written = {
        code
        for path in (*PACKAGE.glob("*.py"), *(PACKAGE / "primitives").glob("*.py"))
        for code in re.findall(r'"(E-SCHEDULE-[A-Z-]+)"', path.read_text(encoding="utf-8"))
    }
    assert sorted(written - set(refusals().values()) - ELSEWHERE) == []


def test_refusals_are_many() -> None:
    assert len(refusals()) >= 140


def test_every_golden_refusal_belongs_to_a_test() -> None:
    for path in refusals():
        source = (TESTS / f"test_{path.parent.name}.py").read_text(encoding="utf-8")
        words = path.stem.removeprefix("refusal_")
        assert path.stem in source or re.search(rf'"{words.replace("_", "[ _]")}"', source), path


def test_a_trace_replays_on_other_shapes() -> None:
    sch = Schedule(p.matmul(4, 6, 5))
    outer, _ = sch.split(sch.get_loops("D")[1], factors=[None, 4])
    sch.compute_at("C", outer, preserve_unit_loops=True)
    other = p.matmul(7, 9, 3)
    replayed = Schedule(other)
    sch.trace.apply_to(replayed)
    assert len(replayed.trace) == len(sch.trace)
    expected, found = inputs(other), inputs(other)
    interpret(other, *expected)
    interpret(replayed.func, *found, check_regions=True)
    assert np.array_equal(found[-1], expected[-1])


def test_origins_lead_back_to_the_block_before() -> None:
    func = p.matmul()
    with origin.recording(post_order(func)) as table:
        sch = Schedule(func)
        sch.split(sch.get_loops("C")[1], factors=[None, 3])
    old = next(node for node in post_order(func) if isinstance(node, t.Block) and node.name == "C")
    loops = [node for node in post_order(sch.func) if isinstance(node, t.For) and node.var.name.startswith("j_")]
    assert loops and all(table.of(loop) for loop in loops)
    new = next(node for node in post_order(sch.func) if isinstance(node, t.Block) and node.name == "C")
    assert new is old or old in table.of(new)
