"""The compiler workbench: a machine-learning compiler that one can see and touch.

    import workbench as wb
    session = wb.open("model.onnx", shape={"x": (1, 3, 224, 224)})
    session.show()

Names load on first use, so that `import workbench` stays cheap.
"""

from __future__ import annotations

import importlib
import time
from typing import Any, Final

__version__ = "0.1.0.dev0"
IMPORTED_AT: Final = time.time()
"""When this process began to read the workbench's files: what was written later it may have read or not."""

_NAMES: dict[str, tuple[str, str | None]] = {
    "open": ("workbench.driver.open", "open_session"),
    "Session": ("workbench.driver.session", "Session"),
    "compare": ("workbench.driver.compare", "compare"),
    "build": ("workbench.driver.build", "build"),
    "lower": ("workbench.lower", None),
    "IRModule": ("workbench.core.module", "IRModule"),
    "WorkbenchError": ("workbench.core.errors", "WorkbenchError"),
    "TVMError": ("workbench.core.errors", "WorkbenchError"),
    "limits": ("workbench.core.limits", "limits"),
    "peak_flops": ("workbench.driver.peak", "peak_flops"),
    "time_limit": ("workbench.core.time_limit", "time_limit"),
    "PassContext": ("workbench.core.transform", "PassContext"),
    "Target": ("workbench.target", "Target"),
    "cpu": ("workbench.runtime", "cpu"),
    "device": ("workbench.runtime", "device"),
    "Device": ("workbench.runtime", "Device"),
    "register_func": ("workbench.runtime", "register_func"),
    "get_global_func": ("workbench.runtime", "get_global_func"),
    "nd": ("workbench.nd", None),
    "relay": ("workbench.relay", None),
    "te": ("workbench.te", None),
    "tir": ("workbench.tir", None),
    "script": ("workbench.script", None),
    "topi": ("workbench.topi", None),
    "ir": ("workbench.ir", None),
    "transform": ("workbench.transform", None),
    "instrument": ("workbench.core.instrument", None),
    "target": ("workbench.target", None),
    "runtime": ("workbench.runtime", None),
    "contrib": ("workbench.contrib", None),
    "arith": ("workbench.arith", None),
    "core": ("workbench.core", None),
    "driver": ("workbench.driver", None),
    "frontend": ("workbench.frontend", None),
    "schedule": ("workbench.schedule", None),
    "analysis": ("workbench.analysis", None),
    "views": ("workbench.views", None),
    "ui": ("workbench.ui", None),
    "teach": ("workbench.teach", None),
    "testing": ("workbench.testing", None),
    "data": ("workbench.driver.data", None),
}
"""Public names: module, and attribute of it (None: the module itself)."""

__all__ = sorted([*_NAMES, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]  (the table is the list)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    module, attribute = _NAMES[name]
    loaded = importlib.import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
