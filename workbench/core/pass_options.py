"""Options of passes as plain values, and copies of them: containers that callers go on using change no pass."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np


def kept(value: Any) -> Any:
    """A copy of a value and the containers in it: any mapping as a dict, arrays read-only; others as they are."""
    if isinstance(value, Mapping):
        named = cast("Mapping[Any, Any]", value)
        return {key: kept(item) for key, item in named.items()}
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value).copy()
        array.flags.writeable = False
        return array
    return type(value)(map(kept, value)) if type(value) in (list, tuple, set) else value


def shown(value: Any) -> Any:
    """A copy of plain containers, to be handed out; what is not plain stays the same object."""
    if type(value) is dict:
        named = cast("dict[Any, Any]", value)
        return {key: shown(item) for key, item in named.items()}
    return type(value)(map(shown, value)) if type(value) in (list, tuple) else value


def named_options(bound: inspect.BoundArguments) -> dict[str, Any] | None:
    """The arguments as options by name, without defaults; None where they are not plain, or have no name."""
    made: dict[str, Any] = {}
    for parameter in bound.signature.parameters.values():
        value = bound.arguments.get(parameter.name, parameter.default)
        if value is parameter.default:
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            made.update(value)
        elif parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            made[parameter.name] = value
        else:
            return None
    return made if is_plain(made) else None


def is_plain(value: Any) -> bool:
    """Whether a value can stand in a file."""
    if isinstance(value, dict):
        named = cast("dict[Any, Any]", value)
        return all(map(is_plain, (*named, *named.values())))
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, cast("Sequence[Any]", value)))
    return value is None or type(value) in (bool, int, float, str)
