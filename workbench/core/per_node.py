"""What a function finds of a node, found once in the node's life: most changes leave most of a program as it was.

`per_node` is written above a function of one node.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

N = TypeVar("N")
R = TypeVar("R")


def per_node(function: Callable[[N], R]) -> Callable[[N], R]:
    """`function`, which depends on nothing but its node; errors and None are found anew each time.

    A type may be known later than the node (None until then).  What is found must not hold the node, which would live
    for ever.
    """
    known: WeakKeyDictionary[N, R] = WeakKeyDictionary()

    @wraps(function)
    def found(node: N) -> R:
        answer = known.get(node)
        if answer is None:
            answer = function(node)
            if answer is not None:
                known[node] = answer
        return answer

    return found
