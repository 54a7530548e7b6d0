"""Types and passes on single expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.transform import Pass, Sequential
from ..ir import expr as e
from ..ir.infer import infer_type


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
