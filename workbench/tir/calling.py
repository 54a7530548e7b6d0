"""What the callers of a loop function rely on: its parameters, which native code takes as it was told.

>>> from workbench.tir.build import decl_buffer, store
>>> A, B = decl_buffer((4, 6), name="A"), decl_buffer((24,), name="A")
>>> one, other = t.PrimFunc((A,), store(A, 1.0, 0, 0)), t.PrimFunc((B,), store(B, 1.0, 0))
>>> print(changed_parameters(one, other))
A: float32[24] for A: float32[4, 6]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..arith import nodes as n
from ..arith.build import const
from ..arith.intrinsics import NAMED_CALLS
from ..core.equal import first_difference
from ..core.errors import WorkbenchError
from ..core.node import pre_order
from . import nodes as t
from .script import script


@dataclass(frozen=True)
class Changed:
    """How a function is called after a change, and how before: of one parameter, or of all where their number is."""

    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.found} for {self.expected}"


def changed_parameters(before: t.PrimFunc, after: t.PrimFunc) -> Changed | None:
    """The first parameter that is another after a change: kind, dtype, shape, strides, offset and scope are compared.

    Names may differ.  Axis separators may too: they group indices, and move nothing in memory here.
    """
    if before.ret_dtype == after.ret_dtype and list(map(id, before.params)) == list(map(id, after.params)):
        return None  # the very same
    path = first_difference(_called(before), _called(after), names=False, map_free_variables=True)
    if path is None:
        return None
    at = re.match(r"params\[(\d+)\]", path)
    if at is None:
        return Changed(*(f"({', '.join(parameter_texts(function))})" for function in (after, before)))
    return Changed(*(parameter_texts(function)[int(at[1])] for function in (after, before)))


def other_parameters(name: str, changed: Changed, why: str, fix: str, kept: str) -> WorkbenchError:
    """The error for a changed function that would be called in another way."""
    return WorkbenchError(
        "E-EDIT-SIGNATURE", f"{name} must keep its parameters: {why}", where=f"function {name}",
        found=changed.found, expected=changed.expected, fix=fix, kept=kept,
    )  # fmt: skip


def parameter_texts(function: t.PrimFunc) -> list[str]:
    """Each parameter as a text: name, dtype, shape, and what is unusual of its layout."""
    return [_text(parameter) for parameter in function.params]


def callers(functions: Mapping[str, Any], name: str) -> list[str]:
    """The loop functions that call the one of a name."""
    return [
        caller
        for caller, function in functions.items()
        if isinstance(function, t.PrimFunc) and any(_calls(node, name) for node in pre_order(function.body))
    ]


def _calls(node: Any, name: str) -> bool:
    if not isinstance(node, n.Call) or node.op not in NAMED_CALLS or not node.args:
        return False
    called = node.args[0]
    return isinstance(called, n.StringImm) and called.value == name


def _called(function: t.PrimFunc) -> t.PrimFunc:
    """The function without what its callers do not see."""
    params = tuple(
        item.replace(axis_separators=()) if isinstance(item, t.Buffer) and item.axis_separators else item
        for item in function.params
    )
    return t.PrimFunc(params, t.Evaluate(const(0)), ret_dtype=function.ret_dtype)


def _text(parameter: n.Var | t.Buffer) -> str:
    if isinstance(parameter, n.Var):
        return f"{parameter.name}: a scalar {parameter.dtype}"
    pieces = [f"{parameter.name}: {parameter.dtype}[{', '.join(map(script, parameter.shape))}]"]
    pieces += [f"strides [{', '.join(map(script, parameter.strides))}]"] if parameter.strides else []
    pieces += [f"offset {script(parameter.elem_offset)}"] if parameter.elem_offset is not None else []
    pieces += [f"in {parameter.scope}"] if parameter.scope != "global" else []
    return ", ".join(pieces)
