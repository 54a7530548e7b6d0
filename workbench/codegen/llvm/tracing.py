"""The native forms of one compiled function, each instruction with its place in the printed loop program.

traced = trace(artefact.texts["matmul"], Target("llvm"))
traced["asm"].text, traced["asm"].spots
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...target.target import Target
from . import machine
from .assembly_lines import loops_by_line, read_assembly
from .lines import Spot, completed, read_llvm

FORMS = ("ll", "ll-opt", "asm")
"""LLVM IR as emitted, optimised, and assembly."""


@dataclass(frozen=True)
class NativeForm:
    """A native text and where each of its instructions comes from."""

    text: str
    spots: tuple[Spot, ...]


def trace(text: str, target: Target) -> dict[str, NativeForm]:
    """The forms of a module's text, by name as in `FORMS`.  Compiles it, which takes as long as building it."""
    optimised = machine.compile_job(machine.job_of(text, target, "ll")).decode()
    assembly = machine.compile_job(machine.job_of(text, target, "asm")).decode()
    again = machine.compile_job(replace(machine.job_of(completed(optimised), target, "asm"), optimised=True)).decode()
    spots = read_llvm(optimised)
    return {
        "ll": NativeForm(text, tuple(read_llvm(text))),
        "ll-opt": NativeForm(optimised, tuple(spots)),
        "asm": NativeForm(assembly, tuple(read_assembly(assembly, again, loops_by_line(spots)))),
    }


__all__ = ["FORMS", "NativeForm", "trace"]
