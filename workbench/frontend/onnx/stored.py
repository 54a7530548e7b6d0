"""Weights of very large files are read whenever they are needed, and are in memory only meanwhile.

A compilation keeps the imported program as its first step, and with packed copies of all weights in later ones, each
weight would be in memory twice.  So tensors of files beyond `FROM_FILE_BYTES` keep to their file, which stays open:
a file of the same name written later does no harm; one that is overwritten in place is noticed and refused.  Smaller
files are read once, so that their weights outlive them.

    file = OpenFile(descriptor, "model.onnx")     # duplicates the descriptor
    file.read(offset, count)                      # the bytes, as often as wanted
"""

from __future__ import annotations

import os
from typing import Final

import numpy as np

from ...core.errors import WorkbenchError
from .skeleton import read_range

FROM_FILE_BYTES: Final = 256 << 20
"""Files smaller than this are read once."""
FROM_TENSOR_BYTES: Final = 1 << 20
"""Tensors smaller than this are read once."""


class OpenFile:
    """An open descriptor, closed with the last tensor that needs it, and what the file looked like when opened."""

    def __init__(self, descriptor: int, name: str) -> None:
        self.descriptor = os.dup(descriptor)
        self.name = name
        self.stamp = self._stamp()

    def _stamp(self) -> tuple[int, int]:
        facts = os.fstat(self.descriptor)
        return facts.st_size, facts.st_mtime_ns

    def read(self, offset: int, count: int) -> np.ndarray:
        """Bytes of the file.  Raises `WorkbenchError` (E-IMPORT-CHANGED) when it was overwritten since."""
        found = read_range(self.descriptor, offset, count)
        if len(found) < count or self._stamp() != self.stamp:
            raise WorkbenchError(
                "E-IMPORT-CHANGED",
                f"{self.name} was overwritten after it was opened, and its weights are read when they are needed",
                where=self.name,
                found="another size or time of change",
                expected="the file as it was",
                fix="open the model again; write new versions to another file, or rename them into place",
                kept="code that is compiled already",
            )
        return found

    def __del__(self) -> None:
        os.close(self.descriptor)
