"""The loop nest and block of one stage; `prim_func` puts them in order.

Invariant: `Stages.buffers` knows the buffer of every tensor that a stage reads before its nest is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arith import build as b
from ..arith.nodes import IntImm, PrimExpr, Var
from ..core import origin
from ..core.equal import fingerprint, same
from ..core.node import FrozenMap, Node, pre_order, rewrite, substitute
from ..core.text import fresh_name
from ..tir import nodes as t
from ..tir.build import full_region, nest, seq, stored
from .inside import require_inside
from .nodes import ComputeOp, ExternOp, Operation, ProducerLoad, Reduce, ScanOp, Tensor


class Names:
    """Unique names, in order of asking."""

    def __init__(self) -> None:
        self._taken: set[str] = {"root"}

    def unique(self, wanted: str) -> str:
        return fresh_name(wanted, self._taken)


class Stages:
    """Buffers of tensors, and names given out so far."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[int, int], t.Buffer] = {}
        """By the identity of an operation and the number of its output."""
        self.same_buffer: dict[tuple[int, int], tuple[int, int]] = {}
        """Tensors that live in the buffer of another: an update in its scan's."""
        self.constants: dict[int, PrimExpr] = {}
        self._buffer_names = Names()
        self._block_names = Names()
        self.last_block = ""
        """The name of the block made last."""

    def declare(self, tensor: Tensor) -> t.Buffer:
        """A new buffer for a tensor."""
        name = self._buffer_names.unique(tensor.name)
        made = t.Buffer(name, tensor.op.output_shape(tensor.value_index), tensor.dtype)
        self.buffers[id(tensor.op), tensor.value_index] = origin.derived(made, tensor)
        return made

    def of(self, op: Operation, index: int) -> t.Buffer:
        key = self.same_buffer.get((id(op), index), (id(op), index))
        return self.buffers[key]

    def block_name(self, wanted: str) -> str:
        self.last_block = self._block_names.unique(wanted)
        return self.last_block


class Time(NamedTuple):
    """The time of a stage inside a scan: which of its axes it is, the loop over it, its times, the kind of iterator."""

    axis: int
    loop: Var
    dom: t.Range
    kind: t.IterKind


@dataclass
class _Nest:
    """Iterators of a block, the values that loops give them, and the loops."""

    iter_vars: list[t.IterVar]
    values: list[PrimExpr]
    loops: list[tuple[Var, PrimExpr]]

    @property
    def variables(self) -> tuple[Var, ...]:
        return tuple(item.var for item in self.iter_vars)


def declared(made: t.Stmt, op: Operation) -> t.Stmt:
    """`made`, which comes from `op`."""
    return origin.derived(made, op)


def _nest_of(axes: tuple[t.IterVar, ...], time: Time | None) -> _Nest:
    made = _Nest([], [], [])
    for number, axis in enumerate(axes):
        own = Var(f"v{axis.var.name}")
        if time is not None and number == time.axis:
            made.iter_vars.append(t.IterVar(own, time.dom, time.kind))
            made.values.append(b.add(time.dom.min, time.loop))
            continue
        loop = Var(axis.var.name)
        made.iter_vars.append(t.IterVar(own, axis.dom, axis.kind))
        made.values.append(b.add(axis.dom.min, loop))
        made.loops.append((loop, axis.dom.extent))
    return made


def compute_nest(op: ComputeOp, stages: Stages, time: Time | None = None) -> t.Stmt:
    """The loop nest and block of a compute stage; raises E-TE-BOUNDS if it surely reads outside of a tensor."""
    axes = (*op.axis, *op.reduce_axis)
    times = {op.axis[time.axis].var: time.dom} if time is not None else {}
    require_inside(op, {axis.var: axis.dom for axis in axes} | times)
    made = _nest_of(axes, time)
    renamed = {axis.var: mine for axis, mine in zip(axes, made.variables, strict=True)}
    bodies = tuple(substitute(_on_buffers(body, stages), renamed) for body in op.body)
    outputs = tuple(stages.of(op, index) for index in range(op.num_outputs))
    where = made.variables[: len(op.axis)]
    init, update = _statements(bodies, outputs, where)
    reads = _reads(update, outputs if init is not None else (), where)
    writes = tuple(t.BufferRegion(buffer, _points(where)) for buffer in outputs)
    notes = FrozenMap({**({"tag": op.tag} if op.tag else {}), **op.attrs})
    block = t.Block(stages.block_name(op.name), tuple(made.iter_vars), reads, writes, (), init, update, notes)
    realize = t.BlockRealize(tuple(made.values), b.const(True), block)
    return origin.derived(nest(made.loops, realize), op)


