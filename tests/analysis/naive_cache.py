"""Reference models, as plain as can be: a program walked step by step, and a cache of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.analysis.sites import ordered
from workbench.arith.build import const
from workbench.arith.evaluate import evaluate
from workbench.core.errors import WorkbenchError
from workbench.core.node import pre_order, rewrite
from workbench.target.memory import CacheLevel
from workbench.tir import nodes as t

Touch = tuple[str, tuple[int, ...], bool]
"""(buffer, indices, is it a store)."""


def naive_misses(addresses: Sequence[int], levels: Sequence[CacheLevel]) -> list[list[bool]]:
    """For each level, which accesses missed it and all before."""
    caches = [[[] for _ in range(level.sets)] for level in levels]
    missed = [[False] * len(addresses) for _ in levels]
    for position, address in enumerate(addresses):
        for number, level in enumerate(levels):
            line = address // level.line
            held = caches[number][line % level.sets]
            if line in held:
                held.remove(line)
                held.append(line)
                break
            missed[number][position] = True
            if len(held) == level.ways:
                held.pop(0)
            held.append(line)
    return missed


class Walker:
    """Runs a lowered scalar function step by step; `note` gets each statement's accesses.

    Integer buffers are remembered, since indices may be loaded from them.
    """

    def __init__(self, note: Callable[[t.Stmt, list[Touch]], None]) -> None:
        self.note = note
        self.memory: dict[tuple[int, tuple[int, ...]], int] = {}
        self.loading: dict[int, bool] = {}

    def value(self, expr: t.PrimExpr, values: dict) -> int:
        def loaded(node: object) -> object:
            if not isinstance(node, t.BufferLoad):
                return None
            where = tuple(int(evaluate(index, values)) for index in node.indices)
            return const(self.memory[id(node.buffer), where], node.dtype)

        if id(expr) not in self.loading:
            self.loading[id(expr)] = any(isinstance(node, t.BufferLoad) for node in pre_order(expr))
        return evaluate(rewrite(expr, loaded) if self.loading[id(expr)] else expr, values)

    def own(self, stmt: t.Stmt, values: dict) -> list[Touch]:
        """What one statement touches itself."""
        return [
            (access.buffer.name, tuple(int(self.value(index, values)) for index in access.indices), access.is_store)
            for access in ordered(stmt)
            if all(bool(self.value(condition, values)) == wanted for condition, wanted in access.guards)
        ]

    def run(self, stmt: t.Stmt, values: dict) -> None:
        self.note(stmt, self.own(stmt, values))
        self.remember(stmt, values)
        if isinstance(stmt, t.For):
            for value in self.chosen(stmt, values):
                self.run(stmt.body, {**values, stmt.var: value})
        elif isinstance(stmt, t.SeqStmt):
            for inner in stmt.stmts:
                self.run(inner, values)
        elif isinstance(stmt, t.IfThenElse):
            arm = stmt.then_case if self.value(stmt.condition, values) else stmt.else_case
            if arm is not None:
                self.run(arm, values)
        elif isinstance(stmt, (t.LetStmt, t.AllocBuffer)):
            self.run(stmt.body, values)

    def chosen(self, loop: t.For, values: dict) -> range:
        """The iterations of a loop that are run."""
        low = evaluate(loop.min, values)
        return range(low, low + evaluate(loop.extent, values))

    def remember(self, stmt: t.Stmt, values: dict) -> None:
        if isinstance(stmt, t.BufferStore) and stmt.buffer.dtype.is_integer:
            where = tuple(int(self.value(index, values)) for index in stmt.indices)
            try:
                self.memory[id(stmt.buffer), where] = int(self.value(stmt.value, values))
            except (WorkbenchError, KeyError):
                self.memory.pop((id(stmt.buffer), where), None)


def naive_accesses(func: t.PrimFunc) -> list[Touch]:
    """All accesses of a lowered function in order."""
    found: list[Touch] = []
    Walker(lambda _, touches: found.extend(touches)).run(func.body, {})
    return found
