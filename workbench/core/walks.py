"""Walks over what is made of parts, whatever it is: iterative, each thing once by its identity.

    list(parents_first([body], statements_in))            # as a text is read
    list(parts_first([root], operands))                   # operands before what uses them
    folded(root, operands, lambda one, parts: 1 + max(parts, default=0))      # the height of an expression

`core.node.pre_order` and `post_order` are these of nodes and their children.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")
V = TypeVar("V")


def parents_first(roots: Iterable[T], below: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """What is reached from `roots` by way of `below`, each before what is below it, from left to right."""
    seen: set[int] = set()
    stack = [*roots][::-1]
    while stack:
        current = stack.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            stack.extend([*below(current)][::-1])


def parts_first(
    roots: Iterable[T], below: Callable[[T], Iterable[T]], key: Callable[[Any], Hashable] = id
) -> Iterator[T]:
    """The same, each after what is below it; `key` tells things apart."""
    seen: set[Hashable] = set()
    entered: list[T] = []
    stack: list[tuple[T] | None] = list(reversed([(root,) for root in roots]))
    while stack:
        top = stack.pop()
        if top is None:  # what is below the one entered last is done
            yield entered.pop()
        elif key(top[0]) not in seen:
            seen.add(key(top[0]))
            entered.append(top[0])
            stack.append(None)
            stack.extend([(part,) for part in below(top[0])][::-1])


def folded(
    root: T, below: Callable[[T], Iterable[T]], value: Callable[[T, list[V]], V], known: dict[int, V] | None = None
) -> V:
    """The value of `root`, by those of what is below it.  `known` has values by identity, and takes those found."""
    done: dict[int, V] = {} if known is None else known
    stack: list[tuple[T, list[T] | None]] = [(root, None)]
    while stack:
        current, parts = stack.pop()
        if id(current) in done:
            continue
        if parts is None:
            parts = [*below(current)]
            if parts:
                stack.append((current, parts))
                stack.extend([(part, None) for part in parts])
                continue
        done[id(current)] = value(current, [done[id(part)] for part in parts])
    return done[id(root)]


def flattened(value: Any) -> Iterator[Any]:
    """What nested tuples and lists hold, in order."""
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, (tuple, list)):
            stack.extend(reversed(cast("Sequence[Any]", current)))
        else:
            yield current
