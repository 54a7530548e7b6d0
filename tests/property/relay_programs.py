"""Random small relay modules over most operators, from a seed: shapes, dtypes, lets, ifs, tuples, closures, functions.

    program = random_program(17)          # .mod, .inputs; the same seed gives the same program

Each value knows whether it is *exact*: the same bits whatever the order of sums.  Operators that jump (rounding,
comparing, sorting, casting to integers) get exact operands only, so that results of equivalent programs differ by
rounding alone.  `tests.relay.generate` draws float programs for hypothesis, which shrinks them; here the number and
the breadth of programs count.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench import relay
from workbench.core.module import IRModule
from workbench.relay.ir import expr as e
from workbench.relay.ir import types as t
from workbench.relay.ir.infer import infer_type

DTYPES = ["float32"] * 9 + ["float64", "float64", "float16", "int32", "int32", "int64", "int8", "uint8", "bool"]
MOST = 600
"""Elements of one tensor at most."""


@dataclass(frozen=True)
class Program:
    """A module and arguments for its main."""

    seed: int
    mod: IRModule
    inputs: tuple[np.ndarray, ...]
    control: bool
    """Whether it has ifs or functions, which native code cannot hold yet."""


def random_program(seed: int, control: bool | None = None, steps: int | None = None) -> Program:
    """The program of a seed; two in five have control flow unless `control` says so."""
    chosen = random.Random(seed)
    wanted = chosen.random() < 0.4 if control is None else control
    builder = _Builder(chosen, wanted)
    function = builder.main(steps if steps is not None else 1 + chosen.randrange(12))
    mod = IRModule({"main": function, **builder.functions})
    infer_type(mod)
    drawn = np.random.default_rng(seed)
    inputs = tuple(array(drawn, param.checked_type) for param in function.params)
    return Program(seed, mod, inputs, wanted)


def array(drawn: np.random.Generator, type_: t.Type, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Small numbers of a tensor type."""
    assert isinstance(type_, t.TensorType)
    shape, dtype = type_.concrete_shape, type_.dtype.to_numpy()
    if dtype.kind == "b":
        return drawn.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return drawn.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    return drawn.uniform(low, high, shape).astype(dtype)


SMOOTH = ["tanh", "sigmoid", "sin", "cos", "erf", "atan", "nn.leaky_relu", "tanh", "sigmoid", "asinh"]
KEEPS_BITS = ["abs", "negative", "nn.relu", "copy"]
JUMPS = ["floor", "ceil", "round", "trunc", "sign"]
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
INTEGER = ["add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"]


