"""FlattenBuffer: every access becomes one-dimensional, and the packed call's signature is written down.

    before:  C[i, j] = A[i, j]            A: (16, n)
    after:   C[i * n + j] = A[i * n + j]  A: (16 * n,); signature = ("float32[16, n]", ...); n is a parameter

Digits of a fused loop's counter become one number again where memory is in step: ``x // 8 * 8 + x % 8`` is ``x``.

Shape variables that are not parameters are appended, in order of first appearance.  An extent that is an expression is
passed under a name of its own and asserted.  Attributes: ``signature`` (one text a packed argument), ``written``.
"""

from __future__ import annotations

from typing import Any

from ...arith import nodes as n
from ...arith.build import INDEX, add, const, equal, maximum, multiply, subtract
from ...arith.simplify import Simplifier
from ...core import origin
from ...core.errors import WorkbenchError
from ...core.node import FrozenMap, pre_order, rewrite, traced_nodes
from ...core.per_node import per_node
from ...core.text import fresh_name
from ...core.transform import function_pass
from .. import nodes as t
from ..build import seq
from ..flat import require_marks
from ..op import writes_through
from .align_storage import align_storage


def strides_of(buffer: t.Buffer) -> tuple[n.PrimExpr, ...]:
    """Strides in elements, row-major when the buffer has none."""
    if buffer.strides:
        return buffer.strides
    strides: list[n.PrimExpr] = []
    step: n.PrimExpr = const(1)
    for extent in reversed(buffer.shape):
        strides.append(step)
        step = multiply(step, extent)
    return tuple(reversed(strides))


def flat_index(buffer: t.Buffer, indices: tuple[n.PrimExpr, ...]) -> n.PrimExpr:
    """The offset in elements of an access; a vector last index gives a vector offset."""
    total: n.PrimExpr = buffer.elem_offset if buffer.elem_offset is not None else const(0)
    lanes = indices[-1].dtype.lanes if indices else 1
    strides = strides_of(buffer)
    leading = indices[:-1] if lanes > 1 else indices
    for index, stride in zip(leading, strides, strict=False):
        total = add(total, multiply(index, stride))
    if lanes == 1:
        return total
    last, stride = indices[-1], strides[-1]
    if isinstance(last, n.Ramp):
        return n.Ramp(add(total, multiply(last.base, stride)), multiply(last.stride, stride), lanes)
    if isinstance(last, n.Broadcast):
        return n.Broadcast(add(total, multiply(last.value, stride)), lanes)
    spread = n.Broadcast(total, lanes)
    scaled = last if isinstance(stride, n.IntImm) and stride.value == 1 else multiply(last, n.Broadcast(stride, lanes))
    return add(spread, scaled)


def flat_buffer(buffer: t.Buffer) -> t.Buffer:
    """The one-dimensional buffer that holds `buffer`."""
    if len(buffer.shape) == 1 and not buffer.strides and buffer.elem_offset is None:
        return buffer
    size: n.PrimExpr = const(1)
    for extent in buffer.shape:
        size = multiply(size, extent)
    if buffer.strides:  # up to the last element
        size = const(1)
        for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
            size = add(size, multiply(subtract(maximum(extent, 1), 1), stride))
    if buffer.elem_offset is not None:
        size = add(size, buffer.elem_offset)
    return t.Buffer(buffer.name, (size,), buffer.dtype, buffer.scope)


@function_pass(name="FlattenBuffer", applies_to=t.PrimFunc)
def FlattenBuffer(func: t.PrimFunc, mod: Any, ctx: Any) -> t.PrimFunc:
    """Make every buffer access one-dimensional and write the signature down.

    The option ``tir.noalias`` and the classic attribute of that name become the attribute ``noalias`` where they say
    that buffers may overlap.
    """
    return flatten(func, mod, bool(ctx.config.get("tir.noalias", True)))


