"""The reference of a background check: a process of its own that computes graph programs and says how far they are off.

    with Reference(program, given, tolerance) as reference:
        reference.begin()
        gap = reference.step(step)            # against the imported program, with the first wrong tensor
        reference.gap_of(another_program)

The parent's side of `service`.  It sends text and arrays, never code, so that passes of a notebook run where they are
defined and only their results are computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core.child import Child, Limits, environment
from ...core.dtype import DataType
from ...core.module import IRModule
from ..text import constants_in, script
from .compare import Gap, WrongTensor
from .service import calls_of

if TYPE_CHECKING:
    from ..history import Step

REMEMBERED_BYTES: Final = 32 << 20
"""Results that the process keeps for the next step."""
MEMORY_BYTES: Final = 4 << 30
"""Addresses that it may use: a program that wants more fails alone."""
_SETTINGS: Final = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": "4194304", "MALLOC_TRIM_THRESHOLD_": "4194304",
}  # fmt: skip
"""Of the process's environment: one thread beside the screen, and large arrays go back to the system at once."""


class Reference:
    """See the module's header.  Used by one thread at a time; `kill` may come from another."""

    def __init__(
        self, program: IRModule, given: Mapping[str, np.ndarray], tolerance: float, seconds: float | None = None
    ) -> None:
        self._program, self._given, self._tolerance = program, dict(given), tolerance
        own = {**_SETTINGS, **environment()}
        limits = Limits(memory_bytes=MEMORY_BYTES)
        self._child = Child("workbench.driver.numerics.service", seconds=seconds, limits=limits, environment=own)
        self._sent: set[str] = set()
        self.mebibytes = 0
        """The most memory that the process has used so far."""

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        return self._child.alive

    def kill(self) -> None:
        """End the process; whoever waits for its answer gets a `ChildFailure`."""
        self._child.kill()

    def close(self) -> None:
        self._child.close()

    # --- questions; each raises `ChildFailure`, and `WorkbenchError` for what the interpreter cannot run ---

    def begin(self) -> Gap:
        """Compute the imported program; the gap is that between float32 and float64."""
        self._sent.clear()
        header, frames = self._sending(self._program)
        shapes, arrays = _packed(list(self._given.values()))
        header |= {
            "inputs": list(self._given), "shapes": shapes, "tolerance": self._tolerance,
            "remembered": REMEMBERED_BYTES,
        }  # fmt: skip
        return self._asked("begin", header, [*frames, *arrays])

    def step(self, step: Step) -> Gap:
        """The program after a step; the steps before it have been told, those that changed nothing left out."""
        header, frames = self._sending(step.stage.module)
        return self._asked("step", header | {"origins": _numbered(step)}, frames)

    def gap_of(self, program: IRModule) -> Gap:
        """Some version of a program, for this once."""
        return self._asked("gap", *self._sending(program))

    def outputs(self, found: Sequence[np.ndarray], place: str) -> Gap:
        """What was computed elsewhere."""
        shapes, arrays = _packed(found)
        return self._asked("outputs", {"shapes": shapes, "place": place}, arrays)

    def trim(self) -> None:
        """Have the process give freed memory back to the system."""
        self._child.ask("trim")

    def rebase(self) -> None:
        """Measure what follows against the program of the last step that was told: another base, counted from 0."""
        self._child.ask("rebase")

    def measure(self, base: int) -> None:
        """Measure against an earlier base again; 0 is the imported program."""
        self._child.ask("measure", {"base": base})

    def _asked(self, action: str, header: Mapping[str, Any], frames: Sequence[Any]) -> Gap:
        said = self._child.ask(action, header, frames).header
        self.mebibytes = max(self.mebibytes, int(said["mebibytes"]))
        tensor = said["tensor"]
        if tensor is not None:
            tensor = WrongTensor(**{**tensor, "index": tuple(tensor["index"])})
        return Gap(said["right"], said["absolute"], said["relative"], said["part"], tensor, said["rounds"])

    def _sending(self, program: IRModule) -> tuple[dict[str, Any], list[Any]]:
        """A program as text, with the constants that the process has not got."""
        fresh = {key: data for key, data in constants_in(program).items() if key not in self._sent}
        shapes, arrays = _packed([data.numpy() for data in fresh.values()])
        self._sent.update(fresh)
        header = {
            "program": script(program),
            "attrs": {key: list(value) for key, value in program.attrs.items() if isinstance(value, tuple)},
            "constants": [[key, *shape] for key, shape in zip(fresh, shapes, strict=True)],
        }
        return header, arrays


def _packed(arrays: Sequence[np.ndarray]) -> tuple[list[list[Any]], list[Any]]:
    """(dtype and extents of each, their bytes)."""
    compact = [np.ascontiguousarray(array) for array in arrays]
    shapes = [[str(DataType(one.dtype)), *array.shape] for one, array in zip(compact, arrays, strict=True)]
    return shapes, [one.reshape(-1).view(np.uint8).data for one in compact]


def _numbered(step: Step) -> dict[str, Any]:
    """Which calls each call of a step stands for, by their numbers in both programs; none where it comes of others."""
    old = calls_of(step.previous.stage.module) if step.previous is not None else []
    new = calls_of(step.stage.module)
    place = {id(call): number for number, call in enumerate(old)}
    numbers: dict[str, list[int]] = {}
    for number, call in enumerate(new):
        found = step.origins.of(call)
        if found:
            numbers[str(number)] = sorted(place[id(node)] for node in found if id(node) in place)
    return {"calls": [len(old), len(new)], "numbers": numbers}
