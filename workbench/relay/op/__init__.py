"""Builders of operator calls, made from the operator classes.

`relay.op.add(x, y)`, `relay.op.nn.conv2d(x, w, padding=(1, 1))`: each name answers a function with the operator's
real signature and documentation.  The type of a call is inferred at once when the types of its operands are known,
so that a wrong shape is refused where it is written.

>>> from workbench.relay.ir.expr import var
>>> add(var("x", shape=(2, 3)), 1.0).checked_type
Tensor[(2, 3), float32]
"""

from __future__ import annotations

import importlib
from typing import Any

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        "workbench.topi.calls": "call",
        ".altering": "register_alter_op_layout",
        ".build": "binary builder get unary",
        ".strategy": "OpImplementation OpStrategy register_broadcast_schedule register_compute "
        "register_injective_schedule register_reduce_schedule register_schedule register_strategy",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
_named, __dir__ = late_names(__name__, _NAMES)


def __getattr__(name: str) -> Any:
    if name in _NAMES or name.startswith("_"):
        return _named(name)
    return importlib.import_module("workbench.relay.op.build").builder("", name)
