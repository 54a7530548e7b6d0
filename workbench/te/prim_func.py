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

A **tuple** of results is one block that writes several buffers.  When it reduces, the values are computed by a chain of
lets and stored together after it, so that none is changed before all are known:

    tir:  best_value: T.let[T.float32] = T.Select(...)
          best_index: T.let[T.int32] = T.Select(...)
          V[vi] = best_value
          I[vi] = best_index

A **scan** is one buffer a state.  The init stage writes its first times as a nest of its own; then one serial loop runs
over the other times, and around it stand no others.  In it stands, in dependency order, a nest for each stage of the
cell.  The time is a spatial iterator of the stages between, which write each element once, and a scan iterator ("C") of
the updates, which read what they wrote at earlier times:

    te:   S = scan(init, update, state), update = compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    tir:  for v, i in T.grid(1, n):
              with T.block("init"): ... S[vv, vi] = X[0, vi]
          for t in T.serial(m - 1):
              for i in T.serial(n):
                  with T.block("update"):
                      vt = T.axis.scan(T.Range(1, m - 1), t + 1)
                      vi = T.axis.spatial(n, i)
                      T.reads(S[vt - 1, vi], X[vt, vi])
                      T.writes(S[vt, vi])
                      S[vt, vi] = S[vt - 1, vi] + X[vt, vi]

Init and update blocks bear the names of their stages.  A stage that gives two states, is an argument itself, or is no
compute is computed on its own and copied by a block named after the scan (``scan_init``, ``scan_update``).

An **extern** is one opaque block without loops and iterators, which declares that it reads all of its inputs and writes
all of its outputs.  Its body is the statement that was given, over the function's buffers:

    tir:  with T.block("C"):
              T.reads(A[0:n, 0:l], B[0:l, 0:m])
              T.writes(C[0:n, 0:m])
              T.evaluate(T.call_packed("contrib.cblas.matmul", ...))

`lowered` also tells which block each stage became, for those who schedule by stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arith import build as b
from ..arith.nodes import FloatImm, IntImm, Var
from ..core.errors import WorkbenchError
from ..core.limits import limits
from ..core.node import FrozenMap, post_order, written_size
from ..tir import nodes as t
from ..tir.build import seq
from .nodes import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp, Tensor
from .scanning import ScanPlan, operands, plan
from .stages import Stages, Time, compute_nest, copy_nest, declared, extern_block


@dataclass
class Lowered:
    """A function, and what became of the operations behind it."""

    func: t.PrimFunc
    blocks: dict[int, str] = field(default_factory=dict[int, str])
    """The name of its block, by the identity of an operation; a scan has those of its copies, if any, in `copies`."""
    copies: dict[tuple[int, str], list[str]] = field(default_factory=dict[tuple[int, str], list[str]])
    """Names of blocks that copy into a scan's states, by the scan's identity and "init" or "update"."""
    buffers: dict[tuple[int, int], t.Buffer] = field(default_factory=dict[tuple[int, int], t.Buffer])
    """By the identity of an operation and the number of its output."""


def create_prim_func(args: Sequence[Any], index_dtype_override: str | None = None, *, name: str = "main") -> t.PrimFunc:
    """The function of block form that computes the tensors in `args` (inputs, then outputs; scalars may be among them).

    Indices are int64, whatever the classic `index_dtype_override` says.  Raises `WorkbenchError` when a needed
    placeholder is missing from `args`.
    """
    return lowered(args, name).func


def lowered(args: Sequence[Any], name: str = "main") -> Lowered:
    """`create_prim_func`, with the blocks and buffers of each operation."""
    limits.check("operands", len(args), "the function's parameters", name)
    made = _Lowering(args).function(name)
    limits.check("function_nodes", written_size(made.func.body), "the function's expressions", name)
    return made


def _operations(tensors: list[Tensor]) -> list[Operation]:
    """The operations behind `tensors`, producers first."""
    return [node for node in post_order(list(tensors)) if isinstance(node, Operation)]


