"""Values of passes' options as Python: what can be written is, what cannot has a name and a line that says so.

    code = OptionCode()
    code.of(DataType("float16"), "ToMixedPrecision_mixed_precision_type")      # DataType('float16')
    code.imports, code.remarks                  # the lines that must stand above

A value without code (a local function, a large array) becomes a variable, which a remark asks the reader to define.
What is imported gets another name (`import ... as ...`) where the script has its own for something else.
"""

from __future__ import annotations

import enum
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from typing import Any, Final

import numpy as np

from ..arith.nodes import FloatImm, IntImm, StringImm
from ..core.dtype import DataType
from ..core.equal import same
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import Node
from ..target.target import Target
from ..tir.nodes import PrimFunc
from .text import constants_in, function_text, parse_function

MOST_ELEMENTS: Final = 64
"""Of an array that is written out."""
RESERVED: Final = frozenset(
    (
        *("wb", "np", "s", "sch", "program", "assumed", "bound", "PASSES", "pass_named", "DataType", "parse_function"),
        *("float", "set", "frozenset"),
    )
)
"""What a session's script calls things of its own, and what it uses of Python's."""
_SCHEDULED: Final = re.compile(r"[a-z]\d+")
"""What a schedule's lines call blocks and loops."""


class OptionCode:
    """Code of values; what it needs is collected.

    `taken` are further names that the script has.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._imports: dict[str, None] = {}
        self._names: dict[tuple[str, str], str] = {}
        """What is imported, by module and name in it: what the script calls it."""
        self._taken = {*RESERVED, *taken}
        self._missing: dict[str, str] = {}
        """What is not to be written: by variable the remark."""

    @property
    def imports(self) -> tuple[str, ...]:
        return tuple(sorted(self._imports))

    @property
    def remarks(self) -> tuple[str, ...]:
        """One for each variable that is left to the reader."""
        return tuple(f"{name}: {text}" for name, text in self._missing.items())

    def of(self, value: Any, name: str) -> str:
        """Code for a value; `name` is that of the variable where it has none."""
        if value is None or type(value) in (bool, int, str, bytes):
            return repr(value)
        if isinstance(value, float) and type(value) is float:
            return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
        for kinds, write in _WRITERS:
            if isinstance(value, kinds):
                code = write(self, value, name)
                break
        else:
            code = self._imported(value)
        return code or self._variable(value, name)

    def _variable(self, value: Any, name: str) -> str:
        name = "".join(sign if f"a{sign}".isidentifier() else "_" for sign in name)
        chosen = self._free(name, f"option_{name}")
        self._missing[chosen] = f"an option of kind {type(value).__name__} that has no text; define it here first"
        return chosen

    def _free(self, name: str, other: str) -> str:
        """A name that nothing has yet: `name`, or one that begins with `other`; it is taken from now on."""
        chosen, number = name, 1
        while chosen in self._taken or iskeyword(chosen) or not chosen.isidentifier() or _SCHEDULED.fullmatch(chosen):
            chosen = other if number == 1 else f"{other}_{number}"
            number += 1
        self._taken.add(chosen)
        return chosen

    def _require(self, line: str) -> None:
        self._imports[line] = None

    def _imported(self, value: Any) -> str:
        """The name of what a module holds under it: a function, a class."""
        module, name = getattr(value, "__module__", ""), str(getattr(value, "__qualname__", ""))
        module = str(module or "")
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        first, *inner = name.split(".")
        named = all(part.isidentifier() and not iskeyword(part) for part in (*module.split("."), first, *inner))
        if found is not value or not named or module in ("__main__", "builtins"):
            return ""
        if (module, first) not in self._names:
            called = self._names[module, first] = self._free(first, f"{module.replace('.', '_')}_{first}")
            self._require(f"from {module} import {first}" + (f" as {called}" if called != first else ""))
        return ".".join((self._names[module, first], *inner))

    # --- by kind ---

    def _sequence(self, value: Any, name: str) -> str:
        named = isinstance(value, tuple) and hasattr(value, "_fields")
        owner = self._imported(type(value)) if named else ""
        if named and not owner:
            return ""
        items = [self.of(item, name) for item in value]
        if named:
            return f"{owner}({', '.join(items)})"
        if isinstance(value, tuple):
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(value, (set, frozenset)):
            return f"{type(value).__name__}([{', '.join(sorted(items))}])"
        return f"[{', '.join(items)}]"

    def _mapping(self, value: Any, name: str) -> str:
        return f"{{{', '.join(f'{self.of(key, name)}: {self.of(item, name)}' for key, item in value.items())}}}"

    def _number(self, value: Any, name: str) -> str:
        if value.dtype.isbuiltin != 1 or value.dtype.kind not in "biuf":
            return ""
        self._require("import numpy as np")
        return f"np.dtype({value.dtype.name!r}).type({self.of(value.item(), name)})"

    def _array(self, value: np.ndarray, name: str) -> str:
        if value.size > MOST_ELEMENTS or value.dtype.isbuiltin != 1 or value.dtype.kind not in "biuf":
            return ""
        self._require("import numpy as np")
        return f"np.array({self._nested(value.tolist())}, {value.dtype.name!r}).reshape({value.shape!r})"

    def _nested(self, value: Any) -> str:
        return f"[{', '.join(map(self._nested, value))}]" if isinstance(value, list) else self.of(value, "")

    def _enumerated(self, value: enum.Enum, name: str) -> str:
        owner = self._imported(type(value))
        return f"{owner}[{value.name!r}]" if owner and value.name in type(value).__members__ else ""

    def _dtype(self, value: DataType, name: str) -> str:
        self._require("from workbench.core.dtype import DataType")
        return f"DataType({str(value)!r})"

    def _target(self, value: Target, name: str) -> str:
        text = str(value)
        return f"wb.Target({text!r})" if Target(text) == value else ""

    def _node(self, value: Node, name: str) -> str:
        """A function without constants, as its text; a number or a text of a program by its kind."""
        if isinstance(value, StringImm):
            return f"wb.tir.StringImm({value.value!r})"
        if isinstance(value, (IntImm, FloatImm)):
            return f"wb.tir.{type(value).__name__}({str(value.dtype)!r}, {self.of(value.value, name)})"
        try:
            text = function_text("main", value).text
            if constants_in_function(value) or not same(parse_function(text), value):
                return ""
        except WorkbenchError:
            return ""
        self._require("from workbench.driver.text import parse_function")
        return f"parse_function({text!r})"

    def _text(self, value: str, name: str) -> str:
        return repr(str(value))


def constants_in_function(function: Any) -> bool:
    """Whether a function holds tensors, which its text only names."""
    return not isinstance(function, PrimFunc) and bool(constants_in(IRModule({"main": function})))


_WRITERS: Final[tuple[tuple[Any, Callable[[OptionCode, Any, str], str]], ...]] = (
    (enum.Enum, OptionCode._enumerated),
    (DataType, OptionCode._dtype),
    (str, OptionCode._text),
    ((list, tuple, set, frozenset), OptionCode._sequence),
    (Mapping, OptionCode._mapping),
    (np.ndarray, OptionCode._array),
    (np.generic, OptionCode._number),
    (Target, OptionCode._target),
    (Node, OptionCode._node),
)
"""How values are written, by kind; the first kind that fits."""
