"""Classic names: whether two programs are the same."""

from __future__ import annotations

from ..core.equal import fingerprint, first_difference
from ..core.equal import structural_equal as equal
from ..core.errors import WorkbenchError
from ..core.module import IRModule


def structural_equal(left: object, right: object, map_free_vars: bool = False) -> bool:
    """Equality of two programs up to the names of variables."""
    if isinstance(left, IRModule) and isinstance(right, IRModule):
        return left.structural_equal(right)
    return equal(left, right, map_free_vars)


def structural_hash(node: object) -> int:
    """A hash equal for programs that are structurally equal."""
    return int(node.fingerprint()[:16] if isinstance(node, IRModule) else fingerprint(node)[:16], 16)


def assert_structural_equal(left: object, right: object, map_free_vars: bool = False) -> None:
    """Raise `WorkbenchError` naming the first place where two programs differ."""
    one = left.functions if isinstance(left, IRModule) else left
    other = right.functions if isinstance(right, IRModule) else right
    place = first_difference(one, other, names=False, map_free_variables=map_free_vars)
    if place is not None:
        raise WorkbenchError("E-NOT-EQUAL", "the programs differ", where=place)
