"""The form of a pass's options: a field for each keyword that its signature takes, with what it holds now.

    [parameter.name for parameter in pass_form("FuseOps").parameters]        # ["fuse_opt_level"]
    options_from("FuseOps", {"fuse_opt_level": 0})                            # {"fuse_opt_level": 0}, checked
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, Final

from ..core.errors import WorkbenchError, nearest
from ..core.transform import PASSES, Pass, with_options
from .schema import Parameter, ParameterKind, PrimitiveView
from .strings.tables import say

_KINDS: Final[tuple[tuple[str, ParameterKind], ...]] = (
    ("bool", "boolean"), ("int", "integer"), ("float", "number"), ("str", "text")
)  # fmt: skip
_LIST: Final = re.compile(r"Sequence\[str\]|list\[str\]|tuple\[str, \.\.\.\]")


def pass_form(name: str, options: Mapping[str, Any] | None = None) -> PrimitiveView:
    """The form of the pass `name`, holding `options` where they are given, else the defaults.

    Raises E-PASS-UNKNOWN for a name that no pass has.  Options that are functions or objects have no field.
    """
    entry = _entry(name)
    given = dict(options or {})
    return PrimitiveView(
        name=name,
        doc=inspect.getdoc(entry) or "",
        parameters=tuple(
            Parameter(
                name=parameter.name, kind=kind, default=_shown(given.get(parameter.name, _default(parameter))),
                required=parameter.default is parameter.empty, doc=_told(parameter),
            )
            for parameter in _parameters(entry)
            if (kind := _kind(parameter)) is not None
        ),
    )  # fmt: skip


def options_from(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a filled-in form means, without what is as the signature has it.

    Raises E-PASS-OPTION naming a field that is unknown, empty or of another type.
    """
    known = {parameter.name: parameter for parameter in _parameters(_entry(name))}
    found: dict[str, Any] = {}
    for field, value in values.items():
        if field not in known:
            raise WorkbenchError(
                "E-PASS-OPTION", f"pass {name} has no option {field[:60]!r}", expected=", ".join(known) or "none",
                fix=nearest(field, known), kept="the pipeline",
            )  # fmt: skip
        parameter = known[field]
        read = _read(name, parameter, value)
        if read != _default(parameter):
            found[field] = read
    return found


def made(name: str, options: Mapping[str, Any]) -> Pass:
    """The pass with options.  Raises E-PASS-OPTION where they do not fit."""
    return with_options(_entry(name), name, options)


def pass_code(name: str, options: Mapping[str, Any]) -> str:
    """A pass in Python, as `rerun` takes it."""
    given = ", ".join(f"{key}={value!r}" for key, value in options.items())
    return f"PASSES[{name!r}]({given})" if options else repr(name)


def _entry(name: str) -> Any:
    if name not in PASSES:
        raise WorkbenchError("E-PASS-UNKNOWN", f"there is no pass {name[:60]!r}", fix=nearest(name, PASSES))
    return PASSES[name]


def _parameters(entry: Any) -> list[inspect.Parameter]:
    """What a factory of passes takes; a pass that is made already has no options."""
    return [] if isinstance(entry, Pass) else list(inspect.signature(entry).parameters.values())


def _kind(parameter: inspect.Parameter) -> ParameterKind | None:
    annotation = str(parameter.annotation)
    if _LIST.search(annotation):
        return "text"
    words = set(re.findall(r"\w+", annotation))
    return next((kind for word, kind in _KINDS if word in words and "Callable" not in words), None)


def _default(parameter: inspect.Parameter) -> Any:
    return None if parameter.default is parameter.empty else parameter.default


def _told(parameter: inspect.Parameter) -> str:
    return say.pipeline.list_of_names if _LIST.search(str(parameter.annotation)) else ""


def _shown(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _read(name: str, parameter: inspect.Parameter, value: Any) -> Any:
    """A field's value as the option's type."""
    kind = _kind(parameter)
    if value is None or value == "":
        if parameter.default is parameter.empty:
            raise WorkbenchError(
                "E-PASS-OPTION", f"pass {name} needs {parameter.name!r}", found="nothing", expected=str(parameter),
                kept="the pipeline",
            )  # fmt: skip
        return parameter.default
    right = {"boolean": bool, "integer": int, "number": (int, float), "text": str}
    number = kind in ("integer", "number")
    if kind is None or not isinstance(value, right[kind]) or (number and isinstance(value, bool)):
        raise WorkbenchError(
            "E-PASS-OPTION", f"pass {name}: {parameter.name!r} does not take this", found=repr(value)[:80],
            expected=str(parameter), kept="the pipeline",
        )  # fmt: skip
    names = _LIST.search(str(parameter.annotation)) is not None
    if names and ("," in value or "str |" not in str(parameter.annotation)):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value
