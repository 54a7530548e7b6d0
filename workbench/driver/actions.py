"""The actions that sessions are made of: import, a pass, lower, schedule, an edit, code generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core import origin
from ..core.equal import fingerprint
from ..core.errors import WorkbenchError, nearest
from ..core.module import IRModule
from ..core.node import FrozenMap
from ..core.transform import PASSES, Pass, PassContext
from ..lower import Lowered, lower_module, schedule_kernels
from ..lower.provider import default_provider, override
from ..target import Target
from ..tir.nodes import PrimFunc
from ..tir.transforms.pipeline import CHECKED_PIPELINE
from . import pipeline, reattach
from .function_memo import FunctionMemo
from .history import Action, Stage, key_of


def import_action(
    module: IRModule,
    source: str,
    origins: origin.OriginTable,
    shape: Mapping[str, Any] | None = None,
    file: bool = False,
) -> Action:
    """The root of a history: a module that came from `source`, with the origins that import recorded."""

    def run(stage: Stage | None) -> Stage:
        table = origin.active()
        if table is not None:
            table.join(origins)
        return Stage(module)

    given = {name: extents if isinstance(extents, int) else tuple(extents) for name, extents in (shape or {}).items()}
    arguments = {"source": source, "file": file, "shape": given}
    return Action("Import", "import", _level(module), arguments, key_of("import", module.fingerprint()), run)


def _level(module: IRModule) -> str:
    return "tir" if any(isinstance(function, PrimFunc) for function in module.functions.values()) else "relay"


def pass_action(chosen: str | Pass, target: Target, level: str, options: Mapping[str, Any] | None = None) -> Action:
    """One pass; a user's pass object works like a name.  A pass edited in its cell gets a new key by its code.

    `options` go with a name.
    """
    made: Pass = _pass_named(chosen, options or {}) if isinstance(chosen, str) else chosen
    memo = FunctionMemo() if made.each is not None and chosen in CHECKED_PIPELINE else None

    def run(stage: Stage | None) -> Stage:
        assert stage is not None
        instruments = PassContext.current().instruments
        with target, PassContext(opt_level=3, instruments=instruments):
            if memo is None or instruments:
                return replace(stage, module=made(stage.module))
            return replace(stage, module=memo.run(made, stage.module))

    return Action(
        made.name,
        "pass",
        level,
        dict(made.options),
        key_of("pass", made.name, made.options, made.code_key),
        run,
    )


def _pass_named(name: str, options: Mapping[str, Any]) -> Pass:
    if name not in PASSES:
        raise WorkbenchError("E-PASS-UNKNOWN", f"there is no pass named {name!r}", fix=nearest(name, PASSES))
    found = PASSES[name]
    if options and isinstance(found, Pass):
        raise WorkbenchError("E-PASS-OPTION", f"pass {name} has no options", found=", ".join(map(str, options)))
    return found(**options)


def lower_action(target: Target) -> Action:
    """Fused relay to kernels and the entry."""

    def run(stage: Stage | None) -> Stage:
        assert stage is not None
        lowered = lower_module(PASSES["InferType"]()(stage.module), target)
        return replace(stage, module=lowered.module, lowered=lowered)

    return Action(pipeline.LOWER, "lower", "tir", {"target": str(target)}, key_of("lower", target), run)


def schedule_action(chosen: Mapping[str, Any]) -> Action:
    """Schedules from the default rules, except for the kernels in `chosen` (schedules by kernel name)."""

    def run(stage: Stage | None) -> Stage:
        assert stage is not None
        if stage.lowered is None:
            return stage
        known = {kernel.name for kernel in stage.lowered.kernels}
        for name in chosen:
            if name not in known:
                raise WorkbenchError("E-KERNEL-UNKNOWN", f"there is no kernel {name!r}", fix=nearest(name, known))
        for kernel in stage.lowered.kernels:
            if kernel.name in chosen:
                _trace_origins(kernel.func, chosen[kernel.name])
        provider = override(chosen, default_provider)
        module, schedules = schedule_kernels(stage.module, stage.lowered.kernels, provider)
        return replace(stage, module=module, schedules=schedules)

    for name, schedule in chosen.items():
        if not hasattr(schedule, "trace"):
            raise WorkbenchError(
                "E-EDIT-KIND",
                f"the schedule of {name!r} is none",
                found=type(schedule).__name__,
                expected="what s.schedule(kernel) gives, changed",
            )
    saved = {name: schedule.trace.as_json() for name, schedule in chosen.items()}
    arguments = {name: schedule.code() for name, schedule in chosen.items()}
    keys = [f"{name}:{text}" for name, text in saved.items()]
    return Action(pipeline.SCHEDULE, "schedule", "tir", arguments, key_of("schedule", *keys), run, saved)


def _trace_origins(func: PrimFunc, schedule: Any) -> None:
    """The origins of a schedule that was made outside the step: its trace is replayed, and the results are matched."""
    from ..schedule import Schedule

    if origin.active() is None or schedule.func is func:
        return
    again = Schedule(func)
    try:
        again.replay(schedule.trace)
    except WorkbenchError:  # it was made for another function: what it looks like must do
        reattach.record(schedule.func, func, str(func.attrs.get("global_symbol", "main")))
        return
    reattach.record(schedule.func, again.func, str(func.attrs.get("global_symbol", "main")))


def traced_schedule_action(traces: Mapping[str, str]) -> Action:
    """Schedules replayed from saved traces (JSON by kernel name); the rest from the default rules."""

    def run(stage: Stage | None) -> Stage:
        from ..schedule import Schedule, Trace

        assert stage is not None
        if stage.lowered is None:
            return stage
        kernels = {kernel.name: kernel for kernel in stage.lowered.kernels}
        chosen: dict[str, Any] = {}
        for name, text in traces.items():
            if name not in kernels:
                raise WorkbenchError("E-KERNEL-UNKNOWN", f"there is no kernel {name!r}", fix=nearest(name, kernels))
            chosen[name] = Schedule(kernels[name].func)
            chosen[name].replay(Trace.from_json(text))
        module, schedules = schedule_kernels(stage.module, stage.lowered.kernels, override(chosen, default_provider))
        return replace(stage, module=module, schedules=schedules)

    keys = [f"{name}:{text}" for name, text in traces.items()]
    return Action(pipeline.SCHEDULE, "schedule", "tir", dict(traces), key_of("schedule", *keys), run, dict(traces))


def edit_action(functions: Mapping[str, Any], level: str, texts: Mapping[str, str]) -> Action:
    """Functions replaced by a person."""

    def run(stage: Stage | None) -> Stage:
        assert stage is not None
        for name in functions:
            if name not in stage.module:
                known = stage.module.names()
                raise WorkbenchError("E-EDIT-FUNCTION", f"there is no function {name!r} here", fix=nearest(name, known))
        changed = {name: _fitted(name, function, stage.module[name]) for name, function in functions.items()}
        for name, function in changed.items():
            reattach.record(function, stage.module[name], name)
        module = stage.module.with_functions(changed)
        return replace(stage, module=module, lowered=_with_kernels(stage, changed))

    keys = [f"{name}:{fingerprint(function)}" for name, function in functions.items()]
    return Action("Edit", "edit", level, dict(texts), key_of("edit", level, *keys), run, functions=dict(functions))


def _fitted(name: str, function: Any, previous: Any) -> Any:
    """A loop function in the place of another: attributes that it lacks are taken over; it is called in the same way.

    Raises `WorkbenchError` when its parameters are others, since native code trusts them.
    """
    if not isinstance(function, PrimFunc) or not isinstance(previous, PrimFunc):
        return function
    found, expected = _signature(function), _signature(previous)
    if found != expected:
        raise WorkbenchError(
            "E-EDIT-SIGNATURE",
            f"{name} must keep its parameters",
            found=", ".join(found),
            expected=", ".join(expected),
            kept="the function before the edit",
        )
    lacking = {key: value for key, value in previous.attrs.items() if key not in function.attrs}
    return function.replace(attrs=FrozenMap({**lacking, **function.attrs})) if lacking else function


def _signature(function: PrimFunc) -> list[str]:
    """The parameters' dtypes and shapes; symbolic extents are numbered, so that names do not matter."""
    numbers: dict[int, int] = {}

    def text(extent: Any) -> str:
        value = getattr(extent, "value", None)
        return f"v{numbers.setdefault(id(extent), len(numbers))}" if value is None else str(value)

    shapes = (getattr(parameter, "shape", ()) for parameter in function.params)
    return [
        f"{parameter.dtype}[{', '.join(map(text, shape))}]"
        for parameter, shape in zip(function.params, shapes, strict=True)
    ]


def _with_kernels(stage: Stage, changed: Mapping[str, Any]) -> Lowered | None:
    """The lowered model with kernels changed before they are scheduled."""
    if stage.lowered is None or stage.schedules:
        return stage.lowered
    kernels = tuple(
        replace(kernel, func=changed[kernel.name]) if kernel.name in changed else kernel
        for kernel in stage.lowered.kernels
    )
    return replace(stage.lowered, kernels=kernels)


def codegen_action(target: Target) -> Action:
    """Native code for the whole module."""

    def run(stage: Stage | None) -> Stage:
        from .build import compile_stage

        assert stage is not None
        return replace(stage, compiled=compile_stage(stage, target))

    return Action(pipeline.CODEGEN, "codegen", "native", {"target": str(target)}, key_of("codegen", target), run)
