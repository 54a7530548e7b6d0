"""Commands on the branches of a session: which there are, going to one, a layer of one beside the same of another.

Cells make branches too: pages are told once, and ask when the cell has ended, however many it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from workbench.core.errors import WorkbenchError
from workbench.ui.protocol import Answer, argument
from workbench.views.compared import compared, counterpart
from workbench.views.layers import LayersModel

if TYPE_CHECKING:
    from workbench.driver.history import History
    from workbench.driver.session import Session

_MOST: Final = 100
"""Branches that are listed: the latest."""


class BranchCommands:
    """The commands; `go(session, call)` shows another session, `announce()` tells pages that there are further ones."""

    def __init__(
        self,
        shown: Callable[[], LayersModel],
        go: Callable[[Session, str], object],
        announce: Callable[[], None] = lambda: None,
    ) -> None:
        self._shown, self._go, self._announce = shown, go, announce
        self._other: LayersModel | None = None
        """The branch that was compared with last."""
        self._told = False
        """Whether pages know that there are further ones, and have not asked since."""
        self._answering: int | None = None
        """The thread in which the screen itself is at work: what that makes is told with what it has done."""

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {
            "branch": self._branch, "branches.list": self._list, "compare": self._compare, "beside": self._beside,
            "counterpart": self._counterpart,
        }  # fmt: skip

    def follow(self) -> None:
        """Tell pages of branches that are made of the session shown, which may be another one now."""
        self._shown().session.history.watch(self)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While the screen itself is at work."""
        before, self._answering = self._answering, get_ident()
        try:
            yield
        finally:
            self._answering = before

    def branch_made(self, history: History) -> None:
        """See `driver.history.Watcher`."""
        another = history is not self._shown().session.history
        if not (another or self._told or self._answering == get_ident()):
            self._told = True
            self._announce()

    def _list(self, args: dict[str, Any]) -> Answer:
        return Answer("", self.facts())

    def facts(self) -> dict[str, Any]:
        """The branches by number, each in a line, and the one that is shown."""
        self._told = False
        branches = self._shown().session.branches
        lines = str(branches).split("\n")
        here = next((number for number, line in enumerate(lines) if line.startswith("*")), len(lines) - 1)
        first = max(0, len(lines) - _MOST)
        told = [[number, lines[number][2:].split("  ", 1)[-1]] for number in range(first, len(lines))]
        return {"branches": told, "branch": here}

    def _branch(self, args: dict[str, Any]) -> Answer:
        number = argument(args, "number", int)
        session = self.numbered(number).session
        if session.plan != self._shown().session.plan:  # going to where one is, is no change
            self._go(session, f"s = s.branches[{number}]")
        return Answer("")

    def _compare(self, args: dict[str, Any]) -> Answer:
        """A layer of the branch `number` beside that of the session shown."""
        other = self.numbered(argument(args, "number", int))
        layer, kernel = argument(args, "layer", str), argument(args, "kernel", str, "")
        return Answer("", compared(other, self._shown(), layer, kernel))

    def _beside(self, args: dict[str, Any]) -> Answer:
        """Further lines of a layer of the branch `number`."""
        other = self.numbered(argument(args, "number", int))
        start, count = argument(args, "start", int), argument(args, "count", int)
        if start < 0 or not 0 < count <= 2_000:
            raise WorkbenchError("E-UI-ARGUMENT", "lines out of reach", found=f"start={start}, count={count}")
        return Answer("", other.lines(argument(args, "layer", str), argument(args, "kernel", str, ""), start, count))

    def _counterpart(self, args: dict[str, Any]) -> Answer:
        """The kernel of the branch `number` that does what one of the session shown does; empty if none does, and where
        the branch stops before it has kernels."""
        other, kernel = self.numbered(argument(args, "number", int)), argument(args, "kernel", str)
        try:
            return Answer("", {"beside": counterpart(other, self._shown(), kernel)})
        except WorkbenchError:
            return Answer("", {"beside": ""})

    def numbered(self, number: int) -> LayersModel:
        """The branch of that number.  Raises `WorkbenchError` if there is none."""
        if number < 0:
            raise WorkbenchError("E-UI-ARGUMENT", "there is no such branch", found=str(number), expected="0 or more")
        session = self._shown().session.branches[number]
        if self._other is None or self._other.session.plan != session.plan:
            self._other = LayersModel(session)
        return self._other
