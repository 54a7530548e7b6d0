"""A loop function in the form in which it is checked: flat, bounds checked, memory poisoned, no pass after its step.

Code generation needs flat code without blocks; only the passes that make this of a function run here (`LEAST`), and
none of those that come later in the pipeline, so that they have no say.
"""

from __future__ import annotations

from typing import Any, Final

from ...core.module import IRModule
from ...core.node import pre_order
from ...core.transform import PASSES, PassContext
from ...tir import nodes as t

LEAST: Final = ("LowerBlocks", "BoundCheck", "FlattenBuffer")
"""Passes that code generation cannot do without, and the check of bounds while they still have axes."""


def is_flat(function: t.PrimFunc) -> bool:
    return "signature" in function.attrs


def checked_form(function: t.PrimFunc, name: str = "main") -> t.PrimFunc:
    """`function`, as it stands, in checked mode."""
    return flat_form(IRModule({name: function}), checked=True)[name]


def flat_form(module: IRModule, checked: bool) -> IRModule:
    """The module in the least form that code generation takes."""
    flat = {name: function for name, function in module.items() if is_flat(function)}
    rest = IRModule({name: function for name, function in module.items() if name not in flat})
    for name in LEAST:
        if checked or name != "BoundCheck":
            rest = PASSES[name]()(rest)
    if checked and flat:
        flat = dict(PASSES["BoundCheck"]()(IRModule(flat)).functions)
    made = module.with_functions({**flat, **rest.functions})
    # Vectors that no pass has made yet stay loops.
    with PassContext(opt_level=3, config={"tir.disable_vectorize": True}):
        made = PASSES["VectorizeLoop"]()(made)
    return PASSES["PoisonBuffers"]()(made) if checked else made


def iterations(function: Any) -> int:
    """About how many innermost iterations running a function once takes."""
    total = 0
    stack: list[tuple[Any, int]] = [(function.body, 1)]
    while stack:
        stmt, times = stack.pop()
        if isinstance(stmt, t.For):
            times *= getattr(stmt.extent, "value", 16)
        inner = _statements_in(stmt)
        if inner:
            stack.extend((part, times) for part in inner)
        else:
            total += times * _width(stmt)
    return total


def _statements_in(stmt: t.Stmt) -> list[t.Stmt]:
    found: list[t.Stmt] = []
    for name in stmt.field_names:
        value = getattr(stmt, name)
        if isinstance(value, t.Stmt):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(part for part in value if isinstance(part, t.Stmt))
    return found


def _width(stmt: t.Stmt) -> int:
    """Lanes of the widest vector that a statement handles."""
    return max((node.dtype.lanes for node in pre_order(stmt) if isinstance(node, t.BufferLoad)), default=1)
