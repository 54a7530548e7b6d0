"""What a session hands out is a value: copies are the thing itself, and files are written by `save`."""

from __future__ import annotations

from typing import Any, Self

from ..core.errors import WorkbenchError


class Value:
    """A base for what never changes and holds what is made in this process (passes, native code)."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = type(self).__name__
        raise WorkbenchError(
            "E-SESSION-PICKLE", f"a {name} cannot be pickled: it holds what is made in this process",
            expected="a session's file, or the text of a program",
            fix="session.save(path) and wb.open(path)" if name == "Session" else "program.script(), or session.save",
        )  # fmt: skip
