"""The text of loop programs: `script` prints, `parse` reads it back, `prim_func` reads a Python function.

`parse(script(function))` is the same function, names included.  The text is a subset of Python's syntax; reading it
executes nothing, and whatever is wrong with it gives one `ParseError` (code E-TIR-PARSE) with line and column.

    @T.prim_func
    def add_one(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.serial(16):
            B[i] = A[i] + T.float32(1.0)
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import Node
from ..core.text import Text, layout
from .nodes import PrimFunc
from .text.names import Names
from .text.parse_func import program
from .text.print_stmt import LAST, Printer


def text(function: Node, name: str | None = None) -> Text:
    """The text of a function (or of any node inside one) with the spans of its nodes.

    `name` is the name to define it under; without it the function's ``global_symbol`` or "main".
    """
    return layout(function, Printer(Names.of_program(function), name), LAST)


def script(program: Node | IRModule) -> str:
    """The text of a function, of a module of such functions, or of any node of the loop IR."""
    if not isinstance(program, IRModule):
        return text(program).text
    members = [text(function, name).text for name, function in program.items()]
    body = "\n\n".join("\n".join("    " + line for line in member.split("\n")) for member in members)
    return f"@I.ir_module\nclass Module:\n{body or '    pass'}\n"


def parse(source: str | bytes) -> PrimFunc | IRModule:
    """The function or module of a text; a class gives a module.  Raises `ParseError`; executes nothing."""
    return program(source)


def prim_func(
    function: Callable[..., Any] | None = None, *, private: bool = False, root: bool = True, ret_dtype: str = "void"
) -> Any:
    """Read a Python function as a loop program, from its source.

    The options are read from the source too: `private` leaves out ``global_symbol``, ``root=False`` keeps a body of
    blocks without a root block.  Names of Python numbers and texts around the function stand for
    their values.  Raises `WorkbenchError` when the source cannot be had (typed at a bare prompt).
    """
    if function is None:
        return prim_func
    around = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    known = {**getattr(function, "__globals__", {}), **around.f_locals, **_closure(function)}
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        raise WorkbenchError(
            "E-TIR-SOURCE",
            "the source of this function is not to be had",
            found=repr(function)[:80],
            fix="define it in a file or a notebook cell, or give its text to tir.script.parse",
        ) from None
    return program(source, known)


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    found: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return found
