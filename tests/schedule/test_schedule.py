"""The handle: references, undo and redo, what is applicable, copies, modules."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from tests.schedule.programs import chain, convolution, matmul, plain_matmul, softmax
from workbench.arith.build import const
from workbench.core.module import IRModule
from workbench.schedule import LoopRV, Schedule, ScheduleError
from workbench.tir import nodes as t


def test_getters_answer_blocks_and_loops() -> None:
    sch = Schedule(softmax())
    assert [b.target for b in sch.get_producers("shifted")] == ["top"]
    assert [b.target for b in sch.get_consumers("shifted")] == ["total", "out"]
    assert [b.target for b in sch.get_child_blocks("root")] == ["top", "shifted", "total", "out"]
    assert [b.target for b in sch.get_child_blocks(sch.get_loops("total")[0])] == ["total"]
    assert [loop.target.name for loop in sch.get_loops("total")] == ["i", "k2"]
    loop = sch.get(sch.get_loops("total")[0])
    assert isinstance(loop, t.For) and loop.var.name == "i"
    assert sch.get(sch.get_block("out")).name == "out"


def test_why_not_answers_without_changing() -> None:
    sch = Schedule(matmul())
    i, j, k = sch.get_loops("C")
    before = sch.fingerprint()
    assert sch.why_not("vectorize", j) is None
    error = sch.why_not("vectorize", k)
    assert error is not None and error.code == "E-SCHEDULE-DEPENDENCE" and error.witness is not None
    assert "writes C[0, 0]" in error.found and "^" in error.underlined
    assert sch.fingerprint() == before
    assert sch.why_not("vectorize", i) is None


def test_applicable_lists_every_primitive_for_a_selection() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    i, _, k = sch.get_loops(block)
    d = sch.get_loops("D")
    listed = sch.applicable(k)
    assert listed["split"] is None and listed["unroll"] is None and listed["reorder"] is None
    assert listed["vectorize"] is not None and listed["parallel"] is not None
    of_block = sch.applicable(block)
    assert (
        of_block["compute_at"] is None and of_block["cache_write"] is None and of_block["decompose_reduction"] is None
    )
    assert of_block["compute_inline"] is not None
    assert "vectorize" not in of_block and "get_loops" not in of_block
    assert i and d


def test_applicable_says_when_there_is_nothing_to_go_with() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    refused = sch.applicable(block)["compute_at"]
    assert refused is not None and refused.code == "E-SCHEDULE-SELECTION"


def test_undo_and_redo() -> None:
    sch = Schedule(matmul())
    i, j = sch.get_loops("D")
    start = sch.fingerprint()
    sch.split(j, factors=[None, 2])
    after = sch.fingerprint()
    assert sch.undo() and sch.fingerprint() == start
    assert sch.redo() and sch.fingerprint() == after
    assert not sch.redo()
    assert not sch.undo(99)
    sch.undo()
    sch.parallel(i)
    assert not sch.redo()


def test_a_reference_of_an_undone_step_is_refused() -> None:
    sch = Schedule(matmul())
    _, j = sch.get_loops("D")
    _, inner = sch.split(j, factors=[None, 2])
    sch.undo()
    sch.split(j, factors=[None, 3])
    with pytest.raises(ScheduleError) as caught:
        sch.vectorize(inner)
    assert caught.value.code == "E-SCHEDULE-REFERENCE"


def test_a_consumed_reference_names_the_step_and_what_became_of_it() -> None:
    sch = Schedule(matmul())
    _, j = sch.get_loops("D")
    outer, inner = sch.split(j, factors=[None, 2])
    with pytest.raises(ScheduleError) as caught:
        sch.unroll(j)
    assert "step 3 (split)" in caught.value.message
    assert f"{outer.name}, {inner.name}" in caught.value.fix


def test_copies_share_history_and_go_their_own_way() -> None:
    sch = Schedule(matmul())
    i, j = sch.get_loops("D")
    other = sch.copy()
    sch.parallel(i)
    other.vectorize(j)
    assert len(sch.trace) == len(other.trace) == 3
    assert sch.fingerprint() != other.fingerprint()
    assert sch.undo() and other.undo()
    assert sch.fingerprint() == other.fingerprint()


def test_unknown_names_are_answered() -> None:
    sch = Schedule(matmul())
    with pytest.raises(AttributeError, match="vectorize"):
        _ = sch.vectorise
    with pytest.raises(ScheduleError, match="no block 'c'"):
        sch.get_block("c")


def test_a_module_with_several_functions() -> None:
    sch = Schedule(IRModule({"first": matmul(), "second": chain()}))
    assert sch.func_working_on == "first"
    sch.work_on("second")
    sch.compute_inline("one")
    assert set(sch.mod.names()) == {"first", "second"}
    assert "one" not in sch.state.tree.blocks
    with pytest.raises(ScheduleError) as caught:
        sch.work_on("third")
    assert caught.value.code == "E-SCHEDULE-FUNCTION"


def test_only_loop_functions_in_block_form_are_scheduled() -> None:
    with pytest.raises(ScheduleError) as caught:
        Schedule("text")  # type: ignore[arg-type]
    assert caught.value.code == "E-SCHEDULE-FUNCTION"
    flat = Schedule(t.PrimFunc((), t.Evaluate(const(0))))
    with pytest.raises(Exception, match="no block"):
        flat.get_block("root")


def test_notes_say_when_sums_are_reassociated() -> None:
    sch = Schedule(convolution())
    *_, rc, ry, rx = sch.get_loops("conv")
    sch.reorder(rx, rc)
    (notes,) = sch.notes.values()
    assert "reassociated" in notes[0] and "conv" in notes[0]
    assert ry


def test_references_print_their_loops() -> None:
    sch = Schedule(matmul())
    (i, _), block = sch.get_loops("D"), sch.get_block("D")
    assert repr(i) == "LoopRV(l0: i)" and isinstance(i, LoopRV)
    assert repr(block) == "BlockRV(b1: D)"
    assert repr(sch) == "Schedule(main, 3 steps)"


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, Schedule.copy, lambda sch: pickle.loads(pickle.dumps(sch))]
)
def test_a_copy_goes_its_own_way(copied: Callable[[Schedule], Schedule]) -> None:
    """`copy.copy` shared the history; what was pickled had references that held nowhere."""
    sch = Schedule(plain_matmul(16, 16, 16))
    sch.split(sch.get_loops("C")[2], factors=[None, 4])
    code, other = sch.code(), copied(sch)
    assert other.fingerprint() == sch.fingerprint()
    other.parallel(other.get_loops("C")[0])
    other.cache_write("C", 0, "global")
    assert sch.code() == code and "parallel" in other.code()
