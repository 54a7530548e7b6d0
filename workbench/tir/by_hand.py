"""Functions of loops that a person wrote in place of the compiler's: whoever runs one here tries it first.

    note_by_hand([function])
    is_by_hand(function)            # of this object, and of those that schedules and passes made of it

The mark is on the object, not in its attributes: an edit that gives the text as it was is the same program.  Whoever
makes a function of another one hands the mark on: `PrimFunc.replace`, a schedule's next state, a session's next step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakSet

from ..core.node import Node

_by_hand: WeakSet[Node] = WeakSet()


def note_by_hand(functions: Iterable[Any]) -> None:
    """Say that an edit made these functions; what is no node of a program is passed over."""
    _by_hand.update(func for func in functions if isinstance(func, Node))


def is_by_hand(function: Any) -> bool:
    """Whether an edit made this function."""
    return isinstance(function, Node) and function in _by_hand


def hand_on(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Functions that were made of such are such."""
    note_by_hand(func for name, func in after.items() if is_by_hand(before.get(name)))
