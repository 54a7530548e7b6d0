"""Classic names of `workbench.ir`: modules, comparison, passes, instruments."""

from typing import Any

from ..core.module import IRModule
from . import instrument, transform

__all__ = [
    "IRModule",
    "assert_structural_equal",
    "instrument",
    "register_intrin_lowering",
    "register_op_attr",
    "structural_equal",
    "structural_hash",
    "transform",
]


def structural_equal(left: object, right: object, map_free_vars: bool = False) -> bool:
    """Equality of two programs up to the names of variables."""
    from ..core.equal import structural_equal as equal

    if isinstance(left, IRModule) and isinstance(right, IRModule):
        return left.structural_equal(right)
    return equal(left, right, map_free_vars)


def structural_hash(node: object) -> int:
    """A hash equal for programs that are structurally equal."""
    from ..core.equal import fingerprint

    return int(node.fingerprint()[:16] if isinstance(node, IRModule) else fingerprint(node)[:16], 16)


def assert_structural_equal(left: object, right: object, map_free_vars: bool = False) -> None:
    """Raise `WorkbenchError` naming the first place where two programs differ."""
    from ..core.equal import first_difference
    from ..core.errors import WorkbenchError

    one = left.functions if isinstance(left, IRModule) else left
    other = right.functions if isinstance(right, IRModule) else right
    place = first_difference(one, other, names=False, map_free_variables=map_free_vars)
    if place is not None:
        raise WorkbenchError("E-NOT-EQUAL", "the programs differ", where=place)


def register_intrin_lowering(op_name: str, target: str, f: Any = None, level: int = 10) -> Any:
    """What an intrinsic becomes on a kind of target; see `tir.transforms.intrinsic_rules`."""
    from ..tir.transforms.intrinsic_rules import register_intrin_lowering as register

    return register(op_name, target, f, level)


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Say something of an intrinsic, or make one; see `tir.transforms.intrinsic_rules`."""
    from ..tir.transforms.intrinsic_rules import register_op_attr as register

    return register(op_name, attr_key, value, level)
