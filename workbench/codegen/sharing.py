"""Work that this process and helper processes share: a queue from which each takes what is heaviest.

    shared = Shared([1.0, 5.0, 2.0], here, there, helpers, "code generation")
    shared.run(2)                   # answers in order, by this thread and two helpers

A helper is a child of `core.child`; one that dies costs time, never the result: its work is done here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ..core.child import Child, ChildFailure, Idle
from ..core.time_limit import check_time

R = TypeVar("R")


class Helpers(Idle):
    """The helpers of this process for one service; `warm` starts one before there is work for it."""

    def __init__(self, service: str, seconds: float) -> None:
        super().__init__(service, seconds)
        self._starting: list[threading.Thread] = []

    def warm(self, count: int) -> None:
        """Have `count` helpers started and their service imported, beside whatever comes next."""
        for _ in range(count - len(self)):
            thread = threading.Thread(target=self._warm, daemon=True, name=f"start of {self.service}")
            self._starting.append(thread)
            thread.start()

    def _warm(self) -> None:
        helper = self.take()
        try:
            helper.ask("ready")
        except ChildFailure:
            return
        self.give_back(helper)

    def ready(self) -> Child:
        """A helper, after those that are being started: a second start would take as long."""
        while self._starting and not len(self):
            try:
                self._starting.pop().join()
            except IndexError:  # another thread waits for the last
                break
        return self.take()


class Shared(Generic[R]):
    """See the module's header; used once."""

    def __init__(
        self,
        weights: Sequence[float],
        here: Callable[[int], R],
        there: Callable[[Child, Sequence[int]], Sequence[R]],
        helpers: Helpers,
        where: str,
        portion: float = 0.0,
        done: Callable[[int, R], object] = lambda index, result: None,
    ) -> None:
        """Work is known by its place in `weights`; `here` does one piece, `there` has a helper do several.

        `portion`: which part of what is left a helper takes at once, one piece at least.  `done` is called with each
        result as it comes, by the thread that has it.
        """
        self._weights, self._here, self._there, self._helpers = weights, here, there, helpers
        self._where, self._portion, self._told = where, portion, done
        self._results: dict[int, R] = {}
        self._error: Exception | None = None
        self._stopped = False
        self._order = sorted(range(len(weights)), key=lambda index: weights[index])
        self._lock = threading.Lock()
        self._closed = threading.Condition(self._lock)
        self._open = 0
        """Pieces that were taken and are not done."""
        self._busy: list[Child] = []

    def _take(self, portion: float) -> list[int]:
        """The heaviest pieces that nobody has taken yet: one, or a part of all."""
        check_time(self._where)
        with self._lock:
            if not self._order or self._error is not None:
                return []
            wanted = portion * sum(self._weights[index] for index in self._order)
            taken = [self._order.pop()]
            while self._order and sum(self._weights[index] for index in (*taken, self._order[-1])) <= wanted:
                taken.append(self._order.pop())
            self._open += len(taken)
            return taken

    def _serve(self) -> None:
        helper = self._helpers.ready()
        self._busy.append(helper)
        while not self._stopped and (taken := self._take(self._portion)):
            try:
                self._ask(helper, taken)
            except ChildFailure:
                return
            finally:
                self._close(taken)
        self._busy.remove(helper)
        if self._stopped:
            helper.close()
        else:
            self._helpers.give_back(helper)

    def _ask(self, helper: Child, taken: Sequence[int]) -> None:
        """Have a helper do pieces.  Raises `ChildFailure` when it is gone."""
        try:
            found = self._there(helper, taken)
        except Exception as failure:  # the helper's, or the work's: then it fails here as well
            if not self._stopped:
                self._do(taken)
            if isinstance(failure, ChildFailure):
                raise
        else:
            self._finish(taken, found)

    def _do(self, taken: Sequence[int]) -> None:
        """Do pieces here."""
        try:
            for index in taken:
                self._finish([index], [self._here(index)])
        except Exception as error:  # it is raised in the caller's thread
            self._error = error

    def _finish(self, taken: Sequence[int], found: Sequence[R]) -> None:
        try:
            for index, result in zip(taken, found, strict=True):
                self._told(index, result)
                self._results[index] = result
        except Exception as error:  # the listener's
            self._error = error

    def _close(self, taken: Sequence[int]) -> None:
        """Say that pieces are done, or given up."""
        with self._closed:
            self._open -= len(taken)
            self._closed.notify_all()

    def _stop(self) -> None:
        """Leave the rest undone, and no helper behind."""
        self._stopped = True
        with self._lock:
            self._order.clear()
        for helper in tuple(self._busy):
            helper.kill()
        self._helpers.close()

    def run(self, helpers: int) -> list[R]:
        """All results, by this thread and so many helpers.  Raises what the work raised first."""
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(helpers)]
        for thread in threads:
            thread.start()
        try:
            while taken := self._take(0.0):
                self._do(taken)
                self._close(taken)
            with self._closed:  # who has no helper yet finds that there is nothing left
                while self._open:
                    self._closed.wait()
        except BaseException:  # Ctrl-C: nobody waits for the rest
            self._stop()
            raise
        if self._error is not None:
            raise self._error
        return [self._results[index] for index in range(len(self._weights))]
