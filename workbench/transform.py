"""Classic name: `workbench.transform` (passes, contexts, sequences); the implementation is `core.transform`."""

from .core.print_ir import PrintIR
from .core.transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    function_pass,
    module_pass,
)

__all__ = [
    "FunctionPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "function_pass",
    "module_pass",
]
