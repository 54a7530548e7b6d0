"""Control flow: a known condition takes its branch, any other becomes relay's `If`; known trip counts unroll.

Loops whose trip count only a run could tell are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.dtype import DataType
from ...relay.ir.expr import Expr, If
from .emit import call, constant, dtype_of, pack, rank_of, reshaped, shape_of, unpack
from .site import Site
from .table import onnx_op


@onnx_op("If", since=1)
def if_(node: Site, condition: Any, *, then_branch: Any, else_branch: Any) -> tuple[Any, ...]:
    known = node.known(condition)
    if known is not None:
        taken = then_branch if bool(known.reshape(-1)[0]) else else_branch
        return node.importer.convert_subgraph(taken, node)
    branches = [_joined(node, node.importer.convert_subgraph(graph, node)) for graph in (then_branch, else_branch)]
    if branches[0].checked_type != branches[1].checked_type:
        raise node.refuse(
            "the branches of a condition that only a run decides give different types",
            f"{branches[0].checked_type} and {branches[1].checked_type}",
            "equal shapes and element types",
            "give the value of the input that decides: assume={name: array} (checked at each run)",
        )
    single = condition if rank_of(condition) == 0 else reshaped(condition, ())
    made = If(single, branches[0], branches[1])
    return unpack(made) if len(then_branch.output) > 1 else (made,)


def _joined(node: Site, values: Sequence[Any]) -> Expr:
    if not all(isinstance(value, Expr) for value in values):
        raise node.refuse("a branch gives something else than tensors", "a sequence or nothing", "tensors")
    return values[0] if len(values) == 1 else pack(values)


def _stacked(parts: Sequence[Expr], axis: int) -> Expr:
    wide = [reshaped(part, (*shape_of(part)[:axis], 1, *shape_of(part)[axis:])) for part in parts]
    return wide[0] if len(wide) == 1 else call("concatenate", pack(wide), axis=axis)


@onnx_op("Loop", since=1)
def loop(node: Site, trips: Any = None, going: Any = None, *states: Any, body: Any) -> tuple[Any, ...]:
    """Unrolled: the trip count, and whether to go on, must be known while importing."""
    most = None if trips is None else int(node.constant(trips, "the trip count").reshape(-1)[0])
    if most is None and going is not None and _passes_on(body):
        raise node.refuse("the loop does not end", "a condition that stays as it is", "a trip count")
    flag = going if going is not None else constant(True, "bool")
    _require_body(node, body, 2 + len(states), 1, len(states))
    names = [value.name for value in body.input]
    carried = list(states)
    scanned: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(states))]
    step, begun = 0, node.importer.nodes_done
    least = most or 1 if _passes_on(body) else 1
    node.require_unrollable(least, len(body.node))
    while (most is None or step < most) and bool(node.constant(flag, "the loop's condition").reshape(-1)[0]):
        given = dict(zip(names, [constant(step, "int64"), flag, *carried], strict=True))
        results = node.importer.convert_subgraph(body, node, given)
        flag, carried = results[0], list(results[1 : 1 + len(states)])
        for part, value in zip(scanned, results[1 + len(states) :], strict=True):
            part.append(value)
        step += 1
        size = -(-(node.importer.nodes_done - begun) // step)  # of one step, loops inside it unrolled
        node.require_unrollable(max(step + 1, least), max(1, size))
    if step == 0 and scanned:
        given = dict(zip(names, [constant(0, "int64"), flag, *carried], strict=True))
        return (*carried, *_never_stacked(node, body, given))
    return (*carried, *(_stacked(part, 0) for part in scanned))


def _never_stacked(node: Site, body: Any, given: dict[str, Any]) -> Iterator[Expr]:
    """The scan outputs of a loop that does not run: nothing, of the types that its body would give."""
    results = node.importer.convert_subgraph(body, node, given)
    for value in results[len(given) - 1 :]:
        dtype = str(dtype_of(value))
        yield constant(np.zeros((0, *shape_of(value)), DataType(dtype).to_numpy()), dtype)


def _require_body(node: Site, body: Any, operands: int, leading: int, states: int) -> None:
    """Refuse a body that takes or gives another number of values than its loop has; `leading` ones stay inside."""
    if len(body.input) != operands:
        raise node.refuse("the body takes another number of inputs", str(len(body.input)), str(operands))
    least = leading + max(states, node.output_count)
    if len(body.output) < least:
        raise node.refuse("the body gives too few outputs", str(len(body.output)), f"at least {least}")


def _require_entries(node: Site, count: int, *given: tuple[int, ...]) -> None:
    """Refuse attributes that have another number of entries than there are operands or results."""
    for entries in given:
        if entries and len(entries) != count:
            raise node.refuse("axes or directions do not fit the body", str(entries), f"{count} entries")


def _passes_on(body: Any) -> bool:
    """Whether the body hands its condition on unchanged."""
    flag, source = body.output[0].name, body.input[1].name
    makers = {name: node for node in body.node for name in node.output}
    while flag != source and flag in makers and makers[flag].op_type == "Identity":
        flag = makers[flag].input[0]
    return flag == source


@onnx_op("Scan", since=9)
def scan(
    node: Site,
    *operands: Any,
    body: Any,
    num_scan_inputs: int,
    scan_input_axes: tuple[int, ...] = (),
    scan_input_directions: tuple[int, ...] = (),
    scan_output_axes: tuple[int, ...] = (),
    scan_output_directions: tuple[int, ...] = (),
) -> tuple[Any, ...]:
    """Unrolled over the (static) scan axis."""
    held = len(operands) - num_scan_inputs
    if num_scan_inputs < 1 or held < 0:
        raise node.refuse(
            "num_scan_inputs does not fit", f"{num_scan_inputs} of {len(operands)} operands", "at least 1, at most all"
        )
    _require_body(node, body, len(operands), 0, held)
    _require_entries(node, len(body.output) - held, scan_output_axes, scan_output_directions)
    _require_entries(node, num_scan_inputs, scan_input_axes, scan_input_directions)
    states, sequences = list(operands[:held]), operands[held:]
    named = zip(_filled(scan_input_axes, len(sequences)), sequences, strict=True)
    axes = [node.axis(axis, rank_of(x)) for axis, x in named]
    counts = {shape_of(x)[axis] for axis, x in zip(axes, sequences, strict=True)}
    if len(counts) != 1 or counts == {0}:
        raise node.refuse("the scanned axes differ or are empty", str(sorted(counts)), "one length of at least 1")
    count = counts.pop()
    node.require_unrollable(count, len(body.node))
    begun = node.importer.nodes_done
    names = [value.name for value in body.input]
    backward = _filled(scan_input_directions, len(sequences))
    scanned: list[list[Any]] = [[] for _ in range(len(body.output) - held)]
    for step in range(count):
        places = [count - 1 - step if turned else step for turned in backward]
        parts = [
            call("take", x, constant(place, "int64"), axis=axis)
            for x, axis, place in zip(sequences, axes, places, strict=True)
        ]
        results = node.importer.convert_subgraph(body, node, dict(zip(names, [*states, *parts], strict=True)))
        node.require_unrollable(count, -(-(node.importer.nodes_done - begun) // (step + 1)))
        states = list(results[:held])
        for part, value in zip(scanned, results[held:], strict=True):
            part.append(value)
    for part, turned in zip(scanned, _filled(scan_output_directions, len(scanned)), strict=True):
        if turned:
            part.reverse()
    wanted = zip(scanned, _filled(scan_output_axes, len(scanned)), strict=True)
    return (*states, *(_stacked(part, node.axis(at, rank_of(part[0]) + 1)) for part, at in wanted))


def _filled(given: tuple[int, ...], count: int) -> tuple[int, ...]:
    return tuple(given) + (0,) * (count - len(given))
