"""Passes of the user's in sessions: edited in their cells, named like others, not there when a file is opened."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import WorkbenchError, relay
from workbench.core.transform import PASSES, PassContext, Sequential, module_pass

HEAD = """
import numpy as np
from workbench import WorkbenchError, relay
from workbench.core.transform import module_pass

def adding(mod, number):
    old = mod["main"]
    body = relay.op.add(old.body, relay.const(np.float32(number)))
    return mod.with_functions({"main": relay.Function(old.params, body, body.checked_type)})
"""
CELLS = {
    "global": "NUMBER = {}\n@module_pass(name='Adds')\ndef Adds(mod, ctx):\n    return adding(mod, NUMBER)",
    "class": "class Held:\n    number = {}\n@module_pass(name='Adds')\ndef Adds(mod, ctx):\n"
    "    return adding(mod, Held.number)",
    "dictionary": "TABLE = {{'number': {}}}\n@module_pass(name='Adds')\ndef Adds(mod, ctx):\n"
    "    return adding(mod, TABLE['number'])",
    "captured array": "def made(array):\n    @module_pass(name='Adds')\n    def Adds(mod, ctx):\n"
    "        return adding(mod, array[0])\n    return Adds\nAdds = made(np.array([{}.0]))",
    "method of a helper": "class Helper:\n    def number(self):\n        return {}\n@module_pass(name='Adds')\n"
    "def Adds(mod, ctx):\n    return adding(mod, Helper().number())",
}


@pytest.fixture(autouse=True)
def forget_test_passes() -> Iterator[None]:
    before = set(PASSES)
    yield
    for name in set(PASSES) - before:
        PASSES.remove(name)


def opened(**options: Any) -> Any:
    x = relay.var("x", shape=(2, 3))
    return wb.open(wb.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), **options)


def added(session: Any) -> float:
    """What the session's pass adds."""
    return float(next(iter(session.run({"x": np.zeros((2, 3), "float32")}).values()))[0, 0])


@pytest.mark.parametrize("cell", CELLS)
def test_a_pass_whose_surroundings_are_edited_runs_again(cell: str) -> None:
    session = opened()
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD, "first cell", "exec", dont_inherit=True), names)
    found = []
    for number in (1, 2, 1):
        exec(compile(CELLS[cell].format(number), "cell", "exec", dont_inherit=True), names)
        found.append(added(session.rerun(passes=[names["Adds"], "FuseOps"])))
    assert found == [1, 2, 1]


def test_a_pass_named_like_one_of_the_workbench_runs_where_it_is_given() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["global"].format(5).replace("Adds", "FoldConstant"), "cell", "exec"), names)
    assert added(opened(passes=[names["FoldConstant"], "FuseOps"])) == 5
    assert added(opened()) == 0 and added(opened(passes=["FoldConstant", "FuseOps"])) == 0


def test_a_pass_required_by_another_is_the_workbenchs() -> None:
    @module_pass(name="InferType")
    def InferType(mod: Any, ctx: PassContext) -> Any:
        raise AssertionError("not this one")

    @module_pass(name="Needs", required=["InferType"])
    def Needs(mod: Any, ctx: PassContext) -> Any:
        return mod

    assert added(opened(passes=[Needs, "FuseOps"])) == 0


def test_a_saved_session_knows_its_pass_by_its_code(tmp_path: Any) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["global"].format(5), "cell", "exec"), names)
    session = opened(passes=[names["Adds"], "FuseOps"])
    path = str(tmp_path / "s.wb.json")
    session.save(path)
    assert added(session) == added(wb.open(path)) == 5
    exec(compile(CELLS["global"].format(6), "cell", "exec"), names)
    other = wb.open(path)
    for look in (lambda: other.relay, lambda: other.run({})):
        with pytest.raises(WorkbenchError) as caught:
            look()
        assert caught.value.code == "E-PASS-DIFFERS" and caught.value.where == "step Adds"
        assert "s.reload()" in caught.value.fix
    assert other.labels == session.labels and other.steps[0].script() == session.steps[0].script()
    assert added(session) == 5 and added(session.reload()) == added(other.reload()) == 6


