"""LLVM's own passes on the kernel that a screen shows, as steps: what each changed, with its difference.

    native = NativeCommands(lambda: session); native.table()["llvm.open"]({"kernel": "fused_nn_dense"})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from workbench.driver.history import identities
from workbench.ui.pipeline import PipelineCommands
from workbench.ui.protocol import Answer, argument
from workbench.ui.worked_out import Steady, worked_out
from workbench.views.llvm_passes import LlvmPassesModel

if TYPE_CHECKING:
    from workbench.driver.session import Session

_LOOKING: Final = ("open", "step", "steps", "kinds", "text", "select")
"""Commands of the stepper that change nothing: LLVM's passes can be looked at, not rearranged."""


class NativeCommands:
    """The commands of a stepper for each kernel; the record of the kernel that was asked about last is kept."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session
        self._kept: tuple[tuple[str, str], PipelineCommands, Steady] | None = None

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {f"llvm.{name}": self._command(name) for name in _LOOKING}

    def _command(self, name: str) -> Callable[[dict[str, Any]], Answer]:
        def run(args: dict[str, Any]) -> Answer:
            return self._of(argument(args, "kernel", str)).table()[name](args)

        return run

    def _of(self, kernel: str) -> PipelineCommands:
        session = self._session()
        key = (identities(session.actions)[-1], kernel)
        if self._kept is None or self._kept[0] != key or not self._kept[2].holds():
            passes, steady = worked_out(session, lambda: session.llvm_passes(kernel))
            self._kept = key, PipelineCommands(LlvmPassesModel(passes), lambda name, **args: None), steady
        return self._kept[1]
