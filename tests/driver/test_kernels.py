"""Kernels compiled by several processes at once: the same code as step by step, whatever becomes of the helpers."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.test_kept_models import X, by_numpy, deep, written
from tests.driver.test_progress import Bars
from workbench import relay
from workbench.codegen.sharing import Helpers
from workbench.core import progress, reliance
from workbench.core.child import Child, ChildFailure
from workbench.core.equal import same
from workbench.core.errors import WorkbenchError
from workbench.core.limits import limits
from workbench.core.time_limit import time_limit
from workbench.core.transform import PassContext
from workbench.driver import built, kernels, pristine
from workbench.driver.kernels import Compiled, KernelWork, compile_kernel, helpers
from workbench.lower.entry import listening_for_kernels
from workbench.lower.kernel import Kernel
from workbench.lower.provider import default_provider


@pytest.fixture(autouse=True)
def one_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of its own, one helper on whatever machine, and none left from before."""
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(reliance, "_users", [0])
    monkeypatch.setattr(pristine, "is_patched", lambda: False)  # by this test alone
    for module in (kernels, built):
        monkeypatch.setattr(module, "helper_count", lambda: 1)
    helpers.close()
    yield
    helpers.close()


def wide() -> wb.IRModule:
    """A network of several different kernels: products of many widths, pooling, softmax."""
    rng = np.random.default_rng(0)
    y: Any = (x := relay.var("x", shape=(1, 3, 24, 24)))
    width = 3
    for index in range(8):
        weights = rng.standard_normal((8 + 4 * index, width, 3, 3)).astype("float32") / width
        y = relay.nn.relu(relay.nn.conv2d(y, relay.const(weights), padding=(1, 1)) + relay.const(np.float32(0.5)))
        width = 8 + 4 * index
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))))
    for _ in range(3):
        y = relay.tanh(relay.nn.dense(y, relay.const(rng.standard_normal((width, width)).astype("float32") / width)))
    return wb.IRModule.from_expr(relay.Function([x], relay.nn.softmax(y)))


def compile_kernels(every: Sequence[Kernel]) -> list[Compiled]:
    """Each kernel under the current PassContext."""
    with KernelWork(every[0].target, PassContext.current()) as work:
        return work.finish(every)


def a_helper() -> None:
    """Have a helper wait."""
    helpers.warm(1)
    helpers.give_back(helpers.ready())


