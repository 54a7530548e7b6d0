"""Classic name: `workbench.testing`, helpers for tests of one's own.

>>> import numpy as np
>>> assert_allclose(np.float32([1.0]), [1.0])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .runtime.devices import cpu


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Equality of arrays up to tolerances, shapes included; raises AssertionError that shows the worst elements."""
    found, expected = np.asanyarray(_array(actual)), np.asanyarray(_array(desired))
    np.testing.assert_allclose(found.shape, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, verbose=True)


def _array(value: Any) -> Any:
    return value.numpy() if callable(getattr(value, "numpy", None)) else value


def enabled_targets() -> list[tuple[str, Any]]:
    """Targets that compile and run here, with their devices."""
    return [("llvm", cpu(0))]
