"""Running relay programs at once: `relay.create_executor(kind, mod, device, target, params).evaluate()(x)`.

The kind "debug" is the interpreter; "graph" (and its classic likes "aot" and "vm", which differ in how they run, not
in what they answer) is native code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ..codegen.backend import building_for
from ..core.arguments import by_name, unmasked
from ..core.errors import WorkbenchError, nearest
from ..core.module import IRModule
from ..relay.build_module import bind_params_by_name, params_by_name
from ..relay.expr_functor import bind
from ..relay.interpret import interpret
from ..relay.ir.expr import Expr, Function, GlobalVar, Var, as_function, const
from ..runtime.devices import Device, require_cpu
from ..runtime.executor import GraphExecutor
from ..runtime.ndarray import NDArray
from .build import plan_of
from .build import run as run_plan

_NATIVE: Final = ("graph", "aot", "vm")
KINDS: Final = ("debug", *_NATIVE)


class Executor:
    """Evaluates expressions in a module; see `create_executor`."""

    def __init__(self, kind: str, mod: IRModule, device: Any, target: Any, params: Mapping[str, Any] | None) -> None:
        self.kind, self.mod, self.device, self.target, self.params = kind, mod, device, target, params

    def evaluate(self, expr: Any = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """A Python function of the module's main (or of `expr`, a function); the value of any other expression.

        `binds` gives values to free variables of `expr`.
        """
        bound = by_name(binds, "evaluate(binds=...)", "E-EVALUATE", "{variable: value}", (Var,))
        if bound and isinstance(expr, Expr):
            expr = bind(expr, {variable: _constant(value) for variable, value in bound.items()})
        if isinstance(expr, GlobalVar):
            expr = self.mod[expr]
        function = self.mod["main"] if expr is None else expr
        if not isinstance(function, Expr):
            raise WorkbenchError("E-EVALUATE", "only relay expressions are evaluated", found=type(function).__name__)
        run = self._function(as_function(function))
        return run if isinstance(function, Function) else run()

    def _function(self, function: Function) -> Callable[..., Any]:
        if self.params:
            given = {param.name_hint for param in function.params}
            function = bind_params_by_name(function, {k: v for k, v in self.params.items() if k in given})
        mod = self.mod.with_functions({"main": function})
        names = [param.name_hint for param in function.params]
        plan = plan_of(self.target)  # the contexts around `evaluate`, not those around the first call
        compiled: list[GraphExecutor] = []

        def run(*args: Any, **kwargs: Any) -> Any:
            values = _arguments(names, args, kwargs)
            if self.kind == "debug":
                return _answer(interpret(mod, *values))
            if not compiled:
                compiled.append(GraphExecutor(run_plan(plan, mod).compiled, self.device))
            for index, value in enumerate(values):  # by position: parameters may share a name
                compiled[0].set_input(index, value)
            compiled[0].run()
            found = [compiled[0].get_output(index) for index in range(compiled[0].get_num_outputs())]
            return found[0] if len(found) == 1 else found

        return run


def _arguments(names: list[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[np.ndarray]:
    unknown = next((key for key in kwargs if names.count(key) != 1), None)
    missing = [name for name in names[len(args) :] if name not in kwargs]
    if unknown is not None or missing or len(args) > len(names):
        raise WorkbenchError(
            "E-EVALUATE-ARGUMENT",
            f"there is no parameter {unknown!r}"
            if unknown and unknown not in names
            else f"there are {names.count(unknown)} parameters named {unknown!r}"
            if unknown
            else f"{len(args) + len(kwargs)} arguments do not fit",
            expected=", ".join(names),
            fix=nearest(unknown, names) if unknown and unknown not in names else "",
        )
    values = [*args, *(kwargs[name] for name in names[len(args) :])]
    return [value.numpy() if hasattr(value, "numpy") else np.asarray(unmasked(value)) for value in values]


def _answer(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_answer(item) for item in value]
    return NDArray(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def _constant(value: Any) -> Expr:
    return value if isinstance(value, Expr) else const(value.numpy() if hasattr(value, "numpy") else value)


def create_executor(
    kind: str = "debug",
    mod: IRModule | None = None,
    device: Device | None = None,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Executor:
    """An executor of that kind ("debug", "graph", "vm", "aot") for a module (classic API).

    Raises `WorkbenchError` for an unknown kind, and for a target or device that code is not made for.
    """
    if kind not in KINDS:
        raise WorkbenchError(
            "E-EXECUTOR-KIND", f"there is no executor {kind!r}", expected=", ".join(KINDS), fix=nearest(kind, KINDS)
        )
    held = params_by_name(params, "create_executor(params=...)")
    chosen, place = building_for(target), require_cpu(device)
    return Executor(kind, mod if mod is not None else IRModule({}), place, chosen, held)
