"""What patterns ask of expressions: types, attributes, equality, uses; and how a pattern prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...core.equal import structural_equal
from ...core.errors import WorkbenchError
from ...core.node import Node
from ..ir import expr as e
from ..ir import types as t
from ..ir.infer import infer_type
from ..ir.operator import Operator
from ..ir.plan import expressions, operands

_OPERATOR_FACTS: dict[str, Callable[[Operator], Any]] = {
    "TOpPattern": lambda op: int(op.fusion),
    "TOpIsStateful": lambda op: op.effects,
    "TNonComputational": lambda op: False,
}
"""Classic attributes of operators themselves, beside those of a call."""


def attribute_of(node: Any, name: str) -> tuple[bool, Any]:
    """Whether a node has an attribute, and its value."""
    op = node.op if isinstance(node, e.Call) else node
    if isinstance(op, Operator):
        if name in _OPERATOR_FACTS:
            return True, _OPERATOR_FACTS[name](op)
        return name in op.attributes, op.attributes.get(name)
    if isinstance(op, e.Function):
        return name in op.attrs, op.attrs.get(name)
    return False, None


def equal_values(value: Any, wish: Any) -> bool:
    """Attribute values compared as the classic API does: sequences of equal items are equal."""
    items, wanted = sequence(value), sequence(wish)
    if items is not None and wanted is not None:
        return len(items) == len(wanted) and all(map(equal_values, items, wanted))
    if isinstance(value, Mapping) and isinstance(wish, Mapping):
        given: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType]
        wanted_items: dict[str, Any] = dict(wish)  # pyright: ignore[reportUnknownArgumentType]
        return given.keys() == wanted_items.keys() and all(equal_values(given[key], wanted_items[key]) for key in given)
    return bool(value == wish)


def sequence(value: Any) -> list[Any] | None:
    """The items of a list or tuple; None for what is neither."""
    return list(value) if isinstance(value, (list, tuple)) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def expression_type(node: Any) -> t.Type | None:
    """The type of an expression, inferred if need be; None where it cannot be told."""
    if not isinstance(node, e.Expr):
        return None
    try:
        return infer_type(node)
    except WorkbenchError:
        return None


def same_expression(one: Any, other: Any, structural: bool = False) -> bool:
    """Identity; equal data for constants; with `structural`, equality up to bound names."""
    if one is other:
        return True
    if isinstance(one, e.Constant) and isinstance(other, e.Constant):
        return one.data == other.data
    return structural and structural_equal(one, other)


def use_counts(root: e.Expr) -> dict[int, int]:
    """How often each expression below a root is an operand, by identity."""
    uses: dict[int, int] = {id(root): 1}
    for node in expressions(root):
        for operand in operands(node):
            uses[id(operand)] = uses.get(id(operand), 0) + 1
    return uses


def lazy_uses(root: Node) -> Callable[[Node], int]:
    """`use_counts`, made when first asked."""
    counts: dict[int, int] = {}

    def uses(node: Node) -> int:
        if not counts and isinstance(root, e.Expr):
            counts.update(use_counts(root))
        return counts.get(id(node), 1)

    return uses


_SHOWN_DEPTH = 8


def pattern_text(pattern: Any, depth: int = 0) -> str:
    """A pattern in the words that build it; what is deeper than a few levels is left out."""
    name = getattr(pattern, "operator_name", "")
    if name and not hasattr(pattern, "args"):
        return f"is_op({name!r})"
    parts: list[str] = list(getattr(pattern, "parts", ()))
    if depth >= _SHOWN_DEPTH:
        return "..."
    inner: list[str] = []
    for part in parts:
        value = getattr(pattern, part)
        several = sequence(value)
        if several is not None:
            inner.append(f"[{', '.join(pattern_text(each, depth + 1) for each in several)}]")
        else:
            inner.append("None" if value is None else pattern_text(value, depth + 1))
    kind: type = type(pattern)  # pyright: ignore[reportUnknownVariableType]
    own: tuple[str, ...] = getattr(kind, "__slots__", ())
    inner += [f"{key}={getattr(pattern, key)!r}" for key in own if key not in parts and key not in ("pattern", "expr")]
    return f"{kind.__name__}({', '.join(inner)})"
