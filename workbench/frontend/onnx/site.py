"""What a converter may ask: the node's place, known values, and how to refuse.

axes = node.ints(axes, "axes")        # must be known during import
raise node.refuse("mode 'cubic' is not supported", found="cubic", expected="nearest, linear")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import WorkbenchError
from ...core.limits import limits
from ...relay.ir.expr import Expr
from .fold import is_constant, nbytes
from .records import NodeRecord

if TYPE_CHECKING:
    from .convert import Importer


@dataclass(frozen=True)
class Site:
    """One node during its conversion."""

    importer: Importer
    record: NodeRecord
    opsets: Mapping[str, int]
    where: str
    scope: dict[str, Any]
    depth: int = 0

    @property
    def opset(self) -> int:
        """The version of the node's operator set."""
        return self.opsets.get(self.record.domain, 1)

    @property
    def output_count(self) -> int:
        """Outputs that the node names; trailing ones may be absent."""
        return len(self.record.outputs)

    def known(self, value: Expr | None) -> np.ndarray | None:
        """The value of an operand if it is known during import (None also where the operand is absent)."""
        return None if value is None else self.importer.folder.evaluate(value)

    def constant(self, value: Expr, what: str) -> np.ndarray:
        """The value of an operand that has to be known during import.  Raises `WorkbenchError` otherwise."""
        found = self.importer.folder.evaluate(value)
        if found is None:
            if is_constant(value):
                raise self._too_costly(value, what)
            raise WorkbenchError(
                "E-ONNX-VALUE",
                f"{self.record.label}: {what} is known only at run time",
                where=self.where,
                found="a value computed from the model's inputs",
                expected="a constant, or shape arithmetic on known shapes",
                fix="give the input's value: assume={name: array} (checked at each run); or all shapes with shape=",
                nodes=(value,),
            )
        return found

    def _too_costly(self, value: Expr, what: str) -> WorkbenchError:
        limit = self.importer.folder.budget.spent or "fold_bytes"
        return WorkbenchError(
            "E-LIMIT",
            f"{self.record.label}: {what} is a constant that costs too much to compute",
            where=self.where,
            found=f"{nbytes(value):,} bytes",
            expected=f"what wb.limits.{limit} allows ({getattr(limits, limit):,})",
            fix=limits.fix(limit),
            nodes=(value,),
        )

    def ints(self, value: Expr, what: str) -> tuple[int, ...]:
        """A known operand as Python ints (an operand without axes counts as one number)."""
        found = np.atleast_1d(self.constant(value, what)).reshape(-1)
        if not np.isfinite(found.astype(np.float64)).all():
            raise self.refuse(f"{what} is no integer", str(found.tolist())[:80], "finite numbers")
        return tuple(int(item) for item in found)

    def integer(self, value: Expr, what: str) -> int:
        """A known operand of one element as a Python int."""
        found = self.ints(value, what)
        if len(found) != 1:
            raise self.refuse(f"{what} is one number", f"{len(found)} numbers", "an operand of one element")
        return found[0]

    def axis(self, axis: int, rank: int, what: str = "axis") -> int:
        """`axis` counted from the front.  Raises `WorkbenchError` when it is outside."""
        if -rank <= axis < rank:
            return axis % rank if rank else 0
        raise self.refuse(f"{what} {axis} is outside of the tensor", str(axis), f"{-rank} to {rank - 1} (rank {rank})")

    def axes(self, axes: Any, rank: int) -> tuple[int, ...]:
        """Several axes, each different.  Raises `WorkbenchError` when one is outside or repeated."""
        found = tuple(self.axis(int(axis), rank) for axis in axes)
        if len(set(found)) != len(found):
            raise self.refuse("an axis is named twice", str(found), "different axes")
        return found

    def require_unrollable(self, steps: int, size: int) -> None:
        """Refuse a loop of `steps` steps of `size` nodes that is too long to be unrolled."""
        if steps * size > limits.unrolled_nodes:
            raise self.refuse(
                "the loop is too long to be unrolled",
                f"{steps} steps of {size} nodes",
                f"at most {limits.unrolled_nodes:,} nodes (wb.limits.unrolled_nodes)",
                f"give a shorter sequence by shape=, or export the step alone; {limits.fix('unrolled_nodes')}",
            )

    def refuse(self, message: str, found: str = "", expected: str = "", fix: str = "") -> WorkbenchError:
        """An error about this node, to be raised."""
        return WorkbenchError(
            "E-ONNX-NODE",
            f"{self.record.label}: {message}",
            where=self.where,
            found=found,
            expected=expected,
            fix=fix or "export the model again",
        )

    def note(self, text: str) -> None:
        """Tell the user something that does not stop the import."""
        self.importer.note(f"{self.record.label}: {text}")
