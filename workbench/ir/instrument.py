"""Classic name: `workbench.ir.instrument`; the implementation is `core.instrument`."""

from typing import Any


def __getattr__(name: str) -> Any:
    from ..core import instrument

    return getattr(instrument, name)
