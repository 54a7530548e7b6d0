"""The dataflow pattern language: find, rewrite and cut out pieces of programs (`relay.dataflow_pattern`).

>>> from workbench.relay.op import add, call
>>> from workbench.relay.ir.expr import var
>>> x, y = var("x", shape=(2,)), var("y", shape=(2,))
>>> relu = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
>>> relu.match(call("nn.relu", add(x, y)))
True
>>> print(relu.why_not(add(x, y)))
the operator is nn.relu; found add

`rewrite(callbacks, expr)` replaces matches until nothing changes; `pattern.partition(expr)` makes each a function.
"""

from __future__ import annotations

from ...core.late_names import late_names, names_of

_NAMES = names_of(
    {
        ".making": (
            "is_op wildcard is_var is_constant is_expr is_tuple is_tuple_get_item is_if is_let has_attr "
            "has_type has_dtype has_shape dominates"
        ),
        ".patterns": (
            "AltPattern AttrPattern CallPattern ConstantPattern DataTypePattern DFPattern "
            "DominatorPattern ExprPattern ShapePattern TypePattern VarPattern WildcardPattern"
        ),
        ".rewriting": "DFPatternCallback match partition rewrite",
        ".structures": "FunctionPattern IfPattern LetPattern TupleGetItemPattern TuplePattern",
    }
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__, __dir__ = late_names(__name__, _NAMES)
