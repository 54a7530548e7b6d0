"""The schedule editor's Python half: tiles for tensor intrinsics, and what it says of the state that it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.schedule.programs import plain_matmul
from tests.ui.asking import ask, refused
from workbench.analysis import roofline_paths
from workbench.core.errors import WorkbenchError
from workbench.schedule import Schedule
from workbench.target.target import Target
from workbench.teach.course.lesson_10 import layer_of_bytes
from workbench.tir.script import parse
from workbench.tir.tensor_intrin import TENSOR_INTRINSICS, TensorIntrin
from workbench.ui.schedule import ScheduleEditor
from workbench.views.facts import picture_of
from workbench.views.strings.tables import say

MINE = "test_product_4x4x4"


PRODUCT = parse("""
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")


def register_mine() -> None:
    TensorIntrin.register(MINE, PRODUCT, PRODUCT, override=True)


@pytest.fixture
def mine() -> Iterator[None]:
    register_mine()
    yield
    TENSOR_INTRINSICS.remove(MINE)


def tiled() -> ScheduleEditor:
    """A product of 8 x 8 in tiles of 4 x 4 x 4; the loops of a tile stand inside, from l:C:3 on."""
    schedule = Schedule(plain_matmul(8, 8, 8))
    pairs = [schedule.split(loop, factors=[None, 4]) for loop in schedule.get_loops("C")]
    schedule.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    return ScheduleEditor(schedule)


def form_of(editor: ScheduleEditor, primitive: str) -> dict[str, Any]:
    """The fields of a primitive's form by name."""
    (entry,) = [one for one in ask(editor, "open")["primitives"] if one["name"] == primitive]
    assert entry["category"] == "tile" and entry["doc"]
    return {field["name"]: field for field in entry["parameters"]}


# --- tensorize and blockize ---


def test_tiles_are_offered_after_what_is_done_to_loops_and_sums() -> None:
    groups = list(dict.fromkeys(entry["category"] for entry in ask(tiled(), "open")["primitives"]))
    assert groups.index("loop") < groups.index("reduction") < groups.index("tile")


@pytest.mark.usefixtures("mine")
def test_the_form_of_tensorize_is_a_choice_among_the_registered_intrinsics() -> None:
    field = form_of(tiled(), "tensorize")["tensor_intrin"]
    assert field["kind"] == "choice" and sorted(field["choices"]) == sorted(TENSOR_INTRINSICS)
    own, plain, other = (field["choices"].index(name) for name in (MINE, "dot_16x4_plain", "dot_16x4_vnni"))
    assert own < plain < other, "users' own first"


@pytest.mark.usefixtures("mine")
def test_tensorize_is_applied_to_a_tile_and_told_as_python() -> None:
    editor = tiled()
    reasons = ask(editor, "reasons", selection="l:C:3")
    assert reasons["reasons"]["tensorize"] is None
    assert reasons["arguments"]["tensorize"] == {"tensor_intrin": MINE}, "the form opens with the one that fits"
    ask(editor, "apply", primitive="tensorize", selection="l:C:3", arguments={"tensor_intrin": MINE})
    assert f"sch.tensorize(l4, tensor_intrin={MINE!r})" in editor.code
    assert [move.name for move in editor.schedule.moves.done][-1] == "tensorize"
    again = Schedule(plain_matmul(8, 8, 8))
    exec(editor.code, {"sch": again})
    assert again.fingerprint() == editor.schedule.fingerprint()


@pytest.mark.usefixtures("mine")
def test_what_differs_from_the_description_is_the_reason_against_tensorize() -> None:
    editor = tiled()
    reasons = ask(editor, "reasons", selection="l:C:0")
    assert "is not what tensor intrinsic" in reasons["reasons"]["tensorize"]
    error = refused(
        editor, "apply", primitive="tensorize", selection="l:C:0", arguments={"tensor_intrin": MINE}
    )
    assert error["code"] == "E-SCHEDULE-TENSORIZE" and MINE in error["message"] and error["nodes"] == ["l:C:0"]
    unknown = refused(editor, "apply", primitive="tensorize", selection="l:C:3", arguments={"tensor_intrin": "no"})
    assert "no tensor intrinsic 'no'" in unknown["message"]


def test_an_intrinsic_registered_by_a_cell_is_offered_in_the_editor_that_is_open() -> None:
    editor = tiled()
    assert ask(editor, "reasons", selection="l:C:3")["reasons"]["tensorize"] is not None
    register_mine()
    try:
        assert ask(editor, "reasons", selection="l:C:3")["reasons"]["tensorize"] is None
        assert MINE in form_of(editor, "tensorize")["tensor_intrin"]["choices"]
    finally:
        TENSOR_INTRINSICS.remove(MINE)
    assert ask(editor, "reasons", selection="l:C:3")["reasons"]["tensorize"] is not None


def test_the_layer_of_lesson_10_is_computed_by_its_intrinsic() -> None:
    schedule = Schedule(layer_of_bytes(4, 32, 16))
    i, j, k = schedule.get_loops("Y")
    (jo, ji), (ko, ki) = schedule.split(j, factors=[None, 16]), schedule.split(k, factors=[None, 4])
    schedule.reorder(i, jo, ko, ji, ki)
    editor = ScheduleEditor(schedule)
    assert ask(editor, "reasons", selection="l:Y:3")["arguments"]["tensorize"] == {"tensor_intrin": "dot_16x4_plain"}


