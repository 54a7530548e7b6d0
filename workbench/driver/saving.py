"""Saving sessions: one JSON file with the imported program, its constants and the plan; nothing in it is executed.

    {"format": "workbench-session", "version": 1, "target": ..., "source": ..., "program": <script>,
     "constants": {fingerprint: {dtype, shape, data | fill}}, "plan": [{"kind": "pass", "name": ..., ...}, ...]}

Loading imports the program from its text, replays the plan lazily, and refuses a file that was damaged.
"""

from __future__ import annotations

import base64
import io
import json
import math
import os
import zlib
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from ..codegen.backend import building_for
from ..core import origin
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.limits import limits
from ..core.module import IRModule
from ..core.plain_file import read_plain
from ..core.tensor import Tensor, stated_shape
from ..core.whole_file import write_whole
from ..target import Target
from ..tir.outside import Guard
from . import actions, pipeline
from .history import Action, History
from .text import constants_in, parse, parse_function, script

if TYPE_CHECKING:
    from .session import Session

FORMAT: Final = "workbench-session"
VERSION: Final = 1
MOST_BYTES: Final = 16 << 30
"""Largest file that is opened."""


def save(session: Session, path: str) -> None:
    """Write `session` to `path`, whole or not at all."""
    program = session.step(0).stage.module
    document = {
        "format": FORMAT,
        "version": VERSION,
        "target": str(session.target),
        "source": session.source,
        "program": script(program),
        "attrs": {key: list(value) for key, value in program.attrs.items() if isinstance(value, tuple)},
        "constants": {key: _encode(data) for key, data in _constants(session).items()},
        "plan": [_saved_action(action) for action in session.plan[1:]],
    }
    write_whole(path, lambda file: _dump(document, file), code="E-SAVE-WRITE")


def _dump(document: Mapping[str, Any], file: IO[bytes]) -> None:
    """The document as JSON, piece by piece: weights may be most of the memory there is."""
    text = io.TextIOWrapper(file, encoding="utf-8")
    json.dump(document, text, ensure_ascii=False, indent=1)
    text.detach()


def _constants(session: Session) -> dict[str, Tensor]:
    """The constants of the program and of all edits, by fingerprint."""
    found = constants_in(session.step(0).stage.module)
    for action in session.plan:
        found |= constants_in(IRModule(action.functions))
    return found


def _saved_action(action: Action) -> dict[str, Any]:
    saved: dict[str, Any] = {"kind": action.kind, "name": action.name, "level": action.level}
    if action.kind == "pass":
        saved["options"] = dict(action.arguments)
    elif action.kind == "edit":
        saved["functions"] = dict(action.arguments)
    elif action.kind == "schedule":
        saved["traces"] = {name: json.loads(text) for name, text in action.saved.items()}
    return saved


def _encode(data: Tensor) -> dict[str, Any]:
    saved: dict[str, Any] = {"dtype": str(data.dtype), "shape": list(data.shape)}
    if data.fill_value is not None:
        return saved | {"fill": base64.b64encode(np.ascontiguousarray(data.fill_value).tobytes()).decode()}
    packed = zlib.compress(np.ascontiguousarray(data.numpy()).tobytes(), 1)
    return saved | {"data": base64.b64encode(packed).decode()}


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
        raise _damaged(f"constant {key[:12]}: {error}") from None
    if made.fingerprint != key:
        raise _damaged(f"constant {key[:12]} does not have the contents that its name says")
    return made


def _damaged(found: str) -> WorkbenchError:
    return WorkbenchError(
        "E-SAVED-DAMAGED", "this is not a whole saved session", found=found, kept="nothing was opened"
    )


def load(path: str, allow_extern: Sequence[str] = ()) -> Session:
    """The session of a file made by `save`; what it may call outside of itself is in `tir.outside`."""
    from .session import Session

    document = _read(path)
    constants = _decoded(document["constants"])
    target = building_for(document["target"])
    with origin.recording() as origins:
        module = parse(document["program"], constants)
    for key, value in document["attrs"].items():
        if not isinstance(value, list):
            raise _damaged(f"attrs[{key[:40]!r}] is not a list")
        module = module.with_attr(str(key), tuple(map(str, value)))
    root = actions.import_action(module, document["source"], origins)
    plan = tuple(_loaded_action(saved, target, constants, index) for index, saved in enumerate(document["plan"]))
    guard = Guard(os.path.basename(path), frozenset(allow_extern))
    for action in plan:
        guard.see(action.functions.items())
    guard.marked(module)
    return Session(History(guard), (root, *plan), target, document["source"])


