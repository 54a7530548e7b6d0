"""Saved sessions, loaded: the program is imported from its text, the plan replayed lazily, a damaged file refused.

Files of version 1 are opened too (`saved_plan`); their edits were whole functions.  Nothing in a file is executed.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..codegen.backend import building_for
from ..core import origin
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.limits import limits
from ..core.module import IRModule
from ..core.plain_file import open_plain, read_plain
from ..core.tensor import Tensor, stated_shape
from ..core.transform import PASSES, PassContext
from ..lower.entry import NAMES, output_names
from ..lower.kernel import tensor_types
from ..relay.ir.expr import Function
from ..tir.by_hand import note_by_hand
from ..tir.outside import IMPORT_LLVM, Guard
from .actions import import_action
from .contents import Contents
from .first_run import SCHEDULED
from .history import AsSaved, History, identities
from .plan import CompilePlan, ProgramRef, ScheduleRow
from .saved_plan import attributes_from, damaged, require_order, rows_from, settings_from, users_keys_from, with_bases
from .saving import FORMAT, VERSION
from .session import Session
from .text import parse

MOST_BYTES: Final = 16 << 30
"""Largest file that is opened."""
_BEGIN: Final = re.compile(rb'\s*\{\s*"format"\s*:\s*"' + FORMAT.encode() + b'"')


def _decoded(saved: Mapping[str, Any]) -> dict[str, Tensor]:
    """All constants by fingerprint; together they are held to the bounds of one, since they are packed."""
    made: dict[str, Tensor] = {}
    for key, one in saved.items():
        made[key] = _decode(one, key)
        held = sum(data.nbytes for data in made.values() if data.fill_value is None)
        limits.check("tensor_bytes", held, "the constants of the session together")
    return made


def _decode(saved: Any, key: str) -> Tensor:
    try:
        dtype, shape = DataType(saved["dtype"]), stated_shape(saved["shape"])
        size = math.prod(shape) * dtype.bytes
        limits.check("tensor_bytes", size, f"constant {key[:12]}")
        if "fill" in saved:
            made = Tensor.full(shape, np.frombuffer(base64.b64decode(saved["fill"]), dtype.to_numpy())[0], dtype)
        else:
            unpacker = zlib.decompressobj()
            raw = unpacker.decompress(base64.b64decode(saved["data"]), size + 1)
            made = Tensor.of(np.frombuffer(raw, dtype.to_numpy()).reshape(shape))
    except (KeyError, TypeError, ValueError, IndexError, zlib.error) as error:
        raise damaged(f"constant {key[:12]}: {error}") from None
    if made.fingerprint != key:
        raise damaged(f"constant {key[:12]} does not have the contents that its name says")
    return made


def is_saved(path: str) -> bool:
    """Whether a file is a saved session, by its name or by how it begins; what cannot be read is none."""
    if path.endswith(".wb.json"):
        return True
    try:
        with open_plain(path) as file:
            return _BEGIN.match(file.read(200)) is not None
    except OSError:
        return False


def load(path: str, allow_extern: Sequence[str] = ()) -> Session:
    """The session of a file made by `save`; what it may call outside of itself is in `tir.outside`."""
    document = _read(path)
    constants = _decoded(document["constants"])
    target = building_for(document["target"])
    with origin.recording() as origins:
        module = _typed(parse(document["program"], constants))
    for key, value in attributes_from(document["attrs"]).items():
        module = module.with_attr(key, value)
    _require_names(module)
    note_by_hand(_by_hand(module, document))
    program = ProgramRef(document["source"], module.fingerprint(), saved=True)
    root = import_action(module, program, origins)
    settings = settings_from(document.get("settings"))
    settings.warn_unheard("a saved session")
    guard = Guard(os.path.basename(path), frozenset(allow_extern))
    contents = Contents(constants, guard)
    rows = tuple(map(contents.settled, rows_from(document["plan"], document["version"])))
    require_order(rows, root.level)
    for row in rows:
        guard.see(contents.edited_functions(row))
        for tail in row.tails if isinstance(row, ScheduleRow) else ():
            if IMPORT_LLVM in tail.trace:
                guard.see_native_code(tail.at.name)
    guard.see(module.functions.items())
    plan = CompilePlan(program, root.level, target, settings, rows)
    session = Session(History(root, contents), plan)
    steps = users_keys_from(document.get("users", []))
    names = {name: key for step in steps for name, key in step.items()}
    session.history.as_saved = AsSaved(dict(zip(identities(session.actions), steps, strict=False)), names)
    return with_bases(session) if document["version"] == 1 else session


def _by_hand(module: IRModule, document: Mapping[str, Any]) -> list[Any]:
    """The functions that a person had edited; a file that does not say may hold such wherever a schedule was opened."""
    names = document.get("by_hand", list(module.names()) if document["source"] == SCHEDULED else [])
    if not isinstance(names, list) or not all(name in module for name in names):
        raise damaged("by_hand are no names of functions")
    return [module[name] for name in names]


def _require_names(module: IRModule) -> None:
    """Refuse names of outputs of which there are more or fewer than outputs."""
    main = module.functions.get("main")
    if isinstance(main, Function) and main.body.type_or_none is not None:
        try:
            output_names(module.attrs, tensor_types(main.body.checked_type, "the result of main"))
        except WorkbenchError as error:
            raise damaged(f"{error.message}: {error.found}") if error.code == NAMES else error from None


def _typed(module: IRModule) -> IRModule:
    """The module with the types that it had when it was saved, since a user's pass may ask for them; as it is where it
    has none."""
    try:
        with PassContext().applied():
            return PASSES["InferType"]()(module)
    except WorkbenchError:
        return module


def _read(path: str) -> dict[str, Any]:
    try:
        document = json.loads(read_plain(path, MOST_BYTES).decode("utf-8"))
    except OSError as error:
        raise WorkbenchError("E-SAVED-READ", f"cannot read {path}", found=str(error)) from None
    except (ValueError, RecursionError) as error:
        raise damaged(str(error)[:200]) from None
    expected = {
        "format": str,
        "version": int,
        "target": str,
        "source": str,
        "program": str,
        "attrs": dict,
        "constants": dict,
        "plan": list,
    }
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise damaged("no workbench session in it")
    if type(document.get("version")) is not int or document["version"] not in (1, VERSION):
        raise WorkbenchError(
            "E-SAVED-VERSION",
            "saved by another version",
            found=str(document.get("version")),
            expected=f"1 or {VERSION}",
        )
    for name, kind in expected.items():
        if not isinstance(document.get(name), kind):
            raise damaged(f"field {name!r} is missing or not a {kind.__name__}")
    return document
