"""Module: compiled functions by name.

    mod = build(func, target="llvm")
    mod["add"](a, b, c)
    mod.time_evaluator("add", cpu(0), number=10)(a, b, c).mean
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import WorkbenchError, nearest
from .benchmark import BenchmarkResult, evaluator
from .device import Device
from .packed_func import PackedFunc


class Module:
    """Functions of one compilation; they keep its code alive."""

    def __init__(self, artefact: Any) -> None:
        self.artefact = artefact
        self._functions: dict[str, PackedFunc] = {}
        self._imports: list[Module] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The functions that can be called."""
        return tuple(self.artefact.exported)

    @property
    def entry_name(self) -> str:
        """The function that calling the module calls: "main" if there is one, else the first."""
        return "main" if "main" in self.names else self.names[0]

    @property
    def entry_func(self) -> PackedFunc:
        return self[self.entry_name]

    @property
    def type_key(self) -> str:
        return "llvm"

    @property
    def imported_modules(self) -> list[Module]:
        return list(self._imports)

    def import_module(self, module: Module) -> None:
        """Look for functions in `module` as well."""
        self._imports.append(module)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        own = name in self.names
        return own or (query_imports and any(module.implements_function(name, True) for module in self._imports))

    def get_function(self, name: str, query_imports: bool = False) -> PackedFunc:
        """A function by name.  Raises `WorkbenchError` when there is none."""
        if name in self._functions:
            return self._functions[name]
        if name in self.names:
            linked = self.artefact.link()
            made = PackedFunc.at(linked[self.artefact.exported[name]], linked, name, self.artefact.written(name))
            self._functions[name] = made
            return made
        for module in self._imports if query_imports else ():
            if module.implements_function(name, True):
                return module.get_function(name, True)
        raise WorkbenchError(
            "E-MODULE-FUNCTION",
            f"the module has no function {name!r}",
            found=f"functions: {', '.join(self.names)}",
            fix=nearest(name, self.names),
        )

    def __getitem__(self, name: str) -> PackedFunc:
        return self.get_function(name, query_imports=True)

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that times calls of `func_name`; see `benchmark.evaluator`."""
        return evaluator(self.get_function(func_name).raw_call, number, repeat, min_repeat_ms)

    def get_source(self, fmt: str = "ll") -> str:
        """Text of all functions: "ll" (LLVM IR), "ll-opt", "asm", "tir"."""
        return self.artefact.get_source(fmt)

    def source(self, form: str, name: str) -> str:
        """Text of one function."""
        return self.artefact.get_source(form, name)

    def export_library(self, file_name: str) -> None:
        """Write a shared library that `load_module` (or tvm_ffi) loads."""
        from .export import export_library

        export_library(self, str(file_name))

    def __repr__(self) -> str:
        return f"Module({', '.join(self.names)})"
