"""Work that this process and helper processes share: a queue from which each takes what is heaviest.

    shared = Shared(here, there, helpers, "code generation")
    shared.start(2)                 # two helpers, which wait for work
    for weight in (1.0, 5.0, 2.0):
        shared.add(weight)          # they begin with it
    shared.run()                    # the answers in order, by this thread as well

A helper is a child of `core.child`; one that dies costs time, never the result: its work is done by the thread that
wants the results, under the settings and the time limit that hold there.
"""

from __future__ import annotations

import os
import threading
from bisect import insort
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from ..core.child import Child, ChildFailure, Idle
from ..core.time_limit import check_time

R = TypeVar("R")
_LOOK_SECONDS: Final = 0.1
"""How often who waits for helpers asks whether its time is over."""


class Helpers(Idle):
    """The helpers of this process for one service; `warm` starts some before there is work for them."""

    def __init__(self, service: str, seconds: float) -> None:
        super().__init__(service, seconds)
        self._starting: list[threading.Thread] = []
        self._starter = os.getpid()

    def warm(self, count: int) -> None:
        """Have so many helpers wait, or being started with their service imported, beside whatever comes next."""
        if self._starter != os.getpid():  # after a fork: nothing is being started here
            self._starting, self._starter = [], os.getpid()
        self._starting = [thread for thread in self._starting if thread.is_alive()]
        for _ in range(count - self.waiting - len(self._starting)):
            thread = threading.Thread(target=self._warm, daemon=True, name=f"start of {self.service}")
            if not _started(thread):
                return
            self._starting.append(thread)

    def _warm(self) -> None:
        helper = self.take()
        try:
            helper.ask("ready")
        except Exception:  # who needs it starts one again, and is told
            helper.close()
            return
        self.give_back(helper)

    def ready(self) -> Child:
        """A helper, after those that are being started: a second start would take as long."""
        for thread in tuple(self._starting):
            if self.waiting:
                break
            thread.join()
        return self.take()


def _started(thread: threading.Thread) -> bool:
    """Whether a thread could be started; there may be too many, or Python may be at its end."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class Shared(Generic[R]):
    """See the module's header; used once."""

    def __init__(
        self,
        here: Callable[[int], R],
        there: Callable[[Child, Sequence[int]], Sequence[R]],
        helpers: Helpers,
        where: str,
        portion: float = 0.0,
        done: Callable[[int, R], object] = lambda index, result: None,
    ) -> None:
        """Pieces are known by their number; `here` does one, `there` has a helper do several.

        `portion`: which part of what is left a helper takes at once, one piece at least.  `done` is called with each
        result as it comes, by the thread that has it.
        """
        self._here, self._there, self._helpers = here, there, helpers
        self._where, self._portion, self._told = where, portion, done
        self._weights: list[float] = []
        self._results: dict[int, R] = {}
        self._error: Exception | None = None
        self._accepting = True
        """Whether pieces may still come."""
        self._finished = self._stopped = False
        self._order: list[int] = []
        """What nobody has taken yet, the heaviest last."""
        self._for_caller: list[int] = []
        """What is for the caller's thread: also what helpers did not do, since it needs that thread's context."""
        self._open = 0
        """Pieces that helpers have taken and not done."""
        self._changed = threading.Condition()
        self._threads = 0
        self._busy: list[Child] = []

    def add(self, weight: float, own: bool = False) -> None:
        """One more piece, before `run`; if it is the caller's `own`, no helper does it."""
        with self._changed:
            assert self._accepting, "pieces come before run"
            number = len(self._weights)
            self._weights.append(weight)
            if own:
                self._for_caller.append(number)
            else:
                insort(self._order, number, key=self._weights.__getitem__)
            self._changed.notify_all()

    def start(self, count: int) -> None:
        """Have at least so many helpers in all do what there is and what comes, until `run` or `stop`."""
        while self._threads < count:
            self._threads += 1
            _started(threading.Thread(target=self._serve, daemon=True, name=self._where))

    def _take(self, portion: float) -> list[int]:
        """The heaviest pieces that nobody has taken yet: one, or a part of all."""
        if not self._order or self._error is not None:
            return []
        wanted = portion * sum(self._weights[index] for index in self._order)
        taken = [self._order.pop()]
        while self._order and sum(self._weights[index] for index in (*taken, self._order[-1])) <= wanted:
            taken.append(self._order.pop())
        return taken

    # --- a helper's thread ---

    def _serve(self) -> None:
        helper = self._helpers.ready()
        self._busy.append(helper)
        while taken := self._taken_by_helper():
            try:
                found = self._there(helper, taken)
            except Exception as failure:  # the helper's, or the work's: then it fails in the caller's thread as well
                self._given_up(taken)
                if isinstance(failure, ChildFailure):
                    return
            else:
                self._finish(taken, found)
                self._given_up([], len(taken))
        self._busy.remove(helper)
        if self._stopped:
            helper.close()
        else:
            self._helpers.give_back(helper)

    def _taken_by_helper(self) -> list[int]:
        with self._changed:
            while self._accepting and not self._order and not self._stopped:
                self._changed.wait()
            taken = [] if self._stopped else self._take(self._portion)
            self._open += len(taken)
            return taken

    def _given_up(self, failed: list[int], done: int = 0) -> None:
        with self._changed:
            self._for_caller += failed
            self._open -= len(failed) + done
            self._changed.notify_all()

    # --- the caller's thread ---

    def run(self) -> list[R]:
        """All results, by this thread and the helpers; nothing is added any more.  Raises what a piece raised."""
        try:
            with self._changed:
                self._accepting = False
                self._changed.notify_all()
            while (index := self._next()) is not None:
                try:
                    self._finish([index], [self._here(index)])
                except Exception as error:
                    self._error = self._error or error
        except BaseException:  # Ctrl-C, or the time is over: nobody waits for the rest
            self.stop()
            raise
        self._finished = True
        if self._error is not None:
            raise self._error
        return [self._results[index] for index in range(len(self._weights))]

    def _next(self) -> int | None:
        """What this thread does next; None when all is done, or something failed."""
        with self._changed:
            while True:
                check_time(self._where)
                if self._error is None and self._for_caller:
                    return self._for_caller.pop()
                if taken := self._take(0.0):
                    return taken[0]
                if not self._open:
                    return None
                self._changed.wait(_LOOK_SECONDS)

    def _finish(self, taken: Sequence[int], found: Sequence[R]) -> None:
        try:
            for index, result in zip(taken, found, strict=True):
                self._told(index, result)
                self._results[index] = result
        except Exception as error:  # the listener's
            self._error = self._error or error

    def stop(self) -> None:
        """Leave the rest undone, and no helper behind; nothing where all is done."""
        if self._finished:
            return
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for helper in tuple(self._busy):
            helper.kill()
        self._helpers.close()
