"""Traces as JSON, read with the place of every value, so that a wrong file is refused with line and column.

Reading runs nothing and is all or nothing.  Old versions of primitives are migrated by the primitive's own table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, NoReturn

from ..core.errors import WorkbenchError, nearest
from ..core.node import FrozenMap
from ..tir.outside import IMPORT_LLVM
from .arguments import UNSAFE, ResultName, checked
from .errors import ScheduleError, refuse
from .references import BlockRV, ExprRV, LoopRV, Reference
from .registry import DECISION, PRIMITIVES, Primitive, accepted
from .trace import Step, Trace

FORMAT = "workbench.schedule"
VERSION = 1
_DEPTH_LIMIT = 32
_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<mark>[{}\[\],:])|(?P<text>\"(?:[^\"\\\x00-\x1f]|\\.)*\")"
    r"|(?P<number>-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?)|(?P<word>true|false|null)|(?P<end>\Z))"
)
_WORDS = {"true": True, "false": False, "null": None}


def write(trace: Trace) -> str:
    """The saved form, one step a line."""
    rows = ",\n".join("    " + json.dumps(_row(step)) for step in trace.steps)
    body = f"[\n{rows}\n  ]" if rows else "[]"
    function = json.dumps(trace.function)
    return f'{{\n  "format": "{FORMAT}", "version": {VERSION}, "function": {function},\n  "steps": {body}\n}}\n'


def _row(step: Step) -> dict[str, Any]:
    row: dict[str, Any] = {
        "primitive": step.primitive,
        "version": step.version,
        "arguments": {name: _encoded(value) for name, value in step.arguments},
        "results": list(step.results),
    }
    return row if step.decision is None else {**row, "decision": _encoded(step.decision)}


def _encoded(value: Any) -> Any:
    if isinstance(value, ResultName):
        return {"result": value.name}
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {"map": [[key, _encoded(item)] for key, item in value.items()]}
    return value


# --- values with places -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """A JSON value and the offset at which it begins."""

    value: Any
    offset: int


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0

    def fail(
        self, message: str, offset: int, *, code: str = "E-TRACE-FORMAT", found: str = "", fix: str = ""
    ) -> NoReturn:
        line = self.text.count("\n", 0, offset) + 1
        column = offset - (self.text.rfind("\n", 0, offset) + 1) + 1
        error = refuse(code, message, found=found, fix=fix or "save the trace again with trace.as_json()")
        error.where = f"line {line}, column {column}"
        error.kept = "nothing of the trace was applied"
        raise error

    def token(self) -> tuple[str, str, int]:
        matched = _TOKEN.match(self.text, self.offset)
        if matched is None:
            rest = self.text[self.offset :]
            start = self.offset + len(rest) - len(rest.lstrip(" \t\r\n"))
            self.fail("this is not JSON", start, found=repr(self.text[start : start + 20]))
        kind = str(matched.lastgroup)
        self.offset = matched.end()
        return kind, matched.group(kind), matched.start(kind)

    def value(self, depth: int = 0) -> Placed:
        kind, text, offset = self.token()
        if depth > _DEPTH_LIMIT:
            self.fail("nested too deeply", offset)
        if kind == "text":
            try:
                return Placed(json.loads(text), offset)
            except ValueError:
                self.fail("a malformed string", offset, found=text[:40])
        if kind == "number":
            return Placed(int(text) if re.fullmatch(r"-?\d+", text) else float(text), offset)
        if kind == "word":
            return Placed(_WORDS[text], offset)
        if text == "[":
            return Placed(self.items(depth), offset)
        if text == "{":
            return Placed(self.entries(depth), offset)
        self.fail("the file ends early" if kind == "end" else "a value was expected", offset, found=text or "the end")

    def items(self, depth: int) -> list[Placed]:
        found: list[Placed] = []
        if self.peek("]"):
            return found
        while True:
            found.append(self.value(depth + 1))
            if not self.more("]"):
                return found

    def entries(self, depth: int) -> dict[str, Placed]:
        found: dict[str, Placed] = {}
        if self.peek("}"):
            return found
        while True:
            key = self.value(depth + 1)
            if not isinstance(key.value, str) or key.value in found:
                self.fail("a new key in quotes was expected", key.offset, found=str(key.value)[:40])
            kind, text, offset = self.token()
            if text != ":":
                self.fail("':' was expected", offset, found=text or kind)
            found[key.value] = self.value(depth + 1)
            if not self.more("}"):
                return found

    def peek(self, mark: str) -> bool:
        before = self.offset
        if self.token()[1] == mark:
            return True
        self.offset = before
        return False

    def more(self, closing: str) -> bool:
        kind, text, offset = self.token()
        if text not in (",", closing):
            self.fail(
                "the file ends early" if kind == "end" else f"',' or {closing!r} was expected", offset, found=text
            )
        return text == ","


# --- validation ---------------------------------------------------------------------------------------------------


def read(text: str, allow_code: bool = False) -> Trace:
    """See `Trace.from_json`."""
    reader = _Reader(text)
    top = reader.value()
    kind, found, offset = reader.token()
    if kind != "end":
        reader.fail("something follows the trace", offset, found=found)
    fields = _fields(reader, top, {"format": str, "version": int, "function": str, "steps": list}, ())
    if fields["format"].value != FORMAT or fields["version"].value != VERSION:
        reader.fail(
            f"not a schedule trace of version {VERSION}",
            top.offset,
            found=f"{fields['format'].value!r} version {fields['version'].value}",
        )
    known: dict[str, Reference] = {}
    steps = tuple(_step(reader, row, known) for row in fields["steps"].value)
    for step, row in zip(steps, fields["steps"].value, strict=True):
        if not allow_code and has_code(step.arguments):
            reader.fail(
                "the trace carries native code",
                row.offset,
                code="E-TRACE-CODE",
                found=f"an annotation {IMPORT_LLVM!r}",
                fix="if you trust it: Trace.from_json(text, allow_code=True)",
            )
    return Trace(steps, fields["function"].value)


def has_code(value: Any) -> bool:
    """Whether the annotation that imports native code is named anywhere in a value."""
    if isinstance(value, Mapping):
        return any(has_code(item) for pair in value.items() for item in pair)
    if isinstance(value, tuple):
        return any(has_code(item) for item in value)
    return value == IMPORT_LLVM


def _fields(reader: _Reader, placed: Placed, wanted: dict[str, type], optional: tuple[str, ...]) -> dict[str, Placed]:
    if not isinstance(placed.value, dict):
        reader.fail("an object was expected", placed.offset)
    for name, kind in wanted.items():
        if name not in placed.value:
            if name not in optional:
                reader.fail(f"{name!r} is missing", placed.offset)
        elif type(placed.value[name].value) is not kind:
            reader.fail(f"{name!r} has the wrong type", placed.value[name].offset, found=_shown(placed.value[name]))
    for name, value in placed.value.items():
        if name not in wanted and name not in optional:
            reader.fail(f"unknown field {name!r}", value.offset, fix=nearest(name, wanted))
    return placed.value


def _shown(placed: Placed) -> str:
    return repr(_stripped(placed))[:60]


def _stripped(placed: Placed) -> Any:
    """The bare value; {"result": name} becomes a `ResultName`, {"map": [[key, value], ...]} a dict."""
    value = placed.value
    if isinstance(value, list):
        return tuple(_stripped(item) for item in value)
    if isinstance(value, dict):
        bare = {key: _stripped(item) for key, item in value.items()}
        if set(bare) == {"result"} and isinstance(bare["result"], str):
            return ResultName(bare["result"])
        pairs = bare.get("map") if set(bare) == {"map"} else None
        if isinstance(pairs, tuple) and all(_is_pair(pair) for pair in pairs):
            bare = dict(pairs)
        try:
            return FrozenMap(bare)
        except WorkbenchError:  # no Unicode text, which `checked` says with its place
            return bare
    return value


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _step(reader: _Reader, row: Placed, known: dict[str, Reference]) -> Step:
    wanted: dict[str, type] = {"primitive": str, "version": int, "arguments": dict, "results": list}
    fields = _fields(reader, row, wanted, ("decision",))
    name = fields["primitive"]
    if name.value not in PRIMITIVES:
        reader.fail(
            f"there is no schedule primitive {name.value!r}",
            name.offset,
            code="E-TRACE-PRIMITIVE",
            fix=nearest(name.value, PRIMITIVES) or "import the module that registers it",
        )
    entry = PRIMITIVES[name.value]
    version = fields["version"]
    if not 1 <= version.value <= entry.version:
        reader.fail(
            f"{entry.name} has versions 1 to {entry.version}",
            version.offset,
            code="E-TRACE-VERSION",
            found=_shown(version),
        )
    given = {key: _stripped(value) for key, value in fields["arguments"].value.items()}
    for number in range(version.value, entry.version):
        if number in entry.migrations:
            given = entry.migrations[number](given)
    places = {key: value.offset for key, value in fields["arguments"].value.items()}
    _check_arguments(reader, entry, given, places, row.offset, known)
    results = _results(reader, fields["results"], entry, known)
    decision = _decision(reader, entry, fields["decision"]) if "decision" in fields else None
    names = [*(item.name for item in entry.parameters), UNSAFE]
    ordered = tuple((name, given[name]) for name in names if name in given)
    return Step(entry.name, ordered, results, decision, entry.version)


def _check_arguments(
    reader: _Reader,
    entry: Primitive,
    given: dict[str, Any],
    places: dict[str, int],
    offset: int,
    known: dict[str, Reference],
) -> None:
    names = [*(item.name for item in entry.parameters if item.name != DECISION), UNSAFE]
    if given.get(UNSAFE, True) is not True:
        reader.fail(
            "unsafe is true or left out", places[UNSAFE], code="E-TRACE-ARGUMENT", found=repr(given[UNSAFE])[:60]
        )
    for name in given:
        if name not in names:
            reader.fail(
                f"{entry.name} has no argument {name!r}",
                places.get(name, offset),
                code="E-TRACE-ARGUMENT",
                fix=nearest(name, names),
            )
    for item in entry.parameters:
        if item.name not in given:
            if item.default is item.empty and item.kind is not item.VAR_POSITIONAL:
                reader.fail(f"{entry.name} needs {item.name!r}", offset, code="E-TRACE-ARGUMENT")
            continue
        annotation = entry.annotations[item.name]
        if item.kind is item.VAR_POSITIONAL:
            annotation = list[annotation]
        try:
            checked(given[item.name], annotation, f"{entry.name}({item.name})", lambda value: _resolve(value, known))
        except ScheduleError as error:
            reader.fail(
                error.message, places.get(item.name, offset), code="E-TRACE-ARGUMENT",
                found=error.found, fix=f"expected: {error.expected}",
            )  # fmt: skip


def _decision(reader: _Reader, entry: Primitive, placed: Placed) -> Any:
    """A sampler's decision, checked by its parameter's annotation."""
    if DECISION not in entry.annotations:
        reader.fail(f"{entry.name} takes no decision", placed.offset, code="E-TRACE-ARGUMENT", found=_shown(placed))
    try:
        return checked(_stripped(placed), entry.annotations[DECISION], f"{entry.name}(decision)", lambda value: None)
    except ScheduleError as error:
        reader.fail(
            error.message, placed.offset, code="E-TRACE-ARGUMENT", found=error.found,
            fix=f"expected: {error.expected}",
        )  # fmt: skip


def _resolve(value: Any, known: dict[str, Reference]) -> Reference | None:
    if isinstance(value, ResultName):
        return known.get(value.name)
    return BlockRV(value, value) if isinstance(value, str) else None


def _results(reader: _Reader, placed: Placed, entry: Primitive, known: dict[str, Reference]) -> tuple[str, ...]:
    kinds = accepted(entry.results)
    names: list[str] = []
    for item in placed.value:
        name = item.value
        if not isinstance(name, str) or not name.isidentifier() or iskeyword(name) or name in known:
            reader.fail("a new name for a result was expected", item.offset, found=_shown(item))
        if not kinds:
            reader.fail(f"{entry.name} has no results", item.offset, found=_shown(item))
        known[name] = _PLACEHOLDERS[kinds[0]](name)
        names.append(name)
    return tuple(names)


_ANY: Any = None
"""Stands for the target of a reference while a trace is only being read."""
_PLACEHOLDERS: dict[type, Callable[[str], Reference]] = {
    BlockRV: lambda name: BlockRV(name, name),
    LoopRV: lambda name: LoopRV(name, _ANY),
    ExprRV: lambda name: ExprRV(name, 1),  # in the bounds of every argument; the drawn one is checked on replay
}
