"""Relay-like graph IR: expressions with types, passes over them, text.

    x = relay.var("x", shape=(1, 3, 224, 224))
    y = relay.nn.relu(relay.nn.conv2d(x, relay.const(weight), padding=(1, 1)))
    func = relay.Function([x], y)

Names load on first use.  A name that is none of the table's is an operator (`relay.add`, `relay.concatenate`).
"""

from __future__ import annotations

import importlib
import typing  # its Any would stand for the class of unknown dimensions, a public name here

from ..core.late_names import Names, late_names

_EXPRESSIONS = (
    "Expr", "Var", "GlobalVar", "Constant", "Call", "Function", "Let", "If", "Tuple", "TupleGetItem", "RefCreate",
    "RefRead", "RefWrite", "Constructor", "Match", "Clause", "Pattern", "PatternWildcard", "PatternVar",
    "PatternConstructor", "PatternTuple", "const", "var",
)  # fmt: skip
_TYPES = (
    "Type", "TensorType", "TupleType", "FuncType", "TypeVar", "RefType", "GlobalTypeVar", "TypeCall", "TypeData",
    "IncompleteType", "Any", "scalar_type",
)  # fmt: skip
_NAMES: Names = {
    **{name: ("workbench.relay.ir.expr", name) for name in _EXPRESSIONS},
    **{name: ("workbench.relay.ir.types", name) for name in _TYPES},
    "TypeKind": ("workbench.relay.ir.types", "Kind"),
    "ExprFunctor": ("workbench.relay.expr_functor", "ExprFunctor"),
    "ExprVisitor": ("workbench.relay.expr_functor", "ExprVisitor"),
    "ExprMutator": ("workbench.relay.expr_functor", "ExprMutator"),
    "bind": ("workbench.relay.expr_functor", "bind"),
    "expr_functor": ("workbench.relay.expr_functor", None),
    "expr": ("workbench.relay.expr", None),
    "ty": ("workbench.relay.ty", None),
    "OPERATORS": ("workbench.relay.ir.operator", "OPERATORS"),
    "Operator": ("workbench.relay.ir.operator", "Operator"),
    "operator": ("workbench.relay.ir.operator", "operator"),
    "op": ("workbench.relay.op", None),
    "nn": ("workbench.relay.op.nn", None),
    "image": ("workbench.relay.op.image", None),
    "vision": ("workbench.relay.op.vision", None),
    "transform": ("workbench.relay.transform", None),
    "testing": ("workbench.relay.testing", None),
    "analysis": ("workbench.relay.analysis", None),
    "dataflow_pattern": ("workbench.relay.dataflow_pattern", None),
    "frontend": ("workbench.relay.frontend", None),
    "build": ("workbench.driver.build", "build_model"),
    "optimize": ("workbench.driver.build", "optimize"),
    "create_executor": ("workbench.driver.evaluate", "create_executor"),
    "build_module": ("workbench.relay.build_module", None),
    "build_config": ("workbench.relay.transform", "build_config"),
    "IRModule": ("workbench.core.module", "IRModule"),
    "astext": ("workbench.relay.ir.classic", "astext"),
    "parse": ("workbench.relay.ir.classic", "fromtext"),
    "fromtext": ("workbench.relay.ir.classic", "fromtext"),
    "parse_expr": ("workbench.relay.ir.classic", "parse_expr"),
    "interpret": ("workbench.relay.interpret", None),
}
"""Public names: module, and attribute of it (None: the module itself)."""

_named, __dir__ = late_names(__name__, _NAMES)


def __getattr__(name: str) -> typing.Any:
    if name in _NAMES or name.startswith("_"):
        return _named(name)
    return importlib.import_module("workbench.relay.op.build").builder("", name)
