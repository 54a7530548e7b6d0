"""Parts of a large function: LLVM takes more than twice as long for a function of twice the size.

    for i in range(32): s0[i] = ...           call @kernel.part1(x, s0, s1, ...)
    for i in range(32): s1[i] = ...      ->   call @kernel.part2(...)
    ...

Where more than `LARGE` loop nests stand one after the other, stretches of `NESTS` of them become functions of their
own, which are not inlined again.  A part answers a status, as the function itself does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...arith import nodes as n
from ...core.equal import free_variables
from ...core.node import pre_order
from ...tir import nodes as t
from .pipelines import ATTRIBUTE
from .types import HANDLE, INT32, Value, llvm_type
from .writer import FunctionWriter

if TYPE_CHECKING:
    from .statements import BodyEmitter

LARGE: Final = 64
"""Nests of a function that stays whole; no kernel of a real network has as many."""
NESTS: Final = 16
"""Nests of a part."""


@dataclass(frozen=True)
class Part:
    """A stretch of loop nests that stand one after the other."""

    body: t.SeqStmt


def parts_of(body: t.Stmt) -> Mapping[int, tuple[t.Stmt | Part, ...]]:
    """What stands in the sequences (by identity) of a large function; nothing for another."""
    sequences = list(_outer_sequences(body))
    if sum(isinstance(stmt, t.For) for sequence in sequences for stmt in sequence.stmts) <= LARGE or _returns(body):
        return {}
    return {id(sequence): tuple(_grouped(sequence)) for sequence in sequences}


def _outer_sequences(body: t.Stmt) -> Iterator[t.SeqStmt]:
    """The sequences outside of loops and conditions."""
    stack: list[t.Stmt] = [body]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, t.SeqStmt):
            yield stmt
            stack.extend(stmt.stmts)
        elif isinstance(stmt, (t.AllocBuffer, t.LetStmt)):
            stack.append(stmt.body)


def _grouped(sequence: t.SeqStmt) -> Iterator[t.Stmt | Part]:
    nests: list[t.Stmt] = []
    for stmt in (*sequence.stmts, None):
        if isinstance(stmt, t.For):
            nests.append(stmt)
        if nests and (len(nests) == NESTS or not isinstance(stmt, t.For)):
            yield Part(t.SeqStmt(tuple(nests))) if len(nests) > 1 else nests[0]
            nests = []
        if stmt is not None and not isinstance(stmt, t.For):
            yield stmt


def _returns(body: t.Stmt) -> bool:
    """Whether ``T.ret`` stands in a function: it would leave the part alone."""
    return any(
        isinstance(stmt, t.Evaluate) and isinstance(stmt.value, n.Call) and stmt.value.op == "ret"
        for stmt in pre_order(body, t.Stmt)
    )


def emit_part(self: BodyEmitter, part: Part) -> None:
    """Emit a part as a function, and its call."""
    captured = list(_captured(self, part))
    name = f"{self.base_name}.part{self.writer.module.number()}"
    _outline(self, part, captured, name)
    arguments = ", ".join([f"ptr {self.context}", *(value.typed for _, value in captured)])
    self.leave_unless_ok(self.assign(INT32, f"call i32 @{name}({arguments})"))


def _captured(self: BodyEmitter, part: Part) -> Iterator[tuple[n.Var | t.Buffer, Value]]:
    """Variables and buffers of the function that a part uses, with their values."""
    for variable in free_variables(part.body):
        if isinstance(variable, t.Buffer):
            yield variable, Value(self.base_pointer(variable)[0], HANDLE)
        elif isinstance(variable, n.Var) and id(variable) in self.values:
            yield variable, self.values[id(variable)]  # others only the declarations of buffers mention


def _outline(self: BodyEmitter, part: Part, captured: list[tuple[n.Var | t.Buffer, Value]], name: str) -> None:
    """The function ``i32 name(context, captured...)``."""
    parameters = ["ptr noalias %context"]
    others = self.in_arena | self.facts.escaped_elsewhere(part.body)
    for position, (variable, value) in enumerate(captured):
        alone = isinstance(variable, t.Buffer) and self.facts.noalias and id(variable) not in others
        parameters.append(f"{llvm_type(value.dtype)}{' noalias' if alone else ''} %c{position}")
    lines = [place.line for stmt in part.body.stmts if (place := self.lines.get(id(stmt))) is not None]
    line = min(lines, default=1)
    module, outer = self.writer.module, self.writer.scope
    scope = None if outer is None else module.subprogram(name, module.file_of(outer), line)
    header = f"define internal i32 @{name}({', '.join(parameters)}) nounwind noinline"
    writer = FunctionWriter(module, header, scope)
    inner = type(self)(
        writer, "%context", kernels=self.kernel_symbol, lines=self.lines, base_name=self.base_name, facts=self.facts,
        body=part.body,
    )  # fmt: skip
    if inner.one_pass:
        writer.header += f" {ATTRIBUTE}"
    inner.take_over(self, captured)
    inner.in_arena = self.in_arena
    writer.at_line(line)
    inner.run(part.body)
    inner.finish()
