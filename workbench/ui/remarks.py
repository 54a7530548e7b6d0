"""The command that asks LLVM why it did not vectorise the loops of a kernel, and says which the schedule has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.driver.lanes import vector_lines
from workbench.driver.llvm_passes import llvm_remarks
from workbench.ui.protocol import Answer, argument
from workbench.views.layers import LayersModel


def remark_commands(shown: Callable[[], LayersModel]) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """The command by name, on the session that is shown."""

    def run(args: dict[str, Any]) -> Answer:
        kernel = argument(args, "kernel", str)
        session = shown().session
        found, lanes = llvm_remarks(session, kernel), vector_lines(session.provenance, kernel)
        told = [[one.line, one.message, one.line in lanes] for one in found]
        return Answer("", {"kernel": kernel, "remarks": told})

    return {"remarks": run}