class _Builder:
    def __init__(self, chosen: random.Random, control: bool) -> None:
        self.random = chosen
        self.control = control
        self.functions: dict[str, e.Function] = {}
        self.exact: dict[int, bool] = {}
        self.kept: list[e.Expr] = []
        self.names = 0
        self.depth = 0

    # --- drawing ---

    def one(self, items: Any) -> Any:
        return items[self.random.randrange(len(items))]

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def fresh(self, stem: str) -> str:
        self.names += 1
        return self.one([f"{stem}{self.names}", f"{stem}{self.names}", "x", "let", "a_b"])

    def shape(self, most_axes: int = 4) -> tuple[int, ...]:
        shape: tuple[int, ...] = ()
        for _ in range(self.number(0, most_axes)):
            extent = self.one([1, 2, 3, 4, 4, 5, 6, 8])
            if np.prod((*shape, extent)) <= MOST // 4:
                shape = (*shape, extent)
        return shape

    def note(self, made: e.Expr, exact: bool) -> e.Expr:
        infer_type(made)
        self.exact[id(made)] = exact
        self.kept.append(made)
        return made

    def is_exact(self, *exprs: e.Expr) -> bool:
        return all(self.exact.get(id(expr), False) for expr in exprs)

    def constant(self, shape: tuple[int, ...], dtype: str = "float32", low: float = -1.0, high: float = 1.0) -> e.Expr:
        drawn = np.random.default_rng(self.random.randrange(1 << 30))
        made = e.const(array(drawn, t.TensorType(shape, dtype), low, high))
        self.exact[id(made)] = True
        self.kept.append(made)
        return made

    def scalar(self, dtype: str) -> e.Expr:
        values = {"f": [0.0, -0.0, 1.0, 0.5, -2.0], "i": [0, 1, 2, -3], "u": [0, 1, 3], "b": [True, False]}
        made = e.const(self.one(values[np.dtype(dtype).kind]), dtype)
        self.exact[id(made)] = True
        self.kept.append(made)
        return made

    # --- the program ---

    def main(self, steps: int) -> e.Function:
        params: list[e.Var] = []
        for index in range(self.number(1, 3)):
            params.append(self.param(f"in{index}", t.TensorType(self.shape(), self.one(DTYPES))))
        if self.chance(0.5):
            params[0] = self.param("image", t.TensorType(self.one([(1, 4, 6, 6), (2, 3, 5, 4), (1, 8, 4, 7)])))
        body = self.body(params, steps)
        return e.Function(tuple(params), body)

    def param(self, name: str, type_: t.Type) -> e.Var:
        made = e.Var(name, type_)
        self.note(made, True)
        return made

    def body(self, params: list[Any], steps: int) -> e.Expr:
        pool: list[e.Expr] = list(params)
        for _ in range(steps):
            made = self.step(pool)
            if made is not None:
                pool.append(made)
        last = pool[-1]
        partners = [one for one in pool[len(params) : -1] if infer_type(one) == infer_type(last)]
        if partners and infer_type(last).dtype in ("float32", "int32"):
            last = self.note(relay.op.call("add", last, self.one(partners)), False)
        if self.chance(0.35):
            fields = tuple(self.one(pool) for _ in range(self.number(1, 3)))
            return self.note(e.Tuple((last, *fields)), False)
        if self.chance(0.05):
            return self.note(e.Tuple((e.Tuple((last, self.one(pool))), last)), False)
        return last

    def step(self, pool: list[e.Expr]) -> e.Expr | None:
        x = self.one(pool[-2:] if self.chance(0.8) else pool)
        kind = infer_type(x)
        assert isinstance(kind, t.TensorType)
        steps = GENERAL + (FLOATING if kind.dtype.is_float else BOOLEAN if kind.dtype.is_bool else INTEGERS)
        if kind.dtype == "float32" and len(kind.shape) >= 2:
            steps = steps + NETWORK
        if self.control and self.depth < 3:
            steps = steps + CONTROL
        for _ in range(4):
            made = self.one(steps)(self, x, kind.concrete_shape, str(kind.dtype), pool)
            if made is not None:
                return made
        return None

    def small_body(self, x: e.Expr, pool: list[e.Expr], wanted: t.Type | None) -> e.Expr:
        """A short computation from `x`, of the type `wanted` if given."""
        self.depth += 1
        inner = [*pool, x]
        for _ in range(self.number(0, 2)):
            made = self.step([x] if self.chance(0.5) else inner)
            if made is not None and (wanted is None or infer_type(made) == wanted):
                x = made
                inner.append(made)
        self.depth -= 1
        return x

    def partner(self, shape: tuple[int, ...], dtype: str, pool: list[e.Expr]) -> e.Expr:
        """Something that broadcasts with a tensor of this shape, of its dtype."""
        fits = [one for one in pool if _broadcasts(infer_type(one), shape, dtype)]
        if fits and self.chance(0.6):
            return self.one(fits)
        if self.chance(0.4):
            return self.scalar(dtype)
        cut = shape[self.number(0, len(shape)) :]
        return self.constant(tuple(1 if self.chance(0.3) else extent for extent in cut), dtype)


def _broadcasts(type_: t.Type, shape: tuple[int, ...], dtype: str) -> bool:
    if not isinstance(type_, t.TensorType) or type_.dtype != dtype:
        return False
    try:
        return int(np.prod(np.broadcast_shapes(type_.concrete_shape, shape))) <= MOST
    except ValueError:
        return False


Step = Callable[[_Builder, e.Expr, tuple[int, ...], str, list[e.Expr]], "e.Expr | None"]


def _call(b: _Builder, name: str, *args: Any, exact: bool = False, **attrs: Any) -> e.Expr:
    return b.note(relay.op.call(name, *args, **attrs), exact)


# --- for every dtype ----------------------------------------------------------------------------------------------


