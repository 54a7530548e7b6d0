"""What children do for the llvm backend: compile text, record LLVM's passes, try a processor.

Nothing is imported but llvmlite and what it takes to call it, so that a child starts in no time.  LLVM may end the
process at any of these; `core.child` tells the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...core.serving import Action
from .machine import Job, compile_job

NAME: Final = "workbench.codegen.llvm.service"
_PASS_OPTIONS: Final = ("-print-changed", "-print-module-scope")


def actions() -> Mapping[str, Action]:
    return {"compile": _compile, "passes": _passes, "remarks": _remarks, "trial": _trial}


def _compile(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """The object code (or text) of a job."""
    return {}, [compile_job(Job(**request["job"]))]


def _passes(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """Compile a job; what LLVM says of its passes is printed."""
    return _talking(request, (*_PASS_OPTIONS, f"-filter-print-funcs={','.join(request['functions'])}"))


def _remarks(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """Compile a job; the remarks of the loop vectoriser are printed."""
    return _talking(request, [f"-pass-remarks{kind}=loop-vectorize" for kind in ("", "-missed", "-analysis")])


def _talking(request: Mapping[str, Any], options: Sequence[str]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """Compile a job with switches of LLVM on, for good."""
    import llvmlite.binding as llvm

    for option in options:
        llvm.set_option("", option)
    compile_job(Job(**request["job"]))
    return {}, []


def _trial(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """Compile nothing for a processor: LLVM prints, or ends the process, when it does not know it."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found = llvm.Target.from_triple(request["triple"] or llvm.get_process_triple())
    machine = found.create_target_machine(cpu=request["cpu"], features=request["features"], abiname=request["abi"])
    machine.emit_object(llvm.parse_assembly("define void @f() { ret void }"))
    return {}, []
