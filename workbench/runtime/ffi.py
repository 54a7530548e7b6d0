"""The one door to tvm-ffi, which is loaded at the first call of compiled code or the first array."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def tvm_ffi() -> Any:
    """The tvm_ffi package."""
    import tvm_ffi as package

    return package


def function_at(address: int, keep_alive: Any) -> Any:
    """A callable for native code of the packed signature; `keep_alive` lives as long as it does."""
    return tvm_ffi().Function.__from_extern_c__(address, keep_alive_object=keep_alive)
