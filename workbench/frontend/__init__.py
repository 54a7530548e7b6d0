"""Importers: a folder a format.  Each brings a foreign model to a relay module, never running any of its code.

`relay.frontend.from_onnx` of the classic API is `frontend.onnx.from_onnx`; it loads on first use.
"""

from __future__ import annotations

from ..core.late_names import late_names

__getattr__, __dir__ = late_names(__name__, {"from_onnx": (".onnx", "from_onnx"), "onnx": (".onnx", None)})
