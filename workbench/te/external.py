"""Tensors made from outside: `extern` calls a library or runs loops of one's own over whole buffers.

    C = extern((n, m), [A, B], lambda ins, outs: tir.call_packed("contrib.cblas.matmul", ins[0], ins[1], outs[0]))

Invariant: the body sees the tensors as buffers only, those of `inputs` to be read, the others to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ..arith.nodes import Call, PrimExpr, StringImm
from ..core.dtype import DataType
from ..core.errors import WorkbenchError
from ..core.node import FrozenMap, pre_order, rewrite, substitute
from ..tir import nodes as t
from ..tir.build import listed
from .build import shape_of
from .nodes import ExternOp, Tensor, several
from .tags import tag_or_current


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[t.Buffer], list[t.Buffer]], Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Any = None,
) -> Any:
    """The tensor(s) of `shape` that a statement makes of whole buffers.

    `fcompute(ins, outs)` gets a buffer for each input and each output and answers a statement or an expression to
    evaluate.  `shape` is one shape or a list of shapes; `dtype` one dtype or a list (default: the inputs' only dtype).
    Buffers of one's own may be given: `in_buffers`, `out_buffers`.  Raises `WorkbenchError` (E-TE-EXTERN).
    """
    shapes, given = _shapes(shape), several(inputs)
    for item in given:
        if not isinstance(item, Tensor):
            raise _refuse(name, "the inputs of an extern are tensors", type(item).__name__, "te tensors")
    ins = _buffers(in_buffers, len(given), name, "in_buffers")
    ins = ins or [_declared(tensor, index) for index, tensor in enumerate(given)]
    outs = _buffers(out_buffers, len(shapes), name, "out_buffers")
    if not outs:
        dtypes = _dtypes(dtype, given, len(shapes), name)
        outs = [
            t.Buffer(name if len(shapes) == 1 else f"{name}_{number}", shape_of(one), kind)
            for number, (one, kind) in enumerate(zip(shapes, dtypes, strict=True))
        ]
    for tensor, buffer in zip(given, ins, strict=True):
        _check_input(name, tensor, buffer)
    body = _statement(fcompute(list(ins), list(outs)), name)
    body = _only_read(body, ins)
    _check_touched(name, body, [*ins, *outs])
    op = ExternOp(name, given, tuple(ins), tuple(outs), body, tag_or_current(tag), FrozenMap(attrs or {}))
    made = [op.output(index) for index in range(len(outs))]
    return made[0] if len(made) == 1 else made


def extern_primfunc(input_tensors: Sequence[Tensor], primfunc: t.PrimFunc, name: str = "", tag: str = "") -> Any:
    """The tensors that a loop function writes, given those that it reads (in its parameters' order).

    Parameters that the function writes are outputs, the others inputs.  Raises `WorkbenchError` (E-TE-EXTERN).
    """
    written = {id(node.buffer) for node in pre_order(primfunc) if isinstance(node, t.BufferStore)}
    params = [item for item in primfunc.params if isinstance(item, t.Buffer)]
    called = name or str(primfunc.attrs.get("global_symbol", "extern"))
    if len(params) < len(primfunc.params):
        raise _refuse(called, "the function takes numbers", "a parameter that is no buffer", "buffers only")
    ins = [item for item in params if id(item) not in written]
    outs = [item for item in params if id(item) in written]
    if len(ins) != len(input_tensors) or not outs:
        raise _refuse(
            called, "the inputs do not fit the function", f"{len(input_tensors)} tensors",
            f"{len(ins)} inputs: {', '.join(item.name for item in ins)}; it writes "
            f"{', '.join(item.name for item in outs) or 'nothing'}",
        )  # fmt: skip
    mapping = _shape_variables(input_tensors, ins)
    body = primfunc.body
    if isinstance(body, t.BlockRealize) and not body.block.iter_vars and not body.block.alloc_buffers:
        body = body.block.body
    renamed = {item: item.replace(shape=tuple(substitute(x, mapping) for x in item.shape)) for item in params}
    body = substitute(body, cast("dict[Any, Any]", {**mapping, **renamed}))
    return extern(
        [item.shape for item in outs],
        input_tensors,
        lambda _ins, _outs: body,
        called,
        in_buffers=[renamed[item] for item in ins],
        out_buffers=[renamed[item] for item in outs],
        tag=tag,
    )


def _shape_variables(tensors: Sequence[Tensor], buffers: list[t.Buffer]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for tensor, buffer in zip(tensors, buffers, strict=True):
        actual = tensor.op.output_shape(tensor.value_index)
        for extent, value in zip(buffer.shape, actual, strict=False):
            if type(extent).__name__ == "Var":
                found.setdefault(extent, value)
    return found


def _shapes(shape: Any) -> list[Any]:
    parts = listed(shape)
    many = isinstance(shape, (list, tuple)) and bool(parts) and isinstance(parts[0], (list, tuple))
    return parts if many else [shape]


def _declared(tensor: Tensor, index: int) -> t.Buffer:
    return t.Buffer(tensor.name, tensor.op.output_shape(tensor.value_index), tensor.dtype)


def _buffers(given: Any, count: int, name: str, which: str) -> list[t.Buffer]:
    if given is None:
        return []
    made = [item for item in several(given) if isinstance(item, t.Buffer)]
    if len(made) != count or len(several(given)) != count:
        raise _refuse(name, f"{which} does not fit", f"{len(several(given))} of them", f"{count} buffers")
    return made


def _dtypes(dtype: Any, inputs: Sequence[Tensor], count: int, name: str) -> list[DataType]:
    if dtype is None:
        kinds = {tensor.dtype for tensor in inputs}
        if len(kinds) != 1:
            raise _refuse(
                name, "the dtype of the output is not known", f"inputs of {', '.join(sorted(kinds)) or 'no dtype'}",
                "one dtype among the inputs", "pass dtype=",
            )  # fmt: skip
        return [next(iter(kinds))] * count
    given = [DataType(item) for item in several(dtype)]
    if len(given) not in (1, count):
        raise _refuse(name, "the dtypes do not fit the shapes", f"{len(given)} dtypes", f"{count} dtypes, or one")
    return given * count if len(given) == 1 else given


def _check_input(name: str, tensor: Tensor, buffer: t.Buffer) -> None:
    shape = tensor.op.output_shape(tensor.value_index)
    if tensor.dtype != buffer.dtype or len(shape) != len(buffer.shape):
        raise _refuse(
            name, f"buffer {buffer.name} does not fit tensor {tensor.name}",
            f"{buffer.dtype} of {len(buffer.shape)} axes", f"{tensor.dtype} of {len(shape)} axes",
        )  # fmt: skip


def _statement(made: Any, name: str) -> t.Stmt:
    if isinstance(made, t.Stmt):
        return made
    if isinstance(made, PrimExpr):
        return t.Evaluate(made)
    raise _refuse(
        name, "fcompute answers what to run", type(made).__name__, "a statement or an expression",
        "return tir.call_packed(...), or what ib.get() answers",
    )  # fmt: skip


def _only_read(body: t.Stmt, ins: Sequence[t.Buffer]) -> t.Stmt:
    """Addresses of inputs are for reading."""
    inputs = {id(buffer) for buffer in ins}

    def post(node: Any) -> Any:
        if not isinstance(node, Call) or node.op != "address_of" or not isinstance(node.args[0], t.BufferLoad):
            return None
        read = id(node.args[0].buffer) in inputs
        return Call(node.dtype, "access_ptr", (node.args[0], StringImm("r"))) if read else None

    return rewrite(body, post, lambda node: node if isinstance(node, t.Buffer) else None)


def _check_touched(name: str, body: t.Stmt, known: Sequence[t.Buffer]) -> None:
    """The body touches its own buffers only, and what it allocates."""
    own = {id(buffer) for buffer in known}
    touched: list[t.Buffer] = []
    for node in pre_order(body):
        if isinstance(node, t.AllocBuffer):
            own.add(id(node.buffer))
        if isinstance(node, t.Block):
            own.update(id(buffer) for buffer in node.alloc_buffers)
        if isinstance(node, (t.BufferLoad, t.BufferStore)):
            touched.append(node.buffer)
    for buffer in touched:
        if id(buffer) not in own:
            raise _refuse(
                name, f"the body touches {buffer.name}, which is none of its buffers", buffer.name,
                ", ".join(item.name for item in known), "use the buffers that fcompute gets",
            )  # fmt: skip


def _refuse(name: str, message: str, found: str, expected: str, fix: str = "") -> WorkbenchError:
    return WorkbenchError("E-TE-EXTERN", message, where=f"extern {name}", found=found, expected=expected, fix=fix)
