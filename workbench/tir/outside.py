"""Calls out of a loop program: which functions it names, and which of them a program from a file may call.

A program that somebody typed may call what it likes.  One that came from a file may call mathematics of the C library
and the packed functions that the workbench itself brings; everything else is refused unless it is allowed by name.
What is refused is written into the program, as the attribute `refused_calls`: it goes along with every pass, schedule
and copy, stands in the text for all to see, and neither native code is made of such a program nor is it interpreted.

>>> from workbench.tir.script import parse
>>> outside_calls(parse("@T.prim_func\\ndef f():\\n    T.evaluate(T.call_extern('system', 'true', dtype='int32'))\\n"))
frozenset({'system'})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..arith import nodes as n
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import FrozenMap, pre_order
from ..runtime import builtin, symbols
from . import nodes as t

REFUSED: Final = "refused_calls"
"""The attribute of a function from a file: names of outside functions in it that nobody allowed."""
IMPORT_LLVM: Final = "pragma_import_llvm"
"""The annotation that carries native code, as LLVM IR or object code."""
NATIVE_CODE: Final = "import_llvm"
"""The name under which such code is allowed."""
COMPUTED: Final = "a name that is computed"
_EXTERNS: Final = symbols.MATHEMATICS | {"wb_report"}
_CALLS: Final = {
    "call_extern": _EXTERNS,
    "call_pure_extern": _EXTERNS,
    "call_packed": frozenset(builtin.FUNCTIONS),
}
"""By intrinsic: the functions that every program may call."""


def outside_calls(function: t.PrimFunc) -> frozenset[str]:
    """Names of the C functions, packed functions and native code in a function that are not harmless by themselves.

    LLVM's intrinsics are not among them: code generation lets only those through that compute.
    """
    found: set[str] = set()
    for node in pre_order(function):
        if isinstance(node, n.Call) and node.op in _CALLS:
            first = node.args[0] if node.args else None
            name = first.value if isinstance(first, n.StringImm) else COMPUTED
            if name not in _CALLS[node.op]:
                found.add(name)
        elif isinstance(node, t.Stmt) and IMPORT_LLVM in getattr(node, "annotations", ()):
            found.add(NATIVE_CODE)
    return frozenset(found)


def require_allowed(function: t.PrimFunc, name: str = "") -> None:
    """Raise `WorkbenchError` (E-TRUST-EXTERN) if a function that came from a file calls what nobody allowed."""
    refused = function.attrs.get(REFUSED, ())
    names = sorted(outside_calls(function).intersection(refused)) if refused else []
    if names:
        found = name or function.attrs.get("global_symbol", "main")
        raise not_allowed(f"{found} came from a file and calls functions outside of it", names)


def not_allowed(message: str, names: Sequence[str]) -> WorkbenchError:
    """The refusal of what names functions that nobody allowed, in a session from a file."""
    return WorkbenchError(
        "E-TRUST-EXTERN",
        message,
        found=", ".join(names),
        expected="mathematics, and functions that you allow by name",
        fix=f"read the program; if you trust it: wb.open(path, allow_extern={tuple(names)!r})",
        kept="none of them was called",
    )


@dataclass
class Guard:
    """What programs from one file may call; a session's history holds it."""

    file: str
    """The file's name."""
    allowed: frozenset[str] = frozenset()
    """Names that the person who opened the file allowed."""
    typed: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By function: names that this person wrote into it since."""
    refused: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By function: names refused so far."""
    brought: frozenset[str] = frozenset()
    """Names that a file brought, in whatever function of whatever row: nobody types them, they are allowed or not."""

    def note_typed(self, changed: Mapping[str, object], before: IRModule) -> None:
        """A person changes functions: the names that are new in them are theirs, but for those that a file brought.

        Text that was shown goes round: what says of itself that names in it are refused came from a file as well.
        """
        for name, function in changed.items():
            earlier = before[name] if name in before else None
            if isinstance(function, t.PrimFunc):
                old = outside_calls(earlier) if isinstance(earlier, t.PrimFunc) else frozenset[str]()
                self.typed[name] = self.typed.get(name, frozenset()) | (outside_calls(function) - old)
                self.brought |= outside_calls(function).intersection(function.attrs.get(REFUSED, ()))

    def marked(self, module: IRModule) -> IRModule:
        """The module with what is refused written into its loop functions; the very same if nothing is."""
        changed = {
            name: made
            for name, function in module.functions.items()
            if isinstance(function, t.PrimFunc) and (made := self.mark(name, function)) is not function
        }
        return module.with_functions(changed) if changed else module

    def mark(self, name: str, function: t.PrimFunc) -> t.PrimFunc:
        """A function with what is refused in it; the very same if nothing is."""
        typed = self.typed.get(name, frozenset()) - self.brought
        refused = outside_calls(function) - self.allowed - typed
        if tuple(sorted(refused)) == function.attrs.get(REFUSED, ()):
            return function
        self.refused[name] = refused
        kept = {key: value for key, value in function.attrs.items() if key != REFUSED}
        return function.replace(attrs=FrozenMap({**kept, REFUSED: tuple(sorted(refused))} if refused else kept))

    def see(self, functions: Iterable[tuple[str, object]]) -> None:
        """Note what functions of the file call, and what of it is refused, for `__str__`."""
        for name, function in functions:
            if isinstance(function, t.PrimFunc):
                self.brought |= outside_calls(function)
                self.mark(name, function)

    def see_native_code(self, name: str) -> None:
        """Note that the file's schedule of a kernel brings native code."""
        self.brought |= {NATIVE_CODE}
        if NATIVE_CODE not in self.allowed:
            self.refused[name] = self.refused.get(name, frozenset()) | {NATIVE_CODE}

    def __str__(self) -> str:
        """One line for a person."""
        names = sorted({each for refused in self.refused.values() for each in refused})
        refused = f"refused: {', '.join(names)}" if names else "none is called that is not allowed"
        allowed = f"; allowed: {', '.join(sorted(self.allowed))}" if self.allowed else ""
        return f"from {self.file}; outside functions: {refused}{allowed}"