def test_blockize_makes_a_block_of_a_tile_and_tensorize_takes_the_block() -> None:
    editor = tiled()
    assert form_of(editor, "blockize")["preserve_unit_iters"]["kind"] == "boolean"
    assert ask(editor, "reasons", selection="l:C:3")["reasons"]["blockize"] is None
    ask(editor, "apply", primitive="blockize", selection="l:C:3", arguments={"preserve_unit_iters": True})
    outer = next(node for node in walked(ask(editor, "open")["tree"]) if node["kind"] == "block")
    assert outer["name"] == "C_o" and [move.name for move in editor.schedule.moves.done][-1] == "blockize"
    register_mine()
    try:
        ask(editor, "apply", primitive="tensorize", selection=outer["id"], arguments={"tensor_intrin": MINE})
    finally:
        TENSOR_INTRINSICS.remove(MINE)
    assert "blockize" in editor.code and "tensorize" in editor.code


def walked(tree: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [found for node in tree for found in (node, *walked(node["children"]))]


@pytest.mark.usefixtures("mine")
def test_what_stands_inside_a_made_block_is_a_box_as_any_other() -> None:
    """It was drawn, and choosing it said that there is no such loop any more."""
    editor = tiled()
    ask(editor, "apply", primitive="blockize", selection="l:C:3", arguments={})
    nodes = walked(ask(editor, "open")["tree"])
    assert "C_o" in [node["name"] for node in nodes]
    for node in nodes:
        reasons = ask(editor, "reasons", selection=node["id"])["reasons"]
        assert reasons and (node["kind"] == "block" or reasons["unroll"] is None), node["name"]
    ask(editor, "apply", primitive="unroll", selection="l:C:2", arguments={})
    assert "unroll" in editor.code
    ask(editor, "undo")
    ask(editor, "apply", primitive="tensorize", selection="b:C_o", arguments={"tensor_intrin": MINE})
    nodes = walked(ask(editor, "open")["tree"])
    assert "C_o" in [node["name"] for node in nodes]
    for node in nodes:
        assert ask(editor, "reasons", selection=node["id"])["reasons"], node["name"]


# --- a loop from state to state ---


def keys(editor: ScheduleEditor) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By name of a loop: what it is known by, and what it was made of."""
    tree = walked(ask(editor, "open")["tree"])
    return {node["name"]: (node["key"], tuple(node["made_of"])) for node in tree if node["kind"] == "loop"}


def test_a_loop_is_known_by_its_variable_wherever_it_stands() -> None:
    editor = ScheduleEditor(Schedule(plain_matmul(8, 8, 8)))
    sch = editor.schedule
    i, j, k = sch.get_loops("C")
    assert keys(editor) == {"i": ("i", ()), "j": ("j", ()), "k": ("k", ())}
    i_0, i_1 = sch.split(i, factors=[None, 4])
    sch.reorder(k, i_0)
    assert keys(editor)["j"] == ("j", ()) and keys(editor)["k"] == ("k", ())
    assert [keys(editor)[name][1] for name in ("i_0", "i_1")] == [("i",), ("i",)]
    sch.split(i_1, factors=[None, 2])
    assert [made_of for _, made_of in keys(editor).values()].count(("i_1", "i")) == 2
    sch.undo(3)
    assert keys(editor) == {"i": ("i", ()), "j": ("j", ()), "k": ("k", ())}
    sch.split(i, factors=[None, 2])
    assert keys(editor)["i_0"] == ("i_0#2", ("i",)), "a loop of the same name, and another one"
    sch.fuse(j, k)
    assert ("j", "k") in [made_of for _, made_of in keys(editor).values()]


# --- the roofline ---


def test_the_way_under_the_roofline_is_drawn_for_what_the_screen_compiles_for() -> None:
    schedule = Schedule(plain_matmul(64, 64, 64)).retarget(Target("llvm -mcpu=haswell"))
    editor = ScheduleEditor(schedule)
    before = ask(editor, "roofline")["svg"]
    assert say.charts.path_begin in before and "parallel" not in before
    schedule.parallel(schedule.get_loops("C")[0])
    assert "1  parallel: " in ask(editor, "roofline")["svg"]
    assert "into L1" in ask(editor, "roofline")["svg"]


@pytest.mark.parametrize("known", [True, False], ids=["known", "no word"])
def test_a_cell_and_the_screen_draw_the_same_under_the_roofline(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first step and after it; of loops that the model has no word for the screen had an error."""

    def speechless(*_: object) -> None:
        raise WorkbenchError("E-ANALYSIS-DATA", "how often a while loop runs depends on values")

    if not known:
        monkeypatch.setattr(roofline_paths, "quick_model", speechless)
    schedule = Schedule(plain_matmul(64, 64, 64)).retarget(Target("llvm -mcpu=haswell"))
    editor = ScheduleEditor(schedule)
    for step in ("parallel", "unroll", ""):
        drawn = ask(editor, "roofline")["svg"]
        assert drawn == picture_of(schedule, "roofline")
        assert (say.charts.path in drawn, say.charts.roofline in drawn) == (known, not known)
        if step:
            getattr(schedule, step)(schedule.get_loops("C")[0 if step == "parallel" else 1])
