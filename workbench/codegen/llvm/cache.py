"""Compiled code that is there already: in this process's memory, in the user's cache folder, in a shared one.

What an object depends on is its job: the LLVM text, processor, features, level.  The key holds these, the versions of
LLVM and llvmlite, the calling convention's version, and the code that runs LLVM with its constants.  So an equal key
means equal code, and an edit compiles the edited kernels only.

    objects = compile_cached(jobs)        # as parallel_compile.compile_jobs, but only what is not known

Environment: WORKBENCH_CACHE_DIR (folder), WORKBENCH_CACHE_SHARED (a further one, only read), WORKBENCH_CACHE_BYTES
(limit of all on disk), WORKBENCH_CACHE=off (no disk).
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ...core import progress
from ...core.code_key import code_key
from ...core.store import DEFAULT_LIMIT, FOLDER, CacheWarning, Store, cache_folder
from . import machine, pipelines
from .machine import Job
from .parallel_compile import compile_jobs

ABI_VERSION: Final = 1
"""Of the kernels' calling convention; see runtime/native/workbench_runtime.h."""
MEMORY_LIMIT: Final = 256 << 20
MODELS: Final = "models-1"
"""The folder of whole models."""
OF_MODELS: Final = 5
"""Kernels have one such part of the space on disk, models the others."""


@dataclass
class Counts:
    """What became of the jobs of this process so far."""

    memory: int = 0
    disk: int = 0
    compiled: int = 0


counts: Final = Counts()


class Memory:
    """Objects by key, the least recently used dropped beyond `limit` bytes."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self.limit = limit
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
            return found

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            if key in self._held:
                return
            self._held[key] = data
            self._bytes += len(data)
            while self._bytes > self.limit and len(self._held) > 1:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= len(dropped)

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._bytes = 0


memory: Final = Memory()


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {
        "llvm": ".".join(map(str, machine.llvm_version())),
        "llvmlite": version("llvmlite"),
        "abi": str(ABI_VERSION),
        "code": code_key((machine.compile_job, pipelines.optimised, *map(_constants, (machine, pipelines)))),
    }


def _constants(module: ModuleType) -> dict[str, Any]:
    """The numbers, texts and patterns that a module's code reads."""
    kinds = (int, float, str, bytes, tuple, frozenset, re.Pattern)
    found = ((name, value) for name, value in vars(module).items() if not name.startswith("__"))
    return {name: value for name, value in sorted(found) if isinstance(value, kinds)}


def key_of(job: Job) -> dict[str, Any]:
    """Everything that the result of a job depends on."""
    held = {name: value for name, value in vars(job).items() if name != "text"}  # whatever fields a job gets
    held["triple"] = job.triple or machine.host_triple()
    return {"text": hashlib.sha256(job.text.encode()).hexdigest(), **held, "versions": _versions()}


def compile_cached(jobs: Sequence[Job]) -> list[bytes]:
    """The results of `jobs`, in order; equal jobs are done once, known ones not at all."""
    keys = [key_of(job) for job in jobs]
    names = ["\x1f".join(str(value) for value in key.values()) for key in keys]
    layers = stores()
    found: dict[str, bytes] = {}
    missing: dict[str, int] = {}
    for index, (name, key) in enumerate(zip(names, keys, strict=True)):
        if name in found or name in missing:
            continue
        known = _looked_up(name, key, layers)
        if known is None:
            missing[name] = index
        else:
            found[name] = known
    order = list(missing)

    def done(position: int, data: bytes) -> None:
        name = order[position]
        found[name] = data
        memory.put(name, data)
        if layers and not layers[0].read_only:
            layers[0].put(keys[missing[name]], data)

    counts.compiled += len(order)
    with progress.task("compile", len(order)) as task:
        compile_jobs([jobs[missing[name]] for name in order], done=lambda *result: (done(*result), task.advance()))
    return [found[name] for name in names]


def _looked_up(name: str, key: dict[str, Any], layers: Sequence[Store]) -> bytes | None:
    known = memory.get(name)
    if known is not None:
        counts.memory += 1
        return known
    for store in layers:
        known = store.get(key)
        if known is not None:
            counts.disk += 1
            memory.put(name, known)
            return known
    return None


def stores(models: bool = False) -> tuple[Store, ...]:
    """The layers on disk by the environment, the user's own first; empty when switched off.

    `models`: those of whole models, which have the greater part of the space.
    """
    given = os.environ
    if given.get("WORKBENCH_CACHE", "").lower() in ("off", "0", "no", "false"):
        return ()
    if os.open not in os.supports_dir_fd:  # Windows: a folder cannot be held while its files are opened
        return ()
    own = cache_folder()
    return _stores(str(own) if own else "", given.get("WORKBENCH_CACHE_SHARED", ""), _limit(given), models)


def _limit(environment: Any) -> int:
    """Bytes of all that is kept."""
    text = environment.get("WORKBENCH_CACHE_BYTES", "")
    return int(text) if text.isdigit() and int(text) > 0 else OF_MODELS * DEFAULT_LIMIT


@lru_cache(maxsize=16)
def _stores(own: str, shared: str, limit: int, models: bool) -> tuple[Store, ...]:
    """One store object a folder, since it remembers what it warned of."""
    made: list[Store] = []
    name = MODELS if models else FOLDER
    if own:
        part = limit // OF_MODELS
        made.append(Store(Path(own), name=name, limit=limit - part if models else part))
    elif not models:
        warnings.warn(
            "there is no home folder, so compiled code is kept in memory only. Set WORKBENCH_CACHE_DIR to a folder",
            CacheWarning,
            stacklevel=2,
        )
    if shared:
        made.append(Store(Path(shared), name=name, read_only=True))
    return tuple(made)