def _is_constant(op: Operation) -> bool:
    return isinstance(op, ComputeOp) and not op.axis and isinstance(op.body[0], (IntImm, FloatImm))


class _Lowering:
    """One function in the making."""

    def __init__(self, args: Sequence[Any]) -> None:
        tensors = [item for item in args if isinstance(item, Tensor)]
        self.order = _operations(tensors)
        self.stages = Stages()
        self.made = Lowered(t.PrimFunc((), seq()), buffers=self.stages.buffers)
        self.params: list[t.Buffer | Var] = []
        for item in args:
            self.params.append(self._argument(item) if isinstance(item, Tensor) else item)
        self.arguments = frozenset(self.stages.buffers)
        self.constants = {id(op): op.body[0] for op in self.order if isinstance(op, ComputeOp) and _is_constant(op)}
        self.stages.constants = self.constants
        self.plans = {id(op): plan(op) for op in self.order if isinstance(op, ScanOp)}
        self.states = {id(state.op) for scan in self.plans.values() for state in scan.op.state_placeholder}
        for scan in self.plans.values():
            for index, state in enumerate(scan.op.state_placeholder):
                self.stages.same_buffer[id(state.op), 0] = (id(scan.op), index)
        self.in_cells = {id(stage) for scan in self.plans.values() for stage in scan.cell}
        self._check_cells()
        self.direct: dict[int, tuple[ScanPlan, str]] = {}
        """Stages that write a scan's states themselves: by identity, the scan and "init" or "update"."""
        for scan in self.plans.values():
            self._find_direct(scan)

    def _argument(self, item: Tensor) -> t.Buffer:
        key = (id(item.op), item.value_index)
        if key in self.stages.buffers:
            raise WorkbenchError("E-TE-ARGS", f"tensor {item.name} stands twice among the arguments")
        return self.stages.declare(item)

    # --- scans: what stands where ---

    def _check_cells(self) -> None:
        """What a cell computes is seen in it only; states are nothing that a caller gives."""
        owners = {id(stage): scan.op for scan in self.plans.values() for stage in scan.cell}
        for key, _ in self.arguments:
            if key in self.states or key in owners:
                raise self._foreign(next(op for op in self.order if id(op) == key), "an argument of the function")
        for op in self.order:
            own = owners.get(id(op))
            for tensor in operands(op):
                there = owners.get(id(tensor.op))
                mine = isinstance(op, ScanOp) and there is op
                if there is not None and there is not own and not mine:
                    raise self._foreign(tensor.op, f"read by {op.name}")
                if id(tensor.op) in self.states and own is None:
                    raise self._foreign(tensor.op, f"read by {op.name}")

    @staticmethod
    def _foreign(op: Operation, found: str) -> WorkbenchError:
        return WorkbenchError(
            "E-TE-SCAN",
            f"{op.name} exists only inside the cell of a scan",
            found=found,
            expected="the result of the scan",
            fix="use the tensor that te.scan answered; make a value that is wanted outside a state",
            nodes=(op,),
        )

    def _find_direct(self, scan: ScanPlan) -> None:
        """Init and update stages whose outputs are states, each of them one, and nobody else's business."""
        readers: dict[int, int] = {}
        for op in self.order:
            for tensor in operands(op):
                readers[id(tensor.op)] = readers.get(id(tensor.op), 0) + (op is not scan.op)
        for word, tensors in (("init", scan.op.init), ("update", scan.op.update)):
            for tensor in tensors:
                op = tensor.op
                given = [item.value_index for item in tensors if item.op is op]
                alone = isinstance(op, ComputeOp) and sorted(given) == list(range(op.num_outputs))
                wanted = id(op) in self.direct or any((id(op), index) in self.arguments for index in given)
                read = word == "init" and readers.get(id(op), 0) > 0
                if alone and not wanted and not read and id(op) not in self.constants:
                    self.direct[id(op)] = (scan, word)
        for word, tensors in (("init", scan.op.init), ("update", scan.op.update)):
            for index, tensor in enumerate(tensors):
                if self.direct.get(id(tensor.op)) == (scan, word):
                    self.stages.same_buffer[id(tensor.op), tensor.value_index] = (id(scan.op), index)

    # --- the function ---

    def function(self, name: str) -> Lowered:
        allocated = [buffer for op in self.order for buffer in self._declared(op)]
        body = seq(stmt for op in self.order for stmt in self._statements(op))
        root = t.Block("root", (), (), (), tuple(allocated), None, body)
        attrs = FrozenMap({"global_symbol": name, "noalias": True})
        self.made.func = t.PrimFunc(tuple(self.params), t.BlockRealize((), b.const(True), root), attrs)
        return self.made

    def _declared(self, op: Operation) -> list[t.Buffer]:
        """The buffers of an operation that are no arguments: to be allocated."""
        if isinstance(op, PlaceholderOp):
            if (id(op), 0) not in self.stages.buffers and id(op) not in self.states:
                raise WorkbenchError(
                    "E-TE-ARGS",
                    f"placeholder {op.name} is needed but not among the arguments",
                    fix=f"add {op.name} to the list",
                )
            return []
        if id(op) in self.constants:
            return []
        found: list[t.Buffer] = []
        for index in range(op.num_outputs):
            key = (id(op), index)
            if key not in self.stages.buffers and key not in self.stages.same_buffer:
                found.append(self.stages.declare(op.output(index)))
        return found

    def _statements(self, op: Operation) -> list[t.Stmt]:
        if isinstance(op, ScanOp):
            return self._scan(self.plans[id(op)])
        if id(op) in self.in_cells or (id(op) in self.direct):
            return []
        if isinstance(op, ExternOp):
            return [self._named(op, extern_block(op, self.stages))]
        if isinstance(op, ComputeOp) and (id(op) not in self.constants or (id(op), 0) in self.arguments):
            return [self._named(op, compute_nest(op, self.stages))]
        return []

    def _named(self, op: Operation, made: t.Stmt) -> t.Stmt:
        self.made.blocks[id(op)] = self.stages.last_block
        return made

    def _scan(self, scan: ScanPlan) -> list[t.Stmt]:
        op = scan.op
        made: list[t.Stmt] = []
        for index, tensor in enumerate(op.init):
            if self.direct.get(id(tensor.op)) != (scan, "init"):
                made.append(copy_nest(op, index, tensor, "init", self.stages))
                self.made.copies.setdefault((id(op), "init"), []).append(self.stages.last_block)
            elif id(tensor.op) not in self.made.blocks and isinstance(tensor.op, ComputeOp):
                made.append(self._named(tensor.op, compute_nest(tensor.op, self.stages)))
        time = Var(op.scan_axis.var.name)
        inside: list[t.Stmt] = []
        for stage in scan.cell:
            updates = self.direct.get(id(stage)) == (scan, "update")
            kind = t.IterKind.SCAN if updates else t.IterKind.SPATIAL
            when = Time(scan.time_axis[id(stage)], time, op.scan_axis.dom, kind)
            inside.append(self._named(stage, compute_nest(stage, self.stages, when)))
        for index, tensor in enumerate(op.update):
            if self.direct.get(id(tensor.op)) != (scan, "update"):
                when = Time(0, time, op.scan_axis.dom, t.IterKind.SCAN)
                inside.append(copy_nest(op, index, tensor, "update", self.stages, when))
                self.made.copies.setdefault((id(op), "update"), []).append(self.stages.last_block)
        loop = t.For(time, b.const(0), b.cast("int64", op.scan_axis.dom.extent), t.ForKind.SERIAL, seq(inside))
        return [*made, declared(loop, op)]


__all__ = ["Lowered", "create_prim_func", "lowered"]
