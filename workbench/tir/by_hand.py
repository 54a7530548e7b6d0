"""Functions of loops that a person wrote in place of the compiler's: whoever runs one here tries it first.

    note_by_hand([function])
    is_by_hand(function)            # of this object, and of those that schedules made of it

The mark is on the object, not in its attributes: an edit that gives the text as it was is the same program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from . import nodes as t

_by_hand: WeakSet[t.PrimFunc] = WeakSet()


def note_by_hand(functions: Iterable[Any]) -> None:
    """Say that an edit made these functions; what is no function of loops is passed over."""
    _by_hand.update(func for func in functions if isinstance(func, t.PrimFunc))


def is_by_hand(function: Any) -> bool:
    """Whether an edit made this function."""
    return isinstance(function, t.PrimFunc) and function in _by_hand
