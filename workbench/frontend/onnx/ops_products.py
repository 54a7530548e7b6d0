"""Matrix products: matrices go to `nn.dense`, which schedules know best, stacks of them to `nn.batch_matmul`."""

from __future__ import annotations

import math

from ...core.dtype import DataType
from ...relay.ir.expr import Expr
from .emit import call, constant, dtype_of, like, rank_of, reshaped, shape_of
from .ops_elementwise import cast
from .site import Site
from .table import onnx_op


@onnx_op("MatMul")
def matmul(node: Site, a: Expr, b: Expr) -> Expr:
    """NumPy's matmul: vectors are rows or columns, leading axes broadcast."""
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        raise node.refuse("a product needs axes", f"{left} and {right}", "at least one axis each")
    inner = right[-2:][0]
    if left[-1] != inner:
        raise node.refuse("the inner dimensions differ", f"{left} and {right}", f"{left[-1]} = {inner}")
    if len(left) == 1:
        a = reshaped(a, (1, left[0]))
    if len(right) == 1:
        b = reshaped(b, (right[0], 1))
    made = _product(a, b)
    shape = list(shape_of(made))
    if len(right) == 1:
        shape.pop()
    if len(left) == 1:
        shape.pop(-1 if len(right) == 1 else -2)
    return made if tuple(shape) == shape_of(made) else reshaped(made, tuple(shape))


def _product(a: Expr, b: Expr) -> Expr:
    """The product of operands with at least two axes each."""
    left, right = shape_of(a), shape_of(b)
    if len(right) == 2:
        rows = math.prod(left[:-1])
        flat = a if len(left) == 2 else reshaped(a, (rows, left[-1]))
        made = call("nn.dense", flat, call("transpose", b, axes=(1, 0)))
        return made if len(left) == 2 else reshaped(made, (*left[:-1], right[1]))
    lead = _broadcast(left[:-2], right[:-2])
    batch = math.prod(lead)
    stacked = [reshaped(_stretched(item, lead), (batch, *shape_of(item)[-2:])) for item in (a, b)]
    made = call("nn.batch_matmul", *stacked, transpose_a=False, transpose_b=False)
    return reshaped(made, (*lead, left[-2], right[-1]))


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(y if x == 1 else x for x, y in pairs)


def _stretched(value: Expr, lead: tuple[int, ...]) -> Expr:
    wanted = (*lead, *shape_of(value)[-2:])
    return value if shape_of(value) == wanted else call("broadcast_to", value, shape=wanted)


