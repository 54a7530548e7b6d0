"""Module: compiled functions by name, with their sources, ready to be exported.

    module["add"](a, b, c)
    module.time_evaluator("add", cpu(0), number=10)(a, b, c).mean
    module.export_library("add.so"); load_module("add.so")["add"](a, b, c)

A module holds the code that its functions run; a function holds its module's code too, so either may outlive the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import WorkbenchError, nearest
from ..core.whole_file import write_whole
from .devices import Device, require_cpu
from .packed import PackedFunc
from .timing import BenchmarkResult, evaluator


@dataclass(frozen=True)
class CodeUnit:
    """Object code to be linked into a library, and what it needs."""

    objects: tuple[bytes, ...]
    triple: str
    cpu_features: str = ""
    """Features beyond the architecture's baseline, separated by commas."""
    symbols: Mapping[str, str] | None = None
    """Packed symbol by function name."""
    foreign: str = ""
    """Why the code cannot run in this process; empty where it can."""
    written: Mapping[str, tuple[int, ...]] | None = None
    """Positions of the arguments that a function writes, by its name."""
    externs: tuple[str, ...] = ()
    """C functions outside of it that the code calls by symbol."""


class Module:
    """Functions by name; see the module's header."""

    def __init__(
        self,
        functions: Mapping[str, PackedFunc],
        *,
        type_key: str = "llvm",
        entry: str | None = None,
        code: CodeUnit | None = None,
        sources: Callable[..., str] | None = None,
        keep: Any = None,
    ) -> None:
        self._functions = dict(functions)
        self._code = code
        self._sources = sources
        self._keep = keep
        self._imports: list[Module] = []
        self._entry = entry if entry is not None else next(iter(self._functions), None)
        self.type_key = type_key

    # --- functions ---

    def __getitem__(self, name: str) -> PackedFunc:
        return self.get_function(name)

    def get_function(self, name: str, query_imports: bool = True) -> PackedFunc:
        """The function `name`, also of imported modules.  Raises `WorkbenchError` when there is none."""
        if name in self._functions:
            return self._functions[name]
        for other in self._imports if query_imports else ():
            if other.implements_function(name, query_imports):
                return other.get_function(name, query_imports)
        if self._code is not None and name in (self._code.symbols or {}):
            raise WorkbenchError(
                "E-RUN-FOREIGN",
                "this code was made for another machine",
                found=self._code.foreign or self._code.triple,
                fix="export it with export_library and run it there",
            )
        raise WorkbenchError(
            "E-MODULE-FUNCTION",
            f"the module has no function {name!r}",
            found=", ".join(self._functions) or "no functions",
            fix=nearest(name, self._functions),
        )

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        if name in self._functions:
            return True
        return query_imports and any(other.implements_function(name, True) for other in self._imports)

    __contains__ = implements_function

    @property
    def function_names(self) -> tuple[str, ...]:
        return tuple(self._functions)

    @property
    def entry_func(self) -> PackedFunc:
        """The function that calling the module calls."""
        if self._entry is None:
            raise WorkbenchError("E-MODULE-FUNCTION", "the module has no functions")
        return self.get_function(self._entry)

    @property
    def entry_name(self) -> str:
        """The name of `entry_func`."""
        if self._entry is None:
            raise WorkbenchError("E-MODULE-FUNCTION", "the module has no functions")
        return self._entry

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def import_module(self, module: Module) -> None:
        """Make another module's functions available through this one."""
        self._imports.append(module)

    @property
    def imported_modules(self) -> list[Module]:
        return list(self._imports)

    # --- measuring and looking ---

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
    ) -> Callable[..., BenchmarkResult]:
        """A function that takes the arguments of `func_name` and measures it; times are seconds a call."""
        require_cpu(dev)
        return evaluator(
            self.get_function(func_name),
            number=number,
            repeat=repeat,
            min_repeat_ms=min_repeat_ms,
            limit_zero_time_iterations=limit_zero_time_iterations,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
        )

    def get_source(self, fmt: str = "ll", name: str | None = None) -> str:
        """The code of all functions, or of one, as text: "tir", "ll", "ll-opt", "asm"."""
        if self._sources is None:
            raise WorkbenchError(
                "E-MODULE-SOURCE", "a loaded library carries no source", fix="ask the module it came from"
            )
        return self._sources(fmt, name)

    @property
    def format(self) -> str:
        return "so" if self._code is None else "o"

    @property
    def is_runnable(self) -> bool:
        return True

    @property
    def is_dso_exportable(self) -> bool:
        return self._code is not None

    # --- exporting ---

    @property
    def code(self) -> CodeUnit:
        """What would be exported.  Raises `WorkbenchError` for a module that was loaded."""
        if self._code is None:
            raise WorkbenchError("E-EXPORT-LOADED", "a loaded library cannot be exported again", fix="copy its file")
        return self._code

    def export_library(
        self, file_name: str | Path, *, fcompile: Any = None, addons: Sequence[str] | None = None
    ) -> Path:
        """Write a shared library (.so) that loads from Python, C, C++ and others; or one object file (.o)."""
        from .export import export_library

        return export_library(Path(file_name), self.code)

    def save(self, file_name: str | Path, fmt: str = "") -> None:
        """Write the module as text or object code, by the file's suffix or `fmt` (ll, s, o, so)."""
        path = Path(file_name)
        form = fmt or path.suffix.lstrip(".")
        if form in ("o", "so"):
            self.export_library(path)
        else:
            write_whole(path, self.get_source({"s": "asm"}.get(form, form)))

    def __repr__(self) -> str:
        return f"Module({self.type_key}, {', '.join(self._functions) or 'empty'})"


def load_module(path: str | Path) -> Any:
    """Load an exported library: a `Module`, or a `CompiledModel` when it holds a whole model.

    The file's own header is checked before any code of it is loaded: E-LOAD-* errors tell a missing, foreign, damaged
    or newer file, and a processor that lacks features it needs.
    """
    from .load import load

    return load(Path(path))
