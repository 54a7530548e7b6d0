"""Classic name: `relay.frontend`; the importers are those of `workbench.frontend`, loaded when asked for."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(importlib.import_module("workbench.frontend"), name)
