"""The passes that turn scheduled blocks into loops for a backend, in order.

from workbench.tir.transforms.pipeline import lower
kernel = lower(func)
"""

from __future__ import annotations

from typing import Final

from ...core.errors import WorkbenchError
from ...core.limits import limits
from ...core.module import IRModule
from ...core.node import written_size
from ...core.transform import PASSES, PassContext
from .. import nodes as t
from ..flat import require_marks

KERNEL_PIPELINE: Final[tuple[str, ...]] = (
    "LowerBlocks",
    "CompactBuffers",
    "Simplify",
    "FlattenBuffer",
    "VectorizeLoop",
    "UnrollLoop",
    "StoragePlan",
    "LowerIntrinsics",
    "InsertPolls",
)
"""Passes by name.  Functions that are flat already (attribute ``signature``) pass through unchanged."""

CHECKED_PIPELINE: Final[tuple[str, ...]] = (
    *KERNEL_PIPELINE[: KERNEL_PIPELINE.index("FlattenBuffer")],
    "BoundCheck",
    *KERNEL_PIPELINE[KERNEL_PIPELINE.index("FlattenBuffer") : KERNEL_PIPELINE.index("StoragePlan")],
    "PoisonBuffers",
    *KERNEL_PIPELINE[KERNEL_PIPELINE.index("StoragePlan") :],
)
"""The same with bound checks and poisoned buffers, chosen by the option ``tir.instrument_bound_checkers``."""


_GROWING: Final = ("UnrollLoop",)
"""Passes after which a program may be many times as large."""


def pipeline(context: PassContext) -> tuple[str, ...]:
    """The pipeline under a context: checks run where it asks for them all, or requires one by name."""
    wanted: set[str] = {*KERNEL_PIPELINE, *context.required_pass}
    if context.checks_bounds:
        wanted.update(CHECKED_PIPELINE)
    return tuple(name for name in CHECKED_PIPELINE if name in wanted.difference(context.disabled_pass))


def lower_module(mod: IRModule) -> IRModule:
    """Run the pipeline on the functions of a module that are not lowered yet."""
    functions = {name: func for name, func in mod.items() if isinstance(func, t.PrimFunc)}
    for name, func in functions.items():
        require_marks(func, name, body=False)  # code generation looks into the body
    todo = {name: func for name, func in functions.items() if "signature" not in func.attrs}
    made = IRModule(todo)
    for name in _steps():
        made = PASSES[name]()(made)
        if name in _GROWING:
            for where, func in made.items():
                _check_size(func, where)
    return mod.with_functions(dict(made.items()))


def lower_alone(mod: IRModule, name: str) -> IRModule:
    """Run the pipeline on one function of a module; the others, which it may call, stay as they are."""
    for step in _steps():
        mod = mod.with_functions({name: PASSES[step]().on_function(mod, name)})
        if step in _GROWING:
            _check_size(mod[name], name)
    return mod


def _check_size(func: t.PrimFunc, where: str) -> None:
    limits.check("function_nodes", written_size(func.body), "the function's loops, unrolled,", where)


def _steps() -> tuple[str, ...]:
    """The passes under the current context."""
    context = PassContext.current()
    if context.config.get("tir.add_lower_pass"):
        raise WorkbenchError(
            "E-PASS-CONFIG", "tir.add_lower_pass is not carried out", where="PassContext(config=...)",
            fix="take a session: wb.open(function).rerun(insert={step: pass})",
        )  # fmt: skip
    return pipeline(context)


def lower(func: t.PrimFunc) -> t.PrimFunc:
    """Run the pipeline on one function."""
    return lower_module(IRModule({"main": func}))["main"]
