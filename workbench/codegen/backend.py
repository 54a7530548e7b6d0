"""The backends by kind of target, and which target a build is for.

A kind without a backend is refused before anything is compiled, never replaced by another.  Its programs can still be
lowered and printed.

>>> building_for("llvm -mcpu=x86-64").cpu
'x86-64'
"""

from __future__ import annotations

from typing import Any, Final

from ..core.errors import WorkbenchError
from ..target.target import Target, as_target
from .llvm.backend import LlvmBackend
from .llvm.backend import backend as llvm

BACKENDS: Final[dict[str, LlvmBackend]] = {kind: llvm for kind in llvm.capabilities.kinds}
"""By the target's kind."""


def backend_of(target: Target) -> LlvmBackend:
    """The backend that makes code for `target`.  Raises `WorkbenchError` (E-BUILD-TARGET) where there is none."""
    found = BACKENDS.get(str(target.kind))
    if found is None:
        raise WorkbenchError(
            "E-BUILD-TARGET",
            f"no code is generated for targets of kind {target.kind}",
            found=str(target),
            expected=", ".join(BACKENDS),
            fix="wb.lower(...) and print show the program; build it for llvm",
            kept="nothing was compiled",
        )
    return found


def building_for(target: Any = None, host: Any = None) -> Target:
    """The target of a build: the one given, else the one entered with `with`, else this machine.

    `host` is what the code around kernels is made for: nothing but the target itself, as long as all targets are
    processors.  Raises `WorkbenchError` for a kind without a backend and for a host of another machine.
    """
    chosen = as_target(target)
    backend_of(chosen)
    around = Target(host) if host is not None else chosen.host
    if around is not None:
        backend_of(around)
        if (around.architecture, around.triple or chosen.triple) != (chosen.architecture, chosen.triple):
            raise WorkbenchError(
                "E-BUILD-HOST",
                "the host of a processor's code is that processor",
                found=f"target {chosen}, host {around}",
                expected="no host, or one of the same machine",
                fix="name the machine in the target: llvm -mtriple=...",
            )
    return chosen
