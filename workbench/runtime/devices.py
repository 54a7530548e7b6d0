"""Devices by the names and numbers of DLPack.

>>> cpu(0)
cpu(0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..core.errors import WorkbenchError, nearest

_NUMBERS: Final = {
    "cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10, "ext_dev": 12, "hexagon": 16,
    "webgpu": 15,
}  # fmt: skip
_ALIASES: Final = {"llvm": "cpu", "gpu": "cuda", "cl": "opencl", "nvptx": "cuda", "c": "cpu"}
_NAMES: Final = {number: name for name, number in _NUMBERS.items()}


@dataclass(frozen=True)
class Device:
    """A place where tensors live and kernels run: DLPack device type and index."""

    device_type: int
    device_id: int = 0

    @property
    def type(self) -> str:
        """ "cpu", "cuda", ..."""
        return _NAMES.get(self.device_type, str(self.device_type))

    @property
    def index(self) -> int:
        return self.device_id

    @property
    def exist(self) -> bool:
        """Whether code can run there: so far on cpu(0) only."""
        return self.device_type == 1 and self.device_id == 0

    @property
    def device_name(self) -> str:
        return self.type

    def sync(self, stream: object = None) -> None:
        """Wait for work handed out (the CPU has none outstanding)."""

    def __repr__(self) -> str:
        return f"{self.type}({self.device_id})"


def device(name: str | int, index: int = 0) -> Device:
    """A device by name ("cpu", "cuda", "cpu:0") or DLPack number."""
    if isinstance(name, int):
        return Device(name, index)
    kind, _, number = name.partition(":")
    kind = _ALIASES.get(kind.split(" ")[0], kind.split(" ")[0])
    if kind not in _NUMBERS or (number and not number.isdigit()):
        known = [*_NUMBERS, *_ALIASES]
        raise WorkbenchError("E-DEVICE-UNKNOWN", f"there is no device {name!r}", fix=nearest(name, known))
    return Device(_NUMBERS[kind], int(number) if number else index)


def cpu(index: int = 0) -> Device:
    """The host's processor."""
    return Device(1, index)


def cuda(index: int = 0) -> Device:
    """A CUDA device (named for targets; nothing runs there yet)."""
    return Device(2, index)


gpu = cuda


def require_cpu(place: Device | None) -> Device:
    """`place`, or cpu(0); refused unless code can run there."""
    chosen = place if place is not None else cpu(0)
    if chosen.device_type != 1:
        raise WorkbenchError(
            "E-DEVICE-RUN", f"nothing runs on {chosen} yet", expected="cpu(0)", fix="pass device=workbench.cpu(0)"
        )
    return chosen
