"""Emitting statements and functions' bodies.

Statement emitters are generators run by a driver (no recursion).  `BodyEmitter` adds to expressions what needs
control flow: statuses, memory from the context, cancellation, parallel regions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from ...arith import nodes as n
from ...core.errors import WorkbenchError
from ...core.node import children
from ...tir import nodes as t
from .expressions import ExpressionEmitter
from .facts import Facts, has_explicit_vectors
from .memory import store
from .places import EXPRESSION, SourcePlace
from .types import BOOL, HANDLE, INDEX, INT32, Value, llvm_type, memory_type
from .writer import FunctionWriter

Emission = Generator[t.Stmt, None, None]

CONTEXT_FIELD: Final = {"parallel_for": 0, "alloc": 1, "free": 2, "poll": 3, "fail": 4, "cancel": 5}
CANCELLED, FAILED, NO_MEMORY = 1, 2, 3
STACK_BUFFER_BYTES: Final = 64 * 1024
STACK_TOTAL_BYTES: Final = 256 * 1024
MAX_COPIES: Final = 1024
"""Statements that unrolled loops may become; larger ones are left to LLVM."""


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
        super().__init__(writer, context, facts.written(body))
        self.facts = facts
        self.lean = has_explicit_vectors(body)
        self.kernel_symbol = kernels
        self.lines = lines
        self.columns = {key: place.ordinal for key, place in lines.items() if place.line == EXPRESSION}
        self.base_name = base_name
        self.heap: list[str] = []
        """Memory taken from the context, to be given back on every way out."""
        self.stack_bytes = 0
        self.arena: str | None = None
        self.vector_condition: Value | None = None
        self.copies: dict[int, int] = {}

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
                fix="lower the function first: workbench.tir.transforms.lower",
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

    def leave_unless_ok(self, status: Value) -> None:
        """Return `status` unless it is zero."""
        bad = self.assign(BOOL, f"icmp ne {status.typed}, 0")
        self.leave_if(bad.text, status.text)

    def leave_if(self, condition: str, status: str) -> None:
        out, on = self.writer.fresh("out"), self.writer.fresh("on")
        self.writer.branch(condition, out, on)
        self.writer.label(out)
        with self.arm():
            self.return_status(status)
        self.writer.label(on)
        self.numbering.barrier()

    def poll(self) -> None:
        """Return when the call was cancelled."""
        function = self.context_field("poll")
        asked = self.assign(INT32, f"call i32 {function}(ptr {self.context})")
        wanted = self.assign(BOOL, f"icmp ne {asked.typed}, 0")
        self.leave_if(wanted.text, str(CANCELLED))

    def report(self, node: n.Call, arguments: list[Value]) -> Value:
        """``call_extern("wb_report", status, message, values...)``: record a failure and return its status."""
        status, values = arguments[0], arguments[1:]
        message = node.args[2]
        assert isinstance(message, n.StringImm)
        self.fail(status.text, message.value, [value for value in values if value.dtype == INDEX])
        self.return_status(status.text)
        return Value("0", INT32)

    def fail(self, status: str, message: str, values: list[Value]) -> None:
        """Record a failure; each value takes the place of one {} in the message."""
        text = self.writer.module.string(message)
        array = "null"
        if values:
            array = self.writer.alloca(f"[{len(values)} x i64]", 8)
            for position, value in enumerate(values):
                slot = self.assign(HANDLE, f"getelementptr inbounds i64, ptr {array}, i64 {position}")
                self.writer.emit(f"store {value.typed}, ptr {slot.text}, align 8")
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
    yield from stmt.stmts


def _evaluate(self: BodyEmitter, stmt: t.Evaluate) -> Emission:
    self.value(stmt.value)
    return
    yield stmt


def _let(self: BodyEmitter, stmt: t.LetStmt) -> Emission:
    self.values[id(stmt.var)] = self.value(stmt.value)
    yield stmt.body


def _assert(self: BodyEmitter, stmt: t.AssertStmt) -> Emission:
    holds = self.value(stmt.condition)
    fails, on = self.writer.fresh("fails"), self.writer.fresh("on")
    self.writer.branch(holds.text, on, fails)
    self.writer.label(fails)
    with self.arm():
        self.fail(str(FAILED), f"E-RUN-ASSERT {stmt.message}", [])
        self.return_status(str(FAILED))
    self.writer.label(on)
    self.numbering.barrier()
    return
    yield stmt


def _if(self: BodyEmitter, stmt: t.IfThenElse) -> Emission:
    condition = self.value(stmt.condition)
    if condition.dtype.is_vector:
        yield from _masked_if(self, stmt, condition)
        return
    writer = self.writer
    then, done = writer.fresh("then"), writer.fresh("done")
    otherwise = writer.fresh("else") if stmt.else_case is not None else done
    writer.branch(condition.text, then, otherwise)
    writer.label(then)
    with self.numbering.scope(arm=True, opaque=True, written=self.facts.written(stmt.then_case)):
        yield stmt.then_case
    if stmt.else_case is not None:
        writer.jump(done)
        writer.label(otherwise)
        with self.numbering.scope(arm=True, opaque=True, written=self.facts.written(stmt.else_case)):
            yield stmt.else_case
    writer.label(done)


def _masked_if(self: BodyEmitter, stmt: t.IfThenElse, condition: Value) -> Emission:
    """Stores under a condition of lanes become masked stores; loads in them touch only these lanes."""
    if stmt.else_case is not None:
        raise WorkbenchError("E-CODEGEN-MASK", "a condition of lanes has no else branch", nodes=(stmt,))
    outer = self.vector_condition
    mask = condition if outer is None else self.assign(condition.dtype, f"and {condition.typed}, {outer.text}")
    self.vector_condition = self.mask = mask
    yield stmt.then_case
    self.vector_condition = self.mask = outer


def _for(self: BodyEmitter, stmt: t.For) -> Emission:
    if stmt.kind is t.ForKind.PARALLEL:
        from .parallel import parallel_loop

        parallel_loop(self, stmt)
        return
    if stmt.kind in (t.ForKind.VECTORIZED, t.ForKind.THREAD_BINDING):
        raise WorkbenchError(
            "E-CODEGEN-LOOP",
            f"a {stmt.kind.value} loop reached the llvm backend",
            nodes=(stmt,),
            fix="CPU targets have no thread axes" if stmt.thread else "run VectorizeLoop first",
        )
    extent = self.index(stmt.extent)
    begin = self.index(stmt.min)
    if extent.text == "1":
        self.enter_loop(stmt)
        self.values[id(stmt.var)] = begin
        yield stmt.body
        return
    if stmt.kind is t.ForKind.UNROLLED and _repeatable(self, stmt, extent, begin):
        self.enter_loop(stmt)
        for step in range(int(extent.text)):
            self.values[id(stmt.var)] = Value(str(int(begin.text) + step), begin.dtype)
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
    if not _surely_runs(begin, end):
        any_left = self.assign(BOOL, f"icmp slt {begin.typed}, {end.text}")
        writer.branch(any_left.text, head, done)
    before = writer.block
    writer.label(head)
    counter, close = writer.phi(begin.dtype, (begin.text, before))
    self.values[id(stmt.var)] = counter
    with self.numbering.scope(opaque=not _surely_runs(begin, end), written=self.facts.written(stmt.body)):
        self.numbering.bind(counter)
        if polls:
            self.poll()
        yield stmt.body
        if not writer.terminated:
            following = writer.assign(counter.dtype, f"add nsw {counter.typed}, 1")
            again = writer.assign(BOOL, f"icmp slt {following.typed}, {end.text}")
            close((following.text, writer.block))
            writer.branch(again.text, head, done, _loop_metadata(self, unrolled))
        else:
            close(None)
    writer.back_to(outside)
    writer.label(done)


def _repeatable(self: BodyEmitter, loop: t.For, extent: Value, begin: Value) -> bool:
    """Whether the body of an unrolled loop is emitted once for each iteration, rather than left to LLVM."""
    if not (extent.text.isdigit() and begin.text.lstrip("-").isdigit()):
        return False
    return _copies(self, loop) <= MAX_COPIES


def _copies(self: BodyEmitter, root: t.Stmt) -> int:
    """Statements that `root` becomes when its unrolled loops are written out."""
    counts = self.copies
    stack: list[tuple[t.Stmt, bool]] = [(root, False)]
    while stack:
        stmt, expanded = stack.pop()
        if id(stmt) in counts:
            continue
        inner = [child for child in children(stmt) if isinstance(child, t.Stmt)]
        if not expanded:
            stack.append((stmt, True))
            stack.extend((child, False) for child in inner)
            continue
        total = max(1, sum(counts[id(child)] for child in inner))
        unrolled = isinstance(stmt, t.For) and stmt.kind is t.ForKind.UNROLLED and isinstance(stmt.extent, n.IntImm)
        counts[id(stmt)] = total * max(1, stmt.extent.value) if unrolled else total  # type: ignore[attr-defined]
    return counts[id(root)]


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
    writer.label(head)
    with self.numbering.scope(opaque=True, written=self.facts.written(stmt)):
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
        yield stmt.body
        return
    elements = constant_extent(buffer)
    unit = max(1, buffer.dtype.bytes)
    if elements is not None and _fits_stack(self, elements * unit):
        self.stack_bytes += elements * unit
        storage = self.writer.alloca(f"[{max(1, elements)} x {memory_type(buffer.dtype)}]", 64)
        self.pointers[id(buffer)] = (storage, 64)
        yield stmt.body
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


def constant_extent(buffer: t.Buffer) -> int | None:
    """Elements of a buffer, if known when compiling."""
    count = 1
    for extent in buffer.shape:
        if not isinstance(extent, n.IntImm):
            return None
        count *= extent.value
    return count


def _byte_size(self: BodyEmitter, buffer: t.Buffer, unit: int) -> Value:
    size = Value(str(unit), INDEX)
    for extent in buffer.shape:
        factor = self.index(extent)
        size = self.assign(INDEX, f"mul nsw {size.typed}, {factor.text}")
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

__all__ = ["BodyEmitter", "constant_extent", "counted_loop", "llvm_type"]
