"""Pragmas (annotations ``pragma_...``) of what a pass dissolves go on: a loop of one iteration carries them.

    before:  for i in T.vectorized(8, annotations=pragmas):        after:  for i in T.serial(1, annotations=pragmas):
                 A[i] = B[i]                                                   A[T.ramp(0, 1, 8)] = B[T.ramp(0, 1, 8)]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...arith import nodes as n
from ...arith.build import INDEX, const
from ...core.node import FrozenMap
from .. import nodes as t

PREFIX: Final = "pragma_"


def has_pragmas(annotations: Mapping[str, Any]) -> bool:
    """Whether annotations ask something of a later stage, so that they may not be lost."""
    return any(key.startswith(PREFIX) for key in annotations)


def under_pragmas(source: t.For | t.Block, body: t.Stmt) -> t.Stmt:
    """What became of the body of a loop or a block that goes, with its pragmas."""
    if not has_pragmas(source.annotations):
        return body
    held = FrozenMap({key: value for key, value in source.annotations.items() if key.startswith(PREFIX)})
    name = source.var.name if isinstance(source, t.For) else source.name
    return t.For(n.Var(name, INDEX), const(0), const(1), t.ForKind.SERIAL, body, annotations=held)
