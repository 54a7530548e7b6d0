"""What each of LLVM's own passes did to one module: in a child process, since LLVM's switches for this are global.

    dumps = pass_dumps(machine.job_of(text, Target("llvm"), "asm"), ("wb_matmul_0",))
    [(dump.name, dump.where) for dump in dumps if dump.changed]

The child (`service`) compiles as we would, with ``-print-changed``; what it prints is the record.  Time and bytes are
bounded (`limits.llvm_seconds`, `limits.llvm_bytes`).  Texts are kept compressed and read when looked at.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

from ...core.child import Child, ChildFailure, Limits
from ...core.errors import WorkbenchError
from ...core.limits import limits
from .machine import Job

Phase = Literal["ir", "machine"]
_HEADER: Final = re.compile(r"^(?:[;#] )?\*\*\* IR (?:Dump|Pass) (?:(At Start)|(?:After )?(.+?)) ?\*\*\*\s*$")
_OUTCOME: Final = re.compile(r" (omitted because no change|ignored|filtered out|invalidated)$")
_DEFINE: Final = re.compile(r"^define .*?@([\w.$]+)\(")
_ADAPTORS: Final = re.compile(r"^(PassManager<|ExtraLoop|\w*Adaptor\b|\w*WrapperPass\b|Devirt|Require|Invalidate)")


@dataclass(frozen=True)
class PassDump:
    """One run of one pass."""

    name: str
    """As LLVM calls it: "InstCombinePass", "Machine Copy Propagation Pass (machine-cp)"."""
    where: str
    """What it ran on: "[module]", a function, or a loop in a function."""
    phase: Phase
    changed: bool
    before: Packed
    after: Packed
    """The functions after it; the same object as `before` when nothing changed."""


class Packed:
    """A text, compressed until it is read."""

    __slots__ = ("_held", "instructions")

    def __init__(self, text: str) -> None:
        self._held = zlib.compress(text.encode(), 1)
        self.instructions = count_instructions(text)

    @property
    def text(self) -> str:
        return zlib.decompress(self._held).decode()


def count_instructions(text: str) -> int:
    """Instructions in functions of LLVM IR or machine IR."""
    return sum(
        line.startswith("  ") and line[2:3] not in (" ", "]", "#", "", ";") and not line.startswith("  successors")
        and not line.startswith("  liveins") and not line.startswith("  bb.")
        for line in text.split("\n")
    )  # fmt: skip


def pass_dumps(job: Job, functions: Sequence[str]) -> tuple[PassDump, ...]:
    """Every pass that runs while `job` is compiled, on the functions with these symbols.

    Raises `WorkbenchError`: E-LLVM-PASSES-LIMIT beyond time or bytes, E-LLVM-PASSES when LLVM cannot tell.
    """
    bound = Limits(file_bytes=limits.llvm_bytes)
    with Child("workbench.codegen.llvm.service", seconds=limits.llvm_seconds, limits=bound) as child:
        try:
            child.ask("passes", {"job": asdict(job), "functions": list(functions)})
        except ChildFailure as failure:
            raise _refused(failure) from None
        found = tuple(_read(line.decode("utf-8", "replace").rstrip("\n") for line in child.printed()))
    if not found:
        raise WorkbenchError(
            "E-LLVM-PASSES", "LLVM told nothing of its passes", fix="this needs an llvmlite whose LLVM can print them"
        )
    return found


def _refused(failure: ChildFailure) -> WorkbenchError:
    if failure.kind == "hangs":
        return _beyond(f"more than {limits.llvm_seconds} s", "llvm_seconds")
    if failure.kind == "limit":
        return _beyond(f"more than {limits.llvm_bytes:,} bytes", "llvm_bytes")
    if failure.kind == "absent":
        return WorkbenchError(
            "E-LLVM-PASSES", "the process that records LLVM's passes cannot be started", found=failure.detail[:200]
        )
    return WorkbenchError(
        "E-LLVM-PASSES",
        "LLVM ended while its passes were recorded",
        found=failure.said[-300:] or failure.detail,
        fix="check that the kernel compiles: s.build()",
    )


def _beyond(found: str, limit: str) -> WorkbenchError:
    return WorkbenchError(
        "E-LLVM-PASSES-LIMIT",
        "the record of LLVM's passes is too long",
        found=found,
        expected=f"less (wb.limits.{limit})",
        fix=f"ask for a smaller kernel, or raise wb.limits.{limit}",
    )


def _read(lines: Iterator[str]) -> Iterator[PassDump]:
    """The passes of a record, in order."""
    empty = Packed("")
    ir, machine = empty, dict[str, Packed]()
    for header, body in _sections(lines):
        name, where, outcome = header
        if name == "At Start":
            ir = Packed(_functions_only(body))
            continue
        if _ADAPTORS.match(name):
            continue
        phase: Phase = "machine" if any(line.startswith("# Machine code for function") for line in body[:4]) else "ir"
        known = machine.get(where)
        if known is not None or phase == "machine":
            before = known if known is not None else ir
            after = Packed("\n".join(body)) if not outcome else before
            machine[where] = after
            yield PassDump(name, where, "machine", after is not before, before, after)
            continue
        after = Packed(_functions_only(body)) if not outcome else ir
        yield PassDump(name, where, "ir", not outcome or outcome == "invalidated", ir, after)
        ir = after


def _sections(lines: Iterator[str]) -> Iterator[tuple[tuple[str, str, str], list[str]]]:
    """((pass, where, outcome), text) of each header of the record."""
    header: tuple[str, str, str] | None = None
    body: list[str] = []
    for line in lines:
        found = _HEADER.match(line) if "*** IR " in line else None
        if found is None:
            body.append(line)
            continue
        if header is not None:
            yield header, body
        header, body = _header(found), []
    if header is not None:
        yield header, body


def _header(found: re.Match[str]) -> tuple[str, str, str]:
    if found[1]:
        return found[1], "", ""
    text = found[2]
    outcome = _OUTCOME.search(text)
    if outcome is not None:
        text = text[: outcome.start()]
    name, _, where = text.partition(" on ")
    return name, where, outcome[1] if outcome is not None else ""


def _functions_only(body: list[str]) -> str:
    """The functions of a module's text, without wrappers, declarations and metadata."""
    kept: list[str] = []
    inside = False
    for line in body:
        found = _DEFINE.match(line)
        if found is not None:
            inside = not found[1].startswith("__tvm_ffi_")
        if inside:
            kept.append(line)
            if line == "}":
                kept.append("")
                inside = False
    return "\n".join(kept)