def cell(text: str) -> dict[str, Any]:
    """The names after a cell is run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + text, "cell", "exec"), names)
    return names


def forget(names: dict[str, Any], name: str) -> None:
    """As after a restart of the kernel."""
    if not PASSES.is_own(name):
        PASSES.remove(name)
    names.clear()
    gc.collect()


@pytest.mark.parametrize("ran", [False, True])
def test_a_saved_session_waits_for_the_cell_of_its_pass(tmp_path: Any, ran: bool) -> None:
    first, second, third = (str(tmp_path / f"{name}.wb.json") for name in ("first", "second", "third"))
    names = cell(CELLS["global"].format(5))
    session = opened(passes=[names["Adds"], "FuseOps"])
    assert not ran or added(session) == 5
    session.save(first)
    del session
    forget(names, "Adds")
    again = wb.open(first)
    for look in (lambda: again.run({}), again.reload):
        with pytest.raises(WorkbenchError) as caught:
            look()
        assert caught.value.code == "E-PASS-UNKNOWN" and "cell" in caught.value.fix
    again.save(second)
    names.update(cell(CELLS["global"].format(5)))
    assert added(again) == added(wb.open(second)) == 5
    again.save(third)
    assert added(wb.open(third)) == added(wb.open(third).reload()) == 5


SAME = """
@module_pass(name='Same')
def First(mod, ctx):
    return adding(mod, {})
@module_pass(name='Same')
def Second(mod, ctx):
    return adding(mod, {})
"""


def test_passes_of_one_name_in_a_file_are_not_taken_for_each_other(tmp_path: Any) -> None:
    names = cell(SAME.format(1, 20))
    session = opened(passes=[names["First"], names["Second"], "FuseOps"])
    assert added(session) == 21
    session.save(str(tmp_path / "s.wb.json"))
    del session
    forget(names, "Same")
    names = cell(SAME.format(2, 30))
    assert added(wb.open(str(tmp_path / "s.wb.json")).reload()) == 32
    names.update(cell(SAME.format(1, 20)))
    assert added(wb.open(str(tmp_path / "s.wb.json"))) == 21


def test_only_what_is_written_in_its_place_is_a_pass_defined_anew(tmp_path: Any) -> None:
    path, other = str(tmp_path / "s.wb.json"), str(tmp_path / "other.wb.json")
    names = cell(SAME.format(1, 20) + "\nfrom workbench.core.transform import Sequential\nAll = Sequential([First])")
    session, of_passes = opened(passes=[names["First"], "FuseOps"]), opened(passes=[names["All"], "FuseOps"])
    session.save(path)
    of_passes.save(other)
    assert added(session) == added(of_passes) == 1
    del session, of_passes
    forget(names, "Same")
    again = wb.open(path)
    with pytest.raises(WorkbenchError, match="E-PASS-UNKNOWN") as caught:
        again.reload()
    assert "s.rerun(replace={'Same': it})" in caught.value.fix
    names = cell(SAME.format(7, 20))
    with pytest.raises(WorkbenchError, match="E-PASS-DIFFERS") as caught:
        added(again)
    assert "s.reload()" in caught.value.fix
    assert added(again.reload()) == added(again.reload().reload()) == 7
    assert added(again.rerun(replace={"Same": names["Second"]})) == 20
    names["Another"] = Sequential([names["Second"]])
    for look in (wb.open(other).reload, wb.open(other).build):
        with pytest.raises(WorkbenchError, match="E-PASS-DIFFERS") as caught:
            look()
        assert "s.rerun(replace={'sequential': it})" in caught.value.fix


def test_a_pass_with_room_for_further_options_is_saved(tmp_path: Any) -> None:
    lines = """
@module_pass(name='Roomy')
class Roomy:
    def __init__(self, k=1, *rest, **options):
        self.number = k + sum(rest) + sum(options.values())
    def transform_module(self, mod, ctx):
        return adding(mod, self.number)
