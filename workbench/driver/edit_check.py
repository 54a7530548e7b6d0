"""Checks of functions that a person wrote, before they enter a session: types and well-formedness, in place.

A text that parses may still not be a program.  What inference or the verifier finds is reported with the line of the
text that was given, found by way of the function's own printed text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import pre_order
from ..core.transform import PASSES
from ..relay.ir.expr import Call, Expr
from ..tir.nodes import PrimFunc
from ..tir.verify import CODE, problems
from .text import PLACE, function_text


def place(error: WorkbenchError) -> tuple[int, int] | None:
    """The (line, column) of a text that an error speaks of, both from 1; column 0 where it names only the line."""
    found = PLACE.search(error.where)
    return (int(found[1]), int(found[3] or 0)) if found is not None else None


def require_sound(changed: Mapping[str, Any], program: IRModule, texts: Mapping[str, tuple[int, str]]) -> None:
    """Refuse changed functions that do not type-check or that the verifier rejects.

    `texts`: for functions that came as text, their first line in it and their text.  A program that had the same
    trouble before the change is left alone: steps report it.
    """
    for name, function in changed.items():
        if isinstance(function, PrimFunc):
            _require_verified(name, function, texts.get(name))
    if not any(isinstance(function, Expr) for function in changed.values()):
        return
    error = _type_error(program.with_functions(dict(changed)))
    if error is None or _type_error(program) is not None:
        return
    for name, function in changed.items():
        node = _call_of(error, function) if isinstance(function, Expr) else None
        line = _line_of(name, function, node, texts.get(name)) if node is not None else None
        if line is not None:
            error.where = f"line {line}, {error.where}"
            break
    error.kept = error.kept or "the program before the edit"
    raise error


def _require_verified(name: str, function: PrimFunc, text: tuple[int, str] | None) -> None:
    found = next(iter(problems(function)), None)
    if found is None:
        return
    line = next((at for node in found.nodes if (at := _line_of(name, function, node, text)) is not None), None)
    raise WorkbenchError(
        CODE,
        f"{name}: {found.message}",
        where=f"line {line}" if line is not None else f"function {name}",
        found=f"the check {found.check!r} fails",
        kept="the program before the edit",
        nodes=found.nodes,
    )


def _type_error(program: IRModule) -> WorkbenchError | None:
    try:
        PASSES["InferType"]()(program)
    except WorkbenchError as error:
        return error
    return None


def _call_of(error: WorkbenchError, function: Expr) -> Any:
    """The call that an error is about: the one it names, or the one of that operator on the operands it names."""
    about = {id(node) for node in error.nodes}
    calls = [node for node in pre_order(function) if isinstance(node, Call)]
    operator = error.where.split("(", 1)[0]
    named = [call for call in calls if getattr(call.op, "name", None) == operator]
    for candidates, test in (
        (named, lambda call: any(id(operand) in about for operand in call.args)),
        (calls, lambda call: id(call) in about),
    ):
        found = [call for call in candidates if test(call)]
        if found:
            return found[0]
    return named[0] if len(named) == 1 else None


def _line_of(name: str, function: Any, node: Any, text: tuple[int, str] | None) -> int | None:
    """The line of the given text on which a node stands: the line that reads like its printed one."""
    if text is None:
        return None
    printed = function_text(name, function)
    span = next((span for candidate, span in printed.spans if candidate is node), None)
    if span is None:
        return None
    row = printed.position(span.start)[0] - 1
    lines = [line.strip() for line in printed.lines]
    first, given = text
    nth = lines[: row + 1].count(lines[row])
    same = [index for index, line in enumerate(given.split("\n")) if line.strip() == lines[row]]
    return first + same[nth - 1] if nth <= len(same) else None
