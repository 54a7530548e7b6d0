"""Classic name: `workbench.ir.transform`."""

from ..transform import Pass, PassContext, PassInfo, Sequential, function_pass, module_pass

__all__ = ["Pass", "PassContext", "PassInfo", "Sequential", "function_pass", "module_pass"]
