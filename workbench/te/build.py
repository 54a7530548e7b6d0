"""Writing tensor expressions: `placeholder`, `compute`, `reduce_axis`, reductions.

A = placeholder((n, k), name="A")
B = placeholder((k, m), name="B")
r = reduce_axis((0, k), name="r")
C = compute((n, m), lambda i, j: sum(A[i, r] * B[r, j], axis=r), name="C")
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..arith import build as b
from ..arith.nodes import PrimExpr, Var, literal
from ..core.dtype import DataType
from ..core.errors import WorkbenchError, require
from ..core.node import FrozenMap
from ..core.walks import parents_first
from ..tir.build import indices
from ..tir.nodes import IterKind, IterVar, Range
from .nodes import CommReducer, ComputeOp, PlaceholderOp, Reduce, Tensor, own_parts, several
from .tags import tag_or_current


def var(name: str = "n", dtype: str = "int64") -> Var:
    """A scalar variable; as an extent it makes a shape symbolic."""
    return Var(name, DataType(dtype))


size_var = var


def placeholder(shape: Sequence[Any], dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """A tensor given from outside; extents are ints or expressions."""
    return Tensor(PlaceholderOp(name, shape_of(shape), DataType(dtype)), 0)


def shape_of(shape: Any) -> tuple[PrimExpr, ...]:
    """Extents as index expressions; 4.0, what `n / 8` makes of 32, is 4.  Refuses negative and broken ones."""
    given = [int(item) if isinstance(item, float) and item.is_integer() else item for item in several(shape)]
    for item in given:
        if isinstance(item, float):
            raise WorkbenchError("E-TE-SHAPE", "an extent is a whole number", found=str(item), fix="divide by //")
    made = indices(given)
    for extent in made:
        value = literal(extent, 0)
        if value < 0:
            raise WorkbenchError("E-TE-SHAPE", "an extent cannot be negative", found=str(value))
    return made


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> IterVar:
    """An axis to reduce over: `dom` is (begin, end) or a Range."""
    if isinstance(dom, Range):
        return IterVar(Var(name), dom, IterKind.REDUCE)
    begin, end = indices(tuple(dom))
    return IterVar(Var(name), Range(begin, b.subtract(end, begin)), IterKind.REDUCE)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: Any = None) -> IterVar:
    """A thread of a target with threads: ``thread_axis("threadIdx.x")``, ``thread_axis((0, 32), "threadIdx.x")``.

    `dom` may be left out or be an extent; the iterator's variable carries the tag as its name unless `name` is given.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        raise WorkbenchError("E-TE-THREAD", "a thread axis has a tag", expected='"threadIdx.x", "blockIdx.y"')
    if dom is None:
        domain = Range(b.const(0), b.const(0))
    elif isinstance(dom, Range):
        domain = dom
    else:
        begin, end = indices(several(dom) if isinstance(dom, (tuple, list)) else (0, dom))
        domain = Range(begin, b.subtract(end, begin))
    return IterVar(Var(name or tag), domain, IterKind.SPATIAL, tag)


