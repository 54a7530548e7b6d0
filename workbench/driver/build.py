"""Building without history: `relay.build` for models, `build` for loop programs and te tensors.

lib = relay.build(mod, target="llvm", params=params)
add = wb.build(te.create_prim_func([A, B, C]), target="llvm")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..codegen.backend import backend_of, building_for
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.origin import OriginTable
from ..core.transform import PassContext
from ..lower.provider import Provider
from ..runtime.model import CompiledModel
from ..runtime.module import Module
from ..target.target import Target
from ..tir.transforms.pipeline import lower_module as lower_loops
from . import actions
from .built import built_alone
from .contents import Contents
from .history import Stage
from .plan import CompilePlan, ProgramRef
from .programs import bound_module, loop_module
from .progress import with_progress


@with_progress
def build_model(
    mod: Any,
    target: Target | str | None = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    provider: Provider | None = None,
) -> CompiledModel:
    """Compile a relay module to native code (classic `relay.build`).

    Without a target the one of `with Target(...)` is meant, else this machine; a kind without a backend is refused.
    Runs the pipeline under the current `PassContext`, like `wb.open`: without a level that is named, the best code is
    made (level 3); passes above the level are skipped unless the executor needs them.  `params` are bound into the
    model as constants.
    """
    chosen = building_for(target, target_host)
    module = bound_module(mod, params).copy()  # what the caller does to theirs meanwhile makes no difference
    if provider is not None:
        return run(plan_of(chosen), module, provider).compiled
    return built_alone(plan_of(chosen), module, lambda plan: run(plan, module))


def optimize(
    mod: Any, target: Target | str | None = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """(the relay module after the graph passes of `build_model`, parameters left over: none) (classic API)."""
    module = bound_module(mod, params)
    plan = plan_of(target)
    graph = tuple(row for row in plan.rows if row.level == "relay")
    return run(replace(plan, rows=graph), module).module, {}


def plan_of(target: Target | str | None = None) -> CompilePlan:
    """The plan of a build without a history, under the contexts around this call."""
    return CompilePlan.of(ProgramRef("IRModule"), "relay", target)


def run(
    plan: CompilePlan,
    module: IRModule,
    provider: Provider | None = None,
    contents: Contents | None = None,
) -> Stage:
    """What a plan makes of a module, without a history; the same as a session's last step.

    `contents` holds the constants that edits name; without edits there are none.
    Raises the error of the first step that fails.
    """
    root = actions.import_action(module, plan.program, OriginTable())
    stage = Stage(module)
    made = actions.actions_of(plan, root, contents or Contents(), actions.deciding(), provider)
    for action, label in list(zip(made, plan.labels, strict=True))[1:]:
        try:
            stage = action.run(stage)
        except WorkbenchError as error:
            raise error.located(f"step {label}") from None
    return stage


def lower(
    program: Any,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Any, Any] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """A loop program after the loop passes: `print` shows its text (classic `lower`).

    `program` is a te schedule (with its `args`, placeholders and outputs), te tensors, a PrimFunc, a `tir.Schedule` or
    an IRModule of PrimFuncs.  The text is the simple one in either mode.
    """
    _require_no_binds(binds)
    return lower_loops(loop_module(program, args, name)).copy()


def build(
    program: Any,
    args: Sequence[Any] | None = None,
    target: Target | str | None = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str = "main",
    binds: Mapping[Any, Any] | None = None,
) -> Module:
    """Compile a te schedule, te tensors, a PrimFunc, a `tir.Schedule`, or an IRModule of PrimFuncs (classic `build`).

    The host is the target itself, and `target_host` may say no other; `runtime` stands for classic calls.
    """
    _require_no_binds(binds)
    chosen = building_for(target, target_host)
    module = loop_module(program, args, name)
    plan = CompilePlan.of(ProgramRef(type(program).__name__), "tir", chosen)
    instruments = PassContext.current().instruments
    # The backend itself puts functions through the loop passes, those left out that are flat already.
    with plan.target, plan.settings.context(instruments).applied():
        return backend_of(chosen).compile_module(module, chosen).module()


def _require_no_binds(binds: Mapping[Any, Any] | None) -> None:
    if binds:
        raise WorkbenchError(
            "E-BUILD-BINDS",
            "tensors cannot be bound to buffers of one's own here",
            found=f"{len(binds)} bindings",
            expected="no binds",
            fix="write the function with T.prim_func and its own buffers",
        )
