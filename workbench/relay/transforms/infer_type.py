"""InferType: every expression gets its `checked_type`."""

from __future__ import annotations

from ...core.module import IRModule
from ...core.transform import PassContext, module_pass
from ..ir.infer import infer_type


@module_pass(opt_level=0, name="InferType")
def InferType(mod: IRModule, ctx: PassContext) -> IRModule:
    """Find the type of every expression; the program stays the same objects.  Raises E-TYPE-... where none fits."""
    return infer_type(mod)
