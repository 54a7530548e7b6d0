"""Classic `contrib.graph_executor`: run a built model with inputs set by name or position."""

from __future__ import annotations

from typing import Any

from ..core.errors import WorkbenchError
from ..runtime.devices import Device
from ..runtime.executor import GraphExecutor
from ..runtime.model import CompiledModel


def GraphModule(module: Any) -> GraphExecutor:
    """The executor behind ``lib["default"](dev)``."""
    if isinstance(module, GraphExecutor):
        return module
    raise WorkbenchError(
        "E-EXECUTOR-MODULE", "GraphModule takes an executor", found=type(module).__name__, fix='lib["default"](dev)'
    )


def create(graph_json_str: str, libmod: Any, device: Device) -> GraphExecutor:
    """Classic API.  The graph is part of the library here, so `libmod` is the built model."""
    if isinstance(libmod, CompiledModel):
        return GraphExecutor(libmod, device)
    raise WorkbenchError(
        "E-EXECUTOR-MODULE", "create takes the built model as its library", found=type(libmod).__name__,
        fix="lib = relay.build(...); GraphModule(lib['default'](dev))",
    )  # fmt: skip
