"""Kernels compiled by several processes at once: the same code as step by step, whatever becomes of the helpers."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.driver.test_kept_models import X, by_numpy, deep
from workbench import relay
from workbench.core import reliance
from workbench.core.child import Child, ChildFailure
from workbench.core.errors import WorkbenchError
from workbench.core.limits import limits
from workbench.core.transform import PassContext
from workbench.driver import built, kept_models, kernels
from workbench.driver.kernels import compile_kernel, compile_kernels, helpers


@pytest.fixture(autouse=True)
def one_helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of its own, one helper on whatever machine, and none left from before."""
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(reliance, "_users", [0])
    monkeypatch.setattr(kept_models, "is_patched", lambda: False)  # by this test alone
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


def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What helpers are asked from now on."""
    seen: list[str] = []
    ask = Child.ask

    def noting(self: Child, do: str, *given: Any, **more: Any) -> Any:
        seen.append(do)
        return ask(self, do, *given, **more)

    monkeypatch.setattr(Child, "ask", noting)
    return seen


@pytest.mark.parametrize("model", [deep, wide])
def test_the_same_code_as_step_by_step(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    helpers.warm(1)
    helpers.give_back(helpers.ready())
    seen = asked(monkeypatch)
    session = wb.open(model())
    apart = session.build()
    assert model is deep or "compile" in seen, "a helper did its part"
    assert "Codegen" not in [step.label for step in session.history.computed(session.actions)]
    by_steps = session.step("Codegen").stage.compiled
    assert apart is not by_steps
    assert apart.module.code == by_steps.module.code
    assert apart.describe() == by_steps.describe()
    for form in ("tir", "ll", "asm"):
        assert apart.get_source(form) == by_steps.get_source(form)
    assert relay.build(model(), target="llvm").module.code == by_steps.module.code


def test_what_runs_is_right() -> None:
    np.testing.assert_allclose(wb.open(deep()).run({"x": X})["output_0"], by_numpy(), rtol=1e-4, atol=1e-5)


def test_settings_and_limits_reach_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = wb.open(wide()).step("Lower").stage.lowered
    every = lowered.kernels
    with PassContext(config={"tir.disable_vectorize": True}):
        plain = compile_kernels(every)
        assert plain == [compile_kernel(kernel) for kernel in every]
    assert plain != compile_kernels(every)
    monkeypatch.setattr(limits, "function_nodes", 30)
    with pytest.raises(WorkbenchError, match="the function's loops, unrolled"):
        compile_kernels(every)


def test_a_helper_that_dies_costs_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    expected = [compile_kernel(kernel) for kernel in every]
    ask = Child.ask

    def killed(self: Child, do: str, *given: Any, **more: Any) -> Any:
        if do == "compile":
            os.kill(self.pid or 0, signal.SIGKILL)
        return ask(self, do, *given, **more)

    helpers.warm(1)
    helpers.give_back(helpers.ready())
    monkeypatch.setattr(Child, "ask", killed)
    assert compile_kernels(every) == expected


def test_a_helper_that_cannot_start_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: Child, *given: Any, **more: Any) -> Any:
        raise ChildFailure("absent", "no more processes")

    every = wb.open(deep()).step("Lower").stage.lowered.kernels
    monkeypatch.setattr(Child, "ask", absent)
    helpers.warm(1)
    assert compile_kernels(every) == [compile_kernel(kernel) for kernel in every]


def test_an_interrupt_leaves_no_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    every = wb.open(wide()).step("Lower").stage.lowered.kernels
    started: list[Child] = []
    ask = Child.ask

    def noting(self: Child, do: str, *given: Any, **more: Any) -> Any:
        started.append(self)
        return ask(self, do, *given, **more)

    def interrupted(kernel: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Child, "ask", noting)
    helpers.warm(1)
    helpers.give_back(helpers.ready())
    monkeypatch.setattr(kernels, "compile_kernel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_kernels(every)
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(5)
    assert started
    assert not any(child.alive for child in started)
    assert len(helpers) == 0
