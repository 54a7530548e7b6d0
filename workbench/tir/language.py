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


T = Language("T")
