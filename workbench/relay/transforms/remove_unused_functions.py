"""RemoveUnusedFunctions: functions that no entry function reaches leave the module."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...core import rewrite
from ...core.errors import WorkbenchError, nearest
from ...core.module import IRModule
from ...core.node import Node, post_order
from ...core.transform import PassContext, module_pass
from ...core.walks import parts_first
from ..ir import expr as e

REMOVE = rewrite.step("remove-function", "A function that nothing reaches from an entry is dropped.")


@module_pass(opt_level=1, name="RemoveUnusedFunctions")
def RemoveUnusedFunctions(mod: IRModule, ctx: PassContext, *, entry_functions: Sequence[str] | None = None) -> IRModule:
    """Keep what is reachable from `entry_functions` (by default "main"), by calls or by name.

    Raises `WorkbenchError` E-PASS-ENTRY for an entry that the module does not have.
    """
    started = time.perf_counter_ns()
    given = ("main",) if entry_functions is None else entry_functions
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in mod:
            raise WorkbenchError(
                "E-PASS-ENTRY",
                f"the module has no function {name!r} to start from",
                found=f"functions: {', '.join(mod.names()) or 'none'}",
                fix=nearest(name, mod.names()) or "RemoveUnusedFunctions(entry_functions=[...])",
            )
    reached = reachable(mod, names)
    if len(reached) == len(mod):
        return mod
    for name, func in mod.items():
        if name not in reached:
            rewrite.fired(REMOVE, func, func, started)
    return mod.with_only({name: func for name, func in mod.items() if name in reached})


def reachable(mod: IRModule, names: Sequence[str]) -> set[str]:
    """The functions that the named ones reach, themselves included."""
    there = (name for name in names if name in mod)
    return set(parts_first(there, lambda name: [other for other in referenced(mod[name]) if other in mod], str))


def referenced(func: Node) -> list[str]:
    """The names of functions that a program refers to."""
    return [node.name_hint for node in post_order(func) if isinstance(node, e.GlobalVar)]
