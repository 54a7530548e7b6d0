"""FoldExplicitPadding: padding before a convolution or pooling becomes the operator's own.

    R.nn.conv2d(R.nn.pad(x, pad_width=[.., (1, 1), (0, 2)]), w)   ->   R.nn.conv2d(x, w, padding=(1, 0, 1, 2))
    R.nn.max_pool2d(R.nn.pad(x, -inf, pad_width=...))             ->   R.nn.max_pool2d(x, padding=...)

A convolution adds zeros; max pooling the value that max never prefers; average pooling zeros that count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.module import IRModule
from ...core.rewrite import Match, RuleTable
from ...core.transform import PassContext, function_pass
from ..ir import expr as e
from ..ir.operator import Operator
from ..ir.types import TensorType
from ..patterns import Operators, any_, is_filled, op, operators, where
from .rules import apply_rules

RULES = RuleTable("FoldExplicitPadding")


def _pads(value: float, counts: bool = False) -> Operators:
    """Operators whose own padding is `value`; `counts`: it may be counted as elements, in means."""

    def holds(operator: Operator) -> bool:
        return operator.padding_value == value and ("count_include_pad" in operator.field_names) == counts

    return operators(f"an operator that pads with {value:g}{', counted or not' if counts else ''}", holds)


def _adds(widths: Any) -> bool:
    return all(min(pair) >= 0 for pair in widths)


_PAD = op("nn.pad", any_operands=True, name="pad", once=True, attrs={"pad_mode": "constant", "pad_width": _adds})


def _fill(m: Match) -> e.Expr | None:
    """The value that nn.pad adds; None for the default, zero."""
    return m["pad"].args[1] if len(m["pad"].args) > 1 else None


def _is(m: Match, value: Any) -> bool:
    fill = _fill(m)
    return value == 0 if fill is None else isinstance(fill, e.Constant) and is_filled(fill, value)


def _lowest(m: Match) -> bool:
    """Whether no element is less than what is added (for floats: -inf or the least finite number)."""
    found = m["pad"].checked_type
    if not isinstance(found, TensorType):
        return False
    if found.dtype.is_float:
        return _is(m, -np.inf)
    return found.dtype.is_integer and _is(m, np.iinfo(found.dtype.to_numpy()).min)


def spatial(layout: str) -> tuple[int, ...]:
    """The places of the axes D, H, W in an unsplit layout; none if it is split."""
    return tuple(place for place, letter in enumerate(layout) if letter in "DHW") if layout.isalpha() else ()


def _only_spatial(m: Match) -> bool:
    widths = m["pad"].op.pad_width
    inside = spatial(_layout(m))
    return bool(inside) and all(pair == (0, 0) for place, pair in enumerate(widths) if place not in inside)


def _layout(m: Match) -> str:
    operator = m["reader"].op
    return operator.data_layout if hasattr(operator, "data_layout") else operator.layout


def _joined(m: Match) -> tuple[int, ...]:
    """The reader's padding with the explicit one: all before, then all after."""
    own, widths, axes = m["reader"].op.padding, m["pad"].op.pad_width, spatial(_layout(m))
    rank = len(axes)
    before = [own[at] + widths[axis][0] for at, axis in enumerate(axes)]
    after = [own[rank + at] + widths[axis][1] for at, axis in enumerate(axes)]
    return (*before, *after)


def _folded(m: Match, **changes: Any) -> e.Call:
    reader = m["reader"]
    return e.Call(reader.op.replace(padding=_joined(m), **changes), (m["pad"].args[0], *reader.args[1:]))


def _fits(m: Match) -> bool:
    """Whether the pooling accepts the padding: it must be smaller than the window."""
    size, _, dilation, _ = m["reader"].op.window()
    reach = [(extent - 1) * gap + 1 for extent, gap in zip(size, dilation, strict=True)] * 2
    return all(pad < limit or pad == 0 for pad, limit in zip(_joined(m), reach, strict=True))


_PLANE = where("only the spatial axes are padded", _only_spatial, lambda m: m["pad"].op.pad_width)
_SMALL = where("the padding is smaller than the window", _fits, lambda m: _joined(m))
_NO_OWN = where(
    "the pooling has no padding of its own",
    lambda m: not any(m["reader"].op.padding),
    lambda m: m["reader"].op.padding,
)


@RULES.rule(
    "pad-into-convolution",
    op(_pads(0), _PAD, any_("weight"), name="reader"),
    when=[where("zeros are added", lambda m: _is(m, 0), _fill), _PLANE],
)
def pad_into_convolution(m: Match) -> Any:
    """Zeros added before a convolution become its own padding."""
    return _folded(m)


@RULES.rule(
    "pad-into-max-pool",
    op(_pads(-np.inf), _PAD, name="reader", attrs={"ceil_mode": False}),
    when=[where("the lowest value is added", _lowest, _fill), _PLANE, _SMALL],
)
def pad_into_max_pool(m: Match) -> Any:
    """The lowest value added before max pooling becomes its own padding."""
    return _folded(m)


@RULES.rule(
    "pad-into-avg-pool",
    op(_pads(0, counts=True), _PAD, name="reader", attrs={"ceil_mode": False}),
    when=[where("zeros are added", lambda m: _is(m, 0), _fill), _PLANE, _NO_OWN, _SMALL],
)
def pad_into_avg_pool(m: Match) -> Any:
    """Zeros added before average pooling become its own padding, which counts."""
    return _folded(m, count_include_pad=True)


@function_pass(opt_level=2, name="FoldExplicitPadding", required=["InferType"], applies_to=e.Function)
def FoldExplicitPadding(func: e.Function, mod: IRModule, ctx: PassContext) -> e.Function:
    """Fold nn.pad into the convolution or pooling that reads it."""
    return apply_rules(func, RULES, mod)
