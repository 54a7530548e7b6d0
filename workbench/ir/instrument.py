"""Classic name: `workbench.ir.instrument`; the implementation is `core.instrument`."""

from typing import Any

from ..core import instrument


def __getattr__(name: str) -> Any:
    return getattr(instrument, name)
