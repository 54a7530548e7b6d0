"""Arguments of primitives, checked by their annotations: the signature is the form, the validation and the schema.

Understood annotations: `LoopRV`, `BlockRV`, either of them, `int` (within `Between` if annotated so), `float`,
`bool`, `str`, `Literal[...]`, `list[T]`, `T | None`, `IndexMap` (a function of indices, or the text of one, becomes
one), `BufferChoice`, and `Plain` for any JSON data.  Lists become tuples.  Where a whole number is wanted, a drawn one
(`ExprRV`) or a constant of a program may stand.
"""

from __future__ import annotations

import math
import reprlib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Annotated, Any, Final, Literal

from ..arith.nodes import IntImm, Var
from ..core.errors import WorkbenchError
from ..core.node import FrozenMap, is_unicode
from ..tir import nodes as t
from ..tir.index_map import IndexMap
from .errors import ScheduleError, refuse
from .references import BlockRV, ExprRV, LoopRV, Reference

Plain = Any
"""JSON data: null, numbers, text, booleans, lists of them, and dicts with text keys."""


@dataclass(frozen=True)
class Between:
    """Inclusive bounds of an integer argument."""

    low: int
    high: int


@dataclass(frozen=True)
class NameIn:
    """Marks a text that is the name of an entry of a table, to which users may add; forms offer these names."""

    names: Callable[[], Iterable[str]]
    """The names that there are when it is called."""


@dataclass(frozen=True)
class ResultName:
    """A reference as the trace keeps it: the name of an earlier result."""

    name: str


UNSAFE = "unsafe"
"""The keyword that every primitive takes besides its own: go on where legality refuses, and note it."""
LIMIT = 2**31
Factor = Annotated[int, Between(1, LIMIT)]
"""A number of iterations."""
Offset = Annotated[int, Between(0, LIMIT)]
"""A number of elements."""
DEEPEST = 32
"""How many lists may stand in one another."""
Index = Annotated[int, Between(-64, 64)]


@dataclass(frozen=True)
class OrName:
    """Marks a number of a buffer in whose place its name, or the buffer, may stand; see `BufferIndex`."""


BufferIndex = Annotated[int, Between(-64, 64), OrName()]
"""The number of a buffer among those that a block reads, or writes; or the buffer's name, as text."""


@dataclass(frozen=True)
class OfBlock:
    """Marks an argument that names a buffer of a block; see `BufferChoice`."""


BufferChoice = Annotated[tuple[str, int] | str, OfBlock()]
"""A buffer of a block: ("read" | "write", number), ("own", number) among those that the function allocates, or its
name.  A `Buffer` stands for its name."""

SEE_SIGNATURE: Final = "see the primitive's signature and docstring"
"""What a person can do about a wrong argument: in a cell; a form has its own word."""
Resolve = Callable[[Any], Reference | None]
"""Makes a reference of a name from a trace or of a block's name; None if it cannot."""


def checked(value: Any, annotation: Any, what: str, resolve: Resolve) -> Any:
    """`value` as the annotation wants it.  Raises `ScheduleError` E-SCHEDULE-ARGUMENT otherwise."""
    origin = typing.get_origin(annotation)
    if annotation is Any:
        return _plain(value, what, resolve)
    if origin is Annotated:
        return _annotated(value, annotation, what, resolve)
    if origin in (typing.Union, types.UnionType):
        return _one_of(value, typing.get_args(annotation), what, resolve)
    if origin is Literal:
        choices = typing.get_args(annotation)
        if any(type(value) is type(choice) and value == choice for choice in choices):
            return value
        raise _wrong(what, value, " or ".join(repr(choice) for choice in choices))
    if origin in (list, tuple):
        if not isinstance(value, (list, tuple)):
            raise _wrong(what, value, "a list")
        item = typing.get_args(annotation)[0]
        return tuple(checked(part, item, f"{what}[{i}]", resolve) for i, part in enumerate(value))
    return _simple(value, annotation, what, resolve)


def _annotated(value: Any, annotation: Any, what: str, resolve: Resolve) -> Any:
    base, *limits = typing.get_args(annotation)
    if any(isinstance(limit, OfBlock) for limit in limits):
        return _buffer_choice(value, what)
    if any(isinstance(limit, OrName) for limit in limits) and isinstance(value, (str, t.Buffer)):
        return _unicode(value.name if isinstance(value, t.Buffer) else value, what)
    made = checked(value, base, what, resolve)
    for limit in limits:
        if isinstance(limit, Between) and not limit.low <= int(made) <= limit.high:
            raise _wrong(what, value, f"{limit.low} to {limit.high}")
    return made


def _drawn(value: Any, resolve: Resolve) -> ExprRV | int | None:
    """The drawn number that a value is, or that a trace names; that of a program's constant."""
    if isinstance(value, IntImm):
        return value.value
    found = resolve(value) if isinstance(value, ResultName) else value
    return found if isinstance(found, ExprRV) else None


