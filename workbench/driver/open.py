"""`wb.open`: a session on a model file, a program, or a saved session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..codegen.backend import building_for
from ..core import origin
from ..core.arguments import by_name, items
from ..core.errors import WorkbenchError
from ..core.module import IRModule
from ..core.time_limit import time_limit as boxed
from ..core.transform import Pass
from ..frontend.onnx.model import from_onnx
from ..relay.build_module import params_by_name
from ..relay.ir.expr import Expr
from ..schedule.schedule import Schedule as LoopSchedule
from ..schedule.stages.schedule import Schedule as StageSchedule
from ..target.target import Target
from ..te.nodes import Tensor
from ..te.prim_func import create_prim_func
from ..tir.nodes import PrimFunc
from .actions import deciding, import_action
from .contents import Contents
from .first_run import SCHEDULED
from .history import History
from .loading import is_saved, load
from .plan import ONNX_MODEL, CompilePlan, ProgramRef
from .programs import with_params
from .progress import with_progress
from .session import Session


@with_progress
def open_session(
    x: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    target: Target | str | None = None,
    params: Mapping[str, Any] | None = None,
    passes: Sequence[str | Pass] | None = None,
    time_limit: float | None = None,
    assume: Mapping[str, Any] | None = None,
    allow_extern: str | Sequence[str] = (),
) -> Session:
    """Open a model for looking at, changing and running it.

    `x`: the path of an ONNX model or of a saved session, an ONNX ModelProto, an IRModule, a relay function, a
    PrimFunc, a tir or te schedule, or te tensors (inputs, then outputs).  `shape`: dynamic dimensions' extents by
    input name.  `params`: arrays bound to parameters by name.  `passes`: the relay passes to run instead of the
    default pipeline.  `target`: what is compiled for; left out, the one of `with Target(...)`, else this machine.
    The settings of the `PassContext` around the call are the session's from now on.
    `assume`: values of inputs that the model is specialised for, by name; running it with others is refused.
    `allow_extern`: names of C functions and packed functions that a saved session may call; others than mathematics
    are refused, and "import_llvm" stands for native code in it.
    `time_limit`: seconds that the import may take (default: `wb.limits.import_seconds`).
    """
    shape, assume = (
        given if given is None else by_name(given, f"open({name}=...)", "E-OPEN-ARGUMENT", example)
        for name, given, example in (
            ("shape", shape, '{"x": (1, 3, 224, 224)}'), ("assume", assume, "{name: value}"),
        )
    )  # fmt: skip
    params = params if params is None else params_by_name(params, "open(params=...)")
    allowed = _allowed(allow_extern)
    if time_limit is not None:
        with boxed(time_limit, "opening the model", "give more time: wb.open(..., time_limit=seconds)"):
            return open_session(x, shape, target, params, passes, assume=assume, allow_extern=allow_extern)
    if isinstance(x, (str, os.PathLike)) and is_saved(str(x)):
        _refuse_for_saved(shape=shape, target=target, params=params, passes=passes, assume=assume)
        return load(str(x), allowed)
    if allowed:
        raise WorkbenchError(
            "E-OPEN-EXTERN", "allow_extern= is for saved sessions: other programs are not held back",
            found=", ".join(allowed), expected="the path of a saved session", fix="leave it out",
        )  # fmt: skip
    chosen = building_for(target)
    schedule = x if isinstance(x, LoopSchedule) else x.to_schedule() if isinstance(x, StageSchedule) else None
    with origin.recording() as origins:
        module, source = _imported(x if schedule is None else schedule, shape, params, assume)
    given = {name: extents if isinstance(extents, int) else tuple(extents) for name, extents in (shape or {}).items()}
    path = os.fsdecode(x) if isinstance(x, (str, os.PathLike)) else ""
    named = tuple(assume or ()), tuple(params or ())
    program = ProgramRef(source, module.fingerprint(), path, tuple(given.items()), *named)
    contents = Contents()
    listed = items(passes, "open(passes=...)", "E-PASS-KIND", '["InferType", "FuseOps"]')
    graph = None if passes is None else [contents.row_of(chosen, "relay") for chosen in listed]
    root = import_action(module, program, origins)
    plan = CompilePlan.of(program, root.level, chosen, graph)
    session = Session(History(root, contents), plan, deciding())
    if schedule is None or not schedule.trace.steps or not _is_told(schedule):
        return session
    return session.edit(schedule={schedule.func_working_on: schedule})


def _allowed(given: Any) -> tuple[str, ...]:
    """Names of outside functions; one may be named by itself."""
    where, example = "open(allow_extern=...)", '["my_function"]'
    names = (given,) if isinstance(given, str) else items(given, where, "E-OPEN-ARGUMENT", example)
    for name in names:
        if not isinstance(name, str):
            raise WorkbenchError(
                "E-OPEN-ARGUMENT", "this is no name", where=where, found=repr(name)[:80], expected=example
            )
    return names


def _require_heard(x: Any, shape: Any, params: Any) -> None:
    """Refuse what would be passed over in silence: extents where a program states its own, constants of loops."""
    file = isinstance(x, (str, os.PathLike, bytes)) or hasattr(x, "SerializeToString")
    graph = file or isinstance(x, (IRModule, Expr))
    for name, given, heard in (("shape", shape, file), ("params", params, graph)):
        if given and not heard:
            raise WorkbenchError(
                "E-OPEN-ARGUMENT", f"{name}= is not for what is opened here", found=type(x).__name__,
                expected="an ONNX model" if name == "shape" else "an ONNX model or a graph",
                fix="write the extents in the program" if name == "shape" else "make it an input of the program",
            )  # fmt: skip


def _refuse_for_saved(**given: Any) -> None:
    """A saved session says itself what it is: nothing that is asked of it is passed over in silence."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise WorkbenchError(
            "E-OPEN-SAVED",
            "a saved session holds its own target, shapes and passes",
            found=", ".join(f"{name}=" for name in named),
            expected="wb.open(path)",
            fix="open it and change it: wb.open(path).rerun(target=..., passes=...)",
        )


