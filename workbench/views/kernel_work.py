"""How much of a model's arithmetic each kernel does: the screen and its picture begin with the one that does most."""

from __future__ import annotations

from collections.abc import Mapping

from ..analysis.operations import flops
from ..core.errors import WorkbenchError
from ..core.per_node import per_node
from ..tir.nodes import PrimFunc


@per_node
def operations_of(function: PrimFunc) -> int:
    """Arithmetic of one call; 0 where extents are not known."""
    try:
        return flops(function)
    except WorkbenchError:
        return 0


def work_of_kernels(functions: Mapping[str, PrimFunc], calls: Mapping[str, int]) -> dict[str, int]:
    """Arithmetic of all calls of each kernel, by its name; `calls` counts them, and who has none there is called
    once."""
    return {name: operations_of(function) * max(calls.get(name, 0), 1) for name, function in functions.items()}
