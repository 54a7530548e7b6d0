"""Layouts by a person's own rule: what AlterOpLayout asks of an operator before it decides by itself.

    @relay.op.register_alter_op_layout("nn.conv2d")
    def alter(attrs, inputs, tinfos, out_type):
        if tinfos[0].shape[1] % 16 or tinfos[1].shape[0] % 16:
            return None
        return relay.nn.conv2d(*inputs, **{**attrs, "data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o"})

`attrs` is the operator, a mapping of its attributes; `inputs` stand for its operands and have no types, `tinfos` are
the operands' types as they are now, `out_type` is the result's.  An answer of the same operator over the same inputs
says in which layouts it computes: data and weight are moved there, and what follows stays there as long as it can.
Any other answer takes the place of the call, and has its type.  None leaves the call as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core.errors import WorkbenchError
from ...core.table import Table
from ..ir.operator import OPERATORS

Alter = Callable[[Any, list[Any], list[Any], Any], Any]


@dataclass(frozen=True)
class Altering:
    """What a user registered for an operator."""

    alter: Alter
    level: int


ALTERINGS: Table[Altering] = Table("layout rule", filled_by=())


def register_alter_op_layout(op_name: str, alter_layout: Alter | None = None, level: int = 10) -> Any:
    """Which layouts an operator computes in; a decorator without `alter_layout`.

    A function of a lower `level` than one that is there is not taken.  Raises `WorkbenchError` for an unknown operator.
    """
    OPERATORS[op_name]  # refuses an unknown one

    def enter(given: Any) -> Any:
        if not callable(given):
            raise refusal(op_name, "it cannot be called", type(given).__name__, "a function")
        before = ALTERINGS.get(op_name)
        if before is None or before.level <= level:
            ALTERINGS.register(op_name, Altering(given, level), module="__main__", override=True)
        return given

    return enter if alter_layout is None else enter(alter_layout)


def refusal(name: str, message: str, found: str, expected: str) -> WorkbenchError:
    return WorkbenchError("E-ALTER-LAYOUT", f"layout rule of {name}: {message}", found=found, expected=expected)
