"""What children do for the llvm backend: compile text, record LLVM's passes, try a processor.

Nothing is imported but llvmlite and what it takes to call it, so that a child starts in no time.  LLVM may end the
process at any of these; `core.child` tells the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ...core.serving import Action
from .jit import link
from .machine import Job, compile_job

NAME: Final = "workbench.codegen.llvm.service"
_KERNEL: Final = """
declare float @llvm.exp.f32(float)
define i32 @trial(ptr noalias %x, ptr noalias %y, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr <{lanes} x float>, ptr %x, i64 %i
  %to = getelementptr <{lanes} x float>, ptr %y, i64 %i
  %a = load <{lanes} x float>, ptr %from, align 4
  %b = load <{lanes} x float>, ptr %to, align 4
  %product = fmul contract <{lanes} x float> %a, %b
  %sum = fadd contract <{lanes} x float> %product, %b
  store <{lanes} x float> %sum, ptr %to, align 4
  %first = extractelement <{lanes} x float> %sum, i32 0
  %raised = call float @llvm.exp.f32(float %first)
  %wide = fpext float %raised to double
  %whole = fptosi double %wide to i64
  %rest = sdiv i64 %whole, 3
  store i64 %rest, ptr %x, align 8
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}
"""
"""Vectors of numbers in a loop, a function of mathematics, conversions, a division."""
_WHOLE: Final = ("-print-changed", "-print-module-scope")
_PARTS: Final = ("-print-changed", "-print-before-changed")
"""Whether a pass on a function or a loop prints the module around it each time, or what it ran on alone."""


def actions() -> Mapping[str, Action]:
    return {"compile": _compile, "passes": _passes, "remarks": _remarks, "trial": _trial}


def _compile(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """The object code (or text) of a job."""
    return {}, [compile_job(Job(**request["job"]))]


def _passes(request: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """Compile a job; what LLVM says of its passes is printed."""
    options = _WHOLE if request["whole"] else _PARTS
    return _talking(request, (*options, f"-filter-print-funcs={','.join(request['functions'])}"))


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
    """Compile what kernels are made of for a target: LLVM prints, or ends the process, when it cannot."""
    text = _KERNEL.format(lanes=request["lanes"])
    job = Job(text, request["triple"], request["cpu"], request["features"], request["abi"], optimise=request["level"])
    compile_job(replace(job, form="asm"))
    code = compile_job(job)
    if not job.triple:  # this machine's: what the code calls must be here
        link([code], ["trial"], {})
    return {}, []