def transpose(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    axes = list(range(len(shape)))
    b.random.shuffle(axes)
    return _call(b, "transpose", x, axes=tuple(axes) if b.chance(0.8) else None, exact=b.is_exact(x))


def reshape(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    total = int(np.prod(shape))
    ways = [(total,), (1, total), shape, (-1,), (*shape, 1), (1, *shape)]
    ways += [(total // k, k) for k in (2, 3, 4) if total % k == 0]
    way = b.one([one for one in ways if len(one) <= 5])
    return _call(b, "reshape", x, newshape=way, exact=b.is_exact(x))


def axes_in_and_out(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if 1 in shape and b.chance(0.6):
        return _call(b, "squeeze", x, axis=(shape.index(1),), exact=b.is_exact(x))
    if len(shape) >= 5:
        return None
    return _call(b, "expand_dims", x, axis=b.number(0, len(shape)), exact=b.is_exact(x))


def reorder(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape:
        return None
    axis = b.number(-len(shape), len(shape) - 1)
    kept = b.is_exact(x)
    if b.chance(0.4):
        return _call(b, "reverse", x, axis=axis, exact=kept)
    if int(np.prod(shape)) * 2 > MOST:
        return None
    if b.chance(0.5):
        return _call(b, "repeat", x, repeats=2, axis=axis, exact=kept)
    return _call(b, "tile", x, reps=tuple(b.one([1, 1, 2]) if at else 1 for at in range(len(shape))), exact=kept)


def slices(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape:
        return None
    begin = [b.number(0, extent - 1) for extent in shape]
    end = [b.number(low + 1, extent) for low, extent in zip(begin, shape, strict=True)]
    strides = [b.one([1, 1, 2]) for _ in shape]
    if b.chance(0.2):
        begin, end, strides = [extent - 1 for extent in shape], [-extent - 1 for extent in shape], [-1 for _ in shape]
    return _call(b, "strided_slice", x, begin=begin, end=end, strides=strides, exact=b.is_exact(x))


def take(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape:
        return None
    axis = b.number(0, len(shape) - 1)
    indices = e.const(np.array([b.number(0, shape[axis] - 1) for _ in range(b.number(1, 3))], "int32"))
    return _call(b, "take", x, indices, axis=axis, exact=b.is_exact(x))


def gather(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape:
        return None
    axis = b.number(0, len(shape) - 1)
    drawn = np.random.default_rng(b.number(0, 999)).integers(0, shape[axis], shape).astype("int64")
    return _call(b, "gather", x, axis=axis, indices=e.const(drawn), exact=b.is_exact(x))


def join(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    same = [one for one in pool if infer_type(one) == infer_type(x)]
    parts = [x, *(b.one([*same, b.constant(shape, dtype)]) for _ in range(b.number(0, 2)))]
    if int(np.prod(shape)) * len(parts) > MOST or len(shape) > 4:
        return None
    kept = b.is_exact(*parts)
    if not shape or b.chance(0.3):
        return b.note(relay.stack(parts, axis=b.number(0, len(shape))), kept)
    return b.note(relay.concatenate(parts, axis=b.number(0, len(shape) - 1)), kept)


def split(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    axes = [at for at, extent in enumerate(shape) if extent % 2 == 0]
    if not axes:
        return None
    whole = b.note(relay.split(x, indices_or_sections=2, axis=b.one(axes)), b.is_exact(x))
    first = b.note(e.TupleGetItem(whole, 0), b.is_exact(x))
    second = b.note(e.TupleGetItem(whole, 1), b.is_exact(x))
    pool.append(first)
    return second


def through_a_tuple(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    other = b.one(pool)
    pair = b.note(e.Tuple((x, other)), False)
    index = b.number(0, 1)
    return b.note(e.TupleGetItem(pair, index), b.is_exact((x, other)[index]))


def cast(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    wanted = b.one(["float32", "float32", "float64", "int32", "int64", "float16", "bool", "int8"])
    narrows = not wanted.startswith("float")
    if narrows and (not b.is_exact(x) or dtype.startswith("float")):
        return None
    return _call(b, "cast", x, dtype=wanted, exact=b.is_exact(x))


def likes(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    names = ["zeros_like", "ones_like", "full_like", "broadcast_to", "where", "copy", "cast_like"]
    name = b.one([*names, "shape_of"] if shape else names)
    if name == "full_like":
        return _call(b, name, x, b.scalar(dtype), exact=True)
    if name == "broadcast_to":
        if len(shape) > 3 or np.prod(shape) * 2 > MOST:
            return None
        return _call(b, name, x, shape=(2, *shape), exact=b.is_exact(x))
    if name == "where":
        other = b.partner(shape, dtype, pool)
        condition = b.constant(shape, "bool")
        return _call(b, name, condition, *b.one([(x, other), (other, x)]), exact=b.is_exact(x, other))
    if name == "cast_like":
        other = b.one(pool)
        if not dtype.startswith("float") or not infer_type(other).dtype.is_float:
            return None
        return _call(b, name, x, other, exact=b.is_exact(x))
    return _call(b, name, x, exact=b.is_exact(x) or name != "copy")


def pads(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    widths = tuple((b.number(0, 1), b.number(0, 2)) for _ in shape)
    if not shape or dtype == "bool" or np.prod([n + sum(w) for n, w in zip(shape, widths, strict=True)]) > MOST:
        return None
    mode = b.one(["constant", "constant", "edge", "reflect"])
    if mode == "reflect" and any(max(width) >= extent for width, extent in zip(widths, shape, strict=True)):
        return None
    return _call(b, "nn.pad", x, pad_width=widths, pad_mode=mode, exact=b.is_exact(x))


def orders(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape or not b.is_exact(x) or dtype in ("bool", "float16"):
        return None
    axis, up = b.number(-len(shape), len(shape) - 1), b.chance(0.5)
    name = b.one(["sort", "argsort", "topk", "argmax", "argmin"])
    if name == "topk":
        whole = b.note(relay.topk(x, k=b.number(1, shape[axis]), axis=axis, is_ascend=up), True)
        return b.note(e.TupleGetItem(whole, b.number(0, 1)), True)
    if name in ("argmax", "argmin"):
        return _call(b, name, x, axis=axis, keepdims=up, exact=True)
    return _call(b, name, x, axis=axis, is_ascend=up, exact=True)


def compares(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    other = b.partner(shape, dtype, pool)
    if dtype == "bool" or not b.is_exact(x, other):
        return None
    return _call(b, b.one(COMPARE), x, other, exact=True)


def trilu(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if len(shape) < 2 or dtype == "bool":
        return None
    return _call(b, "trilu", x, upper=b.chance(0.5), k=b.number(-1, 1), exact=b.is_exact(x))


def layout(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if len(shape) != 4:
        return None
    if shape[1] % 2 == 0 and b.chance(0.5):
        split_up = _call(b, "layout_transform", x, src_layout="NCHW", dst_layout="NCHW2c", exact=b.is_exact(x))
        if b.chance(0.5):
            return split_up
        return _call(b, "layout_transform", split_up, src_layout="NCHW2c", dst_layout="NCHW", exact=b.is_exact(x))
    return _call(b, "layout_transform", x, src_layout="NCHW", dst_layout="NHWC", exact=b.is_exact(x))


def scatters(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape or dtype == "bool":
        return None
    axis = b.number(0, len(shape) - 1)
    indices = np.argsort(np.random.default_rng(b.number(0, 99)).random(shape), axis=axis).astype("int64")
    updates = b.constant(shape, dtype)
    return _call(b, "scatter_elements", x, e.const(indices), updates, axis=axis, exact=b.is_exact(x))


def made_of_nothing(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    """Tensors from attributes alone, or from shapes."""
    kind = b.number(0, 5)
    if kind == 0:
        return _call(b, b.one(["zeros", "ones"]), shape=shape, dtype=dtype, exact=True)
    if kind == 1:
        return _call(b, "full", b.scalar(dtype), shape=shape, dtype=dtype, exact=True)
    if kind == 2 and dtype not in ("bool", "uint8", "float16"):
        return _call(b, "arange", start=b.number(-2, 1), stop=b.number(2, 6), step=1, dtype=dtype, exact=True)
    if kind == 3:
        return _call(b, "ndarray_size", x, exact=True)
    like = b.constant((2, *shape) if len(shape) < 4 and np.prod(shape) * 2 <= MOST else shape, dtype)
    if kind == 4:
        return _call(b, "broadcast_to_like", x, like, exact=b.is_exact(x))
    flat = b.constant((int(np.prod(shape)),), dtype)
    return _call(b, "reshape_like", x, flat, exact=b.is_exact(x))


def picks(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    """Operators that move single elements by indices."""
    if len(shape) < 2:
        return None
    kind = b.number(0, 3)
    if kind == 0:
        indices = np.array([[b.number(0, extent - 1) for _ in range(3)] for extent in shape[:2]], "int32")
        return _call(b, "gather_nd", x, e.const(indices), exact=b.is_exact(x))
    if kind == 1 and dtype != "bool":
        rows = np.random.default_rng(b.number(0, 99)).permutation(shape[0])[: b.number(1, shape[0])]
        updates = b.constant((len(rows), *shape[1:]), dtype)
        return _call(b, "scatter_nd", x, e.const(rows[None].astype("int32")), updates, exact=b.is_exact(x))
    if kind == 2:
        lengths = e.const(np.array([b.number(1, shape[1]) for _ in range(shape[0])], "int32"))
        return _call(b, "reverse_sequence", x, lengths, seq_axis=1, batch_axis=0, exact=b.is_exact(x))
    smaller = b.constant(tuple(b.number(1, extent) for extent in shape), dtype)
    return _call(b, "slice_like", x, smaller, exact=b.is_exact(x))


GENERAL: list[Step] = [made_of_nothing, picks, 
    transpose, reshape, axes_in_and_out, reorder, slices, take, gather, join, split, through_a_tuple, cast, likes,
    pads, orders, compares, trilu, layout, scatters,
]  # fmt: skip


# --- floats -------------------------------------------------------------------------------------------------------


def unary(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if b.is_exact(x) and b.chance(0.2):
        return _call(b, b.one(JUMPS), x, exact=True)
    if b.chance(0.35):
        return _call(b, b.one(KEEPS_BITS), x, exact=b.is_exact(x))
    return _call(b, b.one(SMOOTH), x)


def positive(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    inside = b.note(relay.add(relay.abs(x), e.const(0.5, dtype)), False)
    return _call(b, b.one(["sqrt", "rsqrt", "log", "log2", "log10"]), inside)


def exponent(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    inside = _call(b, "clip", x, a_min=-2.0, a_max=1.5)
    return _call(b, b.one(["exp", "sinh", "cosh", "tan"]), relay.multiply(inside, e.const(0.5, dtype)))


def binary(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    other = b.partner(shape, dtype, pool)
    pair = (x, other) if b.chance(0.6) else (other, x)
    name = b.one(["add", "subtract", "multiply", "maximum", "minimum", "add", "multiply"])
    return _call(b, name, *pair, exact=b.is_exact(x, other) and name in ("maximum", "minimum"))


def quotient(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    other = b.partner(shape, dtype, pool)
    return _call(b, "divide", x, relay.add(relay.abs(other), e.const(0.5, dtype)))


def clip(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    made = _call(b, "clip", x, a_min=b.one([-0.5, 0.0, 0.25]), a_max=b.one([0.25, 0.5, 6.0]), exact=b.is_exact(x))
    return _call(b, "clip", made, a_min=0.0, a_max=1.0, exact=b.is_exact(x)) if b.chance(0.3) else made


def reduces(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    name = b.one(["sum", "mean", "max", "min", "variance", "logsumexp", "prod"])
    axes = [at for at in range(len(shape)) if b.chance(0.5)]
    axis = None if b.chance(0.2) else tuple(axes)
    if dtype == "float16" or (axis == () and name in ("variance", "logsumexp")):
        return None
    if name == "prod":
        x = _call(b, "clip", x, a_min=-1.1, a_max=1.1, exact=b.is_exact(x))
    kept = b.is_exact(x) and name in ("max", "min")
    return _call(b, name, x, axis=axis, keepdims=b.chance(0.5), exact=kept)


def rare(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    kind = b.number(0, 4)
    if kind == 0 and b.is_exact(x):
        return _call(b, b.one(["isnan", "isfinite", "isinf"]), x, exact=True)
    if kind == 1:
        base = b.note(relay.add(relay.abs(x), e.const(0.5, dtype)), False)
        return _call(b, "power", base, e.const(b.one([2.0, 0.5, -1.0]), dtype))
    if kind == 2:
        inside = _call(b, "clip", x, a_min=-0.7, a_max=0.7)
        return _call(b, b.one(["acos", "asin", "atanh"]), inside)
    if kind == 3 and shape and dtype != "float16":
        small = _call(b, "clip", x, a_min=-1.1, a_max=1.1)
        return _call(b, "cumprod", small, axis=b.number(0, len(shape) - 1))
    if len(shape) < 2 or dtype == "float16":
        return None
    kept = tuple(1 if b.chance(0.5) else extent for extent in shape)
    return _call(b, "collapse_sum_to", x, shape=kept)


def running(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape or dtype == "float16":
        return None
    return _call(b, "cumsum", x, axis=b.number(0, len(shape) - 1), exclusive=b.chance(0.3))


def normal(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if not shape or dtype != "float32":
        return None
    return _call(b, b.one(["nn.softmax", "nn.log_softmax"]), x, axis=b.number(-len(shape), len(shape) - 1))


FLOATING: list[Step] = [
    unary, unary, unary, rare, positive, exponent, binary, binary, binary, quotient, clip, reduces, reduces,
    running, normal,
]  # fmt: skip


# --- integers and truth values ------------------------------------------------------------------------------------


def integer_pair(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    other = b.partner(shape, dtype, pool)
    return _call(b, b.one(INTEGER), *b.one([(x, other), (other, x)]), exact=b.is_exact(x, other))


def integer_division(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    divisor = e.const(b.one([1, 2, 3, 7]) * (1 if dtype == "uint8" or b.chance(0.7) else -1), dtype)
    name = b.one(["floor_divide", "floor_mod", "trunc_divide", "trunc_mod", "divide", "mod"])
    return _call(b, name, x, divisor, exact=b.is_exact(x))


def shift(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    return _call(b, b.one(["left_shift", "right_shift"]), x, e.const(b.number(0, 3), dtype), exact=b.is_exact(x))


def integer_unary(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    names = ["bitwise_not", "copy", "abs"] if dtype == "uint8" else ["bitwise_not", "copy", "abs", "negative", "sign"]
    return _call(b, b.one(names), x, exact=b.is_exact(x))


def integer_reduce(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    axes = tuple(at for at in range(len(shape)) if b.chance(0.5))
    name = b.one(["sum", "max", "min", "prod"])
    return _call(b, name, x, axis=axes if b.chance(0.8) else None, keepdims=b.chance(0.5), exact=b.is_exact(x))


def one_hot(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if dtype not in ("int32", "int64") or len(shape) > 3 or np.prod(shape) * 4 > MOST or not b.is_exact(x):
        return None
    return _call(b, "one_hot", x, e.const(1.0), e.const(0.0), depth=4, dtype="float32", exact=True)


def boolean(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    kind = b.number(0, 3)
    if kind == 0:
        return _call(b, "logical_not", x, exact=b.is_exact(x))
    if kind == 1:
        other = b.partner(shape, dtype, pool)
        return _call(b, b.one(LOGIC), x, other, exact=b.is_exact(x, other))
    if kind == 2:
        axes = tuple(at for at in range(len(shape)) if b.chance(0.5))
        return _call(b, b.one(["all", "any"]), x, axis=axes, keepdims=b.chance(0.5), exact=b.is_exact(x))
    wanted = b.one(["float32", "int32"])
    one, other = b.constant(shape, wanted), b.scalar(wanted)
    return _call(b, "where", x, one, other, exact=b.is_exact(x))


def clip_integers(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    return _call(b, "clip", x, a_min=-3, a_max=b.number(-1, 5), exact=b.is_exact(x))


INTEGERS: list[Step] = [
    integer_pair, integer_pair, integer_division, shift, integer_unary, integer_reduce, one_hot, clip_integers,
]  # fmt: skip
BOOLEAN: list[Step] = [boolean, boolean, boolean]


# --- layers of networks -------------------------------------------------------------------------------------------


def convolution(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if len(shape) != 4:
        return dense(b, x, shape, dtype, pool)
    channels, (height, width) = shape[1], shape[2:]
    groups = b.one([1, 1, channels]) if channels > 1 else 1
    out = b.one([1, 2, 4, 8]) if groups == 1 else channels * b.one([1, 2])
    kernel = (b.number(1, min(3, height)), b.number(1, min(3, width)))
    attrs: dict[str, Any] = {"groups": groups}
    if b.chance(0.5):
        attrs["padding"] = b.one([(1, 1), (0, 1, 1, 0), (1, 0)])
    if b.chance(0.3):
        attrs["strides"] = b.one([(2, 2), (1, 2)])
    if b.chance(0.3):
        attrs |= {"channels": out, "kernel_size": kernel}
    return _call(b, "nn.conv2d", x, b.constant((out, channels // groups, *kernel), low=-0.4, high=0.4), **attrs)


def transposed(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if len(shape) != 4 or np.prod(shape) > 120:
        return None
    weight = b.constant((shape[1], 2, 2, 3), low=-0.4, high=0.4)
    padding = b.one([(0, 0), (1, 1)]) if min(shape[2:]) > 1 else (0, 0)
    return _call(b, "nn.conv2d_transpose", x, weight, strides=b.one([(1, 1), (2, 2)]), padding=padding)


def one_axis(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if len(shape) != 3 or shape[2] < 2:
        return None
    if b.chance(0.5):
        weight = b.constant((3, shape[1], 2), low=-0.4, high=0.4)
        return _call(b, "nn.conv1d", x, weight, padding=(b.number(0, 1), 0))
    return _call(b, b.one(["nn.max_pool1d", "nn.avg_pool1d"]), x, pool_size=2, strides=b.number(1, 2))


def pooling(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if len(shape) != 4:
        return None
    kind = b.number(0, 4)
    if kind == 0:
        return _call(b, b.one(["nn.global_avg_pool2d", "nn.global_max_pool2d"]), x)
    if kind == 1:
        return _call(b, "nn.adaptive_avg_pool2d", x, output_size=(b.number(1, shape[2]), b.number(1, shape[3])))
    if min(shape[2:]) < 2:
        return None
    name = b.one(["nn.max_pool2d", "nn.avg_pool2d"])
    more = {"count_include_pad": b.chance(0.5)} if name == "nn.avg_pool2d" else {}
    padding = b.one([(0, 0), (1, 1), (0, 1)])
    strides = b.one([(1, 1), (2, 2)])
    return _call(b, name, x, pool_size=(2, 2), strides=strides, padding=padding, ceil_mode=b.chance(0.3), **more)


def dense(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    inner = shape[-1]
    units = b.one([1, 3, 5, 8])
    if len(shape) == 3 and b.chance(0.5):
        weight = b.constant((b.one([1, shape[0]]), units, inner), low=-0.4, high=0.4)
        return _call(b, "nn.batch_matmul", x, weight)
    if len(shape) == 2 and b.chance(0.4):
        return _call(b, "nn.matmul", x, b.constant((inner, units), low=-0.4, high=0.4))
    if len(shape) == 2:
        return _call(b, "nn.dense", x, b.constant((units, inner), low=-0.4, high=0.4))
    return None


def scales(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    axis = b.number(1, len(shape) - 1)
    count = shape[axis]
    vectors = [b.constant((count,)) for _ in range(3)]
    near_one = b.constant((count,), low=0.5, high=1.5)
    name = b.one(["batch_norm", "bias_add", "layer_norm", "prelu", "scale", "scale", "instance_norm"])
    if name == "batch_norm":
        whole = b.note(relay.nn.batch_norm(x, *vectors, near_one, axis=axis), False)
        return b.note(e.TupleGetItem(whole, 0), False)
    if name == "bias_add":
        return _call(b, "nn.bias_add", x, vectors[0], axis=b.one([axis, axis - len(shape)]))
    if name == "prelu":
        return _call(b, "nn.prelu", x, vectors[0], axis=axis)
    if name == "scale":
        shaped = near_one.data.numpy().reshape((count, *(1,) * (len(shape) - axis - 1)))
        return _call(b, b.one(["multiply", "add"]), x, e.const(shaped))
    if name == "instance_norm" and len(shape) < 3:
        return None
    axis = axis if name == "layer_norm" else 1
    pair = [b.constant((shape[axis],)) for _ in range(2)]
    return _call(b, f"nn.{name}", x, *pair, axis=axis, epsilon=1e-2)


def resized(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    if len(shape) != 4:
        return _call(b, "nn.batch_flatten", x, exact=b.is_exact(x))
    if shape[1] % 4 == 0 and b.chance(0.3):
        return _call(b, "nn.depth_to_space", x, block_size=2, exact=b.is_exact(x))
    if np.prod(shape) * 4 > MOST:
        return None
    if b.chance(0.5):
        return _call(b, "nn.upsampling", x, scale_h=2, scale_w=2, exact=b.is_exact(x))
    size = (b.number(1, 2 * shape[2]), b.number(1, 2 * shape[3]))
    return _call(b, "image.resize2d", x, size=size, method=b.one(["linear", "nearest_neighbor"]))


def volumes(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    """Operators on five axes, space and channels exchanged, holes filled in."""
    if len(shape) == 5 and min(shape[2:]) >= 1:
        if min(shape[2:]) >= 2 and b.chance(0.5):
            return _call(b, b.one(["nn.max_pool3d", "nn.avg_pool3d"]), x, pool_size=2, strides=b.number(1, 2))
        weight = b.constant((2, shape[1], 1, 1, 1), low=-0.4, high=0.4)
        return _call(b, "nn.conv3d", x, weight, padding=b.one([(0, 0, 0), (1, 0, 1)]))
    if len(shape) == 4 and shape[2] % 2 == 0 and shape[3] % 2 == 0 and b.chance(0.5):
        return _call(b, "nn.space_to_depth", x, block_size=2, exact=b.is_exact(x))
    if len(shape) == 3 and shape[2] > 1:
        name = b.one(["nn.adaptive_avg_pool1d", "nn.adaptive_max_pool1d"])
        return _call(b, name, x, output_size=b.number(1, shape[2]))
    if len(shape) == 4:
        return _call(b, "nn.adaptive_max_pool2d", x, output_size=(b.number(1, shape[2]), b.number(1, shape[3])))
    strides = tuple(b.number(1, 2) for _ in shape)
    return _call(b, "nn.dilate", x, strides=strides, exact=b.is_exact(x)) if np.prod(shape) * 4 <= MOST else None


def others(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    kind = b.number(0, 2)
    if kind == 0:
        return b.note(relay.nn.dropout(x), b.is_exact(x))
    if kind == 1:
        return _call(b, "nn.l2_normalize", x, eps=1e-2, axis=(b.number(0, len(shape) - 1),))
    return _call(b, "nn.lrn", x, size=3, axis=1, bias=1.0, alpha=0.5) if len(shape) == 4 else None


NETWORK: list[Step] = [convolution, convolution, convolution, transposed, one_axis, pooling, pooling, dense, dense,
                       scales, scales, scales, resized, volumes, others]  # fmt: skip


# --- control ------------------------------------------------------------------------------------------------------


def let(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    variable = e.Var(b.fresh("v"), infer_type(x) if b.chance(0.5) else None)
    variable.set_type(infer_type(x))
    b.exact[id(variable)] = b.is_exact(x)
    body = b.small_body(variable, pool, None)
    return b.note(e.Let(variable, x, body), b.is_exact(body))


def branch(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    condition = b.one([e.const(True), e.const(False), None])
    if condition is None:
        scalars = [one for one in pool if infer_type(one) == t.TensorType((), "bool") and b.is_exact(one)]
        condition = b.one(scalars) if scalars else None
    if condition is None and b.is_exact(x) and dtype in ("float32", "int32"):
        most = relay.max(x, axis=None) if shape else x
        condition = _call(b, "less", most, e.const(1.0 if dtype == "float32" else 1, dtype), exact=True)
    if condition is None:
        return None
    kind = infer_type(x)
    sides = (b.small_body(x, pool, kind), b.small_body(x, pool, kind))
    return b.note(e.If(condition, *sides), b.is_exact(*sides))


def closure(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    """A local function, called once or twice (the second time on its own result where that fits)."""
    param = e.Var(b.fresh("p"), infer_type(x))
    b.note(param, b.is_exact(x))
    body = b.small_body(param, pool if b.chance(0.5) else [], infer_type(x) if b.chance(0.6) else None)
    function: e.Expr = e.Function((param,), body)
    if b.chance(0.5):
        name = e.Var(b.fresh("f"))
        name.set_type(infer_type(function))
        first = b.note(e.Call(name, (x,)), b.is_exact(body) and b.is_exact(x))
        result = first
        if infer_type(first) == infer_type(x):
            result = b.note(e.Call(name, (first,)), b.is_exact(first))
        return b.note(e.Let(name, function, result), b.is_exact(result))
    return b.note(e.Call(function, (x,)), b.is_exact(x) and b.is_exact(body))


def global_function(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    kind = infer_type(x)
    known = [name for name, func in b.functions.items() if [one.checked_type for one in func.params] == [kind]]
    if not known or b.chance(0.5):
        param = e.Var("p", kind)
        b.note(param, False)
        body = b.small_body(param, [], None)
        b.names += 1
        name = f"helper{b.names}"
        b.functions[name] = e.Function((param,), body, infer_type(body))
        known = [name]
    chosen = b.one(known)
    made = e.Call(e.GlobalVar(chosen), (x,))
    infer_type(made, IRModule(b.functions))
    return b.note(made, False)


def tuple_function(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    """A local function from a tuple to a tuple."""
    other = b.one(pool)
    kind = t.TupleType((infer_type(x), infer_type(other)))
    param = e.Var(b.fresh("p"), kind)
    items = [b.note(e.TupleGetItem(param, at), b.is_exact(one)) for at, one in enumerate((x, other))]
    body = b.note(e.Tuple((items[1], b.small_body(items[0], items, None))), False)
    called = b.note(e.Call(e.Function((param,), body), (e.Tuple((x, other)),)), False)
    return b.note(e.TupleGetItem(called, b.number(0, 1)), False)


def cell(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    """A reference written and read, in an order that counts."""
    ref, unit = e.Var(b.fresh("r")), e.Var(b.fresh("u"))
    ref.set_type(t.RefType(infer_type(x)))
    value = b.small_body(x, pool, infer_type(x))
    read = b.note(e.RefRead(ref), False)
    if b.chance(0.5):  # read before the write as well
        before = e.Var(b.fresh("b"))
        before.set_type(infer_type(x))
        after = b.note(e.Tuple((before, e.RefRead(ref))), False)
        inner = e.Let(before, e.RefRead(ref), e.Let(unit, e.RefWrite(ref, value), after))
        whole = b.note(e.Let(ref, e.RefCreate(x), inner), False)
        return b.note(e.TupleGetItem(whole, b.number(0, 1)), False)
    return b.note(e.Let(ref, e.RefCreate(x), e.Let(unit, e.RefWrite(ref, value), read)), False)


def loop(b: _Builder, x: Any, shape: Any, dtype: str, pool: Any) -> Any:
    """A global or local function that calls itself a few times."""
    kind = infer_type(x)
    count, value = e.Var("i", t.TensorType((), "int32")), e.Var(b.fresh("p"), kind)
    b.note(value, False)
    body = b.small_body(value, [], kind)
    more = relay.op.call("less", count, e.const(b.number(1, 3), "int32"))
    following = relay.op.call("add", count, e.const(1, "int32"))
    local = b.chance(0.5)
    b.names += 1
    name: Any = e.Var(b.fresh("f")) if local else e.GlobalVar(f"loop{b.names}")
    func = e.Function((count, value), e.If(more, e.Call(name, (following, body)), value), kind)
    called = e.Call(name, (e.const(0, "int32"), x))
    if local:
        return b.note(e.Let(name, func, called), False)
    b.functions[name.name_hint] = func
    infer_type(called, IRModule(b.functions))
    return b.note(called, False)


CONTROL: list[Step] = [cell, loop, let, let, let, branch, branch, closure, closure, global_function, tuple_function] * 2
