"""Saving sessions: one JSON file with the imported program, its constants and the plan; nothing in it is executed.

    {"format": "workbench-session", "version": 2, "target": ..., "settings": ..., "source": ..., "program": <script>,
     "constants": {fingerprint: {dtype, shape, data | fill}}, "plan": [{"kind": "pass", "name": ..., ...}, ...],
     "by_hand": [names of functions that an edit made before the session was opened]}

`loading` opens them again, files of version 1 too.
"""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from ..core.errors import WorkbenchError
from ..core.tensor import Tensor
from ..core.whole_file import write_whole
from ..tir.by_hand import is_by_hand
from .text import constants_in, script

if TYPE_CHECKING:
    from .session import Session

FORMAT: Final = "workbench-session"
VERSION: Final = 2


def save(session: Session, path: str) -> None:
    """Write `session` to `path`, whole or not at all."""
    if session.deciders:
        raise WorkbenchError(
            "E-SAVE-INSTRUMENT", "an instrument decides which passes of this session run, and a file cannot hold it",
            found=", ".join(type(decider).__name__ for decider in session.deciders),
            fix="leave the passes out by name: rerun(disabled_pass=[...]) of a session opened without it",
        )  # fmt: skip
    program = session.step(0).stage.module
    document = {
        "format": FORMAT,
        "version": VERSION,
        "target": str(session.target),
        "settings": session.plan.settings.to_json(),
        "source": session.source,
        "program": script(program),
        "attrs": {key: list(value) for key, value in program.attrs.items() if isinstance(value, tuple)},
        "constants": {key: _encode(data) for key, data in _constants(session).items()},
        "plan": [row.to_json() for row in session.plan.rows],
        "users": session.history.users_keys(session.actions),
        "by_hand": [name for name, func in program.functions.items() if is_by_hand(func)],
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
    for row in session.plan.rows:
        found |= session.history.contents.constants_of(row)
    return found


def _encode(data: Tensor) -> dict[str, Any]:
    saved: dict[str, Any] = {"dtype": str(data.dtype), "shape": list(data.shape)}
    if data.fill_value is not None:
        return saved | {"fill": base64.b64encode(np.ascontiguousarray(data.fill_value).tobytes()).decode()}
    packed = zlib.compress(np.ascontiguousarray(data.numpy()).tobytes(), 1)
    return saved | {"data": base64.b64encode(packed).decode()}