"""
    path, made = str(tmp_path / "s.wb.json"), cell(lines)["Roomy"]
    for chosen, number in ((made(), 1), (made(4), 4), (made(2, more=3), 5), (made(k=2, more=4), 6)):
        session = opened(passes=[chosen, "FuseOps"])
        session.save(path)
        assert added(session) == added(wb.open(path)) == added(session.reload()) == number
        assert executed(session.to_python(), opened().relay.module, added) == number
    with pytest.raises(WorkbenchError, match="E-SAVE-OPTION"):
        opened(passes=[made(1, 2), "FuseOps"]).save(path)
    assert "# Roomy: " in opened(passes=[made(1, 2), "FuseOps"]).to_python()


@pytest.mark.parametrize("name", ["sequential", "FoldConstant"])
def test_a_pass_made_of_passes_is_saved_by_what_it_does(tmp_path: Any, name: str) -> None:
    path = str(tmp_path / "s.wb.json")
    names = cell(CELLS["global"].format(5))
    names["all"] = Sequential([names["Adds"]], name=name)
    session = opened(passes=[names["all"], "FuseOps"])
    session.save(path)
    assert added(session) == added(wb.open(path)) == 5
    other = Sequential([], name=name)
    assert added(session.reload()) == 5, "another one of this name is another one"
    del session, other
    forget(names, "Adds")
    with pytest.raises(WorkbenchError, match="E-PASS"):
        wb.open(path).run({})


OF_A_TABLE = """
TABLE = {}
@module_pass(name='OfATable')
class OfATable:
    def __init__(self, which):
        self.number = TABLE[which] if isinstance(which, str) else which[0]
    def transform_module(self, mod, ctx):
        return adding(mod, self.number)
"""


def test_a_pass_that_can_no_longer_be_made_stops_its_step(tmp_path: Any) -> None:
    path = str(tmp_path / "s.wb.json")
    names = cell(OF_A_TABLE.format("{'b': 3}"))
    live = opened(passes=[names["OfATable"]("b"), "FuseOps"])
    live.save(path)
    assert added(live) == added(wb.open(path)) == 3
    del live
    forget(names, "OfATable")
    names = cell(OF_A_TABLE.format("{'c': 3}"))
    again = wb.open(path)
    for look in (lambda: again.run({}), again.reload):
        with pytest.raises(WorkbenchError, match=r"E-PASS-OPTION.*cannot be made of these options") as caught:
            look()
        assert "KeyError: 'b'" in caught.value.found


def test_a_pass_that_can_no_longer_be_made_is_not_reloaded() -> None:
    names = cell(OF_A_TABLE.format("{'b': 3}"))
    live = opened(passes=[names["OfATable"]("b"), "FuseOps"])
    names = cell(OF_A_TABLE.format("{'c': 3}"))
    with pytest.raises(WorkbenchError, match=r"E-PASS-OPTION.*cannot be made of these options"):
        live.reload()
    assert added(live) == 3


def test_a_pass_of_what_a_file_cannot_hold_is_not_saved(tmp_path: Any) -> None:
    session = opened(passes=[cell(OF_A_TABLE.format("{}"))["OfATable"](np.array([2.0])), "FuseOps"])
    assert added(session) == added(session.reload()) == 2 and session.reload().plan == session.plan
    with pytest.raises(WorkbenchError, match="E-SAVE-OPTION"):
        session.save(str(tmp_path / "s.wb.json"))


def test_nothing_is_edited_where_a_step_has_stopped(tmp_path: Any) -> None:
    path = str(tmp_path / "s.wb.json")
    names = cell(CELLS["global"].format(5).replace("Adds", "Lone"))
    session = opened(passes=[names["Lone"], "FuseOps"])
    text, place = session["Lone"].script(), "Lone"
    session.save(path)
    del session
    forget(names, "Lone")
    again = wb.open(path)
    with pytest.raises(WorkbenchError, match="E-PASS-UNKNOWN"):
        again.edit(relay=text, at=place)
    assert repr(again[place]) == "Step('Lone', not carried out: E-PASS-UNKNOWN)"
    assert "there is no pass named 'Lone'" in again[place]._repr_mimebundle_()["text/plain"]
    assert again.edit(relay=again["Import"].script(), at="Import").labels[1] == "Edit"
    without = again.rerun(disabled_pass=[place])
    assert without.rerun(disabled_pass=[place]).plan == without.plan and added(without) == 0


def changing(how: str) -> tuple[Any, Any]:
    """(a pass that adds what stands beside it, how to change that)."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["global"].format(2), "cell", "exec"), names)
    chosen = names["Adds"]
    if how == "a pass of passes":
        chosen = Sequential([names["Adds"]])
    if how == "named like one of the workbench":
        exec(compile(CELLS["global"].format(2).replace("Adds", "FoldConstant"), "cell", "exec"), names)
        chosen = names["FoldConstant"]
    if how == "a list in a closure":
        exec(compile(CELLS["captured array"].format(2).replace("np.array([2.0])", "[2]"), "cell", "exec"), names)
        held = [2]
        return names["made"](held), lambda number: held.__setitem__(0, number)
    return chosen, lambda number: names.update(NUMBER=number)


