"""Telling how far long work is, to whoever listens.  Who works knows nothing of bars, notebooks or terminals.

    for kernel in progress.track(kernels, "schedule"):
        ...
    with progress.task("compile", total=len(jobs)) as task:
        task.advance()

Only the outermost work with more than one part is counted; what goes on inside is noted beside it ("lower 12/34").
With nobody listening nothing is done.  A task is closed however its block ends, so Ctrl-C leaves nothing behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Bar(Protocol):
    """What a listener shows of one task."""

    def advance(self, count: int) -> None: ...

    def note(self, text: str) -> None: ...

    def close(self) -> None: ...


Listener = Callable[[str, int], Bar]
"""Makes a bar of a title and a number of parts."""

_listener: ContextVar[Listener | None] = ContextVar("workbench_progress", default=None)
_outer: ContextVar[Task | None] = ContextVar("workbench_progress_task", default=None)


class Task:
    """Work of `total` parts; may be told of from several threads."""

    def __init__(self, title: str, total: int, bar: Bar | None, outer: Task | None) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self._bar = bar
        self._outer = outer
        self._lock = threading.Lock()

    @property
    def shows(self) -> bool:
        """Whether this task or one around it has a bar."""
        return self._bar is not None or (self._outer is not None and self._outer.shows)

    def advance(self, count: int = 1, note: str = "") -> None:
        """`count` more parts are done."""
        with self._lock:
            self.done += count
            if self._bar is not None:
                self._bar.note(note)
                self._bar.advance(count)
            elif self._outer is not None:
                self._outer.say(f"{self.title} {self.done}/{self.total} {note}".rstrip())

    def say(self, note: str) -> None:
        """What is being done just now."""
        if self._bar is not None:
            with self._lock:
                self._bar.note(note)
        elif self._outer is not None:
            self._outer.say(note)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


_SILENT = Task("", 0, None, None)


@contextmanager
def task(title: str, total: int) -> Generator[Task]:
    """Work of `total` parts, begun now and over when the block ends."""
    listener = _listener.get()
    if listener is None:
        yield _SILENT
        return
    outer = _outer.get()
    own = total > 1 and (outer is None or not outer.shows)
    made = Task(title, total, listener(title, total) if own else None, outer)
    _outer.set(made)
    try:
        yield made
    finally:
        if _outer.get() is made:  # an abandoned `track` may end later, among other work
            _outer.set(outer)
        made.close()


def track(items: Sequence[T] | Iterable[T], title: str, name: Callable[[T], str] = lambda item: "") -> Iterator[T]:
    """`items`, one by one, told of; `name` says what an item is called."""
    if _listener.get() is None:
        yield from items
        return
    listed = list(items)
    with task(title, len(listed)) as current:
        for item in listed:
            current.say(name(item))
            yield item
            current.advance()


@contextmanager
def listening(listener: Listener | None) -> Generator[None]:
    """Tell `listener` (None: nobody) of all work inside the block; a listener that is there already stays."""
    if _listener.get() is not None and listener is not None:
        yield
        return
    opened: list[Bar] = []

    def opening(title: str, total: int) -> Bar:
        assert listener is not None
        opened.append(listener(title, total))
        return opened[-1]

    token, outer = _listener.set(opening if listener is not None else None), _outer.set(None)
    try:
        yield
    finally:
        _listener.reset(token)
        _outer.reset(outer)
        for bar in opened:  # those of loops that an error left; closing twice does no harm
            bar.close()
