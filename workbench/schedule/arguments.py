"""Arguments of primitives, checked by their annotations: the signature is the form, the validation and the schema.

Understood annotations: `LoopRV`, `BlockRV`, either of them, `int` (within `Between` if annotated so), `float`,
`bool`, `str`, `Literal[...]`, `list[T]`, `T | None`, and `Plain` for any JSON data.  Lists become tuples.  Where a
whole number is wanted, a drawn one (`ExprRV`) may stand.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from .errors import ScheduleError, refuse
from .references import BlockRV, ExprRV, LoopRV, Reference

Plain = Any
"""JSON data: null, numbers, text, booleans, lists of them."""


@dataclass(frozen=True)
class Between:
    """Inclusive bounds of an integer argument."""

    low: int
    high: int


@dataclass(frozen=True)
class ResultName:
    """A reference as the trace keeps it: the name of an earlier result."""

    name: str


LIMIT = 2**31
Factor = Annotated[int, Between(1, LIMIT)]
"""A number of iterations."""
Index = Annotated[int, Between(-64, 64)]

Resolve = Callable[[Any], Reference | None]
"""Makes a reference of a name from a trace or of a block's name; None if it cannot."""


def checked(value: Any, annotation: Any, what: str, resolve: Resolve) -> Any:
    """`value` as the annotation wants it.  Raises `ScheduleError` E-SCHEDULE-ARGUMENT otherwise."""
    origin = typing.get_origin(annotation)
    if annotation is Any:
        return _plain(value, what, resolve)
    if origin is Annotated:
        base, *limits = typing.get_args(annotation)
        made = checked(value, base, what, resolve)
        for limit in limits:
            if isinstance(limit, Between) and not limit.low <= int(made) <= limit.high:
                raise _wrong(what, value, f"{limit.low} to {limit.high}")
        return made
    if origin in (typing.Union, types.UnionType):
        return _one_of(value, typing.get_args(annotation), what, resolve)
    if origin is Literal:
        choices = typing.get_args(annotation)
        if value in choices and type(value) is type(choices[choices.index(value)]):
            return value
        raise _wrong(what, value, " or ".join(repr(choice) for choice in choices))
    if origin in (list, tuple):
        if not isinstance(value, (list, tuple)):
            raise _wrong(what, value, "a list")
        item = typing.get_args(annotation)[0]
        return tuple(checked(part, item, f"{what}[{i}]", resolve) for i, part in enumerate(value))
    return _simple(value, annotation, what, resolve)


def _simple(value: Any, annotation: Any, what: str, resolve: Resolve) -> Any:
    if annotation in (LoopRV, BlockRV):
        found = value if isinstance(value, (LoopRV, BlockRV)) else resolve(value)
        if isinstance(found, annotation):
            return found
        raise _wrong(what, value, "a loop" if annotation is LoopRV else "a block or the name of one")
    if annotation is int:
        drawn = resolve(value) if isinstance(value, ResultName) else value
        if isinstance(drawn, ExprRV):
            return drawn
    if annotation is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, annotation) and not (annotation is int and isinstance(value, bool)):
        return value
    as_int = getattr(value, "__index__", None)
    if annotation is int and as_int is not None and not isinstance(value, bool):
        return int(as_int())
    raise _wrong(
        what, value, {int: "a whole number", str: "text", bool: "True or False"}.get(annotation, str(annotation))
    )


def _one_of(value: Any, choices: tuple[Any, ...], what: str, resolve: Resolve) -> Any:
    if value is None and type(None) in choices:
        return None
    problem: ScheduleError | None = None
    for choice in choices:
        if choice is not type(None):
            try:
                return checked(value, choice, what, resolve)
            except ScheduleError as error:
                problem = problem or error
    assert problem is not None
    raise problem


def _plain(value: Any, what: str, resolve: Resolve) -> Any:
    if isinstance(value, ResultName):
        value = resolve(value)
    if value is None or isinstance(value, (bool, int, float, str, ExprRV)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_plain(part, f"{what}[{i}]", resolve) for i, part in enumerate(value))
    raise _wrong(what, value, "numbers, text, booleans, None or lists of them")


def _wrong(what: str, value: Any, expected: str) -> ScheduleError:
    return refuse(
        "E-SCHEDULE-ARGUMENT",
        f"{what} is not what it takes",
        found=f"{value!r}"[:80] + f" ({type(value).__name__})",
        expected=expected,
        fix="see the primitive's signature and docstring",
    )


def recorded(value: Any) -> Any:
    """An argument as the trace keeps it: references by name."""
    if isinstance(value, (LoopRV, BlockRV, ExprRV)):
        return ResultName(value.name)
    if isinstance(value, (list, tuple)):
        return tuple(recorded(part) for part in value)
    return value


def with_numbers(value: Any, number: Callable[[ExprRV], int]) -> Any:
    """An argument as the primitive gets it: drawn numbers as what they are."""
    if isinstance(value, ExprRV):
        return number(value)
    return tuple(with_numbers(part, number) for part in value) if isinstance(value, tuple) else value
