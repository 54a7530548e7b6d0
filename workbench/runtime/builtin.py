"""Packed functions that are there by themselves: matrix products by the BLAS that NumPy was built with.

They run `numpy.matmul` into the output, which for float32 and float64 is the BLAS's gemm; `blas_library()` names it (as
a rule OpenBLAS).  Registered under their classic names when the native runtime is loaded or one of them is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..core.errors import WorkbenchError


def blas_library() -> str:
    """The name and version of the BLAS behind NumPy; empty when NumPy multiplies by loops of its own."""
    try:
        found: dict[str, Any] = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index,call-overload]
    except (KeyError, TypeError):
        return ""
    return f"{found.get('name', '')} {found.get('version', '')}".strip() if found.get("found") else ""


def require_blas() -> None:
    """Raises `WorkbenchError` E-CBLAS-NONE where NumPy has no BLAS."""
    if not blas_library():
        raise WorkbenchError(
            "E-CBLAS-NONE", "there is no BLAS here", found="a NumPy that was built without one",
            fix="install NumPy from its wheels, which bring OpenBLAS; or write the product in te",
        )  # fmt: skip


def multiply(left: Any, right: Any, out: Any, transposed_left: bool = False, transposed_right: bool = False) -> None:
    """out = left @ right for matrices or stacks of them, either given transposed."""
    require_blas()
    a, b, c = (np.from_dlpack(item) for item in (left, right, out))
    np.matmul(
        np.swapaxes(a, -1, -2) if transposed_left else a, np.swapaxes(b, -1, -2) if transposed_right else b, out=c
    )


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "tvm.contrib.cblas.matmul": multiply,
    "tvm.contrib.cblas.batch_matmul": multiply,
}


def register_all() -> None:
    """Enter what is not there yet into the global registry."""
    from .packed import get_global_func

    for name in FUNCTIONS:
        get_global_func(name)
