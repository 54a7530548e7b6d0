"""Classic name: `relay.expr`; the expressions are those of `relay.ir.expr`."""

from .ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    const,
    var,
)

RelayExpr = Expr
"""The older name of `Expr`."""

__all__ = [
    "Call",
    "Constant",
    "Constructor",
    "Expr",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "RefCreate",
    "RefRead",
    "RefWrite",
    "RelayExpr",
    "Tuple",
    "TupleGetItem",
    "Var",
    "const",
    "var",
]
