"""Importing what does not survive an interrupt: Ctrl-C is heard when the import is done.

Python frees an extension module whose import is interrupted between its creation and its execution.  onnx 1.23's
(nanobind 2) then reads what its execution would have set up, and the process ends with a segmentation fault.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from types import FrameType, ModuleType


def import_whole(name: str) -> ModuleType:
    """The module `name`; an interrupt meanwhile is raised once it is imported.

    Python runs handlers of signals in the main thread only, so that in another one nothing has to be held back.
    """
    handler = signal.getsignal(signal.SIGINT)
    if name in sys.modules or not callable(handler) or threading.current_thread() is not threading.main_thread():
        return importlib.import_module(name)
    heard: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        return importlib.import_module(name)
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard:
            handler(*heard[0])