def flatten(func: t.PrimFunc, mod: Any = None, noalias: bool = True) -> t.PrimFunc:
    """`func` with one-dimensional accesses and a ``signature``; unchanged if it has one already."""
    if "signature" in func.attrs:
        require_marks(func)
        return func
    _refuse_strided_parameters(func)
    func = _unique_parameters(func)
    params, signature, checks = _packed_signature(func)
    flat: dict[int, t.Buffer] = {}
    func = func.replace(body=align_storage(func.body))
    joined = _Digits(func.body)

    def flattened(buffer: t.Buffer) -> t.Buffer:
        if id(buffer) not in flat:
            flat[id(buffer)] = flat_buffer(buffer)
        return flat[id(buffer)]

    def post(node: Any) -> Any:
        if isinstance(node, t.BufferLoad):
            return t.BufferLoad(flattened(node.buffer), (joined.joined(flat_index(node.buffer, node.indices)),))
        if isinstance(node, t.BufferStore):
            index = joined.joined(flat_index(node.buffer, node.indices))
            return t.BufferStore(flattened(node.buffer), node.value, (index,))
        if isinstance(node, t.AllocBuffer):
            return node.replace(buffer=flattened(node.buffer))
        if isinstance(node, n.Call) and node.op == "index_within":  # BoundCheck, which reports it, was left out
            return node.args[0]
        return None

    body = rewrite(func.body, post, lambda node: node if isinstance(node, t.Buffer) else None)
    attrs = func.attrs.set("signature", signature).set("written", written_names(func, mod))
    if not (noalias and attrs.get("tir.noalias", True)):
        attrs = attrs.set("noalias", False)
    new_params = tuple(flattened(param) if isinstance(param, t.Buffer) else param for param in params)
    return func.replace(params=new_params, body=seq(checks, body), attrs=attrs)


class _Digits:
    """Joins digits of counters in the indices of one function."""

    def __init__(self, body: t.Stmt) -> None:
        self._body = body
        self._simplifier: Simplifier | None = None

    def joined(self, index: n.PrimExpr) -> n.PrimExpr:
        """An equal index; only one with at least two divisions or remainders can have digits to join."""
        if isinstance(index, (n.Ramp, n.Broadcast)):
            name = "base" if isinstance(index, n.Ramp) else "value"
            return index.replace(**{name: self.joined(getattr(index, name))})
        if index.dtype.is_vector or sum(isinstance(node, (n.FloorDiv, n.FloorMod)) for node in pre_order(index)) < 2:
            return index
        if self._simplifier is None:
            self._simplifier = Simplifier()
            for stmt in traced_nodes(self._body):
                if isinstance(stmt, t.For):
                    self._simplifier.bind_range(stmt.var, stmt.min, stmt.extent)
        return self._simplifier.simplify(index)


def _refuse_strided_parameters(func: t.PrimFunc) -> None:
    for param in func.params:
        if isinstance(param, t.Buffer) and (param.strides or param.elem_offset is not None):
            raise WorkbenchError(
                "E-TIR-STRIDED",
                f"parameter {param.name} has strides, which the calling convention does not pass",
                nodes=(param,),
                fix="pass a compact buffer",
            )


def _unique_parameters(func: t.PrimFunc) -> t.PrimFunc:
    """Parameters and shape variables with different names, since the signature speaks of them by name."""
    used: set[str] = set()
    renamed: dict[int, Any] = {}
    for variable in (*func.params, *shape_variables(func)):
        name = fresh_name(variable.name, used)
        if name != variable.name:
            renamed[id(variable)] = variable.replace(name=name)
    if not renamed:
        return func
    return rewrite(func, lambda node: None, lambda node: renamed.get(id(node)))