def copy_nest(scan: ScanOp, index: int, tensor: Tensor, word: str, stages: Stages, time: Time | None = None) -> t.Stmt:
    """The block that copies a tensor into a state of a scan: the init, or with `time` an update."""
    target = stages.of(scan, index)
    shape = tensor.op.output_shape(tensor.value_index)
    axes = tuple(
        t.IterVar(Var(f"i{number}"), t.Range(b.const(0), extent), t.IterKind.SPATIAL)
        for number, extent in enumerate(shape)
    )
    made = _nest_of(axes, time)
    where = made.variables
    value = _on_buffers(ProducerLoad(tensor, where), stages)
    store = t.BufferStore(target, value, where)
    writes = (t.BufferRegion(target, _points(where)),)
    name = stages.block_name(f"{scan.name}_{word}")
    block = t.Block(name, tuple(made.iter_vars), _reads(store, (), where), writes, (), None, store)
    return origin.derived(nest(made.loops, t.BlockRealize(tuple(made.values), b.const(True), block)), scan)


def extern_block(op: ExternOp, stages: Stages) -> t.Stmt:
    """The opaque block of an extern stage: its statement over the function's buffers."""
    ins = [stages.of(tensor.op, tensor.value_index) for tensor in op.inputs]
    outs = [stages.of(op, index) for index in range(op.num_outputs)]
    mapping: dict[Any, Any] = {}
    for own, actual in zip((*op.input_placeholders, *op.output_placeholders), (*ins, *outs), strict=True):
        mapping[own] = actual
        mapping.update(_layout_variables(own, actual))
    body = substitute(op.body, mapping)
    reads = tuple(full_region(buffer) for buffer in _distinct(ins))
    writes = tuple(full_region(buffer) for buffer in outs)
    notes = FrozenMap({**({"tag": op.tag} if op.tag else {}), **op.attrs})
    block = t.Block(stages.block_name(op.name), (), reads, writes, (), None, body, notes)
    return origin.derived(t.BlockRealize((), b.const(True), block), op)


def _layout_variables(own: t.Buffer, actual: t.Buffer) -> dict[Any, Any]:
    """What a declared buffer's own variables stand for: extents, strides of rows without gaps, no offset."""
    found: dict[Any, Any] = {}
    for mine, extent in zip(own.shape, actual.shape, strict=True):
        if isinstance(mine, Var) and mine is not extent:
            found[mine] = extent
    step: PrimExpr = b.const(1)
    for mine, extent in zip(reversed(own.strides), reversed(actual.shape), strict=False):
        if isinstance(mine, Var):
            found[mine] = step
        step = b.multiply(step, extent)
    if isinstance(own.elem_offset, Var):
        found[own.elem_offset] = b.const(0)
    return found


def _distinct(buffers: list[t.Buffer]) -> list[t.Buffer]:
    return list({id(buffer): buffer for buffer in buffers}.values())


def _on_buffers(body: PrimExpr, stages: Stages) -> PrimExpr:
    """Tensor elements become buffer elements, constants themselves."""

    def post(node: Node) -> Node | None:
        if not isinstance(node, ProducerLoad):
            return None
        op = node.producer.op
        if id(op) in stages.constants:
            return stages.constants[id(op)]
        return t.BufferLoad(stages.of(op, node.producer.value_index), node.indices)

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
    update = stored(outputs, results, where)
    trivial = isinstance(first.condition, IntImm) and first.condition.value
    return init, update if trivial else t.IfThenElse(first.condition, update)


def _points(where: tuple[PrimExpr, ...]) -> tuple[t.Range, ...]:
    return tuple(t.Range(index, b.const(1)) for index in where)


def _reads(update: t.Stmt, outputs: tuple[t.Buffer, ...], where: tuple[PrimExpr, ...]) -> tuple[t.BufferRegion, ...]:
    """One region for each distinct element read, the accumulated one apart.

    An axis indexed by data or by a condition is read whole.
    """
    own = {id(buffer) for buffer in outputs}
    found: list[t.BufferRegion] = []
    alike: dict[tuple[int, str], list[t.BufferRegion]] = {}
    """Those of one buffer that are equal up to the names of their variables."""
    for node in pre_order(update):
        if not isinstance(node, t.BufferLoad):
            continue
        if id(node.buffer) in own and all(one is other for one, other in zip(node.indices, where, strict=True)):
            continue
        region = t.BufferRegion(
            node.buffer,
            tuple(_range(index, extent) for index, extent in zip(node.indices, node.buffer.shape, strict=True)),
        )
        others = alike.setdefault((id(region.buffer), fingerprint(region.region)), [])
        if not any(same(other.region, region.region) for other in others):
            others.append(region)
            found.append(region)
    return tuple(found)


def _range(index: PrimExpr, extent: PrimExpr) -> t.Range:
    depends_on_data = isinstance(index, t.BufferLoad) or any(
        isinstance(inner, t.BufferLoad) for inner in pre_order(index)
    )
    return t.Range(b.const(0), extent) if depends_on_data else t.Range(index, b.const(1))
