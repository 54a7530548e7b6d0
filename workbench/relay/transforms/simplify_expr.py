"""SimplifyExpr: named algebraic rules.  Each keeps every bit of the result; what rounds differently is left out.

Clips alone may give a zero of the other sign, where a limit is one: of 0.0 and -0.0 no text says which is the lesser.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dtype import DataType
from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from .. import op as relay
from ..ir import expr as e
from ..ir.types import TensorType
from ..patterns import any_, constant, op, operators, same_type, where
from .fold_explicit_padding import pad_into_convolution
from .narrow import NARROW
from .one_column import ONE_COLUMN
from .rules import apply_rules
from .split_parts import SPLIT_PARTS
from .wide import WIDE, concatenate_wide, split_wide, stack_wide

RULES = RuleTable("SimplifyExpr")

_VIEWS = operators("a view", lambda operator: operator.aliasing == 0)
"""reshape, squeeze and the like: the operand's elements in their order."""


def _negative_zero_or_integer(m: Match) -> bool:
    data = m["zero"].data
    return not data.dtype.is_float or bool(np.all(np.signbit(data.numpy())))


@RULES.rule(
    "add-zero",
    op("add", any_("x"), constant("zero", value=0), commutative=True),
    when=[same_type("x"), where("integers, or -0.0 (x + 0.0 loses the sign of -0.0)", _negative_zero_or_integer)],
)
def add_zero(m: Match) -> Any:
    """x + 0 is x."""
    return m["x"]


@RULES.rule(
    "subtract-zero",
    op("subtract", any_("x"), constant("zero", value=0)),
    when=[
        same_type("x"),
        where(
            "integers, or +0.0",
            lambda m: not m["zero"].data.dtype.is_float or not np.any(np.signbit(m["zero"].data.numpy())),
        ),
    ],
)
def subtract_zero(m: Match) -> Any:
    """x - 0 is x."""
    return m["x"]


@RULES.rule(
    "multiply-one", op("multiply", any_("x"), constant("one", value=1), commutative=True), when=[same_type("x")]
)
def multiply_one(m: Match) -> Any:
    """x * 1 is x."""
    return m["x"]


@RULES.rule("divide-one", op("divide", any_("x"), constant("one", value=1)), when=[same_type("x")])
def divide_one(m: Match) -> Any:
    """x / 1 is x."""
    return m["x"]


@RULES.rule("double-negative", op("negative", op("negative", any_("x"))))
def double_negative(m: Match) -> Any:
    """-(-x) is x."""
    return m["x"]


@RULES.rule("double-not", op("logical_not", op("logical_not", any_("x"))))
def double_not(m: Match) -> Any:
    """not not x is x."""
    return m["x"]


@RULES.rule("copy", op("copy", any_("x")))
def copy(m: Match) -> Any:
    """Values never change, so a copy is the thing itself."""
    return m["x"]


@RULES.rule("same-shape", op(_VIEWS, any_("x")), when=[same_type("x")])
def same_shape(m: Match) -> Any:
    """A reshape to the shape that is there already does nothing."""
    return m["x"]


@RULES.rule("same-broadcast", op("broadcast_to", any_("x")), when=[same_type("x")])
def same_broadcast(m: Match) -> Any:
    """Broadcasting to the shape that is there already does nothing."""
    return m["x"]


@RULES.rule(
    "reshape-of-reshape",
    op(_VIEWS, op(_VIEWS, any_("x"))),
    when=[where("the final shape is known", lambda m: m.root.checked_type.is_static, lambda m: m.root.checked_type)],  # type: ignore[attr-defined]
)
def reshape_of_reshape(m: Match) -> Any:
    """Only the last of several reshapes counts."""
    return relay.call("reshape", m["x"], newshape=m.root.checked_type.concrete_shape)  # type: ignore[attr-defined]


def _order(call: e.Call, rank: int) -> tuple[int, ...]:
    axes: Any = getattr(call.op, "axes", None)
    return tuple(reversed(range(rank))) if axes is None else tuple(axis % rank for axis in axes)


@RULES.rule("identity-transpose", op("transpose", any_("x"), name="outer"))
def identity_transpose(m: Match) -> Any:
    """A transpose that leaves every axis in its place does nothing."""
    rank = len(m["x"].checked_type.shape)
    return m["x"] if _order(m["outer"], rank) == tuple(range(rank)) else None


@RULES.rule("transpose-of-transpose", op("transpose", op("transpose", any_("x"), name="inner"), name="outer"))
def transpose_of_transpose(m: Match) -> Any:
    """Two transposes are one with the composed order."""
    rank = len(m["x"].checked_type.shape)
    first, second = _order(m["inner"], rank), _order(m["outer"], rank)
    return relay.call("transpose", m["x"], axes=tuple(first[axis] for axis in second))


@RULES.rule("identity-cast", op("cast", any_("x")), when=[same_type("x")])
def identity_cast(m: Match) -> Any:
    """A cast to the dtype that is there already does nothing."""
    return m["x"]


def _dtypes(m: Match) -> tuple[DataType, DataType, DataType]:
    return m["x"].checked_type.dtype, m["inner"].checked_type.dtype, m.root.checked_type.dtype  # type: ignore[attr-defined]


