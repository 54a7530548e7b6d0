"""The text of a whole program: functions of any IR, in one Python-syntax script that parses back.

A module prints as a class whose members are its functions:

    @I.ir_module
    class Module:
        @R.function
        def main(...): ...
        @T.prim_func
        def fused_add(...): ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.source import ParseError
from ..core.tensor import Tensor
from ..core.text import Text
from ..relay.ir import script as relay_script
from ..relay.ir.expr import Constant, Expr
from ..relay.ir.types import TypeData
from ..tir import script as tir_script
from ..tir.nodes import PrimFunc

_HEADER = "@I.ir_module\nclass Module:\n"
_FINGERPRINT: Final = re.compile(r'"([0-9a-f]{8})[0-9a-f]{56}"')


def function_text(name: str, function: Any) -> Text:
    """One function of a module, with the spans of its nodes."""
    if isinstance(function, PrimFunc):
        return tir_script.text(function, name)
    if isinstance(function, (Expr, TypeData)):
        return relay_script.text(function, name)
    raise WorkbenchError("E-SCRIPT-CLASS", "only relay and tir programs have text", found=type(function).__name__)


_written: WeakKeyDictionary[PrimFunc, tuple[str, str]] = WeakKeyDictionary()
"""Texts of loop programs, each with the name that it has there: a step shows again what an earlier one made."""


def function_script(name: str, function: Any) -> str:
    """The text of a function of a module; a loop program's is written once as long as the function lives."""
    if not isinstance(function, PrimFunc):  # types of relay expressions, which are written too, are filled in later
        return function_text(name, function).text
    known = _written.get(function)
    if known is None or known[0] != name:
        known = _written[function] = name, function_text(name, function).text
    return known[1]


def script(program: Any) -> str:
    """The text of a module or of one function."""
    return module_script(program) if isinstance(program, IRModule) else function_text(_name_of(program), program).text


def module_script(module: IRModule, known: Mapping[str, str] | None = None) -> str:
    """The text of a module; `known` are texts of its functions that are there already."""
    members = {**module.type_definitions, **module.functions}
    written = known or {}
    texts = [written[name] if name in written else function_script(name, one) for name, one in members.items()]
    if not texts:
        return _HEADER + "    pass\n"
    return _HEADER + "\n\n".join(_indented(text) for text in texts) + "\n"


def _name_of(program: Any) -> str:
    attrs = getattr(program, "attrs", {})
    return str(attrs.get("global_symbol", "main")) if isinstance(attrs, Mapping) else "main"


def _indented(text: str) -> str:
    return "\n".join("    " + line if line else line for line in text.rstrip("\n").split("\n"))


def short_constants(text: str) -> str:
    """The fingerprints of constants cut to eight digits, for reading only: such a text cannot be parsed.

    >>> short_constants('R.constant("' + "0123456789abcdef" * 4 + '", (2,), "float32")')
    'R.constant("01234567…", (2,), "float32")'
    """
    return _FINGERPRINT.sub(r'"\1…"', text)


def parse(text: str, constants: Mapping[str, Tensor] | None = None) -> IRModule:
    """The module of a script.  Each function is parsed by itself; nothing is executed.

    `constants` are tensors by fingerprint, for the constants that the text names.  Raises `WorkbenchError` with line
    and column.
    """
    members = _members(text)
    functions: dict[str, Any] = {}
    types: dict[str, Any] = {}
    for name, line, source in members:
        try:
            parsed = parse_function(source, constants)
        except WorkbenchError as error:
            raise _moved(error, name, line, text) from None
        (types if isinstance(parsed, TypeData) else functions)[name] = parsed
    return IRModule(functions, types)


PLACE = re.compile(r"\bline (\d+)(?:(:|, column )(\d+))?")
"""How an error names a line of a text, and perhaps a column, both from 1."""


def _moved(error: WorkbenchError, name: str, begin: int, text: str) -> WorkbenchError:
    """An error in one function, placed in the whole text; members of a class are indented by four columns."""
    found = PLACE.match(error.where)
    if found is None:
        return error.located(f"function {name}, which begins at line {begin}")
    line = int(found[1]) + begin - 1
    written = text.split("\n")[line - 1 : line]
    shift = 4 if begin > 1 and written and written[0].startswith("    ") else 0
    column = f"{found[2]}{int(found[3]) + shift}" if found[3] else ""
    if isinstance(error, ParseError):
        error.line, error.column = line, error.column + shift
    error.where = f"line {line}{column}{error.where[found.end() :]}"
    return error


def parse_function(source: str, constants: Mapping[str, Tensor] | None = None) -> Any:
    """One relay or tir function from its text."""
    if "@T.prim_func" in source.split("def ", 1)[0]:
        return tir_script.parse(source)
    return relay_script.parse(source, constants=constants or {})


def texts_of(change: Any) -> dict[str, tuple[int, str]]:
    """The texts in an edit by function, each with the line on which it begins in what was given."""
    if isinstance(change, str):
        return {name: (line, source) for name, line, source in _members(change)}
    if isinstance(change, Mapping):
        return {name: (1, value) for name, value in change.items() if isinstance(value, str)}
    return {}


def is_module(text: str) -> bool:
    """Whether a text is that of a module, and not of one function."""
    return any(line.startswith("class ") for line in text.split("\n"))


def _members(text: str) -> list[tuple[str, int, str]]:
    """(name, first line, dedented source) of each function in a module's text, or of a single function."""
    lines = text.split("\n")
    starts = [index for index, line in enumerate(lines) if line.lstrip().startswith("class ") and line[:1] != " "]
    if not starts:
        return [("main", 1, text)]
    members: list[tuple[str, int, str]] = []
    body = lines[starts[0] + 1 :]
    offset = starts[0] + 2
    heads = [index for index, line in enumerate(body) if line.startswith("    @")]
    for position, begin in enumerate(heads):
        end = heads[position + 1] if position + 1 < len(heads) else len(body)
        source = "\n".join(line[4:] if line.startswith("    ") else line for line in body[begin:end]).rstrip() + "\n"
        members.append((_defined_name(source, begin + offset), begin + offset, source))
    return members


def _defined_name(source: str, begin: int) -> str:
    for line in source.split("\n"):
        for keyword in ("def ", "class "):
            if line.startswith(keyword):
                name = line[len(keyword) :].split("(", 1)[0].split(":", 1)[0].strip()
                if name.isidentifier():
                    return name
    raise WorkbenchError(
        "E-SCRIPT-NAME",
        "a function of the module has no readable name",
        where=f"line {begin}",
        found=source[:80],
        expected="def name(...):",
    )


def constants_in(program: IRModule) -> dict[str, Tensor]:
    """The tensors of a module's constants by fingerprint, as `parse` wants them."""
    return {node.data.fingerprint: node.data for node in program.nodes() if isinstance(node, Constant)}
