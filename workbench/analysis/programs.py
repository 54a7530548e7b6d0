"""What facts are computed from: a schedule or function brought to one plain form.

`plain(program)` lowers blocks to loops and conditions as the build does, with buffers compact and multi-dimensional;
`flat(program)` goes on to one-dimensional buffers and vector statements, the very program that code is made of.

Invariant: the loops of the answer keep the names they have in the schedule; a function that is lowered already stays.

    body = plain(sch).body
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .. import te
from ..arith import nodes as a
from ..arith.build import const
from ..arith.nodes import PrimExpr, Var
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.node import pre_order, substitute
from ..core.transform import PASSES
from ..target.target import Target, as_target
from ..tir import nodes as t

_PLAIN: Final = ("LowerBlocks", "CompactBuffers", "Simplify")
_SCALAR: Final = (*_PLAIN, "FlattenBuffer")
_FLAT: Final = (*_SCALAR, "VectorizeLoop")


def function_of(program: Any, sizes: Mapping[str, int] | None = None) -> t.PrimFunc:
    """The loop function that facts are of; `sizes` gives values to symbolic extents by name.

    `program` is a PrimFunc, a schedule of blocks or of te stages, a module with one PrimFunc, or te tensors.  Raises
    `WorkbenchError` E-ANALYSIS-PROGRAM for anything else, E-ANALYSIS-SIZE for an unknown or left-over extent.
    """
    return _sized(loop_function(program), sizes)


def target_of(program: Any, target: Any = None) -> Target:
    """What facts are for: `target`; left out, what the program is for, as a session's kernels and schedules say.

    Else the current target, else this machine.
    """
    if target is None:
        said = isinstance(program, (t.PrimFunc, IRModule))
        own = loop_function(program).attrs.get("target") if said else getattr(program, "target", None)
        target = own if isinstance(own, Target) else None
    return as_target(target)


def loop_function(program: Any) -> t.PrimFunc:
    """The same with symbolic extents as they are."""
    found = program.to_schedule() if hasattr(program, "to_schedule") else program
    found = found if isinstance(found, (t.PrimFunc, IRModule)) else getattr(found, "func", found)
    if isinstance(found, IRModule):
        loops = [function for function in found.functions.values() if isinstance(function, t.PrimFunc)]
        found = loops[0] if len(loops) == 1 else found
    if isinstance(found, (list, tuple)) and found and all(isinstance(item, te.Tensor) for item in found):
        found = te.create_prim_func(list(found))
    if not isinstance(found, t.PrimFunc):
        raise WorkbenchError(
            "E-ANALYSIS-PROGRAM",
            "facts are of one loop function",
            found=type(program).__name__,
            expected="a PrimFunc, a schedule, te tensors, or a module with one PrimFunc",
            fix="pick one: mod['name'], or te.create_prim_func([...])",
        )
    return found


def _sized(func: t.PrimFunc, sizes: Mapping[str, int] | None) -> t.PrimFunc:
    free = {var.name: var for var in shape_variables(func)}
    given = dict(sizes or {})
    unknown = next((name for name in given if name not in free), None)
    missing = [name for name in free if name not in given]
    if unknown is not None or missing:
        raise WorkbenchError(
            "E-ANALYSIS-SIZE",
            f"there is no symbolic extent {unknown!r}" if unknown else f"{missing[0]!r} has no value",
            found=f"sizes for {', '.join(given) or 'nothing'}",
            expected=f"sizes for {', '.join(free) or 'nothing'}",
            fix="pass sizes={" + ", ".join(f"{name!r}: 64" for name in free) + "}",
            nodes=(func,),
        )
    if not free:
        return func
    return substitute(func, {var: const(int(given[name]), var.dtype) for name, var in free.items()})


def shape_variables(func: t.PrimFunc) -> list[Var]:
    """The variables in the shapes of a function's buffers, and its scalar parameters, each once."""
    found: dict[int, Var] = {}
    for parameter in func.params:
        roots = [parameter] if isinstance(parameter, Var) else [*parameter.shape, *parameter.strides]
        for root in roots:
            found.update((id(node), node) for node in pre_order(root) if isinstance(node, Var))
    return list(found.values())


def plain(program: Any, sizes: Mapping[str, int] | None = None) -> t.PrimFunc:
    """Loops, conditions and multi-dimensional buffers; see the module's header."""
    return _passed(function_of(program, sizes), _PLAIN)


def scalar(program: Any, sizes: Mapping[str, int] | None = None) -> t.PrimFunc:
    """The same over one-dimensional buffers; vectorised loops are still loops."""
    return _passed(function_of(program, sizes), _SCALAR)


def flat(program: Any, sizes: Mapping[str, int] | None = None) -> t.PrimFunc:
    """The program that code is made of, before unrolling."""
    return _passed(function_of(program, sizes), _FLAT)


def _passed(func: t.PrimFunc, names: tuple[str, ...]) -> t.PrimFunc:
    if "signature" in func.attrs:
        return func
    module = IRModule({"main": func})
    for name in names:
        module = PASSES[name]()(module)
    return module["main"]


def constant(expr: PrimExpr, what: str = "an extent") -> int:
    """The value of a constant expression.  Raises `WorkbenchError` E-ANALYSIS-SIZE if it has none."""
    if isinstance(expr, a.IntImm):
        return expr.value
    raise WorkbenchError(
        "E-ANALYSIS-SIZE", f"{what} is not a constant", found=type(expr).__name__, nodes=(expr,),
        fix="facts are of constant shapes; pass sizes={...} for symbolic ones",
    )  # fmt: skip
