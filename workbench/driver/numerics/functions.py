"""Loop functions that were opened as such: each step's program is run whole, and compared with the imported one.

Invariant: the yardstick is what the first step computes, whichever step is asked about first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..given_inputs import entry_name
from .compare import Gap, compare_all
from .kernels import compiled_unit
from .whole import run_function

if TYPE_CHECKING:
    from ...codegen.llvm.contained import Contained
    from ..history import Step


class Functions:
    """See the module's header."""

    def __init__(self, first: Step, given: Mapping[str, np.ndarray], tolerance: float) -> None:
        self._first, self._given, self._tolerance = first, given, tolerance
        self._name = entry_name(first.stage.module)
        self._expected: list[np.ndarray] = []

    def gap(self, step: Step, child: Contained) -> Gap:
        """How far the program after a step is from the first one."""
        if not self._expected:
            self._expected = self._outputs(self._first, child)
        outputs = self._expected if step is self._first else self._outputs(step, child)
        return compare_all(outputs, self._expected, self._tolerance, None, f"function {self._name}")

    def _outputs(self, step: Step, child: Contained) -> list[np.ndarray]:
        codegen = step.action.kind == "codegen"
        module = step.stage.compiled.program if codegen else step.stage.module
        unit = compiled_unit(step.stage.compiled, module) if codegen else None
        return run_function(child, module, self._name, dict(self._given), unit)