def _lossless(m: Match) -> bool:
    start, middle, _ = _dtypes(m)
    if start.bits == 64 and start.is_integer and middle.is_float:
        return False  # NumPy calls int64 to float64 safe, which rounds from 2**53 on
    return bool(np.can_cast(start.to_numpy(), middle.to_numpy(), "safe"))


def _ends_alike(m: Match) -> bool:
    """A float becomes the nearest value of an integer dtype; an integer becomes its last bits."""
    start, middle, end = _dtypes(m)
    wraps = start.is_integer and middle.is_float and end.is_integer
    return not wraps or bool(np.can_cast(start.to_numpy(), end.to_numpy(), "safe"))


@RULES.rule(
    "cast-of-cast",
    op("cast", op("cast", any_("x"), name="inner")),
    when=[
        where(
            "the first cast loses nothing", _lossless, lambda m: f"{m['x'].checked_type} to {m['inner'].checked_type}"
        ),
        where(
            "no integer that does not fit passes a float", _ends_alike, lambda m: " to ".join(map(str, _dtypes(m)))
        ),
    ],
)
def cast_of_cast(m: Match) -> Any:
    """A cast after one that loses nothing starts from the original."""
    return relay.call("cast", m["x"], dtype=str(m.root.checked_type.dtype))  # type: ignore[attr-defined]


def _limits(m: Match) -> tuple[float, ...]:
    return tuple(limit for name in ("inner", "outer") for limit in (m[name].op.a_min, m[name].op.a_max))


@RULES.rule(
    "clip-of-clip",
    op("clip", op("clip", any_("x"), name="inner"), name="outer"),
    when=[where("all limits are numbers", lambda m: not any(map(math.isnan, _limits(m))), _limits)],
)
def clip_of_clip(m: Match) -> Any:
    """Two clips are one: over the intersection, or at its nearer end if that is empty.

    min(max(min(max(x, a), b), c), d) is min(max(x, max(a, c)), min(max(b, c), d)), also where a lower limit is
    above the upper one.
    """
    kind = m["x"].checked_type.dtype  # limits of integers are rounded before they are compared
    (a, b), (c, d) = m["inner"].op.bounds(kind), m["outer"].op.bounds(kind)
    return relay.call("clip", m["x"], a_min=max(a, c), a_max=min(max(b, c), d))


@RULES.rule(
    "clip-of-relu",
    op("clip", op("nn.relu", any_("x")), name="outer"),
    when=[where("the lower limit is not negative", lambda m: m["outer"].op.a_min >= 0, lambda m: m["outer"].op.a_min)],
)
def clip_of_relu(m: Match) -> Any:
    """A clip from 0 or above needs no relu before it."""
    outer = m["outer"].op
    return relay.call("clip", m["x"], a_min=outer.a_min, a_max=outer.a_max)


def _limits_of_inner(m: Match) -> tuple[float, float]:
    return m["inner"].op.a_min, m["inner"].op.a_max


@RULES.rule(
    "relu-of-clip",
    op("nn.relu", op("clip", any_("x"), name="inner")),
    when=[where("neither limit is negative", lambda m: min(_limits_of_inner(m)) >= 0, _limits_of_inner)],
)
def relu_of_clip(m: Match) -> Any:
    """What a clip between limits of 0 or above lets through is not negative."""
    return m["inner"]


@RULES.rule("relu-of-relu", op("nn.relu", op("nn.relu", any_("x"), name="inner")))
def relu_of_relu(m: Match) -> Any:
    """relu twice is relu once."""
    return m["inner"]


@RULES.rule("concatenate-one", op("concatenate", any_("parts")))
def concatenate_one(m: Match) -> Any:
    """One tensor joined with nothing is itself."""
    parts = m["parts"]
    return parts.fields[0] if isinstance(parts, e.Tuple) and len(parts.fields) == 1 else None


@RULES.rule("concatenate-flatten", op("concatenate", any_("parts"), name="outer"))
def concatenate_flatten(m: Match) -> Any:
    """Joining what was joined along the same axis, and is used nowhere else, is one join."""
    parts, outer = m["parts"], m["outer"]
    if not isinstance(parts, e.Tuple) or len(parts.fields) > WIDE:
        return None
    flat: list[e.Expr] = []
    for part in parts.fields:
        inner = _joined(part, outer, m)
        flat.extend(inner if inner is not None else (part,))
    if not len(parts.fields) < len(flat) <= WIDE:
        return None
    return relay.call("concatenate", e.Tuple(tuple(flat)), axis=outer.op.axis)


def _joined(part: e.Expr, outer: e.Call, m: Match) -> tuple[e.Expr, ...] | None:
    if not isinstance(part, e.Call) or getattr(part.op, "name", "") != "concatenate" or m.uses(part) > 1:
        return None
    rank = len(part.checked_type.shape) if isinstance(part.checked_type, TensorType) else 1
    axes = [getattr(call.op, "axis", 0) % rank for call in (part, outer)]
    inner = part.args[0]
    return inner.fields if axes[0] == axes[1] and isinstance(inner, e.Tuple) else None


for _rule in (pad_into_convolution, concatenate_wide, stack_wide, split_wide, *NARROW, *ONE_COLUMN, *SPLIT_PARTS):
    RULES.add(_rule, __name__)


@function_pass(opt_level=0, name="SimplifyExpr", required=["InferType"], applies_to=e.Function)
def SimplifyExpr(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Apply the algebraic rules until none fires."""
    return func if func.is_primitive else apply_rules(func, RULES, mod)
