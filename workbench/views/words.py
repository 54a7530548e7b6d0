"""The words of a layer's text: where names are defined, of what type, what instructions do, what folds.

A page gets this once for a text; hovering, following one value and folding then ask nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..core.text import Text
from ..relay.ir import expr as r
from ..relay.ir.listing import Listing
from ..relay.ir.types import TensorType
from .schema import SCHEMA_VERSION, View
from .strings.tables import say
from .word_docs import word_doc

_WORD: Final = re.compile(r"[%@]?[A-Za-z_][\w.]*")
_LOOP: Final = re.compile(r"^\s*for (?P<names>[\w, ]+) in T\.(?P<kind>\w+)\((?P<extents>[^)]*)\)")
_PARAMETER: Final = re.compile(r"(\w+): T\.Buffer\((\([^)]*\)), (\"\w+\")")
_BUFFER: Final = re.compile(r"^\s*(\w+) = T\.(alloc_buffer|allocate)\((\([^)]*\)), (\"\w+\")(?:, scope=(\"[\w.]+\"))?")
_AXIS: Final = re.compile(r"^\s*(\w+) = T\.axis\.(spatial|reduce)\((\d+)")
_REMAP: Final = re.compile(r"^\s*([\w, ]+) = T\.axis\.remap\(\"([SR]+)\"")
_VALUE: Final = re.compile(r"^\s*(%[\w.]+) = (?:tail )?(\w+)\s+(.*)$")
_KIND: Final = r"(<[^>]+>|\[[^\]]+\]|\{[^}]*\}|ptr|half|float|double|bfloat|i\d+)"
_LABEL: Final = re.compile(r"^[\w.$]+:")
_MOST: Final = 200_000
"""Lines whose words are looked at."""
_CASTS: Final = frozenset("sext zext trunc fpext fptrunc sitofp fptosi bitcast uitofp".split())


@dataclass(frozen=True, slots=True)
class WordsView(View):
    """See the module's header."""

    layer: str
    kernel: str
    names: tuple[tuple[int, str, str, int], ...]
    """Definitions in the order of the text: line (from 0), name, type or meaning, indentation of what it holds for."""
    docs: Mapping[str, str]
    """By word."""
    folds: tuple[int, ...]
    """Line (from 0) and how many lines fold under it, alternating; outer ones before those in them."""
    version: int = SCHEMA_VERSION


def words_of(
    layer: str, kernel: str, lines: Sequence[str], language: str, listing: Listing | None = None
) -> WordsView:
    """The words of a text; `listing` is that of a graph, which knows the types of its values."""
    seen = lines[:_MOST]
    distinct = dict.fromkeys(word for line in seen for word in _words(line, language))
    docs = {word: told for word in distinct if (told := word_doc(word.rstrip("."), language))}
    names = _graph_names(listing) if listing is not None else tuple(_defined(seen, language))
    return WordsView(layer, kernel, names, docs, tuple(_folds(seen, language)))


def _words(line: str, language: str) -> list[str]:
    """The words that may have a meaning; of assembly the instruction and the registers."""
    found = _WORD.findall(line.split("#", 1)[0] if language == "asm" else line)
    if language != "asm":
        return found
    return found[:1] * (line[:1] == " ") + [word for word in found if word.startswith("%")]


def _graph_names(listing: Listing) -> tuple[tuple[int, str, str, int], ...]:
    found: dict[int, tuple[int, str, str, int]] = {}
    text: Text = listing.text
    for node, span in sorted(text.spans, key=lambda one: one[1].start):
        name = listing.names.get(id(node))
        if name is None or id(node) in found or not isinstance(node, r.Expr):
            continue
        line = text.position(span.start)[0] - 1
        written = text.lines[line]
        indent = _indent(written) + (4 if written.lstrip().startswith("def ") else 0)
        found[id(node)] = line, name, _type(node.type_or_none), indent
    return tuple(sorted(found.values()))


