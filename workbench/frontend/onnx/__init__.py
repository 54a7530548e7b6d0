"""ONNX: opsets 7 to 28, safely read, checked, and converted to relay.

    mod, params = from_onnx("model.onnx", {"x": (1, 3, 224, 224)})
    for row in coverage(): print(*row)

The `onnx` package is imported when a model is, not before.
"""

from __future__ import annotations

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".model": "ImportedModel from_onnx import_model",
        ".support": "coverage",
        ".table": "onnx_op",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
