"""What stands behind a plan's data: constants by fingerprint, functions by text, passes by row.

A plan names things by content; a history keeps the things, so that a function that a person handed over is the very
one that runs, and a pass whose cell has been run again since is still the pass that was chosen.  What is not there is
made: a text is parsed, a pass looked up by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.pass_table import users_passes
from ..core.tensor import Tensor
from ..core.transform import PASSES, Pass, pass_named, place_of, require_pass, with_options
from ..lower.known import KnownKernels
from ..tir.outside import Guard
from .function_memo import FunctionMemo
from .plan import EditRow, PassRow, Row, options_of, pass_row
from .text import constants_in, function_text, parse_function


class OfTheMoment(WorkbenchError):
    """An error of what is around a step at this moment, not of the step: it is not kept, so that it may go away."""


class Contents:
    """See the module's header.  Shared by all sessions on a history; grows only."""

    def __init__(self, constants: Mapping[str, Tensor] | None = None, guard: Guard | None = None) -> None:
        self.guard = guard
        """What the programs may call, where they came from a file."""
        self.constants: dict[str, Tensor] = dict(constants or {})
        self._functions: dict[str, Any] = {}
        self._passes: dict[PassRow, Pass] = {}
        self._memos: dict[str, FunctionMemo] = {}
        self._kernels: dict[str, KnownKernels] = {}
        self._chosen: dict[str, str] = {}
        self._held: dict[int, Any] = {}

    def anew(self) -> Contents:
        """The same constants and passes for another program: functions are made of their texts again."""
        made = Contents(self.constants, self.guard)
        made._passes, made._chosen, made._held = dict(self._passes), dict(self._chosen), dict(self._held)
        return made

    def hold(self, things: Iterable[Any]) -> None:
        """Keep what steps are known by the identity of: another thing at its address would be taken for it."""
        self._held.update((id(thing), thing) for thing in things)

    def memo(self, key: str) -> FunctionMemo:
        """What a pass made of single functions, by the key of its action."""
        return self._memos.setdefault(key, FunctionMemo())

    def kernels(self, key: str) -> KnownKernels:
        """Kernels that were made, by the key of the action that lowers."""
        return self._kernels.setdefault(key, KnownKernels())

    def text_of(self, name: str, function: Any) -> str:
        """The text of a function, which from now on stands for this very function."""
        text = function_text(name, function).text
        if text not in self._functions:
            self._functions[text] = function
            self.constants.update(constants_in(IRModule({name: function})))
        return text

    def function(self, text: str) -> Any:
        """The function of a text.  Raises `WorkbenchError` for a text that is none."""
        if text not in self._functions:
            self._functions[text] = parse_function(text, self.constants)
        return self._functions[text]

    def row_of(self, chosen: str | Pass, level: str) -> PassRow:
        """The row of a pass given by name or as an object."""
        made = pass_named(chosen) if isinstance(chosen, str) else require_pass(chosen)
        row = pass_row(made, level)
        self._passes[row] = made  # of two with one code the later one: the other's data may have changed since
        return row

    def chosen_code(self, code: str) -> str:
        """The code's key of a pass as it was before runs of its own changed what it reads, such as a list it fills."""
        return self._chosen.get(code, code)

    def note_run(self, before: str, after: str) -> None:
        """A run of a pass changed what the pass reads itself, and with it the key of its code."""
        chosen = self.chosen_code(before)
        if after != chosen:
            self._chosen.setdefault(after, chosen)

    def pass_of(self, row: PassRow) -> Pass:
        """The pass of a row: the one that was chosen, else the one of this name.

        Raises `WorkbenchError` for a row out of a file, while its pass is not defined as it was then.
        """
        if row not in self._passes:
            self._passes[row] = pass_named(row.name, self.options(row), row.own)
        return self._passes[row]

    def known_pass(self, row: PassRow) -> Pass | None:
        """The same; None while it is not defined as it was then."""
        try:
            return self.pass_of(row)
        except WorkbenchError:
            return None

    def options(self, row: PassRow) -> dict[str, Any]:
        """The options of a row's pass."""
        chosen = self._passes.get(row)
        return dict(chosen.options) if chosen is not None else options_of(json.loads(row.options))

    def required_pass(self, row: PassRow, rows: Sequence[Row]) -> Pass:
        """The pass of a row, one of `rows`, now.  Raises `OfTheMoment` while it is not defined as it was chosen."""
        try:
            return self.pass_of(row)
        except WorkbenchError as error:
            again = f"give another: s.rerun(replace={{{row.name!r}: it}})"
            if self._defined_anew(row, rows) is not None:
                again = "take it as it is now: s.reload()"
            raise OfTheMoment(
                error.code, error.message, found=error.found, expected=error.expected,
                fix=f"run the cell or import the module that defines it as it was then; or {again}",
                kept="the steps before it",
            ) from None  # fmt: skip

    def reloaded(self, row: PassRow, rows: Sequence[Row]) -> PassRow:
        """The row, one of `rows`, with its pass as it is defined now; one that is not defined anew is keyed anew."""
        now = PASSES.get(row.name) if not row.own else self._defined_anew(row, rows)
        if now is None:
            return self.row_of(self.required_pass(row, rows), row.level)
        chosen = self.known_pass(row)
        return self.row_of(
            with_options(now, row.name, self.options(row)) if chosen is None else chosen.made_by(now), row.level
        )

    def _defined_anew(self, row: PassRow, rows: Sequence[Row]) -> Any:
        """What a user's pass is now: the latest of its name that is written in its place; None where there is none.

        Of several passes in one place (a cell run again, a function that makes passes) each row keeps its own, and
        one that is made of passes has no place.
        """
        named = [item for item in rows if isinstance(item, PassRow) and item.name == row.name]
        alike = {item.own for item in named if item.place == row.place}
        if not row.place or row.name not in PASSES or len(alike) > 1:
            return None
        return next((entry for entry in reversed(users_passes(row.name)) if place_of(entry) == row.place), None)

    def settled(self, row: Row) -> Row:
        """A row from a file, with the pass of its name as it is today; of a user's that is not there, as it is.

        Raises `WorkbenchError` for a row that names an unknown pass or holds a text of no function.
        """
        self.constants_of(row)
        if not isinstance(row, PassRow):
            return row
        if row.own and self.known_pass(row) is None:
            return replace(row, code=row.own)
        return self.row_of(self.pass_of(row), row.level)

    def edited_functions(self, row: Row) -> list[tuple[str, Any]]:
        """The functions that an edit is of, before and after it, by the name that they had."""
        deltas = row.deltas if isinstance(row, EditRow) else ()
        texts = [(delta.at.name, text) for delta in deltas for text in (delta.before, delta.after) if text]
        return [(name, self.function(text)) for name, text in texts]

    def constants_of(self, row: Row) -> dict[str, Tensor]:
        """The constants that the functions of an edit name."""
        if not isinstance(row, EditRow):
            return {}
        texts = [text for delta in row.deltas for text in (delta.before or delta.after, delta.after)]
        functions = {str(number): self.function(text) for number, text in enumerate(texts)}
        return constants_in(IRModule(functions))
