"""How much of a model's arithmetic each kernel does: the screen and its picture begin with the one that does most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..analysis.operations import flops
from ..core.errors import WorkbenchError
from ..core.per_node import per_node
from ..lower.entry import Lowered
from ..relay.ir import expr as r
from ..tir.nodes import PrimFunc
from .graph_calls import operator_calls, work_of


@per_node
def operations_of(function: PrimFunc) -> int:
    """Arithmetic of one call; 0 where extents are not known."""
    try:
        return flops(function)
    except WorkbenchError:
        return 0


def work_of_kernels(functions: Mapping[str, PrimFunc], lowered: Lowered | None) -> dict[str, int]:
    """Arithmetic of all calls of each kernel, by its name.

    Of a lowered graph it is that of the operators that the calls stand for, as boxes of the graph count it: loops also
    compute on channels that fill up a block.  Without a graph, or where an operator's is not known, that of the loops.
    """
    calls = lowered.calls if lowered is not None else ()
    counted = [_work_of_call(call.relay_call) for call in calls]
    if not calls or None in counted:
        times = Counter(call.kernel for call in calls)
        return {name: operations_of(function) * max(times[name], 1) for name, function in functions.items()}
    work = dict.fromkeys(functions, 0)
    for call, count in zip(calls, counted, strict=True):
        work[call.kernel] = work.get(call.kernel, 0) + (count or 0)
    return work


def _work_of_call(call: Any) -> int | None:
    """Of a call of an operator or of a fused function."""
    found = [work_of(one) for one in operator_calls(call)] if isinstance(call, r.Call) else [None]
    return None if None in found else sum(one for one in found if one is not None)
