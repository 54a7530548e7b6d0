"""Walking a program in the order of its text, with the moments at which names begin and end.

`events(root)` yields ``(BIND, variable)``, ``(USE, variable)`` and ``(UNBIND, variable)``; variables are `Var`s and
`Buffer`s.  Everything is iterative.  Inside one expression a shared node is visited once, so that programs which are
graphs stay cheap; only the binders in it are told again.

>>> from workbench.tir.build import loop
>>> from workbench.arith.nodes import Var
>>> from workbench.tir.nodes import Evaluate
>>> i = Var("i")
>>> [event.name for event, _ in events(loop(i, 4, Evaluate(i)))]
['BIND', 'USE', 'UNBIND']
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from ..arith.nodes import BinaryExpr, Let, PrimExpr, Var
from ..core.node import FrozenMap, Node, children, nodes_in
from . import nodes as t


class Event(Enum):
    """What happens to a name."""

    BIND = 1
    USE = 2
    UNBIND = 3
    VISIT = 4
    """Internal: a node still to be walked."""


BIND, USE, UNBIND, VISIT = Event.BIND, Event.USE, Event.UNBIND, Event.VISIT
Step = tuple[Event, Any]


def parts(expr: Node) -> tuple[PrimExpr, ...]:
    """The expressions directly inside an expression, as they are printed: a load's buffer is a name only."""
    if isinstance(expr, t.BufferLoad):
        return expr.indices
    if isinstance(expr, BinaryExpr):
        return children(expr)  # type: ignore[return-value]
    if isinstance(expr, Let):
        return (expr.value, expr.body)
    return tuple(child for child in children(expr) if isinstance(child, PrimExpr))


def events(root: Any) -> Iterator[tuple[Event, Any]]:
    """The events of a function, statement or expression, in text order."""
    stack: list[Step] = [(VISIT, root)]
    known: set[int] = set()
    while stack:
        event, node = stack.pop()
        if event is not VISIT:
            if event is BIND:
                known.add(id(node))
            yield event, node
        elif isinstance(node, PrimExpr):
            yield from _expression_events(node, known)
        elif isinstance(node, t.Buffer):
            if id(node) not in known:
                known.add(id(node))
                stack.append((USE, node))
                stack.extend(_reversed(_buffer_fields(node)))
            else:
                yield USE, node
        else:
            stack.extend(reversed(_steps(node)))


def _reversed(nodes: Any) -> list[Step]:
    return [(VISIT, node) for node in reversed(list(nodes))]


def _visits(*values: Any) -> list[Step]:
    return [(VISIT, node) for value in values for node in nodes_in(value)]


def _buffer_fields(buffer: t.Buffer) -> list[Node]:
    return list(nodes_in((buffer.shape, buffer.strides, buffer.elem_offset)))


def _declared(buffer: t.Buffer) -> list[Step]:
    return [*_visits(*_buffer_fields(buffer)), (BIND, buffer)]


def _expression_events(root: PrimExpr, known: set[int]) -> Iterator[tuple[Event, Any]]:
    seen: set[int] = set()
    again: set[int] = set()
    stack: list[Step] = [(VISIT, root)]
    while stack:
        event, node = stack.pop()
        if event is not VISIT:
            yield event, node
            continue
        if isinstance(node, Var):
            yield USE, node
            continue
        if not children(node):
            continue
        if id(node) in seen:
            yield from _bound_again(node, again)
            continue
        seen.add(id(node))
        if isinstance(node, Let):
            stack.extend([(UNBIND, node.var), (VISIT, node.body), (BIND, node.var), (VISIT, node.value)])
            continue
        if isinstance(node, t.BufferLoad):
            if id(node.buffer) not in known:
                known.add(id(node.buffer))
                stack.extend(_reversed(_buffer_fields(node.buffer)))
            yield USE, node.buffer
        stack.extend([(VISIT, part) for part in reversed(parts(node))])


def _bound_again(shared: PrimExpr, again: set[int]) -> Iterator[tuple[Event, Any]]:
    """The lets inside a part that stands in several places bind once more (`again` holds what was told so)."""
    stack: list[PrimExpr] = [shared]
    while stack:
        node = stack.pop()
        if id(node) in again:
            continue
        again.add(id(node))
        if isinstance(node, Let):
            yield BIND, node.var
            yield UNBIND, node.var
        stack.extend(parts(node))


def _steps(node: Node) -> list[Step]:
    if isinstance(node, t.For):
        inner = [*_visits(node.annotations), (VISIT, node.body), (UNBIND, node.var)]
        return [(VISIT, node.min), (VISIT, node.extent), (BIND, node.var), *inner]
    if isinstance(node, t.LetStmt):
        return [(VISIT, node.value), (BIND, node.var), (VISIT, node.body), (UNBIND, node.var)]
    if isinstance(node, t.AllocBuffer):
        inner = [*_visits(node.annotations), (VISIT, node.body), (UNBIND, node.buffer)]
        return [*_declared(node.buffer), *inner]
    if isinstance(node, t.BufferStore):
        return _visits(node.buffer, node.indices, node.value)
    if isinstance(node, t.Block):
        return _block_steps(node)
    if isinstance(node, t.PrimFunc):
        return _function_steps(node)
    if isinstance(node, t.BlockRealize):
        return _visits(node.iter_values, node.predicate, node.block)
    return _visits(*(getattr(node, name) for name in node.field_names))


def _block_steps(node: t.Block) -> list[Step]:
    steps: list[Step] = []
    for iterator in node.iter_vars:
        steps += [*_visits(iterator.dom), (BIND, iterator.var)]
    steps += _visits(node.reads, node.writes, node.annotations)
    for buffer in node.alloc_buffers:
        steps += _declared(buffer)
    steps += _visits(node.init, node.body)
    steps += [(UNBIND, buffer) for buffer in reversed(node.alloc_buffers)]
    return [*steps, *((UNBIND, iterator.var) for iterator in reversed(node.iter_vars))]


def _function_steps(node: t.PrimFunc) -> list[Step]:
    steps: list[Step] = [(BIND, parameter) for parameter in node.params if isinstance(parameter, Var)]
    for parameter in node.params:
        if isinstance(parameter, t.Buffer):
            steps += _declared(parameter)
    return [*steps, *_visits(FrozenMap(node.attrs), node.body), *((UNBIND, parameter) for parameter in node.params)]
