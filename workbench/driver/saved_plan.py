"""A plan's rows and settings out of a saved file, of version 1 or 2; what is damaged is refused by its place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.errors import WorkbenchError
from .call_alignment import EntryCall
from .edits import edit_row
from .plan import (
    CODEGEN,
    Anchor,
    ChosenBy,
    EditRow,
    LowerRow,
    PassRow,
    Row,
    ScheduleRow,
    TextDelta,
    TraceTail,
    options_of,
    options_text,
)
from .settings import PassSettings

if TYPE_CHECKING:
    from .session import Session


def damaged(found: str) -> WorkbenchError:
    """The error for a file that is no whole session."""
    return WorkbenchError(
        "E-SAVED-DAMAGED", "this is not a whole saved session", found=found, kept="nothing was opened"
    )


def settings_from(saved: Any) -> PassSettings:
    """The settings of a file; files of version 1 have none, and mean the best level."""
    if saved is None:
        return PassSettings()
    try:
        made = PassSettings.from_json(saved)
        made.context()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(f"settings: {error!r:.200}") from None
    except WorkbenchError as error:
        error.where = f"settings of the saved session, {error.where}"
        raise
    return made


def rows_from(saved: list[Any], version: int) -> tuple[Row, ...]:
    """The rows of a file."""
    return tuple(_row(one, f"plan[{index}]", version) for index, one in enumerate(saved))


def require_order(rows: Sequence[Row], level: str) -> None:
    """Refuse rows that no session has: a stage that is there twice, is lacking, or stands in another's place."""
    stages = ("lower", "schedule", "codegen") if level == "relay" else ("codegen",)
    done: list[str] = []
    for index, row in enumerate(rows):
        place = f"plan[{index}] ({row.name})"
        if "codegen" in done:
            raise damaged(f"{place} comes after code generation")
        if row.kind in ("lower", "schedule", "codegen"):
            due = next(stage for stage in stages if stage not in done)
            own = level == "tir" and row.kind == "schedule" and "schedule" not in done  # by hand, wherever it stands
            if row.kind != due and not own:
                raise damaged(f"{place} stands where {due} is due")
            done.append(row.kind)
        elif row.kind == "pass" and row.level != ("relay" if level == "relay" and not done else "tir"):
            raise damaged(f"{place} is a pass of level {row.level}, and stands among others")
    if "codegen" not in done:
        raise damaged("plan generates no code")


def attributes_from(saved: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The attributes of a program: lists of texts by name."""
    for key, value in saved.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise damaged(f"attrs[{key[:40]!r}] is not a list of texts")
    return {key: tuple(value) for key, value in saved.items()}


def users_keys_from(saved: Any) -> list[dict[str, str]]:
    """By step: the keys of what it read of users' code; files of earlier versions do not say."""
    steps: list[Any] = saved if isinstance(saved, list) else [None]
    for index, one in enumerate(steps):
        if not isinstance(one, dict) or not all(isinstance(key, str) for key in one.values()):
            raise damaged(f"users[{index}] are no keys by name")
    return saved


def _row(saved: Any, place: str, version: int) -> Row:
    if not isinstance(saved, dict):
        raise damaged(f"{place} is not an action")
    kind, level = saved.get("kind"), str(saved.get("level", "relay"))
    if level not in ("relay", "tir", "native"):
        raise damaged(f"{place} works on {level[:40]!r}; there are relay, tir and native")
    if kind == "pass":
        options = options_text(options_of(_mapping(saved, "options", place)))
        own = _text(saved, "code", place) if "code" in saved else ""
        written = _text(saved, "place", place) if "place" in saved else ""
        return PassRow(_text(saved, "name", place), level, options, "", own, written)
    if kind == "lower":
        return LowerRow(_choices(saved, place))
    if kind == "codegen":
        return CODEGEN
    if kind == "schedule":
        return ScheduleRow(_tails(saved, place, version))
    if kind == "edit":
        return EditRow(level, _deltas(saved, place, version))
    raise damaged(f"{place} is of unknown kind {kind!r}")


def _deltas(saved: dict[str, Any], place: str, version: int) -> tuple[TextDelta, ...]:
    if version == 1:
        texts = _mapping(saved, "functions", place)
        return tuple(TextDelta(Anchor(str(name)), "", str(text)) for name, text in texts.items())
    return tuple(
        TextDelta(_anchor(one, where), _text(one, "before", where), _text(one, "after", where))
        for one, where in _listed(saved, "deltas", place)
    )


def _tails(saved: dict[str, Any], place: str, version: int) -> tuple[TraceTail, ...]:
    if version == 1:
        traces = _mapping(saved, "traces", place)
        return tuple(TraceTail(Anchor(str(name)), json.dumps(trace)) for name, trace in traces.items())
    return tuple(
        TraceTail(_anchor(one, where), json.dumps(_mapping(one, "trace", where)), _number(one, "shared", where))
        for one, where in _listed(saved, "tails", place)
    )


def _choices(saved: dict[str, Any], place: str) -> tuple[ChosenBy, ...]:
    return tuple(
        ChosenBy(_anchor(one, where), _text(one, "implementation", where), _numbers(one, where))
        for one, where in (_listed(saved, "choices", place) if "choices" in saved else ())
    )


def _numbers(saved: dict[str, Any], place: str) -> tuple[tuple[str, int], ...]:
    config = _mapping(saved, "config", place)
    if not all(name.isidentifier() and type(value) is int for name, value in config.items()):
        raise damaged(f"config of {place} are no numbers by name")
    return tuple(config.items())


def _anchor(saved: dict[str, Any], place: str) -> Anchor:
    at = _mapping(saved, "at", place)
    entry = at.get("entry", [])
    calls: list[Any] = entry if isinstance(entry, list) else [None]
    if not all(isinstance(call, list) and len(call) == 3 and all(isinstance(part, str) for part in call)
               for call in calls):  # fmt: skip
        raise damaged(f"entry of {place} is no list of calls")
    known = tuple(EntryCall(*call) for call in calls)  # not as bare tuples: keys of steps are made of it
    return Anchor(_text(at, "name", place), _text(at, "fingerprint", place), _number(at, "alike", place), known)


def _listed(saved: dict[str, Any], key: str, place: str) -> list[tuple[dict[str, Any], str]]:
    found = saved.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise damaged(f"{key} of {place} are no list of objects")
    return [(one, f"{place}.{key}[{index}]") for index, one in enumerate(found)]


def _text(saved: Mapping[str, Any], key: str, place: str) -> str:
    found = saved.get(key)
    if not isinstance(found, str):
        raise damaged(f"{key} of {place} is no text")
    return found


def _number(saved: Mapping[str, Any], key: str, place: str) -> int:
    found = saved.get(key)
    if type(found) is not int or found < 0:
        raise damaged(f"{key} of {place} is no count")
    return found


def _mapping(saved: Mapping[str, Any], key: str, place: str) -> dict[str, Any]:
    found = saved.get(key, {})
    if not isinstance(found, dict):
        raise damaged(f"{key} of {place} are not given by name")
    return found


# --- version 1 ----------------------------------------------------------------------------------------------------


def with_bases(session: Session) -> Session:
    """A session of version 1, whose edits were whole functions, with edits as changes of what came before them."""
    for index, row in enumerate(session.plan.rows, 1):
        if isinstance(row, EditRow):
            stage = session.step(index - 1).stage
            contents = session.history.contents
            functions = {delta.at.name: contents.function(delta.after) for delta in row.deltas}
            made = edit_row(row.level, functions, stage, contents)
            session = replace(session, plan=session.plan.with_row(index, made))
    return session
