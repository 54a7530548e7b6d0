"""Compiled models on disk: what any process has built before is linked and run, not compiled again.

    key = key_of(plan, module, deciders)        # None: such a model is not kept
    model = find(key, plan.target, again)       # None: it was not built before
    keep(key, model)                            # written beside the program

The key holds all that a model depends on: the program with its weights and the names of its inputs, the plan, the
target with what is known of the machine, `wb.limits`, the versions of what compiles, and the code of the workbench.
Kept are large models without edits, made by the workbench's own passes, operators and rules alone; as soon as a user
has entered something into a table, or put a function in place of the workbench's, models are compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import numpy as np

from .. import IMPORTED_AT
from ..codegen.backend import backend_of
from ..codegen.llvm import cache, machine
from ..core import reliance
from ..core.code_names import is_own, is_users
from ..core.limits import limits
from ..core.module import IRModule
from ..core.node import pre_order
from ..core.store import Bytes
from ..core.transform import PassContext, PassInstrument
from ..relay.ir import expr as r
from ..runtime.model import CompiledModel, TensorSpec
from ..runtime.module import CodeUnit
from ..target.target import Target
from .plan import CompilePlan, LowerRow, PassRow, ScheduleRow

FORMAT: Final = 1
THREAD: Final = "workbench-keep"
"""The name of the thread that writes a model."""
LARGE: Final = 32
"""Calls of operators: a model of fewer is compiled in less than half a second."""
_LINE: Final = 64
"""Bytes to which constants are aligned."""
_NOT_COMPILING: Final = frozenset({"ui", "views", "teach", "__pycache__"})
"""Folders of the workbench that no compiling code imports."""

Key = Mapping[str, Any]


# --- what a model depends on --------------------------------------------------------------------------------------


def key_of(plan: CompilePlan, module: IRModule, deciders: Sequence[PassInstrument]) -> Key | None:
    """The key of what a plan makes of a module; None where nothing is kept."""
    watched = bool(deciders or PassContext.current().instruments)
    plain = plan.level == "relay" and all(map(_is_plain, plan.rows)) and not reliance.is_changed()
    if watched or not plain or not cache.stores() or not _is_large(module) or is_patched():
        return None
    sources = sources_digest()
    if not sources:
        return None
    target = plan.target
    facts = (target.processor, target.cache_levels, target.nominal, target.threads, sorted(target.available_features))
    return {
        "kind": "model",
        "format": FORMAT,
        "program": plan.program.digest or module.fingerprint(),
        "inputs": [parameter.name_hint for parameter in module["main"].params],
        "rows": [[row.to_json(), getattr(row, "code", "")] for row in plan.rows],
        "settings": plan.settings.to_json(),
        "target": [str(target), repr(facts), cache.key_of(machine.job_of("", target))],
        "limits": str(limits),
        "versions": [_version("compiler-workbench"), np.__version__, sys.version],
        "sources": sources,
    }


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except ModuleNotFoundError:  # it runs from its folder, and is not installed
        return ""


def _is_plain(row: Any) -> bool:
    """Whether a row of a plan is the workbench's own, with nothing of a person's in it."""
    if isinstance(row, PassRow):
        return not row.own and row.is_saved_whole
    if isinstance(row, LowerRow):
        return not row.choices
    return not row.tails if isinstance(row, ScheduleRow) else row.kind == "codegen"


def _is_large(module: IRModule) -> bool:
    if "main" not in module:
        return False
    nodes = (node for function in module.functions.values() for node in pre_order(function))
    calls = (node for node in nodes if isinstance(node, r.Call))
    return sum(1 for _, _ in zip(range(LARGE), calls, strict=False)) == LARGE


def is_patched() -> bool:
    """Whether a function of a user's stands in a module or a class of the workbench's: code that no file shows."""
    theirs: dict[Any, bool] = {}
    for function in _own_functions():
        module = function.__globals__.get("__name__")
        if module not in theirs:
            theirs[module] = is_users(module)
        if theirs[module]:
            return True
    return False


def _own_functions() -> Iterator[FunctionType]:
    """The functions in the workbench's modules, and those of the classes there."""
    for name, module in list(sys.modules.items()):
        if is_own(name):
            for value in list(vars(module).values()):
                if type(value) is FunctionType:
                    yield value
                elif isinstance(value, type) and value.__module__ == name:
                    yield from (method for method in vars(value).values() if type(method) is FunctionType)


