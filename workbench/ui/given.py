"""What a screen's program is run on: arrays that a cell has given, or random numbers.

    given = GivenInputs.of({"x": photo})
    given.values, given.key      # the key is another one for other values, and "" for random numbers
    RunInputs(given.values, "screen.inputs", given.key)

Invariant: the values are copies that cannot be written, so that what was found out with them stays what they give.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import numpy as np

from workbench.core.arguments import by_name, unmasked
from workbench.core.errors import WorkbenchError


@dataclass(frozen=True)
class GivenInputs:
    """See the module's header.  `values` is None for random numbers."""

    values: Mapping[str, Any] | None = None
    key: str = ""

    @staticmethod
    def of(inputs: object) -> GivenInputs:
        """What a cell gives.  Raises `WorkbenchError` E-UI-ARGUMENT for anything but arrays by name, and None."""
        if inputs is None:
            return GivenInputs()
        named = by_name(inputs, "screen.inputs", "E-UI-ARGUMENT", '{"x": array, ...}')
        values = {name: _frozen(name, value) for name, value in named.items()}
        digest = sha256()
        for name, array in sorted(values.items()):
            digest.update(f"{name!r}{array.dtype}{array.shape}".encode())
            digest.update(array.tobytes())
        return GivenInputs(MappingProxyType(values), digest.hexdigest())


@dataclass(frozen=True)
class RunInputs:
    """Arrays that something is run on, what they are called, and the key that tells them apart: of one moment.

    Asked for one by one, the key may be that of inputs that a cell has given meanwhile.
    """

    values: Mapping[str, Any]
    told: str
    key: str = ""


def _frozen(name: str, value: Any) -> np.ndarray:
    numpy = getattr(unmasked(value, f"input {name!r}"), "numpy", None)
    try:
        array = np.array(numpy() if callable(numpy) else value, order="C")
    except (TypeError, ValueError, RuntimeError):  # lists that are no array; a tensor of torch that wants gradients
        array = np.array(None)
    if array.dtype.kind in "OUSMm":
        raise WorkbenchError(
            "E-UI-ARGUMENT", f"input {name!r} is no array of numbers", found=type(value).__name__,
            expected="an array", fix='screen.inputs = {"x": array}', kept="the screen is unchanged",
        )  # fmt: skip
    array.flags.writeable = False
    return array
