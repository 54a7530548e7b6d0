"""Importers: a folder a format.  Each brings a foreign model to a relay module, never running any of its code.

`relay.frontend.from_onnx` of the classic API is `frontend.onnx.from_onnx`; it loads on first use.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import importlib

    if name == "from_onnx":
        return importlib.import_module(".onnx", __name__).from_onnx
    if name == "onnx":
        return importlib.import_module(".onnx", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
