"""Commands to read: a layer's words and folds, where a text occurs, the whole of it, the Python of the session."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from workbench.core.errors import WorkbenchError
from workbench.driver.as_python import changes_in_python
from workbench.ui.protocol import Answer, argument
from workbench.views.layers import LayersModel

_FOUND: Final = 10_000
"""Lines that one search gives."""
_PATTERN: Final = 200
"""Characters of a searched text."""
_LINE: Final = 4_000
"""Characters of a line that are searched."""


class ReadingCommands:
    """The commands on the model that is shown now."""

    def __init__(self, shown: Callable[[], LayersModel]) -> None:
        self._shown = shown

    def table(self) -> dict[str, Callable[[dict[str, Any]], Answer]]:
        """The commands by name."""
        return {"words": self._words, "find": self._find, "whole": self._whole, "python": self._python}

    def _python(self, args: dict[str, Any]) -> Answer:
        """The Python that makes the session shown, from what was opened; apart, what was done to that."""
        session = self._shown().session
        return Answer("", {"text": session.to_python(), "changes": changes_in_python(session)})

    def _words(self, args: dict[str, Any]) -> Answer:
        return Answer("", self._shown().words(argument(args, "layer", str), argument(args, "kernel", str, "")))

    def _find(self, args: dict[str, Any]) -> Answer:
        """The lines (from 0) in which a text occurs, small and capital letters alike; between slashes, a pattern."""
        wanted = argument(args, "text", str)[:_PATTERN]
        lines = self._shown().text(argument(args, "layer", str), argument(args, "kernel", str, ""))
        pattern = wanted[1:-1] if len(wanted) > 2 and wanted[0] == wanted[-1] == "/" else re.escape(wanted)
        try:
            found = re.compile(pattern, re.IGNORECASE)
        except re.error as error:
            raise WorkbenchError(
                "E-UI-ARGUMENT", "this is no regular expression", found=repr(wanted), expected=str(error),
                fix="write it without the slashes to look for the text itself",
            ) from None  # fmt: skip
        numbers = [number for number, line in enumerate(lines) if wanted and found.search(line[:_LINE])]
        return Answer("", {"lines": numbers[:_FOUND], "count": len(numbers)})

    def _whole(self, args: dict[str, Any]) -> Answer:
        lines = self._shown().text(argument(args, "layer", str), argument(args, "kernel", str, ""))
        return Answer("", {"text": "\n".join(lines) + "\n"})
