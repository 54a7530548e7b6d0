"""Names of a package that load on first use: its `__init__` imports none of its own modules.

    NAMES = names_of({".devices": "Device cpu gpu", ".ndarray": "NDArray"})
    __all__ = sorted(NAMES)
    __getattr__, __dir__ = late_names(__name__, NAMES)

Whoever imports `package.module` waits for the package first.  A package that imports its own modules waits for them in
turn: two threads, one at either end, wait for each other, and Python ends that by showing one of them a half-made
module.  No name stands for a thing in a module that is called like it: importing that module would put the module in
the name's place.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

Names = Mapping[str, tuple[str, str | None]]
"""By public name: the module (from the package if it begins with a dot), and the attribute of it (None: itself)."""


def names_of(modules: Mapping[str, str]) -> dict[str, tuple[str, str | None]]:
    """A table of names from the names that each module gives.

    >>> names_of({".devices": "Device cpu"})
    {'Device': ('.devices', 'Device'), 'cpu': ('.devices', 'cpu')}
    """
    return {name: (module, name) for module, names in modules.items() for name in names.split()}


def late_names(package: str, names: Names) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The package's `__getattr__` and `__dir__`."""

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = names[name]
        loaded = importlib.import_module(module, package)
        value = loaded if attribute is None else getattr(loaded, attribute)
        vars(sys.modules[package])[name] = value
        return value

    def known() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return load, known
