"""What users' layout rules make of a function (`relay.op.register_alter_op_layout`), before AlterOpLayout decides."""

from __future__ import annotations

from typing import Any, Final, cast

from ...core import origin
from ...core.errors import WorkbenchError
from ...core.node import Node, post_order, rewrite, substitute
from ..ir import expr as e
from ..ir.infer import infer_type
from ..ir.operator import Operator
from ..op.altering import ALTERINGS, Altering, refusal
from .convert_layout import Converter, Wishes, layout_attribute

LAYOUTS: Final = ("data_layout", "layout", "kernel_layout", "out_layout")
"""Attributes that say how something lies.  Those that were open (`channels`) may be told as well."""


def by_users(func: e.Function) -> e.Function:
    """The function as the rules of users have it; itself where there are none for what it calls.

    Raises `WorkbenchError` E-ALTER-LAYOUT where a rule fails or answers what cannot take the call's place.
    """
    if not any(_rule(node) for node in post_order(func.body)):
        return func
    func = rewrite(func, _instead)
    wishes = {id(node): wish for node in post_order(func.body) if (wish := _wish(node))}
    return Converter(Wishes({}, by_call=wishes)).run(func) if wishes else func


def _rule(node: Node) -> Altering | None:
    """The rule of a call's operator."""
    called = node.op if isinstance(node, e.Call) else None
    return ALTERINGS.get(called.name) if isinstance(called, Operator) else None


def _wish(node: Any) -> tuple[str, ...]:
    """The layouts that a rule wishes for a call; none where it says nothing."""
    rule = _rule(node)
    made, inputs = _answer(rule.alter, node) if rule is not None else (None, [])
    return () if made is None else _layouts(node, made, inputs)


def _instead(node: Any) -> e.Expr | None:
    """What a rule puts in the place of a call; None where it says nothing, or only in which layouts."""
    rule = _rule(node)
    made, inputs = _answer(rule.alter, node) if rule is not None else (None, [])
    return None if made is None or _layouts(node, made, inputs) else _in_place(node, made, inputs)


def _answer(alter: Any, call: e.Call) -> tuple[Any, list[e.Expr]]:
    """What a rule says of a call, and what stood for the operands."""
    name = _name(call)
    inputs: list[e.Expr] = [e.var(f"input_{number}") for number in range(len(call.args))]
    types = [argument.checked_type for argument in call.args]
    try:
        made = alter(call.op, list(inputs), types, call.checked_type)
    except WorkbenchError:
        raise
    except Exception as error:
        raise refusal(name, "it failed", f"{type(error).__name__}: {error}", "a call, or None") from error
    if made is not None and not isinstance(made, e.Expr):
        raise refusal(name, "it answers no expression", type(made).__name__, "a call, or None")
    return made, inputs


def _layouts(call: e.Call, made: Any, inputs: list[e.Expr]) -> tuple[str, ...]:
    """The layouts that an answer wishes for the call; none where it is no call like it in other layouts."""
    before: Any = call.op
    now: Any = made.op if isinstance(made, e.Call) else None
    same = type(now) is type(before) and len(made.args) == len(inputs)
    if not same or any(one is not other for one, other in zip(made.args, inputs, strict=True)):
        return ()
    data = layout_attribute(cast("type[Operator]", type(before)))
    changed = [name for name in before.keys() if before[name] != now[name]]
    if not data or data not in changed or any(name not in LAYOUTS and before[name] is not None for name in changed):
        return ()
    out = getattr(now, "out_layout", "")
    if out not in ("", getattr(now, data)):
        raise refusal(before.name, "the result lies otherwise than the data", out, getattr(now, data))
    return (getattr(now, data), *([now.kernel_layout] if "kernel_layout" in before.keys() else []))


def _in_place(call: e.Call, made: e.Expr, inputs: list[e.Expr]) -> e.Expr:
    """An answer over the call's own operands; it has the call's type."""
    found = substitute(made, dict(zip(inputs, call.args, strict=True)))
    kind = infer_type(cast(e.Expr, found))
    if kind != call.checked_type:
        raise refusal(_name(call), "its answer has another type", str(kind), str(call.checked_type))
    return origin.derived(found, call)


def _name(call: e.Call) -> str:
    assert isinstance(call.op, Operator)
    return call.op.name