def _simple(value: Any, annotation: Any, what: str, resolve: Resolve) -> Any:
    if annotation is LoopRV or annotation is BlockRV:
        found = value if isinstance(value, (LoopRV, BlockRV)) else resolve(value)
        if isinstance(found, annotation):
            return found
        raise _wrong(what, value, "a loop" if annotation is LoopRV else "a block or the name of one")
    if annotation is int:
        drawn = _drawn(value, resolve)
        if drawn is not None:
            return drawn
    if annotation is IndexMap:
        return index_map_of(value, what)
    if annotation is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, annotation) and not (annotation is int and isinstance(value, bool)):
        return _unicode(value, what)
    if annotation is int and not isinstance(value, (bool, type)) and hasattr(value, "__index__"):
        try:
            return index(value)
        except Exception as error:  # whatever a stranger's class raises, it is no whole number
            raise _wrong(what, value, "a whole number") from error
    raise _wrong(
        what, value, {int: "a whole number", str: "text", bool: "True or False"}.get(annotation, str(annotation))
    )


def _buffer_choice(value: Any, what: str) -> tuple[str, int] | str:
    if isinstance(value, t.Buffer):
        return value.name
    if isinstance(value, str):
        return _unicode(value, what)
    if isinstance(value, (list, tuple)) and len(value) == 2 and value[0] in ("read", "write", "own"):
        if type(value[1]) is int:
            return (value[0], value[1])
    raise _wrong(what, value, '("read" or "write" or "own", number), or the name of a buffer of the block')


def index_map_of(
    value: Any, what: str, rank: int | None = None, sizes: Mapping[str, Var] | None = None
) -> IndexMap:
    """An index map, or what makes one.  `rank`: how many indices a function ``lambda *indices: ...`` takes.  `sizes`:
    the variables that its outputs may use, by name; None where a text may use any, as in a trace without its program.

    Raises `ScheduleError` for anything else.
    """
    if isinstance(value, IndexMap) and (not value.sizes or sizes is None):
        return value
    try:
        if isinstance(value, (str, IndexMap)):
            return IndexMap.parse(str(value), sizes)
        if callable(value):
            return IndexMap.from_func(value, rank, () if sizes is None else sizes.values())
    except WorkbenchError as error:
        raise refuse(
            "E-SCHEDULE-ARGUMENT",
            f"{what}: {error.message}",
            found=error.found or str(value)[:80],
            expected=error.expected or "an index map",
            fix=error.fix or 'write "lambda i, j: (j, i)"',
        ) from None
    raise _wrong(what, value, "an IndexMap, a function of indices, or text such as 'lambda i, j: (j, i)'")


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


def _plain(value: Any, what: str, resolve: Resolve, depth: int = 0) -> Any:
    if depth > DEEPEST:
        raise _wrong(what.split("[")[0], value, f"data of at most {DEEPEST} lists in one another")
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong(what, value, "a finite number")
    if isinstance(value, ResultName):
        value = resolve(value)
    if value is None or isinstance(value, (bool, int, float, str, ExprRV)):
        return _unicode(value, what)
    if isinstance(value, (list, tuple)):
        return tuple(_plain(part, f"{what}[{i}]", resolve, depth + 1) for i, part in enumerate(value))
    if isinstance(value, Mapping):
        return _plain_dict(dict(value), what, depth)
    raise _wrong(what, value, "numbers, text, booleans, None, lists or dicts of them")


def _plain_dict(items: dict[Any, Any], what: str, depth: int) -> FrozenMap:
    """A dict of data.  No drawn numbers stand in it: who looks for those looks into lists only."""
    for key in items:
        if not isinstance(key, str):
            raise _wrong(f"a key of {what}", key, "text")
        _unicode(key, f"a key of {what}")
    made = FrozenMap({key: _plain(part, f"{what}[{key!r}]", _none, depth + 1) for key, part in items.items()})
    if _has_drawn(tuple(made.values())):
        raise _wrong(what, items, "numbers and text in a dict, no drawn numbers")
    return made


def _has_drawn(values: tuple[Any, ...]) -> bool:
    return any(_has_drawn(part) if isinstance(part, tuple) else isinstance(part, ExprRV) for part in values)


def _none(value: Any) -> Reference | None:
    return None


def _unicode(value: Any, what: str) -> Any:
    """An argument that can be written down: a text without lone surrogates, or no text."""
    if isinstance(value, str) and not is_unicode(value):
        raise _wrong(what, value, "Unicode text, without lone surrogates")
    return value


def _wrong(what: str, value: Any, expected: str) -> ScheduleError:
    return refuse(
        "E-SCHEDULE-ARGUMENT",
        f"{what} is not what it takes",
        found=f"{_shown(value)} ({type(value).__name__})",
        expected=expected,
        fix=SEE_SIGNATURE,
    )


def _shown(value: Any) -> str:
    """The beginning of a stranger's text, which may be long, deep, or raise."""
    try:
        return reprlib.repr(value)[:80]
    except Exception:
        return "something without a text"


def recorded(value: Any) -> Any:
    """An argument as the trace keeps it: references by name, index maps as text."""
    if isinstance(value, IndexMap):
        return value.text
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
