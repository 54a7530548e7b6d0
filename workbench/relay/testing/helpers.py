"""Types and passes on single expressions, and networks made whole: types of weights, random weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import substitute
from ...core.transform import Pass, Sequential
from ...runtime.ndarray import NDArray
from ..ir import expr as e
from ..ir.infer import infer_type
from ..ir.types import TensorType
from .init import Initializer, Xavier


def run_infer_type(expr: e.Expr) -> e.Expr:
    """The expression with the types of all its parts inferred."""
    infer_type(expr)
    return expr


def run_opt_pass(expr: e.Expr, opt_pass: Pass | Sequence[Pass], import_prelude: bool = False) -> Any:
    """The expression after a pass (or several); functions stay functions, others answer the new body.

    `import_prelude` is refused: there is no prelude of data types.
    """
    if import_prelude:
        raise WorkbenchError("E-RELAY-PRELUDE", "there is no prelude", fix="define the data types in the module")
    steps = Sequential([opt_pass] if isinstance(opt_pass, Pass) else list(opt_pass))
    mod = steps(infer_type(IRModule.from_expr(expr)))
    made = mod["main"]
    return made if isinstance(expr, e.Function) else made.body


def annotated(func: e.Function) -> e.Function:
    """The function with the inferred types of its parameters written down."""
    infer_type(func)
    named = {
        param: e.Var(param.name_hint, param.checked_type) for param in func.params if param.type_annotation is None
    }
    params = tuple(named.get(param, param) for param in func.params)
    return func.replace(params=params, body=substitute(func.body, named))


def create_workload(
    net: e.Expr, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """(module, weights) of a network: every parameter except "data" is drawn by the initializer (Xavier), seeded."""
    mod = infer_type(IRModule.from_expr(annotated(e.as_function(net))))
    chosen = initializer or Xavier()
    random = np.random.default_rng(seed)
    params: dict[str, NDArray] = {}
    for param in mod["main"].params:
        if param.name_hint == "data":
            continue
        kind = param.checked_type
        assert isinstance(kind, TensorType)
        weights = np.zeros(kind.concrete_shape, kind.dtype.to_numpy())
        chosen(param.name_hint, weights, random)
        params[param.name_hint] = NDArray(weights)
    return mod, params
