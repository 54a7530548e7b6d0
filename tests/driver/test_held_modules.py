"""What a session holds of modules: what others do to theirs, or to one that it handed out, is no change of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import relay, te
from workbench.core.transform import PassContext, PassInstrument, module_pass
from workbench.driver.session import Session

X = relay.var("x", shape=(4,))
ADDS = {amount: relay.Function([X], relay.add(X, relay.const(np.float32(amount)))) for amount in (1, 100)}
ZEROS = {"x": np.zeros(4, "float32")}


def _session() -> Session:
    return wb.open(wb.IRModule.from_expr(ADDS[1]), target="llvm")


def _added(session: Session) -> float:
    return float(session.run(ZEROS)["output_0"][0])


@pytest.mark.parametrize("change", ["set", "update"])
def test_a_module_that_was_opened_may_change_afterwards(change: str, tmp_path: Path) -> None:
    module = wb.IRModule.from_expr(ADDS[1])
    session = wb.open(module, target="llvm")
    if change == "set":
        module["main"] = ADDS[100]
    else:
        module.update({"main": ADDS[100]})
    assert "100.0" in module.script() and "100.0" not in session["Import"].script()
    session.save(str(tmp_path / "s.json"))
    assert [_added(session), _added(wb.open(str(tmp_path / "s.json")))] == [1, 1]
    assert session.check_numerics(ZEROS).first_wrong is None


class _Keeper(PassInstrument):
    """Keeps the modules that it is shown."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self.shown.append(mod)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        self.shown.append(mod)


DOORS: dict[str, Callable[[Session], Any]] = {
    "the graph": lambda session: session.relay.module,
    "the program of a step": lambda session: session["Import"].program.module,
    "before": lambda session: session["InferType"].before,
    "after": lambda session: session["InferType"].after,
    "after some rewrites": lambda session: session["InferType"].after_rewrites(0).module,
    "the stage": lambda session: session.step("InferType").stage.module,
    "the graph that is lowered": lambda session: session.step("FuseOps").stage.module,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("ran", [False, True])
def test_a_module_that_was_handed_out_is_the_callers_own(door: str, ran: bool) -> None:
    session = _session()
    before = [_added(session)] if ran else []
    handed = DOORS[door](session)
    handed["main"] = ADDS[100]
    handed.update({"main": ADDS[100]})
    assert [*before, _added(session)] == [1] * (len(before) + 1), f"{door} is a way into the session"
    assert "100.0" not in session["Import"].script() + session["InferType"].script()


def test_what_an_instrument_is_shown_is_its_own() -> None:
    keeper = _Keeper()
    with PassContext(instruments=[keeper]):
        session = _session()
        script = session["FuseOps"].script()
    assert keeper.shown
    for module in keeper.shown:
        module["main"] = ADDS[100]
    assert session["FuseOps"].script() == script and _added(session) == 1


def test_what_a_pass_returns_is_the_steps_own() -> None:
    kept: list[Any] = []

    @module_pass(opt_level=0, name="KeepsWhatItReturns")
    def keeps(mod: Any, ctx: Any) -> Any:
        made = mod.with_attr("seen", 1)
        kept.append(made)
        return made

    session = _session().rerun(insert={"InferType": keeps})
    script = session["KeepsWhatItReturns"].script()
    kept[0]["main"] = ADDS[100]
    assert session["KeepsWhatItReturns"].script() == script and _added(session) == 1


def test_functions_stay_the_same_objects() -> None:
    module = wb.IRModule.from_expr(ADDS[1])
    session = wb.open(module, target="llvm")
    assert session["Import"].program.module["main"] is session["Import"].after["main"] is module["main"]
    assert not session["Import"].program.module.same(wb.IRModule.from_expr(ADDS[100]))


def test_loop_programs_and_their_native_code_keep_theirs_too() -> None:
    def product(size: int) -> Any:
        a, b = (te.placeholder((size, size), name=name) for name in "AB")
        k = te.reduce_axis((0, size), "k")
        c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        return te.create_prim_func([a, b, c], name="main")

    eights = {name: np.ones((8, 8), "float32") for name in "AB"}
    session = wb.open(wb.IRModule({"main": product(8)}), target="llvm")
    for handed in (session["Import"].program.module, session.tir.module, session.codegen.module):
        handed.update({"main": product(4)})
    session.build().program["main"] = product(4)
    assert session.run(eights)["C"][0, 0] == 8
