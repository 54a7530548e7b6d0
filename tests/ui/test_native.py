"""LLVM's passes as commands: of the kernel asked about, recorded once for each program."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver.programs import small_session
from workbench import WorkbenchError
from workbench.ui.native import NativeCommands


def ask(commands: NativeCommands, op: str, **args: Any) -> Any:
    view: Any = commands.table()[op](args).view
    return view if isinstance(view, dict) else view.to_json()


def test_a_record_is_kept_until_another_kernel_or_program_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    session = small_session()
    shown = [session]
    recorded: list[str] = []
    kind = type(session)
    real = kind.llvm_passes

    def counted(self: Any, kernel: str) -> Any:
        recorded.append(kernel)
        return real(self, kernel)

    monkeypatch.setattr(kind, "llvm_passes", counted)
    commands = NativeCommands(lambda: shown[-1])
    first, second = list(session.kernels)[:2]
    steps = ask(commands, "llvm.open", kernel=first)["steps"]
    assert [step["name"] for step in steps] == [one.name for one in real(session, first).changed]
    step = ask(commands, "llvm.step", kernel=first, step=steps[0]["id"])
    assert step["before"]["total"] > 0
    assert recorded == [first]
    ask(commands, "llvm.open", kernel=second)
    assert recorded == [first, second]
    shown.append(session.without("FoldConstant"))
    ask(commands, "llvm.open", kernel=second)
    assert recorded == [first, second, second]


def test_passes_of_llvm_are_not_changed_and_unknown_kernels_are_refused() -> None:
    commands = NativeCommands(small_session)
    assert not {"llvm.edit", "llvm.without", "llvm.insert"} & set(commands.table())
    with pytest.raises(WorkbenchError):
        ask(commands, "llvm.open", kernel="<b>nothing</b>")