CHANGES = ("a global", "a pass of passes", "named like one of the workbench", "a list in a closure")


@pytest.mark.parametrize("how", CHANGES)
def test_a_pass_that_changed_before_it_ran_is_not_run_as_the_one_that_was_chosen(how: str) -> None:
    chosen, change = changing(how)
    session = opened()
    first = session.rerun(insert={"FuseOps": chosen})
    label = first.labels[first.labels.index("FuseOps") + 1]
    change(3)
    for look in (lambda: first.run({}), first.build):
        with pytest.raises(WorkbenchError) as caught:
            look()
        assert caught.value.code == "E-PASS-CHANGED" and label in caught.value.where, caught.value
        assert len(str(caught.value).splitlines()) <= 6 and "s.reload()" in caught.value.fix
    assert added(first.reload()) == 3
    change(2)
    assert added(session.rerun(insert={"FuseOps": chosen})) == added(first) == 2
    change(3)
    assert added(first) == 2, "it has run"
    assert added(first.reload()) == added(session.rerun(insert={"FuseOps": chosen})) == 3


def test_passes_of_other_passes_are_other_passes() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["captured array"].format(2), "cell", "exec"), names)
    session = opened()
    chosen = [Sequential([names["made"](np.float32([number]))]) for number in (2, 3)]
    assert [added(session.rerun(insert={"FuseOps": each})) for each in chosen] == [2, 3]


def test_the_later_of_two_passes_of_one_code_is_run() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CELLS["captured array"].format(2), "cell", "exec"), names)
    old, new = [2], [2]
    session = opened()
    session.rerun(passes=[names["made"](old), "FuseOps"])
    old[0] = 3
    assert added(session.rerun(passes=[names["made"](new), "FuseOps"])) == 2


def test_a_pass_that_notes_what_it_sees_runs_as_often_as_it_is_asked_to() -> None:
    seen: list[int] = []

    @module_pass(name="Notes")
    def Notes(mod: Any, ctx: PassContext) -> Any:
        seen.append(len(mod.functions))
        return mod

    session = opened().rerun(insert={"InferType": Notes, "FuseOps": Notes})
    assert added(session) == added(session.rerun(target="llvm -mcpu=x86-64")) == 0
    assert len(seen) == 4
    session.debug("Notes")
    assert len(seen) == 5


CLASS = """
@module_pass(name="Adds", opt_level=0)
class Adds:
    def __init__(self, number, times=1):
        self.number, self.times = number, times
    def transform_module(self, mod, ctx):
        return adding(mod, self.number * self.times * {})
"""


