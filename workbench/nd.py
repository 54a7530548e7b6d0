"""Classic name: `workbench.nd` (arrays); the implementation is `runtime`."""

from typing import Any

from .runtime import ndarray


def __getattr__(name: str) -> Any:
    return getattr(ndarray, name)