def by_helpers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that helpers have compiled from now on."""
    seen: list[str] = []
    received = kernels._received

    def noting(unit: Any, *given: Any) -> Any:
        seen.extend(unit["written"])
        return received(unit, *given)

    monkeypatch.setattr(kernels, "_received", noting)
    return seen


def first_answer(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a helper has answered."""
    answered = threading.Event()
    received = kernels._received

    def noting(*given: Any) -> Any:
        answered.set()
        return received(*given)

    monkeypatch.setattr(kernels, "_received", noting)
    return answered


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process waits with its first kernel until a helper has taken some."""
    taken = threading.Event()
    ask, here = Child.ask, kernels.compile_kernel

    def asking(self: Child, *given: Any, **more: Any) -> Any:
        taken.set()
        return ask(self, *given, **more)

    def waiting(kernel: Any) -> Any:
        assert taken.wait(60), "no helper took a kernel"
        return here(kernel)

    monkeypatch.setattr(Child, "ask", asking)
    monkeypatch.setattr(kernels, "compile_kernel", waiting)


@pytest.mark.parametrize("model", [deep, wide])
def test_the_same_code_as_step_by_step(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a_helper()
    seen = by_helpers(monkeypatch)
    if model is wide:
        slowly(monkeypatch)
    session = wb.open(model())
    apart = session.build()
    assert bool(seen) == (model is wide), "of four kernels and more a helper does a part"
    assert "Codegen" not in [step.label for step in session.history.computed(session.actions)]
    by_steps = session.step("Codegen").stage.compiled
    assert apart is not by_steps
    assert session.build() is by_steps, "the step is what counts once it is there"
    assert apart.module.code == by_steps.module.code
    assert apart.describe() == by_steps.describe()
    for form in ("tir", "ll", "asm"):
        assert apart.get_source(form) == by_steps.get_source(form)
    written()


@pytest.mark.parametrize("model", [deep, wide])
def test_a_kernel_is_told_as_plain_data(model: Any) -> None:
    for kernel in wb.open(model()).step("Lower").stage.lowered.kernels:
        made = kernels._made(json.loads(json.dumps(kernels._told(kernel))))
        assert same(made.func, kernel.func)
        assert str(made.choice) == str(kernel.choice)
        assert (made.name, made.block, made.target) == (kernel.name, kernel.block, kernel.target)
        assert compile_kernel(made) == compile_kernel(kernel)


def test_a_build_from_kernels_tells_of_itself() -> None:
    heard = Bars()
    with progress.listening(heard):
        wb.open(wide()).build()
    assert any(line.startswith("kernels of") for line in heard.lines), heard.lines


def test_what_runs_is_right() -> None:
    np.testing.assert_allclose(wb.open(deep()).run({"x": X})["output_0"], by_numpy(), rtol=1e-4, atol=1e-5)


def test_a_helper_begins_while_kernels_still_come(monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    a_helper()
    answered = first_answer(monkeypatch)
    with KernelWork(every[0].target, PassContext.current()) as work:
        for kernel in every[:-1]:
            work.add(kernel)
        assert answered.wait(60), "no helper began"
        assert work.finish(every) == [compile_kernel(kernel) for kernel in every]
    written()


def test_a_build_has_its_kernels_compiled_while_it_lowers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowering does not end until a helper has answered."""
    a_helper()
    answered = first_answer(monkeypatch)
    session = wb.open(wide())

    def lowered() -> Any:
        made = session.step("Lower").stage.lowered
        assert answered.wait(60), "no helper began"
        return made

    assert built._apart(lowered, session.plan) is not None


def test_kernels_are_told_of_as_they_are_lowered() -> None:
    heard: list[Any] = []
    with listening_for_kernels(heard.append):
        lowered = wb.open(wide()).step("Lower").stage.lowered
    assert tuple(heard) == lowered.kernels
    wb.open(deep()).step("Lower")
    assert tuple(heard) == lowered.kernels, "not after the block"


def test_results_are_those_of_the_kernels_asked_for() -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    with KernelWork(every[0].target, PassContext.current()) as work:
        work.add(every[2])
        work.add(every[0])
        assert work.finish(every[:2]) == [compile_kernel(kernel) for kernel in every[:2]]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, None])
def test_work_that_is_given_up_leaves_no_thread(error: type[BaseException] | None) -> None:
    """Lowering failed, or was interrupted, after its first kernels."""
    a_helper()
    before = set(threading.enumerate())
    session = wb.open(wide())

    def lowered() -> Any:
        session.step("Lower")
        if error is not None:
            raise error

    if error is None:
        assert built._apart(lowered, session.plan) is None
    else:
        with pytest.raises(error):
            built._apart(lowered, session.plan)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive(), thread
    assert helpers.waiting == 0


def test_settings_and_limits_reach_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    a_helper()
    seen = by_helpers(monkeypatch)
    slowly(monkeypatch)
    with PassContext(config={"tir.disable_vectorize": True}):
        plain = compile_kernels(every)
        assert plain == [compile_kernel(kernel) for kernel in every]
    assert seen
    assert plain != compile_kernels(every)


def test_limits_hold_in_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    monkeypatch.setattr(limits, "function_nodes", 30)
    with helpers.ready() as helper:
        sent = json.dumps([kernels._told(every[0])]).encode()
        settings = {"settings": [3, [], [], {}], "limits": asdict(limits)}
        with pytest.raises(WorkbenchError, match="the function's loops, unrolled"):
            helper.ask("compile", settings, [sent])