def compute(
    shape: Sequence[Any],
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor of `shape` whose element at (i, j, ...) is `fcompute(i, j, ...)`.

    A function that returns a tuple or list makes that many tensors of one shape.  `tag` and `attrs` are kept as
    annotations of the block; `varargs_names` names the axes that ``*where`` takes.
    """
    extents = shape_of(shape)
    names = _axis_names(fcompute, len(extents), varargs_names or ())
    axis = tuple(
        IterVar(Var(axis_name), Range(b.const(0), extent), IterKind.SPATIAL)
        for axis_name, extent in zip(names, extents, strict=True)
    )
    made = fcompute(*(item.var for item in axis))
    bodies = tuple(b.convert(item) for item in several(made))
    _check_reductions(bodies, name)
    operation = ComputeOp(name, axis, bodies, tag_or_current(tag), FrozenMap(attrs or {}))
    outputs = [operation.output(index) for index in range(len(bodies))]
    return tuple(outputs) if isinstance(made, (tuple, list)) else outputs[0]


def _axis_names(fcompute: Callable[..., Any], rank: int, starred_names: Sequence[str]) -> list[str]:
    """The parameter names of the function; ``*where`` becomes i0, i1, ..."""
    parameters = list(inspect.signature(fcompute).parameters.values())
    plain = [item for item in parameters if item.kind is item.POSITIONAL_OR_KEYWORD and item.default is item.empty]
    starred = builtins.any(item.kind is item.VAR_POSITIONAL for item in parameters)
    if len(plain) > rank or (len(plain) < rank and not starred):
        raise WorkbenchError(
            "E-TE-ARITY",
            f"the function takes {len(plain)} indices, but the shape has {rank} axes",
            fix="use lambda *i: ...",
        )
    rest = rank - len(plain)
    if starred_names and len(starred_names) != rest:
        raise WorkbenchError(
            "E-TE-ARITY", f"{len(starred_names)} names for {rest} axes", fix="give varargs_names one name an axis"
        )
    return [item.name for item in plain] + (list(starred_names) or [f"i{index}" for index in range(len(plain), rank)])


def _check_reductions(bodies: tuple[PrimExpr, ...], name: str) -> None:
    """A reduction is the whole of a body, not a part of it (tensors that a body reads are their own affair)."""
    parts = parents_first((child for body in bodies for child in own_parts(body)), own_parts)
    require(
        not [part for part in parts if isinstance(part, Reduce)],
        "E-TE-REDUCE",
        "a reduction must be the whole body of a compute",
        where=f"compute {name}",
        fix="compute the reduction as a tensor of its own and use that",
    )


# --- reductions ---------------------------------------------------------------------------------------------------


def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A reduction of one's own: `fcombine(x, y)` combines two values (or tuples), `fidentity(dtype...)` is neutral.

    The result is called as ``reducer(expression, axis=..., where=...)``; a tuple of expressions reduces together.
    """

    def reducer(expr: Any, axis: Any, where: Any = None) -> Any:
        many = isinstance(expr, (tuple, list))
        sources = tuple(b.convert(item) for item in several(expr))
        axes = several(axis)
        for item in axes:
            if not isinstance(item, IterVar):
                raise WorkbenchError("E-TE-AXIS", f"{name}: axis must come from reduce_axis", found=repr(item)[:80])
        lhs = tuple(Var(f"x{index}", source.dtype) for index, source in enumerate(sources))
        rhs = tuple(Var(f"y{index}", source.dtype) for index, source in enumerate(sources))
        dtypes = tuple(source.dtype for source in sources)
        combined = several(fcombine(lhs, rhs) if many else fcombine(lhs[0], rhs[0]))
        identity = several(fidentity(*dtypes))
        combiner = CommReducer(
            lhs,
            rhs,
            tuple(b.cast(dtype, value) for dtype, value in zip(dtypes, combined, strict=True)),
            tuple(b.cast(dtype, b.convert(value, dtype)) for dtype, value in zip(dtypes, identity, strict=True)),
        )
        condition = b.const(True) if where is None else where
        made = tuple(Reduce(combiner, sources, axes, condition, index) for index in range(len(sources)))
        return made if many else made[0]

    reducer.__name__ = name
    return reducer


def min_value(dtype: str) -> PrimExpr:
    """The least value of a dtype (minus infinity for floats)."""
    kind = DataType(dtype)
    return b.const(float("-inf") if kind.is_float else kind.limits()[0], kind)


def max_value(dtype: str) -> PrimExpr:
    """The greatest value of a dtype (infinity for floats)."""
    kind = DataType(dtype)
    return b.const(float("inf") if kind.is_float else kind.limits()[1], kind)


def _zero(dtype: str) -> PrimExpr:
    return b.const(0, dtype)


def _one(dtype: str) -> PrimExpr:
    return b.const(1, dtype)


def _false(dtype: str) -> PrimExpr:
    return b.const(False)


def _true(dtype: str) -> PrimExpr:
    return b.const(True)


sum = comm_reducer(b.add, _zero, "sum")
prod = comm_reducer(b.multiply, _one, "prod")
max = comm_reducer(b.maximum, min_value, "max")
min = comm_reducer(b.minimum, max_value, "min")
_some = comm_reducer(b.logical_or, _false, "any")
_every = comm_reducer(b.logical_and, _true, "all")


def any(*args: Any, axis: Any = None) -> Any:
    """`any(a, b)`: some condition holds; `any(expression, axis=k)`: for some k."""
    return b.any_of(*args) if axis is None else _some(*args, axis=axis)


def all(*args: Any, axis: Any = None) -> Any:
    """`all(a, b)`: every condition holds; `all(expression, axis=k)`: for every k."""
    return b.all_of(*args) if axis is None else _every(*args, axis=axis)
