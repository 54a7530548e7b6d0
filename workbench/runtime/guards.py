"""Guards: values of inputs that a program was specialised for, checked each time it is run.

An importer that needs an input's value (the shape that a Reshape takes) may be told to assume it.  The program is then
right for that value only, so the assumption is written into the module's attribute "guards", goes with the compiled
model into exported libraries, and a run with another value is refused.

    guard = Guard.of("axes", np.array([0, 2]))
    guard.check(np.array([0, 1]))           # WorkbenchError: found [0, 1], expected [0, 2]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..core.dtype import DataType
from ..core.errors import WorkbenchError, shorten

ATTRIBUTE: Final = "guards"
"""The attribute of an IRModule that holds its guards, each as a line of JSON: [input, dtype, shape, elements]."""
MOST_ELEMENTS: Final = 4096
"""What is assumed are shapes, axes, sizes and switches, not data."""


@dataclass(frozen=True)
class Guard:
    """One input and the value that the program assumes of it."""

    name: str
    dtype: DataType
    shape: tuple[int, ...]
    elements: tuple[Any, ...]

    @classmethod
    def of(cls, name: str, value: Any) -> Guard:
        """The guard for a value.  Raises `WorkbenchError` (E-GUARD-SIZE) when it has too many elements."""
        array = np.asarray(value)
        if array.size > MOST_ELEMENTS:
            raise WorkbenchError(
                "E-GUARD-SIZE",
                f"the value assumed for input {name!r} is too large to be checked at each run",
                found=f"{array.size:,} elements",
                expected=f"at most {MOST_ELEMENTS:,}",
                fix="fix the input for good: import_model(..., values={name: array})",
            )
        return cls(name, DataType(array.dtype.name), array.shape, tuple(array.reshape(-1).tolist()))

    @property
    def array(self) -> np.ndarray:
        return np.asarray(self.elements, self.dtype.to_numpy()).reshape(self.shape)

    def check(self, found: np.ndarray) -> None:
        """Raises `WorkbenchError` (E-RUN-GUARD) unless `found` is what was assumed."""
        expected = self.array
        if found.shape == expected.shape and np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"):
            return
        raise WorkbenchError(
            "E-RUN-GUARD",
            f"input {self.name!r} has another value than the one that the model was compiled for",
            where=f"input {self.name!r}",
            found=_text(found),
            expected=_text(expected),
            fix=f"import the model again with assume={{{self.name!r}: ...}} for this value",
        )

    def text(self) -> str:
        """As a line of JSON, for the module's attributes and for records."""
        return json.dumps([self.name, str(self.dtype), list(self.shape), list(self.elements)])

    @classmethod
    def from_text(cls, text: str) -> Guard:
        """The guard of a line.  Raises `WorkbenchError` (E-GUARD-TEXT) for a line that is none."""
        try:
            name, dtype, shape, elements = json.loads(text)
            made = cls(str(name), DataType(dtype), tuple(map(int, shape)), tuple(elements))
            if made.array.size > MOST_ELEMENTS:
                raise ValueError("too many elements")
        except (TypeError, ValueError, OverflowError, WorkbenchError) as error:
            raise WorkbenchError(
                "E-GUARD-TEXT", "a guard of this program cannot be read", found=shorten(f"{text!r}: {error}", 120),
                expected="[input, dtype, shape, elements]", fix="import the model again",
            ) from None  # fmt: skip
        return made


def guards_of(attrs: Mapping[str, Any]) -> tuple[Guard, ...]:
    """The guards that a module's attributes hold."""
    return tuple(Guard.from_text(str(item)) for item in attrs.get(ATTRIBUTE, ()))


def check_guards(guards: Iterable[Guard], values: Mapping[str, np.ndarray]) -> None:
    """Check each guard against the inputs by name.  Raises `WorkbenchError` (E-RUN-GUARD)."""
    for guard in guards:
        guard.check(values[guard.name])


def _text(array: np.ndarray) -> str:
    return shorten(f"{array.tolist()} {array.dtype}", 120)
