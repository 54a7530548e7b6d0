"""What each of LLVM's own passes did to one module: in a child process, since LLVM's switches for this are global.

    dumps = pass_dumps(machine.job_of(text, Target("llvm"), "asm"), ("wb_matmul_0",))
    [(dump.name, dump.where) for dump in dumps if dump.changed]

The child (`service`) compiles as we would, with ``-print-changed``; what it prints is the record.  Time and bytes are
bounded (`limits.llvm_seconds`, `limits.llvm_bytes`).  Texts are kept compressed and read when looked at.

A text is that of all functions of the kernel.  LLVM prints it after each pass on each function and each loop, changed
or not, so that it costs the square of the kernel's size: of a kernel of many loops a text is that of the function or
loop alone that the pass ran on.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, NamedTuple

from ...core.child import Child, ChildFailure, Limits
from ...core.errors import WorkbenchError
from ...core.limits import limits
from .machine import Job

Phase = Literal["ir", "machine"]
_HEADER: Final = re.compile(r"^(?:[;#] )?\*\*\* IR (?:Dump|Pass) (?:(At Start)|(Before |After )?(.+?)) ?\*\*\*\s*$")
_OUTCOME: Final = re.compile(r" (omitted because no change|ignored|filtered out|invalidated)$")
_DEFINE: Final = re.compile(r"^define .*?@([\w.$]+)\(")
_LOOP: Final = re.compile(r"^loop\w*:", re.MULTILINE)
_PRINTED: Final = 32 << 20
"""Bytes that LLVM may print, or compare, for a record of whole kernels: about a second."""
_PASSES_OF: Final = 200, 10
"""About how many passes run on a function and on a loop."""
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
    """Something in these functions: not a declaration alone, or an attribute of one."""
    before: Packed
    after: Packed
    """The functions after it, or what it ran on; the same object as `before` when nothing changed."""


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
    of_function, of_loop = _PASSES_OF
    passes = of_function * len(functions) + of_loop * len(_LOOP.findall(job.text))
    whole = passes * len(job.text) <= _PRINTED
    with Child("workbench.codegen.llvm.service", seconds=limits.llvm_seconds, limits=bound) as child:
        try:
            child.ask("passes", {"job": asdict(job), "functions": list(functions), "whole": whole})
        except ChildFailure as failure:
            raise _refused(failure) from None
        lines = (line.decode("utf-8", "replace").rstrip("\n") for line in child.printed())
        found = tuple((_read if whole else _read_parts)(lines))
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
    """The passes of a record of whole kernels, in order."""
    ir, machine = Packed(""), dict[str, Packed]()
    for header, body in _sections(lines):
        name, where, outcome = header.name, header.where, header.outcome
        if header.kind == "start":
            ir = Packed(_functions_only(body))
            continue
        if _ADAPTORS.match(name):
            continue
        if where in machine or _is_machine_code(body):
            before = machine.get(where, ir)
            machine[where] = after = before if outcome else _after(before, "\n".join(body))
            yield PassDump(name, where, "machine", after is not before, before, after)
            continue
        after = ir if outcome else _after(ir, _functions_only(body))
        yield PassDump(name, where, "ir", after is not ir or outcome == "invalidated", ir, after)
        ir = after


def _read_parts(lines: Iterator[str]) -> Iterator[PassDump]:
    """The passes of a record of what each ran on, in order; of what was never printed, the kernel as it began."""
    start = Packed("")
    known, machine = dict[str, Packed](), set[str]()
    for header, body in _sections(lines):
        name, where, outcome = header.name, header.where, header.outcome
        if header.kind == "start":
            start = Packed(_functions_only(body))
            continue
        if _ADAPTORS.match(name):
            continue
        if _is_machine_code(body):
            machine.add(where)
        text = _functions_only(body) or "\n".join(body).strip("\n")
        if header.kind == "before":
            known[where] = Packed(text)
            continue
        before = known.get(where, start)
        after = before if outcome else _after(before, text)
        known[where] = after
        phase: Phase = "machine" if where in machine else "ir"
        yield PassDump(name, where, phase, after is not before or outcome == "invalidated", before, after)


def _after(before: Packed, text: str) -> Packed:
    """What LLVM printed; the text before where that is the same: what changed then is no function of the kernel."""
    return before if text == before.text else Packed(text)


def _is_machine_code(body: list[str]) -> bool:
    return any(line.startswith("# Machine code for function") for line in body[:4])


class _Header(NamedTuple):
    kind: Literal["start", "before", "after"]
    name: str = ""
    where: str = ""
    outcome: str = ""


def _sections(lines: Iterator[str]) -> Iterator[tuple[_Header, list[str]]]:
    """Each header of the record with its text."""
    header: _Header | None = None
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


def _header(found: re.Match[str]) -> _Header:
    if found[1]:
        return _Header("start")
    text = found[3]
    outcome = _OUTCOME.search(text)
    if outcome is not None:
        text = text[: outcome.start()]
    name, _, where = text.partition(" on ")
    kind = "before" if found[2] == "Before " else "after"
    return _Header(kind, name, where, outcome[1] if outcome is not None else "")


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
