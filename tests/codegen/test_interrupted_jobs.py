"""Ctrl-C while LLVM compiles is heard when what LLVM holds has been freed, a module before its context."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from workbench.codegen.llvm import machine
from workbench.core.errors import WorkbenchError

TEXT = "define i32 @f() {\n  ret i32 1\n}\n"


def held(error: BaseException) -> dict[str, Any]:
    """The variables of `compile_job`, which the traceback keeps."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code is not machine.compile_job.__code__:
        frame = frame.tb_next
    assert frame is not None
    return frame.tb_frame.f_locals


def test_an_interrupt_waits_for_the_end_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept by a traceback, modules were freed after their context: the process died at some later collection."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    real, closed = machine._optimised, list[bool]()

    def pressed(*args: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        made = real(*args)
        context, close = args[2], type(made).close

        def closing() -> None:
            closed.append(context._closed)
            close(made)

        made.close = closing
        return made

    monkeypatch.setattr(machine, "_optimised", pressed)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            machine.compile_job(machine.Job(TEXT))
    finally:
        signal.signal(signal.SIGINT, before)
    kept = held(caught.value)
    assert kept["module"]._closed and kept["context"]._closed and closed == [False], "the module first"


def test_a_text_that_llvm_refuses_leaves_nothing_open() -> None:
    with pytest.raises(WorkbenchError) as caught:
        machine.compile_job(machine.Job("define i32 @f() {\n  ret i64 %x\n}\n"))
    assert caught.value.code == "E-CODEGEN-IR" and held(caught.value)["context"]._closed
