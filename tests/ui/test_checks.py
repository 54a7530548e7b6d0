"""The commands of the pane of badges without a page: what they answer, refuse, and from which thread pages are told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.driver.planted_rule import INPUTS, planted_rule
from workbench import WorkbenchError
from workbench.ui.checks import APART_SECONDS, REMEMBERED, ChecksCommands, _Teller
from workbench.ui.given import RunInputs


def ask(commands: ChecksCommands, op: str, **args: Any) -> dict[str, Any]:
    view = commands.table()[op](args).view
    assert view is not None
    return view.to_json()  # type: ignore[union-attr]


def apart(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run it in a thread whose loop is its own: this one may have a loop already."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(work())).result()


def settled(commands: ChecksCommands) -> dict[str, Any]:
    for _ in range(3000):
        view = ask(commands, "checks.state")
        if view["state"] != "running" and not view["narrowing"]:
            return view
        time.sleep(0.01)
    pytest.fail("the check does not end")


def test_a_check_is_started_narrowed_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with planted_rule() as session:
        commands = ChecksCommands(lambda: session, lambda: RunInputs(INPUTS, "ones"), lambda: None)
        assert ask(commands, "checks.state")["state"] == "none"
        ask(commands, "checks.start")
        assert settled(commands)["first_wrong"] == "Planted"
        ask(commands, "checks.narrow", step="Planted")
        assert [found["rule"] for found in settled(commands)["narrowed"]] == ["drop-one"]
        ask(commands, "checks.save_test", step="Planted")
        for _ in range(1000):
            if ask(commands, "checks.state")["saved"]:
                break
            time.sleep(0.01)
        assert Path(ask(commands, "checks.state")["saved"]) == tmp_path / "test_planted.py"


def test_a_saved_test_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a file of that name, nor the arrays of one; the view says which file it became."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_planted.py").write_text("a person's own")
    (tmp_path / "test_planted_2.npz").write_bytes(b"arrays")
    with planted_rule() as session:
        commands = ChecksCommands(lambda: session, lambda: RunInputs(INPUTS, "ones"), lambda: None)
        ask(commands, "checks.start")
        settled(commands)
        ask(commands, "checks.save_test", step="Planted")
        for _ in range(1000):
            if ask(commands, "checks.state")["saved"]:
                break
            time.sleep(0.01)
        assert Path(ask(commands, "checks.state")["saved"]) == tmp_path / "test_planted_3.py"
    assert (tmp_path / "test_planted.py").read_text() == "a person's own"
    assert (tmp_path / "test_planted_2.npz").read_bytes() == b"arrays"
    assert {path.name for path in tmp_path.glob("test_planted_3.*")} == {"test_planted_3.py", "test_planted_3.npz"}


def test_what_goes_wrong_in_a_thread_is_shown() -> None:
    with planted_rule() as session:
        commands = ChecksCommands(lambda: session, lambda: RunInputs(INPUTS, "ones"), lambda: None)
        ask(commands, "checks.start")
        settled(commands)
        ask(commands, "checks.narrow", step="FuseOps")
        assert settled(commands)["error"]["code"] == "E-CHECK-RIGHT"


@pytest.mark.parametrize("op", ["checks.cancel", "checks.narrow", "checks.save_test"])
def test_without_a_check_there_is_nothing_to_stop_or_narrow(op: str) -> None:
    with planted_rule() as session:
        commands = ChecksCommands(lambda: session, lambda: RunInputs(INPUTS, "ones"), lambda: None)
        with pytest.raises(WorkbenchError) as caught:
            commands.table()[op]({"step": "FuseOps"})
        assert caught.value.code == "E-CHECK-NONE"


def test_while_a_step_is_looked_into_nothing_else_is_begun() -> None:
    with planted_rule() as session:
        commands = ChecksCommands(lambda: session, lambda: RunInputs(INPUTS, "ones"), lambda: None)
        ask(commands, "checks.start")
        settled(commands)
        checked = commands._shown()
        assert checked is not None
        checked.narrowing = "Planted"
        with pytest.raises(WorkbenchError, match="Planted is being looked into") as caught:
            commands.table()["checks.save_test"]({"step": "Planted"})
        assert caught.value.code == "E-CHECK-BUSY"


def test_badges_belong_to_the_program_that_was_checked() -> None:
    with planted_rule() as session:
        shown = [session]
        commands = ChecksCommands(lambda: shown[-1], lambda: RunInputs(INPUTS, "ones"), lambda: None)
        ask(commands, "checks.start")
        assert settled(commands)["first_wrong"] == "Planted"
        shown.append(session.without("Planted"))
        assert ask(commands, "checks.state")["state"] == "none"
        ask(commands, "checks.start")
        assert settled(commands)["first_wrong"] == ""
        shown.pop()
        assert ask(commands, "checks.state")["first_wrong"] == "Planted"
        for step in ("FuseOps", "FoldConstant", "InferType"):  # no more than some are kept
            shown.append(session.without(step))
            ask(commands, "checks.start")
            settled(commands)
        shown.append(session.without("Planted"))
        assert ask(commands, "checks.state")["first_wrong"] == ""
        assert len(commands._checked) == REMEMBERED


def test_pages_are_told_from_the_loops_thread() -> None:
    told: list[int] = []
    here: list[int] = []

    async def kernel() -> None:
        with planted_rule() as session:
            commands = ChecksCommands(
                lambda: session, lambda: RunInputs(INPUTS, "ones"), lambda: told.append(threading.get_ident())
            )
            here.append(threading.get_ident())
            ask(commands, "checks.start")
            check = commands.check
            assert check is not None
            while check.state == "running" or not told:
                await asyncio.sleep(0.02)

    apart(kernel)
    assert set(told) == set(here)


def test_many_changes_at_once_are_one_announcement() -> None:
    told: list[int] = []

    async def kernel() -> None:
        teller = _Teller(lambda: told.append(1))
        teller.here()
        for _ in range(3):
            threads = [threading.Thread(target=teller.tell) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        while not told:
            await asyncio.sleep(0.01)
        await asyncio.sleep(2 * APART_SECONDS)

    apart(kernel)
    assert told == [1]
