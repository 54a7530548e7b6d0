"""Compile a loop program from its text and call it."""

from __future__ import annotations

from typing import Any

from workbench.codegen.llvm.backend import Artefact, backend
from workbench.core.module import IRModule
from workbench.core.transform import PassContext
from workbench.runtime.module import Module
from workbench.tir.nodes import PrimFunc
from workbench.tir.script import parse


def function(text: str) -> PrimFunc:
    """The function of a text; ``def f(...)`` with its body, at any indent."""
    import textwrap

    found = parse("@T.prim_func\n" + textwrap.dedent(text).strip() + "\n")
    assert isinstance(found, PrimFunc)
    return found


def artefact(program: Any, target: str = "llvm", checked: bool = False, **options: Any) -> Artefact:
    """Compile a text, a function, or functions by name."""
    if isinstance(program, str):
        program = function(program)
    if isinstance(program, PrimFunc):
        program = {"f": program}
    config = {"tir.instrument_bound_checkers": True} if checked else {}
    with PassContext(config={**config, **options}):
        return backend.compile_module(IRModule(program), target)


def build(program: Any, target: str = "llvm", checked: bool = False, **options: Any) -> Module:
    return artefact(program, target, checked, **options).module()


def call(program: Any, *arguments: Any, checked: bool = False) -> None:
    """Compile and call the only function."""
    build(program, checked=checked)(*arguments)
