"""Arguments that are lists, things by name, or numbers: what else is given is refused in the caller's words.

    items("FuseOps", "rerun(passes=...)", "E-PASS-KIND", '["FuseOps"]')     # E-PASS-KIND: a list is expected here
    by_name([1], "edit(te=...)", "E-EDIT-KIND", "{name: tensors}")          # E-EDIT-KIND: given by name
    number("a", "check_numerics(tolerance=...)", "E-NUMERICS-NUMBER", "0.001")   # E-NUMERICS-NUMBER: a number
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, cast

import numpy as np

from .errors import WorkbenchError


def items(given: Any, where: str, code: str, example: str) -> tuple[Any, ...]:
    """What a list was given of; None is an empty one.  Raises `WorkbenchError` for a text, a mapping and no list."""
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise WorkbenchError(
            code, "a list is expected here", where=where, found=f"{given!r:.80}", expected=f"a list: {example}",
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


def number(given: Any, where: str, code: str, example: str, infinite: bool = False) -> float:
    """A number that is not negative; one that is `infinite` only where that is allowed.  Raises `WorkbenchError`."""
    if _is(Real, given) and given >= 0 and (infinite or given < float("inf")):
        return float(given)
    raise WorkbenchError(
        code, "a number that is not negative is expected here", where=where, found=repr(given)[:80], expected=example
    )


def whole(given: Any, where: str, code: str, least: int = 0) -> int:
    """A whole number, `least` or more.  Raises `WorkbenchError`."""
    if _is(Integral, given) and given >= least:
        return int(given)
    raise WorkbenchError(
        code, "a whole number is expected here", where=where, found=repr(given)[:80], expected=f"{least} or more"
    )


def unmasked(given: Any, what: str = "an array") -> Any:
    """What was given, unless elements of it are masked: programs know no masks.  Raises `WorkbenchError`."""
    masks: Any = np.ma
    if isinstance(given, masks.MaskedArray) and masks.is_masked(given):
        raise WorkbenchError(
            "E-RUN-MASKED", f"{what} has masked elements, and programs read what lies under a mask",
            found=f"{masks.count_masked(given):,} of {given.size:,} elements masked",
            expected="an array without a mask", fix="say what stands there: array.filled(0)",
        )  # fmt: skip
    return given


def _is(kind: type, given: Any) -> bool:
    """Whether a value is a number of a kind, NumPy's included; truth values are none."""
    return isinstance(given, kind) and not isinstance(given, bool)
