"""Importing what does not survive an interrupt: Ctrl-C is heard when the import is done.

Python frees an extension module whose import is interrupted between its creation and its execution.  onnx 1.23's
(nanobind 2) then reads what its execution would have set up, and the process ends with a segmentation fault.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from .interrupts import interrupts_held


def import_whole(name: str) -> ModuleType:
    """The module `name`; an interrupt meanwhile is raised once it is imported."""
    if name in sys.modules:
        return importlib.import_module(name)
    with interrupts_held():
        return importlib.import_module(name)
