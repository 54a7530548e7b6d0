"""Classic `contrib.utils`: temporary folders.

>>> folder = tempdir()
>>> folder.relpath("lib.so").endswith("lib.so")
True
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class TempDirectory:
    """A folder that goes when the object does (or at `remove`)."""

    def __init__(self, custom_path: str | Path | None = None, keep_for_debug: bool = False) -> None:
        if custom_path is not None:
            Path(custom_path).mkdir(parents=True, exist_ok=True)
        self.temp_dir = str(custom_path) if custom_path is not None else tempfile.mkdtemp(prefix="workbench_")
        self.path = Path(self.temp_dir)
        self._finalizer = None if keep_for_debug else weakref.finalize(self, shutil.rmtree, self.temp_dir, True)

    def remove(self) -> None:
        """Remove the folder now."""
        if self._finalizer is not None:
            self._finalizer()

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return str(self.path / name)

    def listdir(self) -> list[str]:
        """The names of the files in the folder."""
        return sorted(entry.name for entry in self.path.iterdir())

    def __truediv__(self, name: str) -> Path:
        return self.path / name


def tempdir(custom_path: str | Path | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A new temporary folder (classic name)."""
    return TempDirectory(custom_path, keep_for_debug)
