"""Ctrl-C held back: what was begun is done whole, and the interrupt is heard once afterwards."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from workbench.core.interrupts import Interruptible, hold_interrupts, interrupts_held


@pytest.fixture(autouse=True)
def _own_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_a_held_interrupt_is_raised_at_the_end() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        press()
        done.append(1)
    assert done == [1]


def test_a_block_is_interrupted_until_it_holds() -> None:
    with pytest.raises(KeyboardInterrupt), Interruptible():
        press()
    with Interruptible() as block:
        hold_interrupts()
        press()
        press()
    assert block.heard


def test_the_innermost_block_holds() -> None:
    with Interruptible() as outer:
        with Interruptible() as inner:
            hold_interrupts()
            press()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert inner.heard and not outer.heard


def test_outside_of_blocks_and_in_other_threads_nothing_is_held() -> None:
    hold_interrupts()
    with pytest.raises(KeyboardInterrupt):
        press()
    seen = []

    def elsewhere() -> None:
        with Interruptible():
            hold_interrupts()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
