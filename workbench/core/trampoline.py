"""Recursion without Python's stack: write a recursive function as a generator that yields its calls.

A generator yields another generator to call it and is sent its result; `run` keeps the stack in a list, so depth is
bounded by memory alone.

>>> def count(n):
...     return 0 if n == 0 else 1 + (yield count(n - 1))
>>> run(count(50_000))
50000
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

Task = Generator[Any, Any, Any]
"""A suspended call: yields calls, is sent their results, returns its own."""


def run(task: Task) -> Any:
    """The result of `task`, with every call it yields run to its end first."""
    stack: list[Task] = [task]
    value: Any = None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
            continue
        stack.append(called)
        value = None
    return value
