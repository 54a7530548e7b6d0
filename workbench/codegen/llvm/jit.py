"""Linking object code into this process.

A `JitLibrary` holds addresses and everything that keeps them valid; whoever calls into it must hold it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import WorkbenchError
from .machine import Job, _binding, host_processor, target_machine

_counter = itertools.count(1)
_lock = threading.Lock()
_engine: list[Any] = []


class JitLibrary:
    """Object code linked into this process."""

    def __init__(self, engine: Any, tracker: Any, names: Sequence[str]) -> None:
        self._engine = engine
        self._tracker = tracker
        self.addresses = {name: int(tracker[name]) for name in names}

    def __getitem__(self, name: str) -> int:
        return self.addresses[name]


def _shared_engine() -> Any:
    """One LLJIT a process: libraries are tracked, and unloaded, one by one."""
    if not _engine:
        llvm = _binding()
        cpu, features = host_processor()
        machine = target_machine(Job("", cpu=cpu, features=features))
        _engine.append(llvm.create_lljit_compiler(machine, use_jit_link=True))
    return _engine[0]


def link(objects: Sequence[bytes], exports: Sequence[str], imports: Mapping[str, int]) -> JitLibrary:
    """Link object code; `exports` are the symbols wanted, `imports` addresses that it may use."""
    llvm = _binding()
    with _lock:
        engine = _shared_engine()
        builder = llvm.JITLibraryBuilder().add_current_process()
        for code in objects:
            builder.add_object_img(code)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for name in exports:
            builder.export_symbol(name)
        try:
            tracker = builder.link(engine, f"workbench{next(_counter)}")
        except RuntimeError as error:
            raise WorkbenchError(
                "E-CODEGEN-LINK", "the compiled code cannot be linked into this process", found=str(error)[:300]
            ) from None
        return JitLibrary(engine, tracker, exports)