def _read(path: str) -> dict[str, Any]:
    try:
        document = json.loads(read_plain(path, MOST_BYTES).decode("utf-8"))
    except OSError as error:
        raise WorkbenchError("E-SAVED-READ", f"cannot read {path}", found=str(error)) from None
    except (ValueError, RecursionError) as error:
        raise _damaged(str(error)[:200]) from None
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
        raise _damaged("no workbench session in it")
    if type(document.get("version")) is not int or document["version"] != VERSION:
        raise WorkbenchError(
            "E-SAVED-VERSION",
            "saved by another version",
            found=str(document.get("version")),
            expected=str(VERSION),
        )
    for name, kind in expected.items():
        if not isinstance(document.get(name), kind):
            raise _damaged(f"field {name!r} is missing or not a {kind.__name__}")
    return document


def _loaded_action(saved: Any, target: Target, constants: dict[str, Tensor], index: int) -> Action:
    if not isinstance(saved, dict) or not isinstance(saved.get("name"), str):
        raise _damaged(f"plan[{index}] is not an action")
    kind, level = saved.get("kind"), str(saved.get("level", "relay"))
    if level not in ("relay", "tir", "native"):
        raise _damaged(f"plan[{index}] works on {level[:40]!r}; there are relay, tir and native")
    if kind == "pass":
        return actions.pass_action(saved["name"], target, level, _mapping(saved, "options", index))
    if kind == "lower":
        return actions.lower_action(target)
    if kind == "codegen":
        return actions.codegen_action(target)
    if kind == "schedule":
        traces = {str(name): json.dumps(trace) for name, trace in _mapping(saved, "traces", index).items()}
        return actions.traced_schedule_action(traces)
    if kind == "edit":
        texts = {str(name): str(text) for name, text in _mapping(saved, "functions", index).items()}
        return actions.edit_action(
            {name: parse_function(text, constants) for name, text in texts.items()}, level, texts
        )
    raise _damaged(f"plan[{index}] is of unknown kind {kind!r}")


def _mapping(saved: dict[str, Any], key: str, index: int) -> dict[str, Any]:
    found = saved.get(key, {})
    if not isinstance(found, dict):
        raise _damaged(f"{key} of plan[{index}] are not given by name")
    return found


# --- as Python ----------------------------------------------------------------------------------------------------


def to_python(session: Session) -> str:
    """The lines of Python that make this session again from its source."""
    root = session.plan[0].arguments
    opened = repr(session.source) if root.get("file") else "program"
    shape = f", shape={dict(root['shape'])!r}" if root.get("shape") else ""
    relay = [action for action in session.plan if action.kind == "pass" and action.level == "relay"]
    usual = tuple(action.name for action in relay) == pipeline.RELAY and not any(action.arguments for action in relay)
    chosen = "" if usual or not relay else f", passes=[{', '.join(map(_pass_python, relay))}]"
    lines = ["import workbench as wb"]
    if any(action.arguments for action in relay) and not usual:
        lines.append("from workbench.core.transform import PASSES")
    if opened == "program":
        lines.append(f"# program: what was opened, of kind {session.source}")
    lines += ["", f"s = wb.open({opened}{shape}, target={str(session.target)!r}{chosen})", *_left_out(session)]
    for label, action in zip(session.labels, session.plan, strict=True):
        if action.kind == "edit":
            before = session.labels[session.labels.index(label) - 1]
            functions = ", ".join(f"{name!r}: {_quoted(text)}" for name, text in action.arguments.items())
            lines.append(f"s = s.edit({action.level}={{{functions}}}, at={before!r})")
        elif action.kind == "schedule":
            for name, code in action.arguments.items():
                lines += [
                    f"sch = s.schedule({name!r}, default=False)",
                    *code.rstrip().split("\n"),
                    f"s = s.edit(schedule={{{name!r}: sch}})",
                ]
    return "\n".join(lines) + "\n"


def _pass_python(action: Action) -> str:
    options = ", ".join(f"{key}={value!r}" for key, value in action.arguments.items())
    return f"PASSES[{action.name!r}]({options})" if options else repr(action.name)


def _quoted(text: str) -> str:
    """A text as a raw-looking literal of several lines where it can be."""
    return repr(text) if "\\" in text or "'''" in text else f"'''{text}'''"


def _left_out(session: Session) -> list[str]:
    """The loop passes that the usual pipeline has and the session has not."""
    from ..tir.transforms.pipeline import KERNEL_PIPELINE

    there = {action.name for action in session.plan}
    missing = [name for name in KERNEL_PIPELINE if name not in there]
    return [f"s = s.rerun(disabled_pass={missing!r})"] if missing else []
