"""Classic name: `workbench.nd` (arrays); the implementation is `runtime`."""

from typing import Any


def __getattr__(name: str) -> Any:
    from .runtime import ndarray

    return getattr(ndarray, name)
