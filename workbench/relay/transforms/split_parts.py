"""Rule of SimplifyExpr for parts of a split tensor that are read element by element: they need not be copied out.

    R.sigmoid(R.split(x, 4, axis=1)[2])   ->   R.sigmoid(R.strided_slice(x, begin=(2 * n,), end=(3 * n,), axes=(1,)))

A split makes all of its parts at once, in a kernel of its own; a slice is part of the kernel that reads it.  So the
gates of a recurrent layer are computed where its product left them.
"""

from __future__ import annotations

from typing import Any

from ...core import origin
from ...core.rewrite import Match, RuleTable
from .. import op as relay
from ..ir.operator import Fusion
from ..patterns import any_, item, op, operators, where
from .parallel import static_shape

SPLIT_PARTS = RuleTable("split parts")

_READER = operators("an operator that reads element by element", lambda operator: operator.fusion is Fusion.ELEMWISE)


@SPLIT_PARTS.rule(
    "part-of-split",
    op(_READER, item(op("split", any_("x"), name="cut")), name="reader"),
    when=[where("the tensor's shape is known", lambda m: static_shape(m["x"]) is not None)],
)
def part_of_split(m: Match) -> Any:
    """A part that is read element by element is a slice of the whole."""
    cut, reader = m["cut"].op, m["reader"]
    shape = static_shape(m["x"])
    assert shape is not None
    axis = cut.axis % len(shape)
    begin, end = cut.cuts(shape[axis])[reader.args[0].index]
    part = relay.call("strided_slice", m["x"], begin=(begin,), end=(end,), axes=(axis,))
    origin.derived(part, m["cut"], reader.args[0])  # not from what reads it
    return reader.replace(args=(part,))