@pytest.mark.parametrize("arguments", ["(2, 3)", "(number=2, times=3)", "((2,)[0], times=3)"])
def test_a_pass_written_as_a_class_keeps_its_arguments(arguments: str, tmp_path: Any) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + CLASS.format(1), "cell", "exec"), names)
    session = opened(passes=[eval(f"Adds{arguments}", names), "FuseOps"])
    assert added(session) == added(session.reload()) == 6
    session.save(str(tmp_path / "s.wb.json"))
    assert added(wb.open(str(tmp_path / "s.wb.json"))) == 6
    exec(compile(CLASS.format(10), "cell", "exec"), names)
    assert added(session) == 6 and added(session.reload()) == 60


# --- several passes of one name ---


def scaling(number: int, name: str) -> Any:
    """A pass that multiplies the program's result."""

    @module_pass(name=name)
    def Scales(mod: Any, ctx: PassContext) -> Any:
        old = mod["main"]
        body = relay.op.multiply(old.body, relay.const(np.float32(number)))
        return mod.with_functions({"main": relay.Function(old.params, body, body.checked_type)})

    return Scales


def scaled(session: Any) -> float:
    """By what the session's passes multiply."""
    return float(next(iter(session.run({"x": np.ones((2, 3), "float32")}).values()))[0, 0])


def test_two_passes_of_one_name_stay_two(tmp_path: Any) -> None:
    double, triple = scaling(2, "Same"), scaling(3, "Same")
    session = opened().rerun(insert={"InferType": double}).rerun(insert={"Same": triple})
    session.save(str(tmp_path / "s.wb.json"))
    again = wb.open(str(tmp_path / "s.wb.json"))
    assert scaled(session) == scaled(session.reload()) == scaled(again) == scaled(again.reload()) == 6
    assert executed(session.to_python(), opened().relay.module) == 6


def test_each_of_two_passes_of_one_name_follows_its_own_cell() -> None:
    cell = "\n@module_pass(name='Same')\ndef {}(mod, ctx):\n    return adding(mod, {})\n"
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + cell.format("First", 1), "cell", "exec"), names)
    exec(compile(HEAD + cell.format("Second", 20), "cell", "exec"), names)
    session = opened().rerun(insert={"InferType": names["First"]}).rerun(insert={"Same": names["Second"]})
    assert added(session) == added(session.reload()) == 21
    exec(compile(HEAD + cell.format("First", 2), "cell", "exec"), names)
    assert added(session) == 21 and added(session.reload()) == 22


def test_a_pass_written_as_a_class_is_taken_as_it_is_now() -> None:
    cell = "\n@module_pass(name='Adds')\nclass Adds:\n    def transform_module(self, mod, ctx):\n"
    cell += "        return adding(mod, {})\n"
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(HEAD + cell.format(1), "cell", "exec"), names)
    session = opened(passes=[names["Adds"](), "FuseOps"])
    exec(compile(HEAD + cell.format(2), "cell", "exec"), names)
    assert added(session) == 1 and added(session.reload()) == 2


def executed(lines: str, program: Any, look: Any = None) -> float:
    """What the session multiplies (or what `look` says of it) that lines of Python make of a program."""
    names: dict[str, Any] = {"program": program}
    exec(compile(lines, "lines", "exec"), names)
    return (look or scaled)(names["s"])


def test_a_pass_named_like_one_of_the_workbench_is_found_by_its_code(tmp_path: Any) -> None:
    mine = scaling(5, "FoldConstant")
    program = opened().relay.module
    for session in (opened(passes=[mine, "FuseOps"]), opened().rerun(replace={"FoldConstant": mine})):
        session.save(str(tmp_path / "s.wb.json"))
        again = wb.open(str(tmp_path / "s.wb.json"))
        assert scaled(session) == scaled(again) == scaled(again.reload()) == 5
        lines = session.to_python()
        assert "# FoldConstant: a pass that is not the workbench's own" in lines
        assert executed(lines, program) == 5
    del mine, session, again
    gc.collect()
    found = wb.open(str(tmp_path / "s.wb.json"))
    for attempt in (found.build, found.reload, lambda: executed(lines, program)):
        with pytest.raises(WorkbenchError) as caught:
            attempt()
        assert caught.value.code == "E-PASS-DIFFERS" and "the workbench's own" in caught.value.found
        assert "as it was then" in caught.value.fix
