"""From tensor expressions to loop IR: each stage becomes one loop nest around one block.

    te:   C = compute((n, m), lambda i, j: sum(A[i, r] * B[r, j], axis=r), name="C")
    tir:  for i, j, r in T.grid(n, m, k):
              with T.block("C"):
                  vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                  with T.init():
                      C[vi, vj] = 0.0
                  C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]

Scalar constant stages are folded into their users.  Stages stand in dependency order; intermediates are allocated in
the root block.  Every block derives from its stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arith import build as b
from ..arith.nodes import FloatImm, IntImm, PrimExpr, Var
from ..core import origin
from ..core.errors import WorkbenchError
from ..core.node import FrozenMap, Node, post_order, pre_order, rewrite, substitute
from ..tir import nodes as t
from ..tir.build import nest, seq
from .nodes import ComputeOp, Operation, PlaceholderOp, ProducerLoad, Reduce, Tensor


def create_prim_func(args: Sequence[Any], name: str = "main") -> t.PrimFunc:
    """The function of block form that computes the tensors in `args` (inputs, then outputs; scalars may be among them).

    Raises `WorkbenchError` when a needed placeholder is missing from `args`.
    """
    tensors = [item for item in args if isinstance(item, Tensor)]
    order = _operations(tensors)
    names = _Names()
    buffers: dict[tuple[int, int], t.Buffer] = {}
    params: list[t.Buffer | Var] = []
    for item in args:
        if isinstance(item, Tensor):
            key = (id(item.op), item.value_index)
            if key in buffers:
                raise WorkbenchError("E-TE-ARGS", f"tensor {item.name} stands twice among the arguments")
            buffers[key] = _buffer(item, names)
            params.append(buffers[key])
        else:
            params.append(item)
    constants = {id(op): op.body[0] for op in order if isinstance(op, ComputeOp) and _is_constant(op)}
    stages = [op for op in order if isinstance(op, ComputeOp) and (id(op) not in constants or (id(op), 0) in buffers)]
    allocated: list[t.Buffer] = []
    for op in order:
        _require_known(op, buffers)
        if isinstance(op, ComputeOp) and id(op) not in constants:
            for index in range(op.num_outputs):
                if (id(op), index) not in buffers:
                    buffers[id(op), index] = _buffer(op.output(index), names)
                    allocated.append(buffers[id(op), index])
    blocks = _Names()
    body = seq(_stage(op, buffers, constants, blocks) for op in stages)
    root = t.Block("root", (), (), (), tuple(allocated), None, body)
    attrs = FrozenMap({"global_symbol": name, "noalias": True})
    return t.PrimFunc(tuple(params), t.BlockRealize((), b.const(True), root), attrs)


class _Names:
    """Unique names, in order of asking."""

    def __init__(self) -> None:
        self._taken: set[str] = {"root"}

    def unique(self, wanted: str) -> str:
        name, count = wanted, 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name


def _operations(tensors: list[Tensor]) -> list[Operation]:
    """The operations behind `tensors`, producers first."""
    return [node for node in post_order(list(tensors)) if isinstance(node, Operation)]


def _is_constant(op: ComputeOp) -> bool:
    return not op.axis and isinstance(op.body[0], (IntImm, FloatImm))


def _require_known(op: Operation, buffers: dict[tuple[int, int], t.Buffer]) -> None:
    if isinstance(op, PlaceholderOp) and (id(op), 0) not in buffers:
        raise WorkbenchError(
            "E-TE-ARGS",
            f"placeholder {op.name} is needed but not among the arguments",
            fix=f"add {op.name} to the list",
        )


def _buffer(tensor: Tensor, names: _Names) -> t.Buffer:
    made = t.Buffer(names.unique(tensor.name), tensor.op.output_shape(tensor.value_index), tensor.dtype)
    return origin.derived(made, tensor)


def _stage(
    op: ComputeOp,
    buffers: dict[tuple[int, int], t.Buffer],
    constants: dict[int, PrimExpr],
    names: _Names,
) -> t.Stmt:
    """The loop nest and block of one stage."""
    iterators = (*op.axis, *op.reduce_axis)
    loop_vars = [Var(axis.var.name) for axis in iterators]
    own = [t.IterVar(Var(f"v{axis.var.name}"), axis.dom, axis.kind) for axis in iterators]
    renamed = {axis.var: mine.var for axis, mine in zip(iterators, own, strict=True)}
    bodies = tuple(substitute(_on_buffers(body, buffers, constants), renamed) for body in op.body)
    outputs = tuple(buffers[id(op), index] for index in range(op.num_outputs))
    where = tuple(mine.var for mine in own[: len(op.axis)])
    init, update = _statements(bodies, outputs, where)
    reads = _reads(update, outputs if init is not None else ())
    writes = tuple(t.BufferRegion(buffer, _points(where)) for buffer in outputs)
    notes = FrozenMap({**({"tag": op.tag} if op.tag else {}), **op.attrs})
    block = t.Block(names.unique(op.name), tuple(own), reads, writes, (), init, update, notes)
    values = tuple(b.add(axis.dom.min, var) for axis, var in zip(iterators, loop_vars, strict=True))
    realize = t.BlockRealize(values, b.const(True), block)
    made = nest([(var, axis.dom.extent) for var, axis in zip(loop_vars, iterators, strict=True)], realize)
    return origin.derived(made, op)


def _on_buffers(body: PrimExpr, buffers: dict[tuple[int, int], t.Buffer], constants: dict[int, PrimExpr]) -> PrimExpr:
    """Tensor elements become buffer elements, constants themselves."""

    def post(node: Node) -> Node | None:
        if not isinstance(node, ProducerLoad):
            return None
        op = node.producer.op
        if id(op) in constants:
            return constants[id(op)]
        return t.BufferLoad(buffers[id(op), node.producer.value_index], node.indices)

    return rewrite(body, post, lambda node: node if isinstance(node, Tensor) else None)


def _statements(
    bodies: tuple[PrimExpr, ...], outputs: tuple[t.Buffer, ...], where: tuple[PrimExpr, ...]
) -> tuple[t.Stmt | None, t.Stmt]:
    """(initialisation of a reduction or None, the block's body)."""
    first = bodies[0]
    if not isinstance(first, Reduce):
        return None, seq(t.BufferStore(buffer, body, where) for buffer, body in zip(outputs, bodies, strict=True))
    combiner = first.combiner
    init = seq(t.BufferStore(buffer, value, where) for buffer, value in zip(outputs, combiner.identity, strict=True))
    known: dict[Var, PrimExpr] = dict(
        zip(combiner.lhs, (t.BufferLoad(buffer, where) for buffer in outputs), strict=True)
    )
    known.update(zip(combiner.rhs, first.source, strict=True))
    results = [substitute(value, known) for value in combiner.result]
    update = _stores(outputs, results, where)
    trivial = isinstance(first.condition, IntImm) and first.condition.value
    return init, update if trivial else t.IfThenElse(first.condition, update)


def _stores(outputs: tuple[t.Buffer, ...], values: list[Any], where: tuple[PrimExpr, ...]) -> t.Stmt:
    """Store the values of a tuple at once: each is computed before any is stored."""
    if len(outputs) == 1:
        return t.BufferStore(outputs[0], values[0], where)
    held = [Var(f"{buffer.name}_value", buffer.dtype) for buffer in outputs]
    body = seq(t.BufferStore(buffer, var, where) for buffer, var in zip(outputs, held, strict=True))
    for var, value in reversed(list(zip(held, values, strict=True))):
        body = t.LetStmt(var, value, body)
    return body


def _points(where: tuple[PrimExpr, ...]) -> tuple[t.Range, ...]:
    return tuple(t.Range(index, b.const(1)) for index in where)


def _reads(update: t.Stmt, outputs: tuple[t.Buffer, ...]) -> tuple[t.BufferRegion, ...]:
    """One region for each distinct element read; an axis indexed by data or by a condition is read whole."""
    from ..core.equal import same

    own = {id(buffer) for buffer in outputs}
    found: list[t.BufferRegion] = []
    for node in pre_order(update):
        if not isinstance(node, t.BufferLoad):
            continue
        region = t.BufferRegion(
            node.buffer,
            tuple(_range(index, extent) for index, extent in zip(node.indices, node.buffer.shape, strict=True)),
        )
        if id(node.buffer) in own:
            continue
        if not any(other.buffer is region.buffer and same(other.region, region.region) for other in found):
            found.append(region)
    return tuple(found)


def _range(index: PrimExpr, extent: PrimExpr) -> t.Range:
    depends_on_data = isinstance(index, t.BufferLoad) or any(
        isinstance(inner, t.BufferLoad) for inner in pre_order(index)
    )
    return t.Range(b.const(0), extent) if depends_on_data else t.Range(index, b.const(1))
