"""What a graph computes on given inputs, in float64 and in float32, as the yardstick of its later versions.

    yardstick = Yardstick(before, {"x": photo}, tolerance=1e-3)
    yardstick.gap_of(after).right        # whether the program after a step (or a rewrite) computes the same
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ...core.module import IRModule
from ..given_inputs import arranged
from .compare import Gap, compare_all
from .graph import Memory, evaluate


class Yardstick:
    """See the module's header.  `given`: arrays by the names of `program`'s parameters."""

    def __init__(
        self, program: IRModule, given: Mapping[str, np.ndarray], tolerance: float, memory: Memory | None = None
    ) -> None:
        self.program, self.given, self.tolerance = program, given, tolerance
        self.memory = memory if memory is not None else Memory()

    @cached_property
    def _wide(self) -> list[np.ndarray]:
        return evaluate(self.program, arranged(self.program, self.given), float64=True)

    @cached_property
    def _narrow(self) -> list[np.ndarray]:
        return evaluate(self.program, arranged(self.program, self.given), self.memory)

    def gap(self, outputs: Sequence[np.ndarray], place: str) -> Gap:
        """How far outputs are from the program's; `place` says whose they are."""
        return compare_all(list(outputs), self._wide, self.tolerance, self._narrow, place)

    def gap_of(self, module: IRModule, place: str = "the model") -> Gap:
        """How far another version of the graph is from it.

        One that is right in float64 alone is right: float32 rounds more there than the tolerance allows (`rounds`).
        """
        same = module.state is self.program.state
        found = self.gap(self._narrow if same else evaluate(module, arranged(module, self.given), self.memory), place)
        if found.right:
            return found
        wide = self.gap(evaluate(module, arranged(module, self.given), float64=True), place)
        return replace(wide, rounds=True) if wide.right else found
