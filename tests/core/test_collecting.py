"""The cycle collector's setting while the compiler works, and afterwards."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

import workbench as wb
from workbench import relay
from workbench.core import collecting


@pytest.fixture(autouse=True)
def setting() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_a_build_collects_rarely_and_leaves_the_setting_as_it_was() -> None:
    seen: list[int] = []

    @wb.transform.module_pass(opt_level=0, name="Look")
    def look(mod: wb.IRModule, ctx: object) -> wb.IRModule:
        seen.append(gc.get_threshold()[0])
        return mod

    x = relay.var("x", shape=(4,))
    session = wb.open(wb.IRModule.from_expr(relay.Function([x], relay.tanh(x))), passes=[look])
    session.build()
    assert seen == [collecting.ALLOCATIONS]
    assert gc.get_threshold() == (700, 10, 10)


def test_the_last_of_several_threads_restores_the_setting() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with collecting.rarely():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with collecting.rarely():
        thread.start()
        inside.wait()
    assert gc.get_threshold()[0] == collecting.ALLOCATIONS
    leave.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", ((0, 10, 10), (90_000, 5, 5)))
def test_a_setting_of_the_users_own_stays(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with collecting.rarely():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_is_set_inside_stays() -> None:
    with collecting.rarely():
        gc.set_threshold(0)
    assert gc.get_threshold()[0] == 0
