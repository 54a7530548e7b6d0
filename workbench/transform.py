"""Classic name: `workbench.transform` (passes, contexts, sequences); the implementation is `core.transform`."""

from .core.transform import Pass, PassContext, PassInfo, Sequential, function_pass, module_pass

__all__ = ["Pass", "PassContext", "PassInfo", "Sequential", "function_pass", "module_pass"]
