"""FoldConstant: what depends on constants alone is computed now, by the operators' NumPy definitions.

Results that take `limits.fold_bytes` more than their operands are left to run time, unless they repeat one value:
those stay lazy fills.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.limits import FoldBudget, limits
from ...core.module import IRModule
from ...core.node import Node, post_order
from ...core.rewrite import Failure, Match, RuleTable
from ...core.tensor import Tensor
from ...core.transform import PassContext, function_pass
from ..interpret import interpret
from ..ir import expr as e
from ..ir import types as t
from ..ir.brief import brief
from ..ir.operator import Fusion, Operator
from ..patterns import OfCalls, where
from .rules import apply_rules
from .simplify_inference import tuple_item

RULES = RuleTable("FoldConstant")


@dataclass(frozen=True)
class ConstantCall(OfCalls):
    """A call of an operator without effects whose operands are constants or tuples of constants."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Call) or not isinstance(node.op, Operator):
            return Failure("the expression is a call of an operator", lambda: brief(node))
        if node.op.effects:
            return Failure("the operator has no effects", node.op.name)
        for index, argument in enumerate(node.args):
            inner = argument.fields if isinstance(argument, e.Tuple) else (argument,)
            for part in inner:
                if not isinstance(part, e.Constant):
                    return Failure(f"operand {index} is a constant", _shown(part))
        match.matched.append(node)
        return None


def _shown(expr: e.Expr) -> Callable[[], str]:
    return lambda: brief(expr)


def _result(m: Match) -> t.TensorType | None:
    """The type of the whole if it is one static tensor."""
    root = m.root
    found = root.type_or_none if isinstance(root, e.Expr) else None
    return found if isinstance(found, t.TensorType) and found.is_static else None


def _bytes(m: Match) -> int:
    root = m.root
    found = root.type_or_none if isinstance(root, e.Expr) else None
    tensors = found.fields if isinstance(found, t.TupleType) else (found,)
    return sum(one.size * one.dtype.bytes for one in tensors if isinstance(one, t.TensorType) and one.is_static)


def _new_bytes(m: Match) -> int:
    """Bytes of the result; of an injective operator (a change of layout), those beyond what its operands hold."""
    root = m.root
    injective = isinstance(root, e.Call) and isinstance(root.op, Operator) and root.op.fusion <= Fusion.INJECTIVE
    held = sum(_held(argument) for argument in root.args) if injective and isinstance(root, e.Call) else 0
    return _bytes(m) - held


def _held(argument: e.Expr) -> int:
    """Bytes that a constant occupies already, in memory or in its file."""
    known = isinstance(argument, e.Constant) and argument.data.fill_value is None
    return argument.data.nbytes if known and isinstance(argument, e.Constant) else 0


_budget: ContextVar[FoldBudget | None] = ContextVar("workbench_fold_budget", default=None)
"""Of the function that the pass is at; none where a rule is tried by itself."""


def _work(m: Match) -> int:
    """Bytes that evaluating a call reads and makes, and its arithmetic."""
    root = m.root
    if not isinstance(root, e.Call) or not isinstance(root.op, Operator):
        return 0
    kinds = [argument.type_or_none for argument in root.args]
    read = sum(kind.size * kind.dtype.bytes for kind in kinds if isinstance(kind, t.TensorType) and kind.is_static)
    return read + _bytes(m) + (0 if None in kinds else root.op.flops(*kinds))


def _affordable(m: Match) -> bool:
    budget = _budget.get()
    return budget is None or budget.take(_work(m), max(0, _new_bytes(m)))


