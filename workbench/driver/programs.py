"""What users hand over to be built, as modules: graphs with their parameters bound in, loop programs of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..relay.build_module import bind_params, params_by_name
from ..relay.ir.expr import Expr
from ..relay.transforms.wide import require_operands
from ..schedule.schedule import Schedule
from ..schedule.stages.schedule import Schedule as StageSchedule
from ..te.nodes import Tensor
from ..te.prim_func import create_prim_func
from ..tir.nodes import PrimFunc


def with_params(module: IRModule, params: Mapping[str, Any] | None) -> IRModule:
    """The module with `params` bound in as constants.  Raises `WorkbenchError` for what is no mapping of names."""
    given = params_by_name(params, "params=...")
    bound = bind_params(module, given) if given else module
    require_operands(bound)
    return bound


def bound_module(program: Any, params: Mapping[str, Any] | None) -> IRModule:
    """A relay module or function as a module, with `params` bound in as constants."""
    if isinstance(program, Expr):
        program = IRModule.from_expr(program)
    if not isinstance(program, IRModule):
        raise WorkbenchError("E-BUILD-KIND", f"a {type(program).__name__} cannot be built", expected="a relay module")
    return with_params(program, params)


def loop_module(program: Any, args: Sequence[Any] | None, name: str) -> IRModule:
    if isinstance(program, IRModule):
        return program
    if isinstance(program, Schedule):
        program = program.func
    if isinstance(program, StageSchedule):
        program = program.to_schedule(args, name).func
    if isinstance(program, (list, tuple)) and program and all(isinstance(item, Tensor) for item in program):
        program = create_prim_func(list(program), name=name)
    if isinstance(program, PrimFunc):
        own = str(program.attrs.get("global_symbol", name))
        return IRModule({name if name != "main" else own: program})
    raise WorkbenchError(
        "E-BUILD-KIND",
        f"a {type(program).__name__} cannot be built",
        found=repr(program)[:80],
        expected="a PrimFunc, a tir or te schedule, te tensors, an IRModule of PrimFuncs (relay.build for relay)",
    )
