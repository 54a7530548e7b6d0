"""What compiled functions look like: their printed loops, LLVM IR as emitted and as optimised, machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...core.errors import WorkbenchError
from ...target.target import Target
from . import cache, machine


@dataclass(frozen=True)
class Texts:
    """The texts of functions by name; the forms that are not kept are made of the LLVM IR when they are asked for."""

    target: Target
    emitted: Mapping[str, str]
    """LLVM IR."""
    printed: Mapping[str, str]
    """The loop programs that debug locations point into."""

    def get_source(self, form: str = "ll", name: str | None = None) -> str:
        """Text of one function or all: "tir", "ll" (as emitted), "ll-opt" (optimised), "asm"."""
        names = [name] if name is not None else list(self.emitted)
        return "\n".join(self._source(form, each) for each in names)

    def _source(self, form: str, name: str) -> str:
        if name not in self.emitted:
            raise WorkbenchError("E-MODULE-FUNCTION", f"there is no function {name!r}", found=", ".join(self.emitted))
        if form in ("ll", "llvm", ""):
            return self.emitted[name]
        if form == "tir":
            return self.printed.get(name, "")
        if form in ("asm", "s", "ll-opt"):
            job = machine.job_of(self.emitted[name], self.target, "ll" if form == "ll-opt" else "asm")
            return cache.compile_cached([job])[0].decode()
        raise WorkbenchError("E-SOURCE-FORM", f"there is no source of form {form!r}", expected="tir, ll, ll-opt, asm")

    def and_of(self, other: Texts) -> Texts:
        """These, then those of other functions."""
        return Texts(self.target, {**self.emitted, **other.emitted}, {**self.printed, **other.printed})
