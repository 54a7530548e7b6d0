"""Classic name: `workbench.ir.transform`."""

from ..transform import ModulePass, Pass, PassContext, PassInfo, PrintIR, Sequential, function_pass, module_pass

__all__ = [
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PrintIR",
    "Sequential",
    "function_pass",
    "module_pass",
]
