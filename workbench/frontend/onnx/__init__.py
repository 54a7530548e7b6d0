"""ONNX: opsets 7 to 28, safely read, checked, and converted to relay.

    mod, params = from_onnx("model.onnx", {"x": (1, 3, 224, 224)})
    for row in coverage(): print(*row)

The `onnx` package is imported when a model is, not before.
"""

from .model import ImportedModel, from_onnx, import_model
from .support import coverage
from .table import onnx_op

__all__ = ["ImportedModel", "coverage", "from_onnx", "import_model", "onnx_op"]
