"""Devices: where arrays live and code runs.  So far there is the CPU.

>>> cpu(0)
cpu(0)
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import WorkbenchError


@dataclass(frozen=True)
class Device:
    """A device by its kind and number."""

    kind: str
    index: int = 0

    @property
    def device_type(self) -> int:
        """The number of the kind in DLPack (1: CPU)."""
        return 1

    @property
    def device_id(self) -> int:
        return self.index

    @property
    def exist(self) -> bool:
        """Whether it is there."""
        return self.index == 0

    def sync(self) -> None:
        """Wait for work on the device; calls on the CPU have ended when they return."""

    def __repr__(self) -> str:
        return f"{self.kind}({self.index})"


def cpu(index: int = 0) -> Device:
    """The CPU."""
    return Device("cpu", index)


def device(kind: str, index: int = 0) -> Device:
    """A device by name ("cpu", or "llvm" for the same).  Raises `WorkbenchError` for one that is not supported."""
    if kind in ("cpu", "llvm", "c"):
        return cpu(index)
    raise WorkbenchError("E-DEVICE-UNKNOWN", f"there is no device {kind!r} here", expected="cpu")
