"""Outlining parallel loops.

The body becomes a function of its own, with `noalias` parameters where the function's are; a small launcher unpacks
the closure and calls it once a chunk, and `parallel_for` of the context runs launchers on the pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...arith import nodes as n
from ...core.dtype import DataType
from ...core.equal import free_variables
from ...core.errors import WorkbenchError
from ...tir import nodes as t
from .facts import needs_one_pass
from .pipelines import ATTRIBUTE
from .types import HANDLE, INDEX, INT32, Value, llvm_type
from .writer import FunctionWriter

if TYPE_CHECKING:
    from .statements import BodyEmitter


def parallel_loop(self: BodyEmitter, stmt: t.For) -> None:
    """Emit a parallel loop: pack what the body uses, and launch."""
    extent = self.size(stmt.extent)
    begin = self.index(stmt.min)
    captured = _captured(self, stmt)
    number = self.writer.module.number()
    body_name = f"{self.base_name}.body{number}"
    _outline(self, stmt, begin, captured, body_name)
    _launcher(self, stmt, captured, begin, body_name)
    closure = self.cells([Value(self.context, HANDLE), begin, *(value for _, value in captured)])
    launch = self.context_field("parallel_for")
    status = self.assign(
        INT32, f"call i32 {launch}(ptr {self.context}, ptr @{body_name}.launch, ptr {closure}, {extent.typed})"
    )
    self.leave_unless_ok(status)


def _captured(self: BodyEmitter, stmt: t.For) -> list[tuple[n.Var | t.Buffer, Value]]:
    """Variables and buffers of the surroundings that the loop uses, with their values."""
    found: list[tuple[n.Var | t.Buffer, Value]] = []
    for variable in free_variables(stmt):
        if isinstance(variable, t.Buffer):
            pointer, _ = self.base_pointer(variable)
            found.append((variable, Value(pointer, HANDLE)))
        elif isinstance(variable, n.Var):
            value = self.values.get(id(variable))
            if value is None:
                continue  # a shape variable that only the buffer's declaration mentions
            if value.dtype.is_vector:
                raise WorkbenchError("E-CODEGEN-PARALLEL", "a parallel loop inside a vector", nodes=(stmt,))
            found.append((variable, value))
    return found


def _outline(
    self: BodyEmitter, stmt: t.For, begin: Value, captured: list[tuple[n.Var | t.Buffer, Value]], name: str
) -> None:
    """The function ``name(context, offset, captured..., first, last)``."""
    from .statements import BodyEmitter, counted_loop

    parameters = ["ptr %context", f"{llvm_type(begin.dtype)} %offset"]
    others = self.facts.escaped_elsewhere(stmt)
    for position, (variable, value) in enumerate(captured):
        alone = isinstance(variable, t.Buffer) and self.facts.noalias and id(variable) not in others
        parameters.append(f"{llvm_type(value.dtype)}{' noalias' if alone else ''} %c{position}")
    parameters += ["i64 %first", "i64 %last"]
    module = self.writer.module
    scope = _scope(self, stmt, name)
    lean = f" {ATTRIBUTE}" if needs_one_pass(stmt) else ""
    header = f"define internal void @{name}({', '.join(parameters)}) nounwind{lean}"
    writer = FunctionWriter(module, header, scope, returns_status=False)
    inner = BodyEmitter(
        writer, "%context", kernels=self.kernel_symbol, lines=self.lines, base_name=self.base_name, facts=self.facts,
        body=stmt,
    )  # fmt: skip
    inner.take_over(self, captured)
    writer.at_line(_line(self, stmt))
    dtype = begin.dtype
    first, last = (
        inner.assign(dtype, f"add nsw {llvm_type(dtype)} %offset, {_counter(inner, end, dtype)}")
        for end in ("%first", "%last")
    )
    inner.run_generator(counted_loop(inner, stmt, first, last, False, False))
    inner.finish()


def _counter(self: BodyEmitter, end: str, dtype: DataType) -> str:
    """An end of the iterations to run, counted from 0, in the loop's own dtype."""
    return end if dtype == INDEX else self.assign(dtype, f"trunc i64 {end} to {llvm_type(dtype)}").text


def _line(self: BodyEmitter, stmt: t.For) -> int:
    place = self.lines.get(id(stmt))
    return place.line if place is not None else 1


def _scope(self: BodyEmitter, stmt: t.For, name: str) -> int | None:
    """A debug scope for a function made of a loop."""
    outer, module = self.writer.scope, self.writer.module
    return None if outer is None else module.subprogram(name, module.file_of(outer), _line(self, stmt))


def _launcher(
    self: BodyEmitter, stmt: t.For, captured: list[tuple[n.Var | t.Buffer, Value]], begin: Value, name: str
) -> None:
    """``void launch(closure, first, last)``: unpack the closure and call the body."""
    kinds = ["ptr", llvm_type(begin.dtype), *(llvm_type(value.dtype) for _, value in captured)]
    module = self.writer.module
    scope = _scope(self, stmt, f"{name}.launch")
    attached = f" !dbg !{scope}" if scope is not None else ""
    location = f", !dbg !{module.location(scope, _line(self, stmt))}" if scope is not None else ""
    lines: list[str] = []
    arguments: list[str] = []
    for position, kind in enumerate(kinds):
        lines.append(f"  %p{position} = getelementptr inbounds i64, ptr %closure, i64 {position}")
        lines.append(f"  %x{position} = load {kind}, ptr %p{position}, align 8")
        arguments.append(f"{kind} %x{position}")
    arguments += ["i64 %first", "i64 %last"]
    lines += [f"  call void @{name}({', '.join(arguments)})", "  ret void"]
    own = "ptr %closure, i64 %first, i64 %last"
    header = f"define internal void @{name}.launch({own}) nounwind {ATTRIBUTE}{attached} {{"
    module.functions.append([header, "entry:", *(f"{line}{location}" for line in lines), "}"])


__all__ = ["INDEX", "parallel_loop"]
