"""Which relay expression each part of a statement carries out, where several were fused into one statement.

    relu[i] = T.max(conv[i] + p2[c] * T.float32(1.5), T.float32(0.0))      # nn.relu, add and multiply

Loop passes rebuild expressions freely, so their origins are not kept step by step.  Here the statement that is
compiled is laid over the stages as they were lowered, one for each relay expression: from the stage that is stored on,
a load of an intermediate that is gone stands for the stage that computed it.  What does not fit (a part that was
simplified or lowered further) keeps the origins of the whole statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..arith import nodes as n
from ..core.node import Node, children, pre_order
from ..tir import nodes as t
from .origin_index import Known, Sources


@dataclass(frozen=True)
class _Stage:
    value: n.PrimExpr
    calls: Sources


def expression_calls(compiled: t.PrimFunc, lowered: t.PrimFunc, known: Known) -> dict[int, Sources]:
    """By identity, the relay expressions (at the kernel's first call) of stores and parts of them.

    `compiled` is the kernel after all passes, `lowered` before it was scheduled, `known` the origins at that step.
    """
    stages: dict[str, list[_Stage]] = {}
    for node in pre_order(lowered):
        if isinstance(node, t.BufferStore):
            found = _Stage(node.value, known.calls.get(id(node), frozenset()))
            stages.setdefault(node.buffer.name, []).append(found)
    result: dict[int, Sources] = {}
    for node in pre_order(compiled):
        if isinstance(node, t.BufferStore):
            result.update(_of_store(node, stages))
    return result


def _of_store(store: t.BufferStore, stages: Mapping[str, list[_Stage]]) -> dict[int, Sources]:
    """The parts of one store; of a reduction's two stages the one that fits better."""
    best: dict[int, Sources] = {}
    for stage in stages.get(store.buffer.name, ()):
        found: dict[int, Sources] = {}
        _lay_over(stage, store.value, stages, found)
        if len(found) > len(best):
            best = found | {id(store): stage.calls}
            for index in store.indices:
                best.update({id(part): stage.calls for part in pre_order(index)})
    return best


def _lay_over(stage: _Stage, value: n.PrimExpr, stages: Mapping[str, list[_Stage]], found: dict[int, Sources]) -> None:
    """Note for each part of `value` the calls of the stage that it comes from, as far as it has that stage's form."""
    stack: list[tuple[Node, Node, Sources]] = [(stage.value, value, stage.calls)]
    while stack:
        wanted, part, calls = stack.pop()
        while isinstance(part, n.Broadcast):
            found[id(part)] = calls
            part = part.value
        if isinstance(wanted, t.BufferLoad):
            inlined = stages.get(wanted.buffer.name, ())
            if isinstance(part, t.BufferLoad) and _same_buffer(wanted.buffer, part.buffer):
                found.update({id(inner): calls for inner in pre_order(part)})
            elif len(inlined) == 1:
                stack.append((inlined[0].value, part, inlined[0].calls))
        elif isinstance(wanted, n.PrimExpr) and wanted.dtype.element_of.is_int:
            found.update({id(inner): calls for inner in pre_order(part)})
        elif _alike(wanted, part):
            found[id(part)] = calls
            stack.extend((one, other, calls) for one, other in zip(children(wanted), children(part), strict=True))


def _same_buffer(lowered: t.Buffer, compiled: t.Buffer) -> bool:
    """Whether a buffer is one of the lowered kernel, or a copy of it that a schedule made."""
    return compiled.name == lowered.name or compiled.name.startswith(f"{lowered.name}_")


def _alike(wanted: Node, part: Node) -> bool:
    if type(wanted) is not type(part) or getattr(wanted, "op", None) != getattr(part, "op", None):
        return False
    if isinstance(wanted, n.FloatImm) and isinstance(part, n.FloatImm):
        return wanted.value == part.value
    return len(children(wanted)) == len(children(part))
