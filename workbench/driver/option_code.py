"""Values of passes' options as Python: what can be written is, what cannot has a name and a line that says so.

    code = OptionCode()
    code.of(DataType("float16"), "ToMixedPrecision_mixed_precision_type")      # DataType('float16')
    code.imports, code.remarks                  # the lines that must stand above

A value without code (a local function, a large array) becomes a variable, which a remark asks the reader to define.
"""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

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


class OptionCode:
    """Code of values; what it needs is collected."""

    def __init__(self) -> None:
        self._imports: dict[str, None] = {}
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
        chosen, number = name, 1
        while chosen in self._missing or not chosen.isidentifier():
            number += 1
            chosen = f"option_{name}_{number}"
        self._missing[chosen] = f"an option of kind {type(value).__name__} that has no text; define it here first"
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
        named = all(part.isidentifier() for part in (*module.split("."), *name.split(".")))
        if found is not value or not named or module in ("__main__", "builtins"):
            return ""
        self._require(f"from {module} import {name.split('.')[0]}")
        return name

    # --- by kind ---

    def _sequence(self, value: Any, name: str) -> str:
        items = [self.of(item, name) for item in value]
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
        """A function without constants, as its text; a number of a program as a number."""
        number = getattr(value, "value", None)
        if type(number) in (int, float, str):
            return self.of(number, name)
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