@lru_cache(maxsize=1)
def sources_digest() -> str:
    """Of the code that compiles, as it lies in files; empty where a file was written after this process read them."""
    digest = hashlib.sha256()
    for path in _sources():
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mtime >= IMPORTED_AT:
                return ""
            digest.update(f"{path.name}\x1f".encode())
            digest.update(file.read())
    return digest.hexdigest()


def _sources() -> Iterator[Path]:
    for folder, folders, names in os.walk(Path(__file__).resolve().parents[1]):
        folders[:] = sorted(name for name in folders if name not in _NOT_COMPILING)
        yield from (Path(folder, name) for name in sorted(names) if name.endswith((".py", ".h")))


# --- reading and writing ------------------------------------------------------------------------------------------


def find(key: Key | None, target: Target, again: Callable[[], CompiledModel]) -> CompiledModel | None:
    """The model that was kept under a key; `again` compiles it, when its texts are asked for."""
    if key is None:
        return None
    for store in cache.stores():
        memory = store.memory(key)
        if memory is not None:
            return _restored(memory, target, again)
    return None


def keep(key: Key | None, model: CompiledModel) -> threading.Thread | None:
    """Write a model under its key, in a thread of its own; the process ends after it."""
    if key is None or not cache.stores() or model.module.code.foreign:
        return None
    thread = threading.Thread(target=_write, args=(key, model), name=THREAD)
    thread.start()
    return thread


def _write(key: Key, model: CompiledModel) -> None:
    store = cache.stores()[0]
    parts = _parts(model)
    size = sum(memoryview(part).nbytes for part in parts)
    if store.read_only or size > store.limit // 4 or size > _free(store.base) // 4:
        return
    sources_digest.cache_clear()  # code that came in from a file that was changed meanwhile is not what the key says
    if sources_digest() == key["sources"]:
        store.put(key, *parts)


def _free(folder: Path) -> int:
    """Bytes that are free on the disk of a folder, which need not be there."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _parts(model: CompiledModel) -> list[Bytes]:
    """A model in bytes: the size of its description, this, then objects and constants, each at a line."""
    code = model.module.code
    constants = [array.reshape(-1).view(np.uint8) for _, array in model.constants]
    described = {
        "model": model.describe(),
        "code": {**asdict(replace(code, objects=())), "objects": list(map(len, code.objects))},
    }
    head = json.dumps(described).encode()
    parts: list[Bytes] = []
    for part in (len(head).to_bytes(8, "little") + head, *code.objects, *(array.data for array in constants)):
        parts += [part, bytes(-len(part) % _LINE)]
    return parts


def _restored(memory: memoryview, target: Target, again: Callable[[], CompiledModel]) -> CompiledModel:
    """What `_parts` wrote."""
    size = int.from_bytes(memory[:8], "little")
    described = json.loads(bytes(memory[8 : 8 + size]))
    place = 8 + size
    code = described["code"]
    objects: list[bytes] = []
    for length in code.pop("objects"):
        place += -place % _LINE
        objects.append(bytes(memory[place : place + length]))
        place += length
    constants: list[np.ndarray] = []
    for spec in map(TensorSpec.from_json, described["model"]["constants"]):
        place += -place % _LINE
        constants.append(spec.array_in(memory[place:]))
        place += spec.nbytes
    written = {name: tuple(places) for name, places in code.pop("written").items()}
    unit = CodeUnit(**{**code, "objects": tuple(objects), "written": written, "externs": tuple(code["externs"])})
    module = backend_of(target).module_of(unit, target, lambda *asked: again().get_source(*asked))
    return CompiledModel.described(described["model"], module, constants)
