"""Arguments that are lists, or things by name: what else is given is refused in the caller's words.

    items("FuseOps", "rerun(passes=...)", "E-PASS-KIND", '["FuseOps"]')     # E-PASS-KIND: a list is expected here
    by_name([1], "edit(te=...)", "E-EDIT-KIND", "{name: tensors}")          # E-EDIT-KIND: given by name
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from .errors import WorkbenchError


def items(given: Any, where: str, code: str, example: str) -> tuple[Any, ...]:
    """What a list was given of; None is an empty one.  Raises `WorkbenchError` for a text, a mapping and no list."""
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise WorkbenchError(
            code, "a list is expected here", where=where, found=repr(given)[:80], expected=f"a list: {example}",
            fix=f"[{given!r:.60}]" if isinstance(given, str) else "",
        )  # fmt: skip
    held = cast("Iterable[Any]", given)
    return tuple(held) if isinstance(held, Sequence) else tuple(sorted(held, key=str))


def by_name(given: Any, where: str, code: str, example: str, kinds: tuple[type, ...] = (str,)) -> dict[Any, Any]:
    """What was given by name; None is nothing.  Raises `WorkbenchError` for no mapping, and for a key of no `kinds`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise WorkbenchError(
            code, "what is given here is given by name", where=where, found=repr(given)[:80], expected=example
        )
    held = cast("Mapping[Any, Any]", given)
    for key in held:
        if not isinstance(key, kinds):
            raise WorkbenchError(code, "this is no name", where=where, found=repr(key)[:80], expected=example)
    return dict(held)
