"""The name ``T`` for programs written in Python files: it lets Python read the annotations of a function under
`prim_func` without giving them a meaning; the meaning is read from the source (`tir.script`).

    from workbench.tir.language import T

    @T.prim_func
    def double(A: T.Buffer((4,), "float32")):
        for i in T.serial(4):
            A[i] = A[i] * 2.0
"""

from __future__ import annotations

from typing import Any

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from .nodes import PrimFunc
from .script import prim_func


class Word:
    """A word of the language, ``T.axis.remap``: may be called, indexed and continued, and means nothing by itself."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Word:
        if name.startswith("__"):
            raise AttributeError(name)
        return Word(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Word:
        return Word(f"{self._name}(...)")

    def __getitem__(self, index: Any) -> Word:
        return Word(f"{self._name}[...]")

    def __repr__(self) -> str:
        return self._name


class Language(Word):
    """All words after ``T.``; `prim_func` is the decorator that reads the program."""

    prim_func = staticmethod(prim_func)


class ModuleLanguage:
    """The name ``I``: `ir_module` makes a module of the functions in a class."""

    @staticmethod
    def ir_module(members: type) -> IRModule:
        """The module of the functions that a class body defines under ``@T.prim_func``."""
        found = {name: value for name, value in vars(members).items() if isinstance(value, PrimFunc)}
        if not found:
            raise WorkbenchError(
                "E-TIR-SOURCE",
                f"class {members.__name__} defines no functions",
                expected="functions under @T.prim_func",
            )
        return IRModule(found)


# Programs under `prim_func` are read from their source, never run: to a type checker their words may be anything.
T: Any = Language("T")
I = ModuleLanguage()  # noqa: E741
