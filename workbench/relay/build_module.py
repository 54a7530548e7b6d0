"""Classic name: `relay.build_module`; binding parameters by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.arguments import by_name
from ..core.errors import WorkbenchError, nearest
from ..core.late_names import late_names
from ..core.module import IRModule
from ..core.node import substitute
from ..core.tensor import Tensor
from .ir.expr import Constant, Expr, Function
from .ir.types import TensorType


def params_by_name(params: Any, where: str) -> dict[str, Any]:
    """What was given as `params`: arrays by name, None for none.  Raises `WorkbenchError` for what is no mapping."""
    return by_name(params, where, "E-PARAMS-KIND", "{name: array}")


def bind_params_by_name(func: Any, params: Mapping[str, Any]) -> Function:
    """`func` with the named parameters replaced by constants.

    Raises `WorkbenchError` for what is no function or no mapping, a name that is no parameter, and data that does not
    fit the parameter's type.
    """
    if not isinstance(func, Function):
        raise WorkbenchError(
            "E-PARAMS-KIND", "parameters are bound in a relay function", found=type(func).__name__,
            where="bind_params_by_name(...)", expected='a function: mod["main"]',
        )  # fmt: skip
    params = params_by_name(params, "bind_params_by_name(params=...)")
    names = [parameter.name_hint for parameter in func.params]
    values: dict[Any, Expr] = {}
    for name, data in params.items():
        if names.count(name) != 1:
            raise WorkbenchError(
                "E-PARAMS-NAME",
                f"the function has {names.count(name)} parameters named {name!r}",
                expected=", ".join(names[:12]),
                fix=nearest(name, names),
            )
        parameter = func.params[names.index(name)]
        values[parameter] = Constant(_tensor(data, parameter.type_annotation, name))
    kept = tuple(parameter for parameter in func.params if parameter not in set(values))
    return func.replace(params=kept, body=substitute(func.body, values))


def _tensor(data: Any, expected: Any, name: str) -> Tensor:
    held = data if isinstance(data, Tensor) else Tensor.of(data.numpy() if hasattr(data, "numpy") else data)
    if isinstance(expected, TensorType) and expected.is_static:
        if held.shape != expected.concrete_shape or held.dtype != expected.dtype:
            raise WorkbenchError(
                "E-PARAMS-TYPE",
                f"the data for parameter {name!r} does not fit its type",
                found=f"{held.dtype}{list(held.shape)}",
                expected=f"{expected.dtype}{list(expected.concrete_shape)}",
            )
    return held


def bind_params(mod: IRModule, params: Mapping[str, Any]) -> IRModule:
    """A module whose main has the named parameters bound to constants."""
    return mod.with_functions({"main": bind_params_by_name(mod["main"], params)})


__getattr__, __dir__ = late_names(
    __name__,
    {
        "build": ("workbench.driver.build", "build_model"),
        "create_executor": ("workbench.driver.evaluate", "create_executor"),
    },
)