def shape_variables(func: t.PrimFunc) -> list[n.Var]:
    """Variables in the shapes of buffer parameters that are not parameters, in order of first appearance."""
    known = {id(param) for param in func.params}
    found: list[n.Var] = []
    for param in func.params:
        if not isinstance(param, t.Buffer):
            continue
        for extent in param.shape:
            for node in pre_order(extent):
                if isinstance(node, n.Var) and id(node) not in known:
                    known.add(id(node))
                    found.append(node)
    return found


def _packed_signature(func: t.PrimFunc) -> tuple[tuple[Any, ...], tuple[str, ...], list[t.Stmt]]:
    """Parameters of the kernel, one text a packed argument, and checks of computed extents."""
    appended: list[n.Var] = shape_variables(func)
    checks: list[t.Stmt] = []
    texts: list[str] = []
    direct = {id(extent) for param in func.params if isinstance(param, t.Buffer) for extent in param.shape}
    for variable in appended:
        if id(variable) not in direct:
            raise WorkbenchError(
                "E-TIR-SHAPE-VARIABLE",
                f"shape variable {variable.name} is nobody's extent by itself, so no argument tells it",
                nodes=(variable,),
                fix=f"add a parameter {variable.name}: T.int64",
            )
    for param in func.params:
        if isinstance(param, n.Var):
            texts.append(str(param.dtype))
            continue
        words = [_extent_text(param, axis, appended, checks) for axis in range(len(param.shape))]
        texts.append(f"{param.dtype}[{', '.join(words)}]")
    return (*func.params, *appended), tuple(texts), checks


def _extent_text(buffer: t.Buffer, axis: int, appended: list[n.Var], checks: list[t.Stmt]) -> str:
    extent = buffer.shape[axis]
    if isinstance(extent, n.IntImm):
        return str(extent.value)
    if isinstance(extent, n.Var):
        return extent.name
    passed = n.Var(f"{buffer.name}_shape_{axis}", INDEX)
    appended.append(passed)
    message = f"axis {axis} of {buffer.name} has another extent than its shape says"
    checks.append(origin.derived(t.AssertStmt(equal(passed, extent), message), buffer))
    return passed.name


def written_names(func: t.PrimFunc, mod: Any = None) -> tuple[str, ...]:
    """Names of the buffer parameters that the function may write.

    By stores, and by handing out addresses; to a function of `mod` only those count that it writes.
    """
    found: set[int] = set()
    only_read: set[int] = set()
    for node in pre_order(func.body):
        if isinstance(node, t.BufferStore):
            found.add(id(node.buffer))
        elif isinstance(node, n.Call) and node.op == "call_tir":
            only_read.update(id(item) for item in _read_arguments(node, mod))
        elif isinstance(node, n.Call) and node.op == "address_of" and id(node) not in only_read:
            found.update(id(load.buffer) for load in node.args if isinstance(load, t.BufferLoad))
        elif isinstance(node, n.Call) and node.op == "access_ptr" and writes_through(node):
            found.update(id(load.buffer) for load in node.args if isinstance(load, t.BufferLoad))
    return tuple(param.name for param in func.params if isinstance(param, t.Buffer) and id(param) in found)


@per_node
def _written_alone(callee: t.PrimFunc) -> tuple[str, ...]:
    """The same of a function whose own calls are not followed; an entry asks at each of its calls."""
    return written_names(callee)


def _read_arguments(call: n.Call, mod: Any) -> list[n.PrimExpr]:
    """The arguments of a call_tir that the callee, if it is known, only reads."""
    name = call.args[0]
    callee = mod[name.value] if mod is not None and isinstance(name, n.StringImm) and name.value in mod else None
    if not isinstance(callee, t.PrimFunc):
        return []
    written = callee.attrs.get("written") if "signature" in callee.attrs else None
    names = set(_written_alone(callee) if written is None else written)
    return [item for item, param in zip(call.args[1:], callee.params, strict=False) if param.name not in names]


__all__ = ["FlattenBuffer", "FrozenMap", "flat_buffer", "flat_index", "flatten", "shape_variables", "strides_of"]
