"""Marks that passes leave for later ones (`signature`, `written`, `arena_bytes`): any text can say them, none lies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.programs import small_model
from workbench import WorkbenchError, te, tir
from workbench.core.transform import PASSES
from workbench.driver.text import parse_function
from workbench.tir.flat import disagreements

SIZE = 8
EIGHTS = {name: np.ones((SIZE, SIZE), "float32") for name in "AB"}
TRUE = ("float32[8, 8]",) * 3


def _product(size: Any = SIZE) -> Any:
    a, b = (te.placeholder((size, size), name=name) for name in "AB")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c], name="main")


def _text(func: Any) -> str:
    return wb.IRModule({"main": func}).script()


def _marked(func: Any, **marks: Any) -> Any:
    """The function read from its text, in which the marks are written."""
    attributes = "".join(f', "{name}": {value!r}' for name, value in marks.items())
    script = tir.script.script(func)
    assert script.count('"noalias": True') == 1
    return parse_function(script.replace('"noalias": True', f'"noalias": True{attributes}'))


def _flat(func: Any = None) -> Any:
    return PASSES["FlattenBuffer"]()(wb.lower(wb.IRModule({"main": _product() if func is None else func})))["main"]


LIES: dict[str, dict[str, Any]] = {
    "a function that is not flat": {"signature": TRUE, "written": ("C",)},
    "smaller ones": {"signature": ("float32[4, 4]",) * 3, "written": ("C",)},
    "one entry": {"signature": TRUE[:1]},
    "a list of one entry": {"signature": ["float32[8, 8]"]},
    "a number": {"signature": 3},
    "no entries": {"signature": ()},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_signature_that_a_text_gives_to_a_program_is_not_believed(lie: str, tmp_path: Path) -> None:
    forged = _marked(_product(), **LIES[lie])
    session = wb.open(_product(), target="llvm")
    schedule = tir.Schedule(forged)
    for enter in (
        lambda: wb.open(forged), lambda: wb.open(wb.IRModule({"main": forged})), lambda: wb.open(schedule),
        lambda: wb.build(forged, target="llvm"), lambda: wb.lower(forged), lambda: PASSES["FlattenBuffer"]()(
            wb.IRModule({"main": forged})
        ),
        lambda: session.edit(tir={"main": forged}), lambda: session.edit(tir={"main": tir.script.script(forged)}),
        lambda: session.edit(te={"main": forged}),
    ):  # fmt: skip
        with pytest.raises(WorkbenchError) as raised:
            enter()
        assert raised.value.code in ("E-TIR-SIGNATURE", "E-TIR-VERIFY"), str(raised.value)
        assert "signature" in str(raised.value)
    path = tmp_path / "s.wb.json"
    session.save(str(path))
    text = path.read_text()
    assert text.count('\\"noalias\\": True') == 1
    inner = "".join(f', \\"{name}\\": {value!r}' for name, value in LIES[lie].items()).replace("'", '\\"')
    path.write_text(text.replace('\\"noalias\\": True', f'\\"noalias\\": True{inner}'))
    with pytest.raises(WorkbenchError, match="E-TIR-SIGNATURE"):
        wb.open(str(path)).run(EIGHTS)


CHANGES = {
    "fewer elements": ('"float32[8, 8]"', '"float32[4, 4]"'),
    "more elements": ('"float32[8, 8]"', '"float32[8, 9]"'),
    "another type": ('"float32[8, 8]"', '"float16[8, 8]"'),
    "no elements": ('"float32[8, 8]"', '"float32"'),
    "an unknown extent": ('"float32[8, 8]"', '"float32[n, 8]"'),
    "junk": ('"float32[8, 8]"', '"x["'),
    "a parameter less": ('("float32[8, 8]", ', "("),
    "a parameter more": ('("float32[8, 8]", ', '("float32[8, 8]", "int32", '),
    "written by nobody": ('"written": ("C",)', '"written": ()'),
    "another one written": ('"written": ("C",)', '"written": ("A",)'),
    "a smaller buffer": ("T.Buffer((64,)", "T.Buffer((16,)"),
    "a buffer of two axes": ("A: T.Buffer((64,)", "A: T.Buffer((8, 8)"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_marks_of_a_late_step_cannot_be_changed_alone(change: str) -> None:
    session = wb.open(_product(), target="llvm")
    script = session["InsertPolls"].script()
    before, after = CHANGES[change]
    assert before in script
    with pytest.raises(WorkbenchError) as raised:
        session.edit(tir=script.replace(before, after, 1), at="InsertPolls").run(EIGHTS)
    assert raised.value.code in ("E-TIR-VERIFY", "E-TIR-PARSE"), str(raised.value)
    assert session.run(EIGHTS)["C"][0, 0] == SIZE


@pytest.mark.parametrize("step", ["FlattenBuffer", "VectorizeLoop", "UnrollLoop", "StoragePlan", "InsertPolls"])
def test_texts_of_late_steps_are_edited_as_ever(step: str) -> None:
    session = wb.open(_product(), target="llvm")
    script = session[step].script()
    edited = session.edit(tir=script.replace("A[", "T.float32(2.0) * A[", 1), at=step)
    assert '"signature"' in script and edited.run(EIGHTS)["C"][0, 0] == 2 * SIZE
    assert wb.open(wb.IRModule(dict(session[step].after.functions)), target="llvm").run(EIGHTS)["C"][0, 0] == SIZE


def test_extents_that_only_the_call_tells_are_proved_by_what_is_asserted() -> None:
    n = te.var("n", "int64")
    a = te.placeholder((n, (n + 1) * 2, 4), name="A")
    func = te.create_prim_func([a, te.compute((n, (n + 1) * 2, 4), lambda i, j, k: a[i, j, k] + 1.0, name="C")])
    flat = _flat(func)
    assert not disagreements(flat)
    script = tir.script.script(flat)
    line = next(line for line in script.split("\n") if "assert A_shape_1" in line)
    for forged in (
        script.replace(f"{line}\n", ""), script.replace("A_shape_1 ==", "A_shape_1 >="),
        script.replace("[n, A_shape_1, 4]", "[n, n, 4]"), script.replace("[n, A_shape_1, 4]", "[A_shape_1, 4]"),
    ):  # fmt: skip
        assert forged != script and disagreements(parse_function(forged)), forged
    given = np.zeros((2, 6, 4), "float32")
    assert wb.open(parse_function(script), target="llvm").run({"A": given, "C": given.copy()})["C"].sum() == given.size


def test_every_step_of_a_model_says_what_is_so() -> None:
    session = wb.open(small_model(), target="llvm")
    for step in session.steps:
        for name, function in step.after.items():
            if isinstance(function, tir.PrimFunc):
                assert not disagreements(function), (step.name, name)


@pytest.mark.parametrize(
    ("before", "after"),
    [('"arena_bytes": ', '"arena_bytes": 64, "was": '), ('"arena_offset": 0', '"arena_offset": 1000000'),
     ('"arena_offset": 0', '"arena_offset": -64'), ('"arena_bytes": ', '"arena_bytes": "many", "was": ')],
)  # fmt: skip
def test_an_allocation_lies_within_its_arena(before: str, after: str) -> None:
    session = wb.open(small_model(), target="llvm")
    script = session["StoragePlan"].program["main"].script()
    assert before in script
    with pytest.raises(WorkbenchError, match="arena_bytes"):
        session.edit(tir={"main": script.replace(before, after, 1)}, at="StoragePlan")


def test_a_callee_that_says_it_writes_nothing_is_looked_into() -> None:
    text = """@I.ir_module
class Module:
    @T.prim_func
    def fill(B: T.Buffer((4,), "float32")):
        T.func_attr({"written": ()})
        for i in range(4):
            B[i] = T.float32(1.0)

    @T.prim_func
    def main(C: T.Buffer((4,), "float32")):
        T.evaluate(T.call_tir("fill", T.address_of(C[0])))
"""
    from workbench.driver.text import parse

    assert PASSES["FlattenBuffer"]()(parse(text))["main"].attrs["written"] == ("C",)
