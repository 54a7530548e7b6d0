"""``T.ret(value)``: the packed call of a function answers the value, as the classic API has it.

A function with such a statement has one parameter more, the address of the packed result, which its wrapper passes on.
``T.ret(0)`` leaves a function; where it answers no other value it answers none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.node import pre_order
from ...tir import nodes as t
from . import conversions, external
from .types import Value

if TYPE_CHECKING:
    from .statements import BodyEmitter

RESULT: Final = "%result"


def answers(func: t.PrimFunc) -> bool:
    """Whether a function returns a value."""
    return any(call.op == "ret" and not _only_leaves(call) for call in _evaluated(func))


def require_uncalled(functions: Mapping[str, t.PrimFunc], contained: bool) -> None:
    """Refuse ``T.call_tir`` of a function that returns a value, since the call has none; and one in a child process."""
    answering = {name for name, func in functions.items() if answers(func)}
    if not answering:
        return
    if contained:
        raise WorkbenchError(
            "E-CODEGEN-RETURN", "a function that runs in a process of its own returns no value by T.ret",
            found=", ".join(sorted(answering)), expected="results in buffers", fix="undo the step with unsafe=True",
        )  # fmt: skip
    for name, func in functions.items():
        for call in _evaluated(func):
            callee = call.args[0] if call.op == "call_tir" else None
            if isinstance(callee, n.StringImm) and callee.value in answering:
                raise WorkbenchError(
                    "E-CODEGEN-RETURN", f"{name} calls {callee.value}, which returns a value by T.ret",
                    expected="T.call_tir of a function that gives its results in buffers",
                    fix="store the value in a buffer of one element that is a parameter", nodes=(call,),
                )  # fmt: skip


def emit_return(self: BodyEmitter, node: n.Call, value: Value) -> None:
    """Leave the function, with the value as its packed result where it answers one."""
    dtype = value.dtype
    if not self.writer.returns_status:
        raise WorkbenchError(
            "E-CODEGEN-RETURN", "T.ret stands in a parallel loop", found="threads that each have a part of the loop",
            expected="T.ret outside parallel loops", fix="leave the loop serial", nodes=(node,),
        )  # fmt: skip
    if dtype.is_vector or dtype.is_handle or dtype == DataType("uint64"):
        raise WorkbenchError(
            "E-CODEGEN-RETURN", f"a value of dtype {dtype} cannot be returned", found=f"T.ret of {dtype}",
            expected="a truth value, an integer that int64 holds, or a float",
            fix="cast it, or store it in a buffer of one element that is a parameter", nodes=(node,),
        )  # fmt: skip
    if self.answers:
        if dtype.is_float and dtype.bits < 32:
            value = conversions.cast(self, value, DataType("float32"))
        external.store_any(self, RESULT, node.args[0], value)
    self.return_status("0")


def _only_leaves(call: n.Call) -> bool:
    return isinstance(call.args[0], n.IntImm) and call.args[0].value == 0


def _evaluated(func: t.PrimFunc) -> Iterator[n.Call]:
    """The calls that are statements."""
    for stmt in pre_order(func.body, t.Stmt):
        if isinstance(stmt, t.Evaluate) and isinstance(stmt.value, n.Call):
            yield stmt.value