@dataclass(frozen=True)
class RepeatedValue(OfCalls):
    """A call whose result is one value everywhere: zeros, ones, or moves of and arithmetic on such tensors."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Call) or not isinstance(node.op, Operator):
            return Failure("the expression is a call of an operator", lambda: brief(node))
        value = _repeated(node.op, node.args)
        if value is None:
            return Failure("the result repeats one value", lambda: brief(node))
        match.bound["value"] = value
        match.matched.append(node)
        return None


def _repeated(op: Operator, args: tuple[e.Expr, ...]) -> Any:
    values = [_single(argument) for argument in args]
    if any(value is None for value in values):
        return op.repeated(*values)  # says so at once, or needs no value
    with np.errstate(all="ignore"):
        return op.repeated(*values)


def _single(argument: e.Expr) -> Any:
    """The one value of a constant that repeats it (a scalar array), or None."""
    if not isinstance(argument, e.Constant):
        return None
    if argument.data.fill_value is not None:
        return argument.data.fill_value
    return argument.data.numpy() if argument.data.shape == () else None


@RULES.rule(
    "repeated-value",
    RepeatedValue(),
    when=[
        where("the result's shape is known", lambda m: _result(m) is not None, lambda m: m.root),
        where(
            "the result is a tensor with axes", lambda m: bool((_result(m) or t.TensorType(())).shape), lambda m: "()"
        ),
    ],
)
def repeated_value(m: Match) -> Any:
    """A tensor of one repeated value stays a value and a shape; nothing is allocated."""
    found = _result(m)
    return None if found is None else e.Constant(Tensor.full(found.concrete_shape, m["value"], found.dtype))


@RULES.rule(
    "constant-call",
    ConstantCall(),
    when=[
        where(
            "the result fits limits.fold_bytes",
            lambda m: _new_bytes(m) <= limits.fold_bytes,
            lambda m: f"{_new_bytes(m):,} B",
        ),
        where(
            "the pass has time and memory left (limits.fold_work, limits.import_bytes)",
            lambda m: _affordable(m),
            lambda m: f"{_work(m):,} steps, {_new_bytes(m):,} B",
        ),
    ],
)
def constant_call(m: Match) -> Any:
    """A call on constants is the constant it evaluates to."""
    root = m.root
    return _as_constant(interpret(root)) if isinstance(root, e.Expr) else None


def _as_constant(value: Any) -> e.Expr:
    if isinstance(value, tuple):
        return e.Tuple(tuple(map(_as_constant, value)))  # pyright: ignore[reportUnknownArgumentType]
    return e.Constant(Tensor.adopt(np.asarray(value)).shared())


@dataclass(frozen=True)
class StaticShape(OfCalls):
    """shape_of a tensor whose shape is known."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.Call) or not isinstance(node.op, Operator) or node.op.name != "shape_of":
            return Failure("the expression is a call of shape_of", lambda: brief(node))
        found = node.args[0].type_or_none
        if not isinstance(found, t.TensorType) or not found.is_static:
            return Failure("the shape is known", repr(found))
        match.bound["shape"] = found.concrete_shape
        return None


@RULES.rule("shape-of", StaticShape())
def shape_of(m: Match) -> Any:
    """The shape of a tensor of known shape is a constant."""
    found = _result(m)
    return None if found is None else e.Constant(Tensor.of(np.asarray(m["shape"]), found.dtype))


@dataclass(frozen=True)
class ConstantIf:
    """An if whose condition is a constant."""

    def match(self, node: Node, match: Match) -> Failure | None:
        if not isinstance(node, e.If):
            return Failure("the expression is an if", lambda: brief(node))
        return (
            None
            if isinstance(node.cond, e.Constant)
            else Failure("the condition is a constant", lambda: brief(node.cond))
        )


@RULES.rule("constant-if", ConstantIf())
def constant_if(m: Match) -> Any:
    """if true then a else b is a."""
    root = m.root
    assert isinstance(root, e.If) and isinstance(root.cond, e.Constant)
    return root.true_branch if bool(root.cond.data.numpy()) else root.false_branch


RULES.add(tuple_item, __name__)


@function_pass(opt_level=2, name="FoldConstant", required=["InferType"], applies_to=e.Function)
def FoldConstant(func: e.Function, mod: IRModule, ctx: PassContext, *, fold_qnn: bool = False) -> e.Function:
    """Evaluate what depends on constants alone.  `fold_qnn` is accepted for the classic API."""
    if func.is_primitive:
        return func
    constants = [part for part in post_order(func) if isinstance(part, e.Constant) and part.data.fill_value is None]
    token = _budget.set(FoldBudget(sum(part.data.nbytes for part in constants)))
    try:
        return apply_rules(func, RULES, mod)
    finally:
        _budget.reset(token)