def test_what_a_helper_leaves_undone_is_done_under_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the caller's thread that does it: settings, target and time limit are known there alone."""
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    a_helper()
    lost: list[str] = []
    ask = Child.ask

    def killed(self: Child, do: str, *given: Any, **more: Any) -> Any:
        if do == "compile":
            os.kill(self.pid or 0, signal.SIGKILL)
            lost.append(do)
            raise ChildFailure("crashed", "SIGKILL")
        return ask(self, do, *given, **more)

    threads: set[threading.Thread] = set()
    here = kernels.compile_kernel

    def noting(kernel: Any) -> Any:
        if not lost:
            time.sleep(0.01)  # the helper takes its part first
        threads.add(threading.current_thread())
        return here(kernel)

    with PassContext(config={"tir.disable_vectorize": True}):
        expected = [compile_kernel(kernel) for kernel in every]
        monkeypatch.setattr(Child, "ask", killed)
        monkeypatch.setattr(kernels, "compile_kernel", noting)
        assert compile_kernels(every) == expected
    assert lost
    assert threads == {threading.current_thread()}


def test_a_time_limit_holds_over_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    busy = threading.Event()

    def slow(self: Child, *given: Any, **more: Any) -> Any:
        busy.wait(60)
        raise ChildFailure("ended", "by us")

    def nothing(kernel: Any) -> Any:
        return None

    monkeypatch.setattr(Child, "ask", slow)
    monkeypatch.setattr(kernels, "compile_kernel", nothing)
    with pytest.raises(WorkbenchError, match="E-TIME-LIMIT"), time_limit(0.5):
        compile_kernels(every)
    busy.set()


def test_a_helper_that_cannot_start_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: Child, *given: Any, **more: Any) -> Any:
        raise ChildFailure("absent", "no more processes")

    every = wb.open(deep()).step("Lower").stage.lowered.kernels
    monkeypatch.setattr(Child, "ask", absent)
    helpers.warm(1)
    assert compile_kernels(every) == [compile_kernel(kernel) for kernel in every]


@pytest.mark.parametrize("lacking", ["threads", "interpreter"])
def test_without_threads_or_an_interpreter_it_takes_time_alone(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    expected = [compile_kernel(kernel) for kernel in every]

    def none(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    if lacking == "threads":
        monkeypatch.setattr(threading.Thread, "start", none)
    else:
        monkeypatch.setattr(sys, "executable", None)
    helpers.warm(1)
    assert compile_kernels(every) == expected
    np.testing.assert_allclose(wb.open(deep()).run({"x": X})["output_0"], by_numpy(), rtol=1e-4, atol=1e-5)


def test_an_error_says_where_as_the_steps_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "function_nodes", 30)
    with pytest.raises(WorkbenchError) as by_steps:
        relay.build(deep(), target="llvm", provider=default_provider)
    with pytest.raises(WorkbenchError) as apart:
        wb.open(deep()).build()
    assert apart.value.where == by_steps.value.where != ""


def test_an_interrupt_leaves_no_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    started: list[Child] = []
    taken = threading.Event()
    ask = Child.ask

    def noting(self: Child, do: str, *given: Any, **more: Any) -> Any:
        started.append(self)
        taken.set()
        return ask(self, do, *given, **more)

    def interrupted(kernel: Any) -> Any:
        assert taken.wait(60), "no helper took a kernel"
        raise KeyboardInterrupt

    a_helper()
    monkeypatch.setattr(Child, "ask", noting)
    monkeypatch.setattr(kernels, "compile_kernel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_kernels(every)
    assert started
    for _ in range(500):
        if not any(child.alive for child in started) and helpers.waiting == 0:
            break
        time.sleep(0.01)
    assert not any(child.alive for child in started)
    assert helpers.waiting == 0


def test_helpers_that_are_being_started_count() -> None:
    own = Helpers("workbench.driver.kernels", 30.0)
    own.warm(1)
    own.warm(1)
    assert len(own._starting) == 1
    own.give_back(own.ready())
    assert own.waiting == 1
    own.warm(1)
    assert (own.waiting, own._starting) == (1, [])
    own.close()
    assert own.waiting == 0