@onnx_op("Gemm", since=7)
def gemm(
    node: Site,
    a: Expr,
    b: Expr,
    c: Expr | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Expr:
    """alpha * a @ b + beta * c; of integers cut towards zero, then to their bits, where a factor is none of them."""
    if rank_of(a) != 2 or rank_of(b) != 2:
        raise node.refuse("Gemm takes matrices", f"{shape_of(a)} and {shape_of(b)}", "two axes each")
    left = call("transpose", a, axes=(1, 0)) if transA else a
    right = b if transB else call("transpose", b, axes=(1, 0))
    if shape_of(left)[1] != shape_of(right)[1]:
        raise node.refuse("the inner dimensions differ", f"{shape_of(a)} and {shape_of(b)}", "equal inner dimensions")
    made, kind = call("nn.dense", left, right), dtype_of(a)
    if kind.is_integer and not all(_holds(kind, factor) for factor in (alpha, beta)):
        wide = _scaled_sum(cast(made, "float64"), c if c is None else cast(c, "float64"), alpha, beta)
        return cast(wide if kind == "uint64" else cast(wide, "int64"), kind)
    return _scaled_sum(made, c, alpha, beta)


def _holds(kind: DataType, value: float) -> bool:
    low, high = kind.limits()
    return value.is_integer() and low <= value <= high


def _scaled_sum(made: Expr, c: Expr | None, alpha: float, beta: float) -> Expr:
    """alpha * made + beta * c."""
    if alpha != 1.0:
        made = call("multiply", made, like(alpha, made))
    if c is None or beta == 0.0:
        return made
    addend = c if beta == 1.0 else call("multiply", c, like(beta, c))
    if shape_of(addend) == shape_of(made)[1:]:
        return call("nn.bias_add", made, addend, axis=1)
    return call("add", made, addend)


@onnx_op("MatMulInteger", since=10)
def matmul_integer(node: Site, a: Expr, b: Expr, a_zero: Expr | None = None, b_zero: Expr | None = None) -> Expr:
    """The product of both less their zero points (of a: by row; of b: by column), in int32."""
    return matmul(node, _less(a, a_zero, True), _less(b, b_zero, False))


def _less(value: Expr, zero: Expr | None, by_row: bool) -> Expr:
    wide = cast(value, "int32")
    if zero is None:
        return wide
    shift = cast(zero, "int32")
    if by_row and rank_of(zero) == 1 and shape_of(zero)[0] > 1:
        shift = reshaped(shift, (*shape_of(zero), 1))
    return call("subtract", wide, shift)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@onnx_op("Einsum", since=12)
def einsum(node: Site, *operands: Expr, equation: str) -> Expr:
    """A sum of products: operands are brought to all letters as axes, multiplied, and summed over absent ones."""
    terms, result = _einsum_terms(node, equation.replace(" ", ""), operands)
    letters = list(dict.fromkeys("".join(terms)))
    order = [*result, *(letter for letter in letters if letter not in result)]
    total: Expr | None = None
    for term, operand in zip(terms, operands, strict=True):
        term, operand = _diagonals(term, operand)
        axes = [term.index(letter) for letter in order if letter in term]
        moved = call("transpose", operand, axes=tuple(axes)) if axes != sorted(axes) else operand
        shape = tuple(shape_of(operand)[term.index(letter)] if letter in term else 1 for letter in order)
        spread = reshaped(moved, shape)
        total = spread if total is None else call("multiply", total, spread)
    assert total is not None
    gone = tuple(range(len(result), len(order)))
    return call("sum", total, axis=gone, keepdims=False) if gone else total


def _einsum_terms(node: Site, equation: str, operands: tuple[Expr, ...]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with ``...`` spelt out."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise node.refuse("the equation names another number of operands", equation, f"{len(operands)} terms")
    free = [letter for letter in _LETTERS if letter not in equation]
    hidden = max((rank_of(x) - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True)), default=0)
    shared = "".join(free[: max(hidden, 0)])
    full: list[str] = []
    for term, operand in zip(terms, operands, strict=True):
        count = rank_of(operand) - len(term.replace("...", ""))
        full.append(term.replace("...", shared[len(shared) - count :] if count > 0 else ""))
        if len(full[-1]) != rank_of(operand) or (not full[-1].isalpha() and full[-1]):
            raise node.refuse(
                "a term does not fit its operand", f"'{term}' for {shape_of(operand)}", "a letter an axis"
            )
    if arrow:
        result = right.replace("...", shared)
    else:
        joined = "".join(full)
        result = shared + "".join(sorted(c for c in set(joined) if joined.count(c) == 1 and c not in shared))
    if any(letter not in "".join(full) for letter in result) or len(set(result)) != len(result):
        raise node.refuse("the result names unknown or repeated letters", equation, "letters of the operands")
    return full, result


def _diagonals(term: str, operand: Expr) -> tuple[str, Expr]:
    """A letter that occurs twice takes the diagonal, by masking and summing."""
    for letter in sorted(set(term)):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            extent = shape_of(operand)[first]
            import numpy as np

            shape = [1] * len(term)
            shape[first] = shape[second] = extent
            mask = constant(np.eye(extent, dtype=dtype_of(operand).to_numpy()).reshape(shape))
            operand = call("sum", call("multiply", operand, mask), axis=(second,), keepdims=False)
            term = term[:second] + term[second + 1 :]
    return term, operand
