"""The child's side of a background check: graph programs as text, compared with the imported one.

    begin   the imported program, the inputs, the tolerance: computes the yardstick in float64
    trim    give freed memory back to the system
    outputs what native code gave: how far that is
    step    the program after a step: how far it is from the yardstick, and its first wrong tensor
    gap     some version of a program: how far it is from the yardstick, nothing more
    rebase  measure what follows against the program of the last step; measure goes back to an earlier base

A program travels as its text; constants by fingerprint, each once.  Which call stands for which is told by numbers:
the places of calls in the order of the program's nodes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from ...core.dtype import DataType
from ...core.errors import WorkbenchError
from ...core.host import give_back_memory, read_text
from ...core.module import IRModule
from ...core.origin import OriginTable
from ...core.tensor import Tensor
from ...core.transform import PASSES, PassContext
from ...relay.ir.expr import Call
from ..text import parse
from .compare import Gap
from .graph import Memory, first_wrong
from .yardstick import Yardstick

_NICE: Final = 10
"""How far this process stands behind the screen and the cells."""


def calls_of(module: IRModule) -> list[Call]:
    """The calls of a program in the order in which both sides number them."""
    return [node for node in module.nodes() if isinstance(node, Call)]


_BETWEEN: Final = object()
"""Stands for what a call comes from that is in neither program."""


class _Origins:
    """Which calls before a step each call after it stands for; the part of `OriginTable` that is asked here."""

    def __init__(self, before: IRModule, after: IRModule, told: Mapping[str, Any]) -> None:
        old, new = calls_of(before), calls_of(after)
        self._held = new
        same = [len(old), len(new)] == told["calls"]  # else the numbers mean other calls here
        numbers: Mapping[str, Sequence[int]] = told["numbers"] if same else {}
        self._known = {
            id(new[int(place)]): frozenset(old[number] for number in found) or frozenset((_BETWEEN,))
            for place, found in numbers.items()
        }

    def of(self, node: Any) -> frozenset[Any]:
        return self._known.get(id(node), frozenset())


class _Worker:
    """What the child knows between requests."""

    def __init__(self) -> None:
        self._constants: dict[str, Tensor] = {}
        self._given: dict[str, np.ndarray] = {}
        self._memory = Memory()
        self._tolerance = 0.0
        self._yardsticks: list[Yardstick] = []
        """By base: the imported program, then each program that what follows is measured against."""
        self._yardstick: Yardstick | None = None
        self._before: IRModule | None = None

    def begin(self, header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        if hasattr(os, "nice"):
            os.nice(_NICE)
        self._memory = Memory(int(header["remembered"]))
        self._tolerance = float(header["tolerance"])
        self._constants.clear()
        self._take(header, frames)
        self._given = dict(zip(header["inputs"], self._arrays(header["shapes"], frames), strict=True))
        self._before = self._program(header)
        self._yardstick = Yardstick(self._before, self._given, self._tolerance, self._memory)
        self._yardsticks = [self._yardstick]
        return self._told(self._yardstick.gap_of(self._before)), []

    def step(self, header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        assert self._yardstick is not None and self._before is not None
        self._take(header, frames)
        program, before = self._program(header), self._before
        self._before = program
        gap = self._yardstick.gap_of(program)
        if gap.right:
            return self._told(gap), []
        origins = cast(OriginTable, _Origins(before, program, header["origins"]))
        found = first_wrong(before, program, self._given, self._memory, self._tolerance, origins)[0]
        return self._told(gap, found), []

    def gap(self, header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        assert self._yardstick is not None
        self._take(header, frames)
        return self._told(self._yardstick.gap_of(self._program(header), "the program")), []

    def outputs(
        self, header: Mapping[str, Any], frames: Sequence[bytearray]
    ) -> tuple[Mapping[str, Any], Sequence[Any]]:
        """How far outputs that were computed elsewhere are from the yardstick's."""
        assert self._yardstick is not None
        return self._told(self._yardstick.gap(self._arrays(header["shapes"], frames), str(header["place"]))), []

    def trim(self, header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        """Give freed memory back to the system."""
        give_back_memory()
        return {}, []

    def rebase(self, header: Mapping[str, Any], frames: Sequence[bytearray]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        assert self._before is not None
        self._yardstick = Yardstick(self._before, self._given, self._tolerance, self._memory)
        self._yardsticks.append(self._yardstick)
        return {}, []

    def measure(
        self, header: Mapping[str, Any], frames: Sequence[bytearray]
    ) -> tuple[Mapping[str, Any], Sequence[Any]]:
        """Measure against an earlier base again."""
        self._yardstick = self._yardsticks[int(header["base"])]
        return {}, []

    # --- what travels ---

    def _take(self, header: Mapping[str, Any], frames: Sequence[bytearray]) -> None:
        """Keep the constants that came with a request."""
        for (key, *shape), frame in zip(header["constants"], frames, strict=False):
            self._constants[key] = Tensor.adopt(_array(shape, frame))

    def _arrays(self, shapes: Sequence[Any], frames: Sequence[bytearray]) -> list[np.ndarray]:
        own = frames[len(frames) - len(shapes) :]
        return [_array(shape, frame) for shape, frame in zip(shapes, own, strict=True)]

    def _program(self, header: Mapping[str, Any]) -> IRModule:
        module = parse(header["program"], self._constants)
        for key, value in header.get("attrs", {}).items():
            module = module.with_attr(key, tuple(value))
        try:
            with PassContext().applied():
                return cast(IRModule, PASSES["InferType"]()(module))
        except WorkbenchError:  # it is run as it is
            return module

    def _told(self, gap: Gap, tensor: Any = None) -> dict[str, Any]:
        tensor = tensor or gap.tensor
        return {
            "right": gap.right, "absolute": gap.absolute, "relative": gap.relative, "part": gap.part,
            "rounds": gap.rounds, "tensor": _plain(asdict(tensor)) if tensor is not None else None,
            "mebibytes": _peak(),
        }  # fmt: skip


def _array(shape: Sequence[Any], frame: bytearray) -> np.ndarray:
    dtype, *extents = shape
    return np.frombuffer(frame, DataType(dtype).to_numpy()).reshape([int(extent) for extent in extents])


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """A tensor's fields as JSON holds them; what is no number there is text."""
    made = dict(fields)
    for name in ("found", "expected"):
        if not isinstance(made[name], (bool, int, float)):
            made[name] = str(made[name])
    return made


def _peak() -> int:
    """The most memory that this process has used, in MiB; 0 where the system does not say."""
    said = read_text(Path("/proc/self/status")).splitlines()
    return next((int(line.split()[1]) // 1024 for line in said if line.startswith("VmHWM:")), 0)


def actions() -> dict[str, Any]:
    """What `core.serving` offers."""
    worker = _Worker()
    doing = (worker.begin, worker.step, worker.gap, worker.outputs, worker.trim, worker.rebase, worker.measure)
    return {action.__name__: action for action in doing}