def _is_told(schedule: LoopSchedule) -> bool:
    """Whether the trace tells all that was done: then the session begins before it, and each move is in its history."""
    first, last = schedule.first_state, schedule.state
    others = (name for name in last.functions if name != schedule.func_working_on)
    untouched = all(first.functions.get(name) is last.functions[name] for name in others)
    return not first.steps and first.functions.keys() == last.functions.keys() and untouched


def _imported(x: Any, shape: Any, params: Any, assume: Any = None) -> tuple[IRModule, str]:
    """The program that `x` stands for, and a name for it."""
    _require_heard(x, shape, params)
    params = params or {}
    if assume and not (isinstance(x, (str, os.PathLike, bytes)) or hasattr(x, "SerializeToString")):
        raise WorkbenchError(
            "E-OPEN-ASSUME", "assume= is for models from files", found=type(x).__name__, expected="an ONNX model",
            fix="bind the values: params={name: array}",
        )  # fmt: skip
    if isinstance(x, IRModule):
        return with_params(x, params), "IRModule"
    if isinstance(x, Expr):
        return with_params(IRModule.from_expr(x), params), "relay function"
    if isinstance(x, PrimFunc):
        name = str(x.attrs.get("global_symbol", "main"))
        return IRModule({name: x}), "PrimFunc"
    if isinstance(x, LoopSchedule):
        return IRModule(dict(x.first_state.functions)) if _is_told(x) else x.mod, SCHEDULED
    if isinstance(x, (list, tuple)):
        if x and all(isinstance(item, Tensor) for item in x):
            return IRModule({"main": create_prim_func(list(x), name="main")}), "te tensors"
    if isinstance(x, (str, os.PathLike, bytes)) or hasattr(x, "SerializeToString"):
        module, held = from_onnx(x, shape=dict(shape) if shape else None, assume=assume)
        name = os.path.basename(str(x)) if isinstance(x, (str, os.PathLike)) else ONNX_MODEL
        return with_params(module, {**held, **params}), name
    raise WorkbenchError(
        "E-OPEN-KIND",
        f"a {type(x).__name__} cannot be opened",
        expected="an ONNX path or model, an IRModule or function of it, a schedule, te tensors, a saved session",
    )
