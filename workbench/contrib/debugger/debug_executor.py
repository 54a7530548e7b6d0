"""Classic `contrib.debugger.debug_executor`: run a built model kernel by kernel, keeping every intermediate."""

from __future__ import annotations

from typing import Any

from ...core.errors import WorkbenchError
from ...runtime.devices import Device
from ...runtime.executor import DebugExecutor, GraphExecutor
from ...runtime.model import CompiledModel


def create(
    graph_json_str: Any, libmod: Any, device: Device | None = None, dump_root: str | None = None
) -> DebugExecutor:
    """A debugging executor of a built model; every run writes its graph and values to the folder `dump_root`."""
    model = libmod.model if isinstance(libmod, GraphExecutor) else libmod
    if not isinstance(model, CompiledModel):
        raise WorkbenchError("E-EXECUTOR-MODULE", "create takes the built model", found=type(libmod).__name__)
    return DebugExecutor(model, *([device] if device is not None else []), dump_root=dump_root)


def GraphModuleDebug(
    module: Any, device: Any = None, graph_json_str: Any = None, dump_root: Any = None
) -> DebugExecutor:
    """A debugging executor beside an executor."""
    return create(graph_json_str, module, dump_root=dump_root)
