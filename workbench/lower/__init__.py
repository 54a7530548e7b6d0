"""From fused relay functions to kernels and one native entry.

`lower_module` turns a fused relay module into loop IR (one unscheduled kernel for each distinct fused function and
the entry that calls them); `schedule_kernels` asks a provider for the schedule of each kernel.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .._lazy import lower_program
from ..core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".entry": "Lowered lower_module",
        ".kernel": "Kernel",
        ".provider": "Provider schedule_kernels",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)


class _Callable(ModuleType):
    """This package under its classic second meaning: `workbench.lower(...)` is `driver.build.lower`.

    Importing a package binds its name in the package around it, so that one name has to serve both.
    """

    def __call__(
        self, program: Any, args: Any = None, name: str = "main", binds: Any = None, simple_mode: bool = False
    ) -> Any:
        """A te schedule (with its `args`) or loop program after the loop passes, as an IRModule that prints."""
        return lower_program(program, args, name, binds, simple_mode)


sys.modules[__name__].__class__ = _Callable
