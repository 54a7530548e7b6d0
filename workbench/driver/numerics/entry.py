"""The entry of a lowered model, run with every kernel replaced by what it means.

Call order, arguments, aliases, constants and the memory plan are those of the program after a step; what a kernel
computes comes from its relay function, interpreted.  So a wrong entry is told from a wrong kernel, nothing is compiled,
and a step that leaves the calls alone costs only the comparison of their operands.

The memory is real: intermediates with an ``arena_offset`` are views of one arena, so that two which overlap while both
are live destroy each other.  Memory starts as NaN.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...arith import nodes as n
from ...arith.nodes import literal
from ...core.errors import WorkbenchError
from ...core.module import IRModule
from ...core.node import FrozenMap, post_order, rewrite
from ...lower.entry import KernelCall, Lowered
from ...lower.kernel import tensor_types
from ...relay.ir import expr as r
from ...relay.ir.operator import Operator
from ...relay.ir.types import TupleType
from ...tir import nodes as t
from .graph import Memory, content, evaluate_function

_Passed = tuple[t.Buffer, np.ndarray]
"""A buffer and the part of its memory that a kernel is given."""


class NotStraight(Exception):
    """The entry holds more than allocations and calls of kernels."""


@dataclass(frozen=True)
class Meaning:
    """What a kernel computes: a relay function whose parameters are the kernel's inputs and constants."""

    function: r.Function
    groups: tuple[int, ...]
    """How many arrays each parameter of the function takes (a tuple takes several); 0 marks a plain one."""
    outputs: int

    @cached_property
    def rounding(self) -> float:
        """How many times those of its operators' references the kernel's roundings may be (`Operator.rounding`)."""
        found = 1.0
        for one in post_order(self.function.body):
            if isinstance(one, r.Call) and isinstance(one.op, Operator):
                found = max(found, one.op.rounding(*(argument.checked_type for argument in one.args)))
        return found

    def values(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """The function's arguments from the kernel's input arrays."""
        rest = iter(arrays)
        return [tuple(next(rest) for _ in range(count)) if count else next(rest) for count in self.groups]

    def results(self, arrays: Sequence[np.ndarray], float64: bool = False) -> list[np.ndarray]:
        return evaluate_function(self.function, self.values(arrays), float64)


def meaning_of(call: KernelCall) -> Meaning:
    """The relay function behind a kernel call, its large constants made parameters as they are in the kernel."""
    relay_call = call.relay_call
    if isinstance(relay_call, r.Function):
        function = relay_call
    elif isinstance(relay_call, r.Call) and isinstance(relay_call.op, r.Function):
        function = relay_call.op
    else:
        assert isinstance(relay_call, r.Call)
        params = tuple(r.Var(f"p{place}", argument.checked_type) for place, argument in enumerate(relay_call.args))
        function = r.Function(params, r.Call(relay_call.op, params))
    held: dict[int, r.Var] = {}
    for node in post_order(function.body):
        if isinstance(node, r.Constant) and node.data.size != 1 and id(node) not in held:
            held[id(node)] = r.Var(f"constant_{len(held)}", node.checked_type)
    body = rewrite(function.body, lambda _: None, lambda node: held.get(id(node))) if held else function.body
    params = (*function.params, *held.values())
    groups = tuple(
        len(tensor_types(parameter.checked_type, "a kernel"))
        if isinstance(parameter.checked_type, TupleType) else 0
        for parameter in params
    )  # fmt: skip
    inputs = sum(max(1, count) for count in groups)
    made = r.Function(params, body, None, (), FrozenMap())
    return Meaning(made, groups, len(call.buffers) - inputs)


@dataclass
class CallRecord:
    """One kernel call of a run: digests of what it read and wrote."""

    kernel: str
    names: tuple[str, ...]
    """The buffers passed."""
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


@dataclass
class EntryRun:
    """What a run of the entry gave."""

    outputs: list[np.ndarray]
    records: list[CallRecord] = field(default_factory=list)
    watched: dict[int, list[np.ndarray]] = field(default_factory=dict)
    """Operands and results by number of the call."""


class EntryMachine:
    """Runs entries of one lowered model; remembers what kernels gave."""

    def __init__(self, lowered: Lowered, memory: Memory) -> None:
        self.lowered = lowered
        self.memory = memory
        self.meanings: dict[str, Meaning] = {}
        self.calls: dict[str, int] = {}
        self.captured: dict[str, list[np.ndarray]] = {}
        """The inputs of each kernel at its first call of the first run."""
        self.narrow: dict[str, list[np.ndarray]] = {}
        """What its meaning gives for them in float32."""
        self._given: dict[bytes, np.ndarray] = {}
        """What kernels gave while inputs are captured, by content: mostly the next kernel's inputs, kept once."""
        for call in lowered.calls:
            self.calls[call.kernel] = self.calls.get(call.kernel, 0) + 1
            if call.kernel not in self.meanings:
                self.meanings[call.kernel] = meaning_of(call)
        self.shapes = {
            kernel.name: tuple(tuple(extent.value for extent in buffer.shape) for buffer in kernel.func.params)  # type: ignore[attr-defined]
            for kernel in lowered.kernels
        }
        self.dtypes = {kernel.name: tuple(p.dtype for p in kernel.func.params) for kernel in lowered.kernels}

    def run(
        self, module: IRModule, arrays: Sequence[np.ndarray], capture: bool = False, watch: Container[int] = ()
    ) -> EntryRun:
        """Run the entry of `module`; keep copies of all operands of the calls whose numbers are in `watch`.

        Raises `NotStraight`, and `WorkbenchError` for what is wrong with the entry.
        """
        main = module["main"]
        outputs = [np.full(tensor.concrete_shape, _nothing(tensor.dtype)) for tensor in self.lowered.outputs]
        constants = [np.require(data.numpy(), requirements="C") for _, data in self.lowered.constants]
        given = [*(np.ascontiguousarray(array).reshape(array.shape) for array in arrays), *constants, *outputs]
        if len(given) != len(main.params):
            raise WorkbenchError(
                "E-NUMERICS-ENTRY",
                "the entry has other parameters than the model",
                found=str(len(main.params)),
                expected=str(len(given)),
            )
        memory = {id(buffer): array.reshape(-1) for buffer, array in zip(main.params, given, strict=True)}
        self._memory = memory
        self._fixed = dict(zip(map(id, main.params), given[: len(given) - len(outputs)], strict=False))
        self._arena = np.full(int(main.attrs.get("arena_bytes", 0)), 0xFF, np.uint8)
        run = EntryRun(outputs)
        try:
            for position, stmt in enumerate(self._statements(main.body)):
                watched = run.watched.setdefault(position, []) if position in watch else None
                run.records.append(self._call(stmt, capture, watched))
        finally:  # the arena and all buffers of a network are no longer needed
            self._memory, self._fixed, self._arena = {}, {}, np.empty(0, np.uint8)
            self._given.clear()
        return run

    # --- statements ---

    def _statements(self, body: t.Stmt) -> Iterator[n.Call]:
        """The kernel calls in order; allocations are made on the way."""
        stack: list[t.Stmt] = [body]
        while stack:
            stmt = stack.pop()
            if isinstance(stmt, t.SeqStmt):
                stack.extend(reversed(stmt.stmts))
            elif isinstance(stmt, t.BlockRealize) and not stmt.iter_values and stmt.block.init is None:
                for buffer in stmt.block.alloc_buffers:
                    self._allocate(buffer, FrozenMap())
                stack.append(stmt.block.body)
            elif isinstance(stmt, t.AllocBuffer):
                self._allocate(stmt.buffer, stmt.annotations)
                stack.append(stmt.body)
            elif isinstance(stmt, t.Evaluate) and isinstance(stmt.value, n.Call) and stmt.value.op == "call_tir":
                yield stmt.value
            elif not (isinstance(stmt, t.Evaluate) and _has_no_effect(stmt.value)):
                raise NotStraight(type(stmt).__name__)

    def _allocate(self, buffer: t.Buffer, annotations: Mapping[str, Any]) -> None:
        extents = [literal(extent, None) for extent in buffer.shape]
        if None in extents:
            raise NotStraight("a shape known only when run")
        dtype = buffer.dtype.to_numpy()
        count = int(np.prod(extents, dtype=np.int64))  # type: ignore[arg-type]
        offset = annotations.get("arena_offset")
        if offset is None:
            self._memory[id(buffer)] = np.full(count, _nothing(buffer.dtype))
            return
        size = count * dtype.itemsize
        if not 0 <= offset <= len(self._arena) - size:
            raise WorkbenchError(
                "E-NUMERICS-ARENA",
                f"buffer {buffer.name} is placed outside of the arena",
                found=f"bytes {offset} to {offset + size}",
                expected=f"an arena of {len(self._arena)} bytes",
            )
        if offset % max(1, dtype.itemsize):
            raise WorkbenchError(
                "E-NUMERICS-ARENA", f"buffer {buffer.name} is placed off its alignment", found=f"offset {offset}",
                expected=f"a multiple of {dtype.itemsize}",
            )  # fmt: skip
        self._memory[id(buffer)] = self._arena[offset : offset + size].view(dtype)

    # --- calls ---

    def _call(self, call: n.Call, capture: bool, watched: list[np.ndarray] | None) -> CallRecord:
        name = call.args[0].value if isinstance(call.args[0], n.StringImm) else ""
        if name not in self.meanings:
            raise NotStraight(f"a call of {name}")
        meaning, shapes, dtypes = self.meanings[name], self.shapes[name], self.dtypes[name]
        if len(call.args) - 1 != len(shapes):
            raise WorkbenchError(
                "E-NUMERICS-ENTRY", f"{name} is called with {len(call.args) - 1} arguments",
                expected=f"{len(shapes)} arguments",
            )  # fmt: skip
        passed = [
            self._view(argument, shape, dtype.to_numpy(), name)
            for argument, shape, dtype in zip(call.args[1:], shapes, dtypes, strict=True)
        ]
        inputs, outputs = passed[: len(passed) - meaning.outputs], passed[len(passed) - meaning.outputs :]
        self._refuse_overlaps(name, inputs, outputs)
        tokens = tuple(self._token(buffer, view) for buffer, view in inputs)
        held = [
            view if self._whole(buffer, view) is not None else self._copy(view, token)
            for (buffer, view), token in zip(inputs, tokens, strict=True)
        ]
        results = self._results(name, tokens, held)
        if capture and name not in self.captured:
            self.captured[name] = held
            self.narrow[name] = results
        for (_, view), result in zip(outputs, results, strict=True):
            view[...] = result.reshape(view.shape)
        if watched is not None:
            watched.extend([*held, *(view.copy() for _, view in outputs)])
        written = tuple(content(view) for _, view in outputs)
        if capture:
            self._given.update(zip(written, results, strict=True))
        return CallRecord(name, tuple(buffer.name for buffer, _ in passed), tokens, written)

    def _copy(self, view: np.ndarray, token: bytes) -> np.ndarray:
        """What a view holds now; the result of an earlier kernel where that is the same, laid out alike."""
        given = self._given.get(token)
        if given is None or given.dtype != view.dtype or not given.flags.c_contiguous:
            return view.copy()
        return given.reshape(view.shape)

    @staticmethod
    def _refuse_overlaps(name: str, inputs: Sequence[_Passed], outputs: Sequence[_Passed]) -> None:
        """A kernel writes while it reads, so its results must lie apart from its operands and from each other."""
        for place, (written, memory) in enumerate(outputs):
            for other, partner in (*inputs, *outputs[:place]):
                if np.may_share_memory(memory, partner):
                    raise WorkbenchError(
                        "E-NUMERICS-OVERLAP",
                        f"the call of {name} writes {written.name} over {other.name}, which it is given as well",
                        expected="results that lie apart from the operands",
                    )

    def _results(self, name: str, tokens: tuple[bytes, ...], inputs: list[np.ndarray]) -> list[np.ndarray]:
        key = ("kernel", name, tokens)
        found = self.memory.get(key)
        if found is None:
            found = tuple(np.array(result) for result in self.meanings[name].results(inputs))
            self.memory.put(key, found)
        return list(found)

    def _whole(self, buffer: t.Buffer, view: np.ndarray) -> np.ndarray | None:
        """The input or constant (which nothing writes) that a view covers, if it covers one."""
        array = self._fixed.get(id(buffer))
        return array if array is not None and array.size == view.size else None

    def _token(self, buffer: t.Buffer, view: np.ndarray) -> bytes:
        array = self._whole(buffer, view)
        return content(view) if array is None else self.memory.token(array)

    def _view(self, argument: Any, shape: tuple[int, ...], dtype: np.dtype, kernel: str) -> tuple[t.Buffer, np.ndarray]:
        if not (isinstance(argument, n.Call) and argument.op == "address_of"):
            raise NotStraight("an argument that is no address")
        access = argument.args[0]
        if not isinstance(access, t.BufferLoad) or id(access.buffer) not in self._memory:
            raise NotStraight("an address of something else")
        buffer = access.buffer
        held = self._memory[id(buffer)]
        offset = 0
        for index, extent in zip(access.indices, buffer.shape, strict=True):
            if not isinstance(index, n.IntImm) or not isinstance(extent, n.IntImm):
                raise NotStraight("an index known only when run")
            offset = offset * extent.value + index.value
        count = int(np.prod(shape, dtype=np.int64))
        if held.dtype != dtype or offset < 0 or offset + count > held.size:
            raise WorkbenchError(
                "E-NUMERICS-ENTRY",
                f"{kernel} is given {buffer.name}, which does not hold what it needs",
                found=f"{held.dtype}[{held.size - offset}]",
                expected=f"{dtype}[{count}]",
            )
        return buffer, held[offset : offset + count].reshape(shape)


def _has_no_effect(value: n.PrimExpr) -> bool:
    return isinstance(value, n.IntImm) or (isinstance(value, n.Call) and value.op == "poll_cancel")


def _nothing(dtype: Any) -> Any:
    """One element of memory that nobody wrote."""
    kind = dtype.to_numpy()
    return np.frombuffer(b"\xff" * max(1, kind.itemsize), kind)[0]


def first_difference(before: EntryRun, after: EntryRun) -> tuple[int, int, str]:
    """Where two runs part: the number of the call, the place of the argument, and a sentence; (-1, ...) if nowhere."""
    for position, (old, new) in enumerate(zip(before.records, after.records, strict=False)):
        if old.kernel != new.kernel:
            return position, -1, f"call {position} is of {new.kernel} instead of {old.kernel}"
        for place, (one, other) in enumerate(zip(old.inputs, new.inputs, strict=False)):
            if one != other:
                return position, place, f"call {position}, of {new.kernel}, reads other values in {new.names[place]}"
        for place, (one, other) in enumerate(zip(old.outputs, new.outputs, strict=False), start=len(new.inputs)):
            if one != other:
                return position, place, f"call {position}, of {new.kernel}, gives other values in {new.names[place]}"
    if len(before.records) != len(after.records):
        return -1, -1, f"{len(after.records)} kernel calls instead of {len(before.records)}"
    return -1, -1, "the outputs are read before they are complete, or from another place"
