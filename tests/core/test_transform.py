"""Passes: contexts, levels, instruments, options, failures."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from workbench.core.errors import InternalError, WorkbenchError
from workbench.core.module import IRModule
from workbench.core.transform import (
    PASSES,
    PassContext,
    PassInstrument,
    Sequential,
    function_pass,
    module_pass,
    pass_named,
)
from workbench.relay.ir.expr import Function, Tuple, var


@pytest.fixture(autouse=True)
def forget_test_passes() -> Iterator[None]:
    before = set(PASSES)
    yield
    for name in set(PASSES) - before:
        PASSES.remove(name)


def module() -> IRModule:
    x = var("x", shape=(2,))
    return IRModule({"main": Function((x,), x)})


def test_a_function_becomes_a_pass_with_its_options_checked():
    @module_pass(opt_level=1)
    def KeepOnly(mod: IRModule, ctx: PassContext, *, name: str = "main") -> IRModule:
        return mod.with_only({name: mod[name]})

    assert KeepOnly().info.opt_level == 1
    assert repr(KeepOnly(name="main")) == "KeepOnly(name='main')"
    assert KeepOnly("main")(module()).names() == ("main",)
    with pytest.raises(WorkbenchError, match="nme"):
        KeepOnly(nme="main")


def test_a_pass_without_options_works_with_and_without_call():
    @module_pass
    def Nothing(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod

    given = module()
    assert Nothing(given) is given and Nothing()(given) is given


def test_classes_make_passes():
    @function_pass(opt_level=1)
    class Wrap:
        def __init__(self, times: int) -> None:
            self.times = times

        def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
            body = func.body
            for _ in range(self.times):
                body = Tuple((body,))
            return func.replace(body=body)

    assert isinstance(Wrap(2)(module())["main"].body.fields[0], Tuple)


def test_sequential_skips_by_level_and_name():
    ran: list[str] = []

    def recorder(name: str, level: int) -> Any:
        @module_pass(opt_level=level, name=name)
        def step(mod: IRModule, ctx: PassContext) -> IRModule:
            ran.append(name)
            return mod

        return step

    sequence = Sequential([recorder("Low", 1), recorder("High", 3), recorder("Off", 0)])
    with PassContext(opt_level=2, disabled_pass=["Off"]):
        sequence(module())
    assert ran == ["Low"]
    ran.clear()
    with PassContext(opt_level=0, required_pass=["High"]):
        sequence(module())
    assert ran == ["High", "Off"]


def test_instruments_are_told_and_may_skip():
    events: list[str] = []

    class Recorder(PassInstrument):
        def enter_pass_ctx(self) -> None:
            events.append("enter")

        def exit_pass_ctx(self) -> None:
            events.append("exit")

        def should_run(self, mod: IRModule, info: Any) -> bool:
            return info.name != "Skipped"

        def run_before_pass(self, mod: IRModule, info: Any) -> None:
            events.append(f"before {info.name}")

        def run_after_pass(self, mod: IRModule, info: Any) -> None:
            events.append(f"after {info.name}")

    @module_pass(name="Kept")
    def kept(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod

    @module_pass(name="Skipped")
    def skipped(mod: IRModule, ctx: PassContext) -> IRModule:
        raise AssertionError("must not run")

    with PassContext(instruments=[Recorder()]):
        kept(module())
        skipped(module())
    assert events == ["enter", "before Kept", "after Kept", "exit"]


def test_a_failing_pass_keeps_the_module_and_says_where():
    @module_pass(name="Broken")
    def broken(mod: IRModule, ctx: PassContext) -> IRModule:
        return {}["missing"]

    given = module()
    with pytest.raises(InternalError) as caught:
        broken(given)
    assert caught.value.code == "E-PASS-FAILED" and caught.value.partial is given
    assert "test_transform.py" in caught.value.where


@pytest.mark.parametrize("kind", [ZeroDivisionError, NotImplementedError, StopIteration, OSError, MemoryError])
def test_whatever_a_pass_raises_is_its_failure(kind: type[Exception]) -> None:
    @module_pass(name="Raising")
    def raising(mod: IRModule, ctx: PassContext) -> IRModule:
        raise kind("oops")

    with pytest.raises(InternalError, match=r"pass Raising failed: .*oops") as caught:
        raising(module())
    assert caught.value.code == "E-PASS-FAILED"


def test_a_pass_must_return_a_module():
    @module_pass(name="Forgot")
    def forgot(mod: IRModule, ctx: PassContext) -> Any:
        return None

    with pytest.raises(WorkbenchError, match="must return an IRModule"):
        forgot(module())


def test_a_pass_that_changes_its_handle_leaves_the_callers_alone():
    @module_pass(name="Mutates")
    def mutates(mod: IRModule, ctx: PassContext) -> IRModule:
        mod["extra"] = mod["main"]
        return mod

    given = module()
    assert mutates(given).names() == ("main", "extra") and given.names() == ("main",)


def test_unknown_options_of_a_context_are_refused():
    with pytest.raises(WorkbenchError, match=r"relay\.FuseOps\.max_dept"):
        PassContext(config={"relay.FuseOps.max_dept": 3})


def test_a_context_that_names_no_level_has_that_of_the_context_around():
    assert PassContext().opt_level == 2 and PassContext().named_opt_level is None
    with PassContext(opt_level=1), PassContext(instruments=[]) as inner:
        assert PassContext.current() is inner and inner.opt_level == inner.named_opt_level == 1
    with inner:
        assert inner.opt_level == 2 and inner.named_opt_level is None
    with PassContext(opt_level=0), PassContext(opt_level=3) as inner:
        assert inner.opt_level == 3


def named_like_one_of_the_workbench(number: int = 0) -> Any:
    @module_pass(name="FoldConstant")
    def FoldConstant(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.with_attr("number", number)

    return FoldConstant


def test_a_name_of_the_workbench_stays_its_own():
    """The pass that was made runs where it is given itself; the name means it only when that is said."""
    before = PASSES["FoldConstant"]
    mine = named_like_one_of_the_workbench()
    assert PASSES["FoldConstant"] is before and mine(module()).attrs["number"] == 0
    with pytest.raises(WorkbenchError, match="E-TABLE-CLASH"):
        PASSES.register("FoldConstant", mine)
    try:
        PASSES.register("FoldConstant", mine, override=True)
        assert pass_named("FoldConstant") is mine
    finally:
        PASSES.remove("FoldConstant")
    assert PASSES["FoldConstant"] is before


def test_a_pass_is_found_by_name_and_code():
    def cell(number: int) -> Any:
        @module_pass
        def Own(mod: IRModule, ctx: PassContext) -> IRModule:
            return mod.with_attr("number", number)

        return Own

    made = cell(1)
    assert made.own_code_key and pass_named("Own", {}, made.own_code_key) is made
    assert PASSES["InferType"]().own_code_key == "", "versions change it, and its name means it"
    code = made.own_code_key
    cell(2)
    assert pass_named("Own", {}, code) is made, "it is held, and no other one has its code"
    del made
    with pytest.raises(WorkbenchError, match="E-PASS-DIFFERS") as caught:
        pass_named("Own", {}, code)
    assert code in caught.value.expected and __name__ in caught.value.found
    cell(1)
    assert pass_named("Own", {}, code)(module()).attrs["number"] == 1
    with pytest.raises(WorkbenchError, match="E-PASS-DIFFERS") as caught:
        pass_named("FoldConstant", {}, named_like_one_of_the_workbench().own_code_key)
    assert "the workbench's own" in caught.value.found
    PASSES.remove("Own")
    with pytest.raises(WorkbenchError, match="E-PASS-UNKNOWN") as caught:
        pass_named("Own", {}, code)
    assert "cell" in caught.value.fix


def test_a_pass_that_cannot_be_compared_says_why():
    lock = threading.Lock()

    @module_pass
    def Locked(mod: IRModule, ctx: PassContext) -> IRModule:
        with lock:
            return mod

    with pytest.raises(WorkbenchError, match="E-PASS-DIFFERS") as caught:
        pass_named("Locked", {}, Locked.own_code_key)
    assert "lock" in caught.value.found


def test_a_context_entered_again_takes_no_level_with_it() -> None:
    without = PassContext(disabled_pass=["SimplifyExpr"])
    with without:
        with PassContext(opt_level=0):
            with without:
                assert without.opt_level == 0
            assert PassContext.current().opt_level == 0
        assert without.named_opt_level is None and PassContext.current() is without
    assert without.named_opt_level is None


@pytest.mark.parametrize(
    "config",
    [
        {"relay.FuseOps.max_depth": "x"}, {"relay.FuseOps.max_depth": -1}, {"relay.FuseOps.max_depth": 1.5},
        {"relay.FuseOps.max_depth": True}, {"tir.UnrollLoop": 8}, {"tir.UnrollLoop": {"auto_max_step": float("inf")}},
        {"tir.UnrollLoop": {"auto_step": 8}}, {"tir.noalias": "no"}, {"tir.disable_vectorize": 2},
        {"tir.add_lower_pass": print},
    ],
)  # fmt: skip
def test_an_option_takes_the_values_that_it_knows(config):
    with pytest.raises(WorkbenchError) as caught:
        PassContext(config=config)
    assert caught.value.code == "E-PASS-CONFIG" and next(iter(config)) in caught.value.message
    assert caught.value.expected and caught.value.found


@pytest.mark.parametrize("level", ["3", 2.0, float("inf"), True])
def test_a_level_is_a_whole_number(level):
    with pytest.raises(WorkbenchError, match="E-PASS-CONFIG"):
        PassContext(opt_level=level)


def test_the_table_has_every_pass_in_a_process_that_has_used_none():
    code = "from workbench.core.transform import PASSES; print(*(name for name in PASSES))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    import workbench.transform  # noqa: F401

    assert set(found.split()) == {name for name in PASSES if PASSES.is_own(name)}


@pytest.mark.parametrize("given", [None, 7, "main"], ids=["nothing", "a number", "a name"])
def test_a_function_pass_that_gives_no_function_is_refused_by_name(given: Any) -> None:
    @function_pass
    def Forgets(func: Any, mod: IRModule, ctx: PassContext) -> Any:
        return given

    class ForgetsOne:
        def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
            return given

    for made in (Forgets(), function_pass(ForgetsOne)()):
        with pytest.raises(WorkbenchError, match="no function for 'main'") as caught:
            made(module())
        assert caught.value.code == "E-PASS-RESULT"
        assert ("itself where nothing changes" in caught.value.fix) is (given is None)
