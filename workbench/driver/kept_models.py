"""Compiled models on disk: what any process has built before is linked and run, not compiled again.

    key = key_of(plan, module, deciders)        # None: such a model is not kept
    model = find(key, plan.target)              # None: it was not built before
    keep(key, model)                            # written beside the program

The key holds all that a model depends on: the program with its weights and the names of its inputs, the plan, the
target with what is known of the machine, `wb.limits`, the versions of what compiles, and the code of the workbench.
Kept are large models without edits, made by the workbench's own passes, operators and rules alone.  As soon as a user
has entered something into a table, or put something in place of a function or a number of the workbench's, models are
compiled (`pristine`); not seen is what changes an object within a table of the workbench's.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from .. import __version__
from ..codegen.backend import backend_of
from ..codegen.llvm.cache import stores
from ..codegen.llvm.texts import Texts
from ..core import reliance
from ..core.child import ChildFailure
from ..core.code_names import is_own
from ..core.errors import WorkbenchError
from ..core.limits import limits
from ..core.module import IRModule
from ..core.node import traced_in
from ..core.store import Bytes, Store
from ..core.transform import PassContext, PassInstrument
from ..relay.ir import expr as r
from ..runtime.model import CompiledModel, TensorSpec
from ..target.target import Target
from . import pristine
from .kernels import code_unit, helpers
from .plan import CompilePlan, LowerRow, PassRow, ScheduleRow

FORMAT: Final = 1
THREAD: Final = "workbench-keep"
"""The name of the thread that writes a model."""
LARGE: Final = 32
"""Calls of operators: a model of fewer is compiled in less than half a second."""
_LINE: Final = 64
"""Bytes to which constants are aligned."""

Key = Mapping[str, Any]


# --- what a model depends on --------------------------------------------------------------------------------------


def key_of(plan: CompilePlan, module: IRModule, deciders: Sequence[PassInstrument]) -> Key | None:
    """The key of what a plan makes of a module; None where nothing is kept."""
    watched = bool(deciders or PassContext.current().instruments) or pristine.is_watched()
    own = plan.level == "relay" and all(map(_is_own, plan.rows)) and not reliance.is_changed()
    if watched or not own or not stores(models=True) or not _is_kept(module) or pristine.is_patched():
        return None
    sources = pristine.sources_digest()
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
        "target": [str(target), repr(facts), backend_of(target).key_of(target)],
        "limits": str(limits),
        "versions": [__version__, np.__version__, sys.version],
        "sources": sources,
    }


def _is_own(row: Any) -> bool:
    """Whether a row of a plan is the workbench's own, with nothing of a person's in it."""
    if isinstance(row, PassRow):
        return not row.own and row.is_saved_whole
    if isinstance(row, LowerRow):
        return not row.choices
    return not row.tails if isinstance(row, ScheduleRow) else row.kind == "codegen"


def _is_kept(module: IRModule) -> bool:
    """Whether a program is large enough, and made of the workbench's own nodes and operators alone."""
    nodes = list(traced_in(module.functions.values())) if "main" in module else []
    calls = [node for node in nodes if isinstance(node, r.Call)]
    classes = {*map(type, nodes), *(type(call.op) for call in calls)}
    return len(calls) >= LARGE and all(is_own(one.__module__) for one in classes)


# --- reading and writing ------------------------------------------------------------------------------------------


def find(key: Key | None, target: Target) -> CompiledModel | None:
    """The model that was kept under a key."""
    if key is None:
        return None
    for store in stores(models=True):
        memory = store.memory(key)
        if memory is not None:
            return _restored(memory.toreadonly(), target)
    return None


def keep(key: Key, model: CompiledModel) -> None:
    """Write a model under its key, in a thread of its own; the process ends after it."""
    layers = stores(models=True)
    if not layers or layers[0].read_only or model.module.code.foreign:
        return
    thread = threading.Thread(target=_write, args=(layers[0], key, model, pristine.constants()), name=THREAD)
    try:
        thread.start()
    except RuntimeError:  # no more threads, or Python ends
        return


def _write(store: Store, key: Key, model: CompiledModel, constants: Mapping[str, str]) -> None:
    size = sum(array.nbytes for _, array in model.constants)
    try:
        if size > store.most or size > _free(store.base) // 4:
            return
        helper = helpers.ready()
        right: dict[str, str] = dict(helper.ask("constants", {"modules": list(constants)}).header["constants"])
        helpers.give_back(helper)
    except (OSError, ChildFailure, WorkbenchError):
        return
    pristine.sources_digest.cache_clear()  # code of a file that was changed meanwhile is not what the key says
    if pristine.sources_digest() == key["sources"] and all(right[name] == one for name, one in constants.items()):
        store.put(key, *_parts(model, right))


def _free(folder: Path) -> int:
    """Bytes that are free on the disk of a folder, which need not be there."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _parts(model: CompiledModel, constants: Mapping[str, str]) -> list[Bytes]:
    """A model in bytes: the size of its description, this, texts, then objects and constants, each at a line."""
    module, code = model.module, model.module.code
    shown = [{name: module.get_source(form, name) for name in code.symbols or {}} for form in ("ll", "tir")]
    texts = zlib.compress(json.dumps(shown).encode(), 1)
    described = {
        "model": model.describe(),
        "code": asdict(replace(code, objects=())),
        "sizes": [len(texts), *map(len, code.objects)],
        "constants": constants,
    }
    head = json.dumps(described).encode()
    arrays = [array.reshape(-1).view(np.uint8).data for _, array in model.constants]
    parts: list[Bytes] = []
    for part in (len(head).to_bytes(8, "little") + head, texts, *code.objects, *arrays):
        parts += [part, bytes(-len(part) % _LINE)]
    return parts


def _restored(memory: memoryview, target: Target) -> CompiledModel | None:
    """What `_parts` wrote; None where a number of the workbench's is another one now."""
    size = int.from_bytes(memory[:8], "little")
    described = json.loads(bytes(memory[8 : 8 + size]))
    if not pristine.are_same(described["constants"]):
        return None
    place = 8 + size

    def next_of(length: int) -> memoryview:
        nonlocal place
        begin = place + -place % _LINE
        place = begin + length
        return memory[begin:place]

    shown, *objects = [bytes(next_of(length)) for length in described["sizes"]]
    specs = map(TensorSpec.from_json, described["model"]["constants"])
    constants = [spec.array_in(next_of(spec.nbytes)) for spec in specs]

    @cache
    def texts() -> Texts:
        return Texts(target, *json.loads(zlib.decompress(shown)))

    code = code_unit(described["code"], tuple(objects))
    module = backend_of(target).module_of(code, target, lambda *asked: texts().get_source(*asked))
    return CompiledModel.described(described["model"], module, constants)
