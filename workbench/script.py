"""Loop programs written in Python files (the classic API's names).

    from workbench.script import ir as I
    from workbench.script import tir as T

    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

`double` is a `PrimFunc`, read from the source; nothing of its body is executed.
"""

from __future__ import annotations

from .tir.language import I as ir
from .tir.language import T as tir
from .tir.script import parse as from_source

__all__ = ["from_source", "ir", "tir"]