def _type(kind: Any) -> str:
    if not isinstance(kind, TensorType):
        return "" if kind is None else str(kind)
    shape = " × ".join(map(str, kind.shape)) or say.graph.scalar
    count = 1
    for extent in kind.shape:
        if not isinstance(extent, int):
            return f"{shape} {kind.dtype}"
        count *= extent
    return f"{shape} {kind.dtype}, {_bytes(count * max(1, _bits(str(kind.dtype)) // 8))}"


def _bits(dtype: str) -> int:
    found = re.search(r"\d+", dtype)
    return int(found[0]) if found else 8


def _bytes(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _defined(lines: Iterable[str], language: str) -> Iterable[tuple[int, str, str, int]]:
    if language == "asm":
        return
    for number, line in enumerate(lines):
        if language == "llvm":
            found = _VALUE.match(line)
            if found:
                yield number, found[1], _llvm_type(found[2], found[3]), 0
            continue
        yield from ((number, name, told, _indent(line)) for name, told in _of_loops(line))


def _of_loops(line: str) -> Iterable[tuple[str, str]]:
    loop = _LOOP.match(line)
    if loop:
        names = [name.strip() for name in loop["names"].split(",")]
        extents = [extent.strip() for extent in loop["extents"].split(",")]
        for name, extent in zip(names, extents, strict=False):
            yield name, say.words.loop(loop["kind"], extent)
        return
    buffer = _BUFFER.match(line)
    if buffer:
        shape, dtype, scope = buffer[3], buffer[4], buffer[5]
        yield buffer[1], say.words.buffer_in(shape, dtype, scope) if scope else say.words.buffer(shape, dtype)
    axis = _AXIS.match(line)
    if axis:
        yield axis[1], say.words.axis_of(axis[2] == "spatial", axis[3])
    remap = _REMAP.match(line)
    if remap:
        for name, kind in zip(remap[1].split(","), remap[2], strict=False):
            yield name.strip(), say.words.axis(kind == "S")
    if line.lstrip().startswith("def "):
        for name, shape, dtype in _PARAMETER.findall(line):
            yield name, say.words.parameter(shape, dtype)


def _llvm_type(opcode: str, rest: str) -> str:
    """The type of what an instruction gives, by its written operands."""
    if opcode in ("getelementptr", "alloca", "inttoptr"):
        return "ptr"
    kinds = re.findall(_KIND, rest)
    if opcode in ("icmp", "fcmp"):
        lanes = re.match(r"<(\d+) x", kinds[0]) if kinds else None
        return f"<{lanes[1]} x i1>" if lanes else "i1"
    if " to " in rest and opcode in _CASTS:
        return rest.split(" to ", 1)[1].split(",")[0].strip()
    if opcode == "extractelement" and kinds:
        return kinds[0].strip("<>").split(" x ")[-1]
    if opcode == "select" and len(kinds) > 1:
        return kinds[1]
    return kinds[0] if kinds else ""


def _folds(lines: Sequence[str], language: str) -> Iterable[int]:
    """Lines that hold those after them: by indentation, or from a label to the next one."""
    if language in ("llvm", "asm"):
        labels = [number for number, line in enumerate(lines) if _LABEL.match(line)]
        for first, after in zip(labels, [*labels[1:], len(lines)], strict=True):
            end = next((n for n in range(first + 1, after) if lines[n].startswith("}")), after)
            if end - first > 1:
                yield from (first, end - first - 1)
        return
    depth = [_indent(line) if line.strip() else -1 for line in lines]
    ends = [0] * len(lines)
    open_lines: list[int] = []
    for number in range(len(lines) + 1):
        here = depth[number] if number < len(lines) else 0
        while here >= 0 and open_lines and depth[open_lines[-1]] >= here:
            ends[open_lines.pop()] = number
        if number < len(lines) and here >= 0:
            open_lines.append(number)
    for number, end in enumerate(ends):
        if end > number + 1 and lines[number].rstrip().endswith(":"):
            yield from (number, end - number - 1)
