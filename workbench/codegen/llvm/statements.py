"""Emitting statements and functions' bodies.

Statement emitters are generators run by a driver (no recursion).  `BodyEmitter` adds to expressions what needs
control flow: statuses, memory from the context, cancellation, parallel regions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from itertools import zip_longest
from typing import Any, Final

from ...arith import nodes as n
from ...core.errors import WorkbenchError
from ...tir import nodes as t
from ...tir.build import constant_size
from ...tir.interpreting.masks import by_lane, is_one_narrow_lane
from .exits import Exits
from .expressions import ExpressionEmitter, decided
from .facts import MAX_COPIES, Facts
from .memory import store
from .numbering import Numbering
from .parallel import parallel_loop
from .parts import Part, emit_part
from .places import EXPRESSION, SourcePlace
from .registers import State
from .types import BOOL, HANDLE, INDEX, INT32, Value, llvm_type, memory_type
from .writer import FunctionWriter, Line

Emission = Generator[t.Stmt, None, None]

CONTEXT_FIELD: Final = {"parallel_for": 0, "alloc": 1, "free": 2, "poll": 3, "fail": 4, "cancel": 5}
FAILED, NO_MEMORY = 2, 3
STACK_BUFFER_BYTES: Final = 64 * 1024
STACK_TOTAL_BYTES: Final = 256 * 1024


class BodyEmitter(ExpressionEmitter):
    """Emits the body of one LLVM function."""

    def __init__(
        self,
        writer: FunctionWriter,
        context: str,
        *,
        kernels: Callable[[str, n.Call], str],
        lines: Mapping[int, SourcePlace],
        base_name: str,
        facts: Facts,
        body: t.Stmt,
    ) -> None:
        super().__init__(writer, context, facts, body)
        self.kernel_symbol = kernels
        self.lines = lines
        self.columns = {key: place.ordinal for key, place in lines.items() if place.line == EXPRESSION}
        self.base_name = base_name
        self.heap: list[str] = []
        """Memory taken from the context, to be given back on every way out."""
        self.exits = Exits(writer)
        self.poll_follows = False
        """Whether the next statement polls, and so looks at the status of this one, a call, as well."""
        self._unseen: Value | None = None
        self.stack_bytes = 0
        self.arena: str | None = None
        self.in_arena: set[int] = set()
        """Buffers, by identity, whose memory others may have before and after them."""
        self.vector_condition: Value | None = None
        self.answers = False
        """Whether the function has a packed result to fill."""

    def run(self, stmt: t.Stmt) -> None:
        """Emit a statement and all inside it."""
        before = self.writer.position
        self._position_of(stmt)
        self.run_generator(self._statement(stmt))
        self.writer.back_to(before)

    def run_generator(self, emission: Emission) -> None:
        """Run a statement's emission with a stack of its own.

        After a statement inside it, what it emits belongs to its own line again.
        """
        stack = [(emission, self.writer.position)]
        while stack:
            current, position = stack[-1]
            self.writer.back_to(position)
            wanted = next(current, None)
            if wanted is None:
                stack.pop()
                continue
            stack[-1] = (current, self.writer.position)
            stack.append((self._statement(wanted), self._position_of(wanted)))

    def _position_of(self, stmt: t.Stmt) -> tuple[int | None, int, str]:
        """Where the instructions of a statement belong: its line, in the scope of now."""
        place = self.lines.get(id(stmt))
        if place is not None:
            self.writer.at_line(place.line)
        return self.writer.position

    def enter_loop(self, loop: t.For | t.While) -> None:
        """The instructions that follow are of the loop itself or of what is inside it."""
        place = self.lines.get(id(loop))
        if place is not None:
            self.writer.enter_loop(place.line, place.ordinal)

    def _statement(self, stmt: t.Stmt) -> Emission:
        emitter = _EMITTERS.get(type(stmt))
        if emitter is None:
            raise WorkbenchError(
                "E-CODEGEN-STMT",
                f"the llvm backend has no code for {type(stmt).__name__}",
                nodes=(stmt,),
                fix="lower the function first: workbench.tir.transforms.pipeline.lower",
            )
        self.begin_statement()
        return emitter(self, stmt)

    # --- the context ---

    def context_field(self, name: str) -> str:
        """A function pointer (or the cancel word's address) out of the context."""
        field = self.assign(HANDLE, f"getelementptr inbounds ptr, ptr {self.context}, i64 {CONTEXT_FIELD[name]}")
        empty = self.writer.module.empty_node()
        return self.assign(HANDLE, f"load ptr, ptr {field.text}, align 8, !invariant.load !{empty}").text

    def return_status(self, text: str) -> None:
        """Leave the function, giving memory back."""
        for pointer in reversed(self.heap):
            self._give_back(pointer)
        self.writer.ret(f"i32 {text}" if self.writer.returns_status else "void")

    def _give_back(self, pointer: str) -> None:
        self.writer.emit(f"call void {self.context_field('free')}(ptr {self.context}, ptr {pointer})")

    def finish(self) -> None:
        """Return from the end of the function, and emit the ways out before it."""
        self.return_status("0")
        for memory, status in self.exits.blocks():
            self.heap = list(memory)
            self.numbering = Numbering(self.writer)  # what other blocks computed is not known here
            self.return_status(status)
        self.writer.finish()

    def leave_unless_ok(self, status: Value) -> None:
        """Return `status` unless it is zero."""
        bad = self.assign(BOOL, f"icmp ne {status.typed}, 0")
        self.leave_if(bad.text, status.text)

    def leave_if(self, condition: str, status: str) -> None:
        """Return `status` if a condition holds."""
        out, on = self.exits.leave_from_here(self.heap, status), self.writer.fresh("on")
        self.writer.branch(condition, out, on)
        self.writer.label(on)
        self.numbering.barrier()

    def check(self, status: Value) -> None:
        """Return the status of a call unless it is zero, at the poll that follows if there is one."""
        if self.poll_follows:
            self._unseen = status
        else:
            self.leave_unless_ok(status)

    def poll(self) -> None:
        """Return when the call was cancelled, which comes before a failure, or when the call before this one failed."""
        function = self.context_field("poll")
        status = self.assign(INT32, f"call i32 {function}(ptr {self.context})")
        if self._unseen is not None:
            stops = self.assign(BOOL, f"icmp ne {status.typed}, 0")
            status = self.assign(INT32, f"select {stops.typed}, {status.typed}, {self._unseen.typed}")
            self._unseen = None
        self.leave_unless_ok(status)

    def report(self, node: n.Call, arguments: list[Value]) -> Value:
        """``call_extern("wb_report", status, message, values...)``: record a failure and return its status."""
        status, values = arguments[0], arguments[1:]
        message = node.args[2]
        assert isinstance(message, n.StringImm)
        self.fail(status.text, message.value, [value for value in values if value.dtype == INDEX])
        self.return_status(status.text)
        return Value("0", INT32)

    def cells(self, values: list[Value]) -> str:
        """An array of eight bytes for each value, on the stack."""
        array = self.writer.alloca(f"[{len(values)} x i64]", 8)
        for position, value in enumerate(values):
            slot = self.assign(HANDLE, f"getelementptr inbounds i64, ptr {array}, i64 {position}")
            self.writer.emit(f"store {value.typed}, ptr {slot.text}, align 8")
        return array

    def take_over(self, outer: BodyEmitter, captured: list[tuple[n.Var | t.Buffer, Value]]) -> None:
        """Give what a function of its own uses of `outer` the names of its parameters."""
        for position, (variable, value) in enumerate(captured):
            if isinstance(variable, t.Buffer):
                self.pointers[id(variable)] = (f"%c{position}", outer.pointers[id(variable)][1])
            else:
                self.values[id(variable)] = Value(f"%c{position}", value.dtype)

    def fail(self, status: str, message: str, values: list[Value]) -> None:
        """Record a failure; each value takes the place of one {} in the message."""
        text = self.writer.module.string(message)
        array = self.cells(values) if values else "null"
        function = self.context_field("fail")
        self.writer.emit(
            f"call void {function}(ptr {self.context}, i32 {status}, ptr {text}, i32 {len(values)}, ptr {array})"
        )

    # --- buffers ---

    def take(self, size: Value) -> str:
        """Memory from the context; leaves with a status when there is none."""
        function = self.context_field("alloc")
        pointer = self.assign(HANDLE, f"call noalias align 64 ptr {function}(ptr {self.context}, {size.typed})").text
        none = self.assign(BOOL, f"icmp eq ptr {pointer}, null")
        self.leave_if(none.text, str(NO_MEMORY))
        return pointer


# --- statements ---------------------------------------------------------------------------------------------------


def _store(self: BodyEmitter, stmt: t.BufferStore) -> Emission:
    value = self.value(stmt.value)
    index = stmt.indices[0] if stmt.indices else n.IntImm(0, INDEX)
    if index.dtype.is_vector and not value.dtype.is_vector:
        value = self.broadcast(value, index.dtype.lanes)
    store(self, stmt.buffer, index, value, self.vector_condition)
    return
    yield stmt


def _sequence(self: BodyEmitter, stmt: t.SeqStmt) -> Emission:
    items = self.facts.parts.get(id(stmt), stmt.stmts)
    for inner, following in zip_longest(items, items[1:]):
        self.poll_follows = _is_call(inner, "call_tir") and _is_call(following, "poll_cancel")
        if isinstance(inner, Part):
            emit_part(self, inner)
        else:
            yield inner


def _is_call(stmt: t.Stmt | Part | None, name: str) -> bool:
    return isinstance(stmt, t.Evaluate) and isinstance(stmt.value, n.Call) and stmt.value.op == name


def _evaluate(self: BodyEmitter, stmt: t.Evaluate) -> Emission:
    self.value(stmt.value)
    return
    yield stmt


def _let(self: BodyEmitter, stmt: t.LetStmt) -> Emission:
    self.values[id(stmt.var)] = self.value(stmt.value)
    self.counters.add(id(stmt.var))
    yield stmt.body


def _assert(self: BodyEmitter, stmt: t.AssertStmt) -> Emission:
    holds = self.value(stmt.condition)
    fails, on = self.writer.fresh("fails"), self.writer.fresh("on")
    before = self.writer.segment()
    self.writer.branch(holds.text, on, fails)
    self.writer.label(fails)
    with self.arm(before):
        self.fail(str(FAILED), f"E-RUN-ASSERT {stmt.message}", [])
        self.return_status(str(FAILED))
    self.writer.label(on)
    self.numbering.barrier()
    return
    yield stmt


def _if(self: BodyEmitter, stmt: t.IfThenElse) -> Emission:
    condition = self.value(stmt.condition)
    known = decided(condition)
    if known is not None:
        chosen = stmt.then_case if known else stmt.else_case
        if chosen is not None:
            yield chosen
        return
    if condition.dtype.is_vector:
        yield from _masked_if(self, stmt, condition)
        return
    writer, registers = self.writer, self.registers
    then, done = writer.fresh("then"), writer.fresh("done")
    otherwise = writer.fresh("else") if stmt.else_case is not None else done
    state = registers.enter_condition(stmt)
    front, before = writer.block, writer.segment()
    writer.branch(condition.text, then, otherwise)
    arms: list[tuple[State, str]] = []
    writer.label(then)
    yield from _arm(self, stmt.then_case, before, state, arms)
    if stmt.else_case is not None:
        writer.jump(done)
        writer.label(otherwise)
        yield from _arm(self, stmt.else_case, before, state, arms)
    else:
        arms.append((state, front))
    writer.label(done)
    registers.join(arms)


def _arm(self: BodyEmitter, stmt: t.Stmt, before: list[Line], state: State, arms: list[tuple[State, str]]) -> Emission:
    """One arm of a condition; how it ends is added to `arms` unless it leaves the function."""
    registers = self.registers
    registers.restore(state)
    with self.numbering.scope(before, self.facts.written(stmt), arm=True):
        yield stmt
        if not self.writer.terminated:
            registers.end_arm(state)
            arms.append((registers.state(), self.writer.block))


def _masked_if(self: BodyEmitter, stmt: t.IfThenElse, condition: Value) -> Emission:
    """Stores under a condition of lanes become masked stores; loads in them touch only these lanes."""
    if stmt.else_case is not None:
        raise WorkbenchError("E-CODEGEN-MASK", "a condition of lanes has no else branch", nodes=(stmt,))
    outer = self.vector_condition
    if outer is None and is_one_narrow_lane(stmt):
        yield by_lane(stmt)  # LLVM 22 makes a masked store of a lane cut from a wider number a store of all of that
        return
    mask = condition if outer is None else self.assign(condition.dtype, f"and {condition.typed}, {outer.text}")
    self.vector_condition = self.mask = mask
    yield stmt.then_case
    self.vector_condition = self.mask = outer


def _for(self: BodyEmitter, stmt: t.For) -> Emission:
    if stmt.kind is t.ForKind.PARALLEL and not self.writer.module.one_core:
        parallel_loop(self, stmt)
        return
    if stmt.kind in (t.ForKind.VECTORIZED, t.ForKind.THREAD_BINDING):
        name, kind = stmt.var.name, f"bound to {stmt.thread}" if stmt.thread else "still vectorized"
        raise WorkbenchError(
            "E-CODEGEN-LOOP", f"loop {name} is {kind} in the llvm backend",
            expected="a serial, parallel or unrolled loop: CPUs have no thread axes", nodes=(stmt,),
            fix=f"in place of bind: parallel({name}), unroll({name}) or neither; workbench.tir.interpret runs threads"
            if stmt.thread else "run VectorizeLoop first",
        )  # fmt: skip
    extent = self.index(stmt.extent)
    begin = self.index(stmt.min)
    if extent.text == "1":
        self.enter_loop(stmt)
        self.values[id(stmt.var)] = begin
        self.counters.add(id(stmt.var))
        yield stmt.body
        return
    steps = _steps(self, stmt, extent, begin)
    if steps is not None:
        self.enter_loop(stmt)
        self.counters.add(id(stmt.var))
        for step in steps:
            self.values[id(stmt.var)] = Value(str(step), begin.dtype)
            yield stmt.body
        return
    end = extent if begin.text == "0" else self.assign(begin.dtype, f"add nsw {begin.typed}, {extent.text}")
    polls = stmt.annotations.get("poll_cancel", False)
    yield from counted_loop(self, stmt, begin, end, bool(polls), stmt.kind is t.ForKind.UNROLLED)


def counted_loop(self: BodyEmitter, stmt: t.For, begin: Value, end: Value, polls: bool, unrolled: bool) -> Emission:
    """for var in begin ... end - 1, as a loop with the test at its end behind a test before it."""
    writer = self.writer
    outside = writer.position
    self.enter_loop(stmt)
    head, done = writer.fresh("loop"), writer.fresh("done")
    surely = _surely_runs(begin, end)
    surveys = self.registers.enter_loop(stmt, surely)
    front = writer.segment()
    if not surely:
        any_left = self.assign(BOOL, f"icmp slt {begin.typed}, {end.text}")
        writer.branch(any_left.text, head, done)
    before = writer.block
    writer.label(head)
    counter, close = writer.phi(begin.dtype, (begin.text, before))
    self.values[id(stmt.var)] = counter
    carried = self.registers.begin_loop(surveys, before)
    with self.numbering.scope(front, self.facts.written(stmt.body), opaque=not surely):
        self.numbering.bind(counter)
        self.registers.bind(carried)
        if polls:
            self.poll()
        yield stmt.body
        ends, last = not writer.terminated, []
        if ends:
            self.registers.end_body(stmt, surveys)
            following = writer.assign(counter.dtype, f"add nsw {counter.typed}, 1")
            again = writer.assign(BOOL, f"icmp slt {following.typed}, {end.text}")
            close((following.text, writer.block))
            last = self.registers.close(carried, latch := writer.block)
            writer.branch(again.text, head, done, _loop_metadata(self, unrolled))
        else:
            close(None)
    writer.back_to(outside)
    writer.label(done)
    if ends:
        self.registers.leave_loop(carried, last, None if surely else (before, latch))
    else:
        self.registers.abandon_loop(carried)


def _steps(self: BodyEmitter, loop: t.For, extent: Value, begin: Value) -> range | None:
    """The values of the counter if the body is emitted once for each, rather than left to LLVM."""
    if not (extent.text.isdigit() and begin.text.lstrip("-").isdigit()):
        return None
    steps = self.facts.written_out(loop, self.one_pass)
    if steps is None and loop.kind is t.ForKind.UNROLLED and self.facts.copies(loop) * int(extent.text) <= MAX_COPIES:
        return range(int(begin.text), int(begin.text) + int(extent.text))  # its extent is a number by now
    return steps


def _surely_runs(begin: Value, end: Value) -> bool:
    known = all(value.text.lstrip("-").isdigit() for value in (begin, end))
    return known and int(begin.text) < int(end.text)


def _loop_metadata(self: BodyEmitter, unrolled: bool) -> str:
    if not unrolled:
        return ""
    module = self.writer.module
    full = module.add_metadata('!{!"llvm.loop.unroll.full"}')
    number = module.add_metadata("")
    module.metadata[number] = f"distinct !{{!{number}, !{full}}}"
    return f", !llvm.loop !{number}"


def _while(self: BodyEmitter, stmt: t.While) -> Emission:
    writer = self.writer
    head, body, done = writer.fresh("while"), writer.fresh("body"), writer.fresh("done")
    outside = writer.position
    self.enter_loop(stmt)
    before = writer.segment()
    writer.label(head)
    with self.numbering.scope(before, self.facts.written(stmt)):
        self.poll()
        self.begin_statement()
        condition = self.value(stmt.condition)
        writer.branch(condition.text, body, done)
        writer.label(body)
        yield stmt.body
        writer.jump(head)
    writer.back_to(outside)
    writer.label(done)


def _allocate(self: BodyEmitter, stmt: t.AllocBuffer) -> Emission:
    buffer = stmt.buffer
    offset = stmt.annotations.get("arena_offset")
    if offset is not None and self.arena is not None:
        at = self.assign(HANDLE, f"getelementptr inbounds i8, ptr {self.arena}, i64 {int(offset)}")
        self.pointers[id(buffer)] = (at.text, 64)
        self.in_arena.add(id(buffer))
        yield stmt.body
        return
    elements = constant_size(buffer)
    unit = max(1, buffer.dtype.bytes)
    if elements is not None and _fits_stack(self, elements * unit):
        self.stack_bytes += elements * unit
        storage = self.writer.alloca(f"[{max(1, elements)} x {memory_type(buffer.dtype)}]", 64)
        self.pointers[id(buffer)] = (storage, 64)
        self.registers.begin(buffer, elements)
        yield stmt.body
        self.registers.end(buffer)
        return
    size = _byte_size(self, buffer, unit)
    pointer = self.take(size)
    self.heap.append(pointer)
    self.pointers[id(buffer)] = (pointer, 64)
    yield stmt.body
    self.heap.pop()
    self._give_back(pointer)


def _fits_stack(self: BodyEmitter, size: int) -> bool:
    return size <= STACK_BUFFER_BYTES and self.stack_bytes + size <= STACK_TOTAL_BYTES


def _byte_size(self: BodyEmitter, buffer: t.Buffer, unit: int) -> Value:
    size = Value(str(unit), INDEX)
    for extent in buffer.shape:
        size = self.assign(INDEX, f"mul nsw {size.typed}, {self.size(extent).text}")
    return size


_EMITTERS: Final[dict[type, Callable[[BodyEmitter, Any], Emission]]] = {
    t.BufferStore: _store,
    t.SeqStmt: _sequence,
    t.Evaluate: _evaluate,
    t.LetStmt: _let,
    t.AssertStmt: _assert,
    t.IfThenElse: _if,
    t.For: _for,
    t.While: _while,
    t.AllocBuffer: _allocate,
}

__all__ = ["BodyEmitter", "counted_loop", "llvm_type"]
